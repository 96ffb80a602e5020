#include "study/c3/c3_study.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "study/run/testbed_pool.h"

namespace c3sim::study {

namespace {

constexpr std::array length_classes{LengthClass::g_long, LengthClass::c_long, LengthClass::gc_equal};

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

}  // namespace

std::string_view to_string(LengthClass length_class) {
  constexpr std::array<std::string_view, length_classes.size()> names{"G-long", "C-long", "GC-equal"};
  return names[static_cast<std::size_t>(length_class)];
}

std::span<const LengthClass> all_length_classes() { return length_classes; }

LengthClass classify(sim::Time gemm, sim::Time collective, double longer_by) {
  const double ratio = sim::to_seconds(gemm) / sim::to_seconds(collective);
  if (ratio > longer_by) return LengthClass::g_long;
  return ratio < 1.0 / longer_by ? LengthClass::c_long : LengthClass::gc_equal;
}

PublishedStrategy published_of(const C3Study& study, Strategy strategy) {
  const auto found = std::find_if(study.published.begin(), study.published.end(),
                                  [&](const PublishedStrategy& published) { return published.strategy == strategy; });
  return found == study.published.end() ? PublishedStrategy{} : *found;
}

PublishedCollective published_of(const PublishedStrategy& published, models::CollectiveKind kind) {
  const auto found = std::find_if(published.collectives.begin(), published.collectives.end(),
                                  [&](const PublishedCollective& collective) { return collective.kind == kind; });
  return found == published.collectives.end() ? PublishedCollective{} : *found;
}

std::vector<C3Result> run_all(Testbed& testbed, std::span<const Attempt> attempts, const Progress& progress, int jobs) {
  std::vector<C3Result> results(attempts.size());
  // The kernel strategies of the attempt's scenario; fewer where some were not asked for.
  const auto candidates_for = [&](const Attempt& best) {
    std::vector<std::size_t> candidates;
    for (const Strategy strategy : all_kernel_strategies()) {
      const auto found = std::ranges::find(attempts, Attempt{best.scenario, strategy});
      if (found != attempts.end()) candidates.push_back(static_cast<std::size_t>(found - attempts.begin()));
    }
    return candidates;
  };
  const auto is_made_of_others = [&](const Attempt& attempt) {
    return attempt.strategy == Strategy::c3_best && candidates_for(attempt).size() == all_kernel_strategies().size();
  };
  const auto run = [&](Testbed& asked, std::size_t index) {
    const Attempt& attempt = attempts[index];
    if (!is_made_of_others(attempt)) results[index] = run_strategy(asked, attempt.scenario, attempt.strategy);
  };
  TestbedPool(testbed).for_each(attempts.size(), run, progress, jobs);
  for (std::size_t index = 0; index < attempts.size(); ++index) {
    if (!is_made_of_others(attempts[index])) continue;
    std::vector<C3Result> candidates;
    for (const std::size_t place : candidates_for(attempts[index])) candidates.push_back(results[place]);
    results[index] = best_kernel_strategy(candidates);
  }
  return results;
}

std::vector<StudyResult> run_study(Testbed& testbed, const C3Study& study, const Progress& progress, int jobs) {
  std::vector<Attempt> attempts;
  std::vector<std::optional<LengthClass>> classes;
  for (const StudyPair& pair : study.pairs) {
    for (const models::CollectiveKind kind : study.collectives) {
      const Scenario scenario{
          .name = pair.name, .gemm = pair.gemm, .collective = kind, .bytes = pair.bytes, .splits = study.splits};
      for (const Strategy strategy : study.strategies) {
        if (!testbed.why_impossible(collective_of(scenario, strategy, testbed.platform())).empty()) continue;
        attempts.push_back({scenario, strategy});
        classes.push_back(pair.length_class);
      }
    }
  }
  std::vector<C3Result> runs = run_all(testbed, attempts, progress, jobs);
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

Question question_of(const C3Study& study, std::vector<Strategy> strategies) {
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
