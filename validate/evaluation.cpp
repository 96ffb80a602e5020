#include "validate/evaluation.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "calibrate/readers/profile_reading.h"
#include "calibrate/replay/replay_report.h"
#include "study/report/statistics.h"

namespace c3sim::validate {

namespace {

// Trials of one machine, with what is to be seen of them, that one thread runs on one testbed.
using Batch = std::vector<std::pair<study::Trial, std::set<study::Figure>>>;
using Batches = std::map<Machine, std::vector<Batch>>;

struct Outcome {
  study::Figures figures;
  std::string why_not;
};

// What either operation takes in turn is told by how much longer it takes at once.
constexpr std::array figures_in_turn{study::Figure::gemm_stretch_in_turn, study::Figure::collective_stretch_in_turn};

bool is_told_in_turn(const Case& one) { return one.alone.gemm_in_turn || one.alone.collective_in_turn; }

// Each trial once; where both operations were measured in turn, too, and `with_turns` are asked for, so it is
// predicted.
Batches batches_of(const std::vector<Case>& cases, bool with_turns) {
  constexpr std::size_t most = 16;  // so many that testbeds can reuse runs, so few that threads share the work evenly
  std::map<Machine, std::map<study::Trial, std::set<study::Figure>>> questions;
  for (const Case& one : cases) {
    std::set<study::Figure>& asked = questions[one.machine][one.trial];
    asked.insert(one.figure);
    if (with_turns && is_told_in_turn(one)) asked.insert(figures_in_turn.begin(), figures_in_turn.end());
  }
  Batches batches;
  for (const auto& [machine, trials] : questions) {
    std::vector<Batch>& own = batches[machine];
    for (const auto& asked : trials) {
      if (own.empty() || own.back().size() == most) own.emplace_back();
      own.back().push_back(asked);
    }
  }
  return batches;
}

calibrate::Met play_again(study::Testbed& testbed, const std::string& trace) {
  const calibrate::Profile profile = calibrate::read_profiles(std::vector<std::filesystem::path>{trace}).front();
  calibrate::Contention contention(testbed, {});
  return calibrate::play_unchanged(profile, contention);
}

Outcome outcome_of(const calibrate::Met& met, const study::ReplayTrial& trial) {
  sim::Time time = trial.simulated ? met.simulated : met.replayed;
  if (trial.collective) {
    const auto known = met.collectives.find(*trial.collective);
    if (known == met.collectives.end()) return {{}, "the trace has none beside computation"};
    time = known->second;
  }
  return {{{study::Figure::time, sim::to_seconds(time).value()}}, {}};
}

std::vector<Outcome> run(study::Testbed& testbed, const Batch& batch) {
  std::vector<Outcome> outcomes;
  std::map<std::string, calibrate::Met> played;  // by trace
  for (const auto& [trial, figures] : batch) {
    if (const auto* const replay = std::get_if<study::ReplayTrial>(&trial)) {
      auto known = played.find(replay->trace);
      if (known == played.end()) known = played.emplace(replay->trace, play_again(testbed, replay->trace)).first;
      outcomes.push_back(outcome_of(known->second, *replay));
      continue;
    }
    Outcome& outcome = outcomes.emplace_back();
    outcome.why_not = study::why_impossible(testbed, trial);
    if (outcome.why_not.empty()) outcome.figures = study::observe(testbed, trial, figures);
  }
  return outcomes;
}

// What the two operations of a concurrent run take alone, which stretches are held against.
calibrate::Alone alone_of(const study::Figures& figures) {
  const auto alone = [&](study::Figure time, study::Figure stretch) -> std::optional<double> {
    const auto together = figures.find(time);
    const auto over_alone = figures.find(stretch);
    if (together == figures.end() || over_alone == figures.end()) return {};
    return together->second / over_alone->second;
  };
  using study::Figure;
  return {.gemm = alone(Figure::gemm_time, Figure::gemm_stretch),
          .collective = alone(Figure::collective_time, Figure::collective_stretch),
          .gemm_in_turn = alone(Figure::gemm_time, Figure::gemm_stretch_in_turn),
          .collective_in_turn = alone(Figure::collective_time, Figure::collective_stretch_in_turn)};
}

// A batch, and how to get the testbed for it.
struct Run {
  const Machine& machine;
  const Batch& batch;
  std::function<std::unique_ptr<study::Testbed>()> testbed;
};

// Of every trial an outcome for each of its runs, in their order.
using Outcomes = std::map<std::pair<Machine, study::Trial>, std::vector<Outcome>>;

Outcomes outcomes_of(const std::vector<Run>& runs, int jobs, const study::Progress& progress) {
  std::vector<std::vector<Outcome>> found(runs.size());
  study::for_each_index(
      runs.size(), [&](std::size_t i) { found[i] = run(*runs[i].testbed(), runs[i].batch); }, progress, jobs);
  Outcomes outcomes;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t t = 0; t < found[i].size(); ++t) {
      outcomes[{runs[i].machine, runs[i].batch[t].first}].push_back(std::move(found[i][t]));
    }
  }
  return outcomes;
}

