#include "study/c3/c3_study.h"

#include <algorithm>
#include <array>

#include "sim/config/nearest_name.h"
#include "study/run/testbed_pool.h"
#include "study/work/named_gemm.h"
#include "study/work/operation.h"

namespace c3sim::study {

namespace {

// Sums over the scenarios of one collective and class. A gain is a speedup less one.
struct Group {
  double gain = 0.0;
  double ideal_gain = 0.0;
  double scenarios = 0.0;
};

bool selected(const StudyResult& result, const Selection& selection) {
  return result.c3.strategy == selection.strategy &&
         (!selection.collective || *selection.collective == result.c3.scenario.collective) &&
         (!selection.length_class || *selection.length_class == result.length_class);
}

constexpr std::size_t most_pairs = 10'000;

StudyPair read_pair(sim::Section section, std::span<const NamedGemm> gemms) {
  StudyPair pair;
  const std::string gemm = section.name("gemm");
  if (const auto found = std::ranges::find(gemms, gemm, &NamedGemm::name); found != gemms.end()) {
    pair.gemm = found->shape;
  } else {
    section.fault("gemm",
                  "'" + gemm + "' is not among the GEMMs of this file" + sim::name_hint(gemm, gemms, &NamedGemm::name));
  }
  pair.bytes = section.bytes("bytes", array_sizes);
  if (section.has("class")) pair.length_class = section.choice<LengthClass>("class", sim::choices_of<LengthClass>());
  pair.name = gemm + "_" + sim::to_string(pair.bytes);
  return pair;
}

// The alternatives that a list names, each once.
template <class T>
std::vector<T> read_choices(sim::Section section, std::string_view key, const std::vector<sim::Choice<T>>& choices) {
  const auto hint = [&](std::string_view name) { return sim::name_hint(name, choices, &sim::Choice<T>::first); };
  std::vector<T> chosen;
  for (const std::string& name : section.names(key)) {
    const auto found = std::ranges::find(choices, name, &sim::Choice<T>::first);
    if (found == choices.end()) {
      section.fault(key, "'" + name + "' is not known" + hint(name));
    } else if (std::ranges::count(chosen, found->second) > 0) {
      section.fault(key, "'" + name + "' is named twice");
    } else {
      chosen.push_back(found->second);
    }
  }
  if (chosen.empty()) section.fault(key, "at least one is needed" + hint(""));
  return chosen;
}

// By what the paper gives, the first that it gives of one.
void read_published(C3Study& study, sim::Section section) {
  section.text("source");  // for readers of the file; a published figure without one is a fault
  const auto figure = [](sim::Section& of, std::string_view key) {
    return of.has(key) ? std::optional(of.number(key, -10.0, 10.0)) : std::nullopt;
  };
  for (sim::Section entry : section.list("strategies")) {
    const auto strategy = entry.choice<Strategy>("strategy", sim::choices_of<Strategy>());
    study.published.emplace(std::pair(strategy, std::nullopt),
                            PublishedC3{.fraction = figure(entry, "fraction"),
                                        .speedup = figure(entry, "speedup"),
                                        .highest_speedup = figure(entry, "highest_speedup")});
    for (const auto& [name, kind] : sim::choices_of<models::CollectiveKind>()) {
      if (!entry.has(name)) continue;
      sim::Section of_kind = entry.section(name);
      study.published.emplace(std::pair(strategy, kind),
                              PublishedC3{.lowest_fraction = figure(of_kind, "lowest_fraction"),
                                          .highest_fraction = figure(of_kind, "highest_fraction"),
                                          .speedup = figure(of_kind, "speedup")});
    }
  }
}

// Why the platform cannot run the scenario under a strategy, which the reason names; empty if it can.
std::string why_impossible(const Scenario& scenario, Strategy strategy, const Testbed& testbed) {
  const std::string reason = testbed.why_impossible(collective_of(scenario, strategy, testbed.platform()));
  if (reason.empty()) return {};
  return std::string(to_string(strategy)) + ": " + reason;
}

// A pair that no strategy can run is a fault; what only some cannot run is left out with a warning, once for all pairs.
void check_pair(C3Study& study, const StudyPair& pair, sim::Section& section, const Testbed& testbed) {
  if (const std::string reason = testbed.why_impossible(pair.gemm); !reason.empty()) section.fault("gemm", reason);
  for (const models::CollectiveKind kind : study.collectives) {
    const Scenario scenario{.name = pair.name, .gemm = pair.gemm, .collective = kind, .bytes = pair.bytes};
    std::vector<std::string> reasons;
    for (const Strategy strategy : study.strategies) {
      if (std::string reason = why_impossible(scenario, strategy, testbed); !reason.empty()) reasons.push_back(reason);
    }
    if (reasons.size() == study.strategies.size() && !reasons.empty()) section.fault("bytes", reasons.front());
    for (const std::string& reason : reasons) {
      std::string warning = std::string(models::to_string(kind)) + " is left out of " + reason;
      if (std::ranges::find(study.warnings, warning) == study.warnings.end()) study.warnings.push_back(warning);
    }
  }
}

}  // namespace

LengthClass classify(sim::Time gemm, sim::Time collective, double longer_by) {
  const double ratio = sim::to_seconds(gemm) / sim::to_seconds(collective);
  if (ratio > longer_by) return LengthClass::g_long;
  return ratio < 1.0 / longer_by ? LengthClass::c_long : LengthClass::gc_equal;
}

C3Study read_c3_study(sim::Section root, const Testbed& testbed) {
  C3Study study;
  study.name = root.name("name");
  study.longer_by = root.number("longer_by", 1.0, 10.0, study.longer_by);
  study.splits = root.choice<Splits>("splits", sim::choices_of<Splits>(), study.splits);
  const std::vector<NamedGemm> gemms = read_gemms(root.section("gemms"));
  study.collectives = read_choices(root, "collectives", sim::choices_of<models::CollectiveKind>());
  study.strategies = read_choices(root, "strategies", sim::choices_of<Strategy>());
  std::vector<sim::Section> pairs = root.list("pairs");
  if (pairs.size() > most_pairs) {
    root.fault("pairs", "at most " + std::to_string(most_pairs) + " pairs are accepted");
    return study;
  }
  for (sim::Section& section : pairs) {
    study.pairs.push_back(read_pair(section, gemms));
    check_pair(study, study.pairs.back(), section, testbed);
  }
  if (root.has("published")) read_published(study, root.section("published"));
  return study;
}

PublishedC3 published_of(const C3Study& study, Strategy strategy, std::optional<models::CollectiveKind> kind) {
  const auto found = study.published.find({strategy, kind});
  return found == study.published.end() ? PublishedC3{} : found->second;
}

std::vector<C3Result> run_all(Testbed& testbed, std::span<const C3Trial> trials, const Progress& progress, int jobs) {
  // Of c3_best, where all that it is the best of are asked for anyway: their places.
  const auto made_of = [&](const C3Trial& trial) {
    std::vector<std::size_t> places;
    if (trial.strategy != Strategy::c3_best) return places;
    for (const Strategy strategy : all_kernel_strategies()) {
      const auto found = std::ranges::find(trials, C3Trial{trial.scenario, strategy});
      if (found == trials.end()) return std::vector<std::size_t>();
      places.push_back(static_cast<std::size_t>(found - trials.begin()));
    }
    return places;
  };
  std::vector<C3Result> results(trials.size());
  const auto run = [&](Testbed& asked, std::size_t index) {
    const C3Trial& trial = trials[index];
    if (made_of(trial).empty()) results[index] = run_strategy(asked, trial.scenario, trial.strategy);
  };
  TestbedPool(testbed).for_each(trials.size(), run, progress, jobs);
  for (std::size_t index = 0; index < trials.size(); ++index) {
    std::vector<C3Result> candidates;
    for (const std::size_t place : made_of(trials[index])) candidates.push_back(results[place]);
    if (!candidates.empty()) results[index] = best_kernel_strategy(candidates);
  }
  return results;
}

std::vector<StudyResult> run_study(Testbed& testbed, const C3Study& study, const Progress& progress, int jobs) {
  std::vector<C3Trial> trials;
  std::vector<std::optional<LengthClass>> classes;
  for (const StudyPair& pair : study.pairs) {
    for (const models::CollectiveKind kind : study.collectives) {
      const Scenario scenario{
          .name = pair.name, .gemm = pair.gemm, .collective = kind, .bytes = pair.bytes, .splits = study.splits};
      for (const Strategy strategy : study.strategies) {
        if (!testbed.why_impossible(collective_of(scenario, strategy, testbed.platform())).empty()) continue;
        trials.push_back({scenario, strategy});
        classes.push_back(pair.length_class);
      }
    }
  }
  std::vector<C3Result> runs = run_all(testbed, trials, progress, jobs);
  std::vector<StudyResult> results;
  results.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const LengthClass predicted = classify(runs[i].isolated_gemm, runs[i].isolated_collective, study.longer_by);
    results.push_back({std::move(runs[i]), classes[i].value_or(predicted)});
  }
  return results;
}

