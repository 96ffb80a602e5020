#include "study/c3_study.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

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

std::vector<StudyResult> run_study(Testbed& testbed, const C3Study& study, const Progress& progress) {
  const std::size_t total = study.pairs.size() * study.collectives.size() * study.strategies.size();
  std::vector<StudyResult> results;
  results.reserve(total);
  for (const StudyPair& pair : study.pairs) {
    for (const models::CollectiveKind kind : study.collectives) {
      const Scenario scenario{.name = pair.name, .gemm = pair.gemm, .collective = kind, .bytes = pair.bytes};
      for (const Strategy strategy : study.strategies) {
        results.push_back({run_strategy(testbed, scenario, strategy), pair.length_class});
        if (progress) progress(results.size(), total);
      }
    }
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