// Of so many repetitions the 10th and 90th percentile tell the spread, of fewer the least and the greatest.
constexpr std::size_t fewest_for_percentiles = 10;

void share_spread(std::vector<Case>& cases) {
  std::map<std::string, std::vector<Case*>> repeated;
  for (Case& one : cases) repeated[one.group + ": " + subject_of(one)].push_back(&one);
  for (const auto& [subject, alike] : repeated) {
    if (alike.size() < 2) continue;
    std::vector<double> measured;
    for (const Case* const one : alike) measured.push_back(one->measured);
    const double tail = alike.size() < fewest_for_percentiles ? 0.0 : 0.1;
    const double low = study::quantile(measured, tail);
    const double high = study::quantile(measured, 1.0 - tail);
    for (Case* const one : alike) {
      if (one->low && one->high) continue;
      one->low = low;
      one->high = high;
    }
  }
}

}  // namespace

std::vector<Case> cases_of(std::span<const calibrate::Measurement> measurements, const std::string& suite,
                           const std::string& platform, double band) {
  std::vector<Case> cases;
  std::map<std::string, int> uses;  // of an id: cells of a wide row share a line
  for (const calibrate::Measurement& measurement : measurements) {
    for (const calibrate::Seen& seen : measurement.seen) {
      Case one;
      one.suite = suite;
      one.group = measurement.group;
      one.where = measurement.where();
      one.role = measurement.role;
      one.machine = {platform, measurement.assignments};
      one.trial = measurement.trial;
      one.figure = seen.figure;
      one.measured = seen.value;
      one.low = seen.low;
      one.high = seen.high;
      if (one.low && one.high && *one.low > *one.high) std::swap(one.low, one.high);
      one.band = seen.band.value_or(band);
      if (measurement.holds_waits) one.why_not_scored = "its time holds waits for other ranks";
      one.alone = measurement.alone;
      one.decision = measurement.decision;
      one.alternative = measurement.alternative;
      one.id = (suite.empty() ? "" : suite + "/") + one.where + "/" + std::string(one.form().key);
      if (const int use = ++uses[one.id]; use > 1) one.id += "." + std::to_string(use);
      cases.push_back(std::move(one));
    }
  }
  share_spread(cases);
  return cases;
}

void predict(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress) {
  const Batches batches = batches_of(cases, true);
  std::map<Machine, models::PlatformSpec> specs;
  std::vector<Run> runs;
  for (const auto& [machine, own] : batches) {
    const models::PlatformSpec& spec = specs.emplace(machine, platforms(machine).spec).first->second;
    const auto testbed = [&spec] { return std::make_unique<study::Testbed>(spec); };
    for (const Batch& batch : own) runs.push_back({machine, batch, testbed});
  }
  const Outcomes outcomes = outcomes_of(runs, jobs, progress);
  for (Case& one : cases) {
    const Outcome& outcome = outcomes.at({one.machine, one.trial}).front();
    const auto figure = outcome.figures.find(one.figure);
    if (figure != outcome.figures.end()) one.predicted = figure->second;
    one.alone_predicted = alone_of(outcome.figures);
    one.why_not_predicted = outcome.why_not;
    if (!one.predicted && one.why_not_predicted.empty()) one.why_not_predicted = "the model has no such figure here";
  }
}

std::vector<std::string> add_intervals(std::vector<Case>& cases, const Platforms& platforms,
                                       const study::Sampling& sampling, int jobs, const study::Progress& progress) {
  const Batches batches = batches_of(cases, false);
  std::vector<std::string> warnings;
  std::map<Machine, study::Ensemble> ensembles;
  std::vector<Run> runs;
  for (const auto& [machine, own] : batches) {
    const study::Ensemble& ensemble =
        ensembles.emplace(machine, study::Ensemble(platforms(machine), sampling, jobs)).first->second;
    for (std::string& warning : ensemble.warnings()) {
      if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(std::move(warning));
    }
    for (std::size_t member = 0; member < ensemble.size(); ++member) {
      for (const Batch& batch : own) {
        runs.push_back({machine, batch, [&ensemble, member] { return ensemble.member(member); }});
      }
    }
  }
  Outcomes outcomes = outcomes_of(runs, jobs, progress);
  for (Case& one : cases) {
    if (!one.predicted) continue;
    std::vector<double> drawn;
    for (const Outcome& outcome : outcomes[{one.machine, one.trial}]) {
      const auto figure = outcome.figures.find(one.figure);
      if (figure != outcome.figures.end()) drawn.push_back(figure->second);
    }
    one.interval = study::interval_of(std::move(drawn));
  }
  return warnings;
}

}  // namespace c3sim::validate