Average average(std::span<const StudyResult> results, const Selection& selection) {
  Average average;
  std::map<std::pair<models::CollectiveKind, LengthClass>, Group> groups;
  for (const StudyResult& result : results) {
    if (!selected(result, selection)) continue;
    Group& group = groups[{result.c3.scenario.collective, result.length_class}];
    group.gain += result.c3.speedup() - 1.0;
    group.ideal_gain += result.c3.ideal_speedup() - 1.0;
    group.scenarios += 1.0;
    average.mean_fraction += result.c3.fraction_of_ideal();
    average.highest_speedup = std::max(average.highest_speedup, result.c3.speedup());
    ++average.scenarios;
  }
  if (groups.empty()) return average;
  Group mean;
  for (const auto& [key, group] : groups) {
    mean.gain += group.gain / group.scenarios / static_cast<double>(groups.size());
    mean.ideal_gain += group.ideal_gain / group.scenarios / static_cast<double>(groups.size());
  }
  average.speedup = 1.0 + mean.gain;
  average.ideal_speedup = 1.0 + mean.ideal_gain;
  average.fraction_of_ideal = mean.gain / mean.ideal_gain;
  average.mean_fraction /= static_cast<double>(average.scenarios);
  return average;
}

FractionsOf question_of(const C3Study& study, std::vector<Strategy> strategies) {
  return [study, strategies = std::move(strategies)](Testbed& testbed) {
    const std::vector<StudyResult> results = run_study(testbed, study);
    Fractions fractions;
    for (const Strategy strategy : strategies) {
      fractions.push_back(average(results, {strategy, {}, {}}).fraction_of_ideal);
    }
    return fractions;
  };
}

}  // namespace c3sim::study
