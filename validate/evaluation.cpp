#include "validate/evaluation.h"

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "calibrate/readers/profile_reading.h"
#include "calibrate/replay/replay_report.h"
#include "study/uncertainty/quantile.h"

namespace c3sim::validate {

namespace {

using Asked = std::pair<study::Trial, std::set<study::Figure>>;

// Trials of one machine that one thread runs on one testbed.
using Batch = std::vector<Asked>;

struct Outcome {
  study::Figures figures;
  std::string why_not;
};

using Questions = std::map<Machine, std::map<study::Trial, std::set<study::Figure>>>;

Questions questions_of(const std::vector<Case>& cases) {
  Questions questions;
  for (const Case& one : cases) questions[one.machine][one.trial].insert(one.figure);
  return questions;
}

// So many that testbeds can reuse runs, so few that threads share the work evenly.
constexpr std::size_t trials_per_batch = 16;

std::vector<Batch> batches_of(const std::map<study::Trial, std::set<study::Figure>>& trials) {
  std::vector<Batch> batches;
  for (const auto& [trial, figures] : trials) {
    if (batches.empty() || batches.back().size() == trials_per_batch) batches.emplace_back();
    batches.back().emplace_back(trial, figures);
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
    Outcome outcome;
    if (const auto* const replay = std::get_if<study::ReplayTrial>(&trial)) {
      auto known = played.find(replay->trace);
      if (known == played.end()) known = played.emplace(replay->trace, play_again(testbed, replay->trace)).first;
      outcomes.push_back(outcome_of(known->second, *replay));
      continue;
    }
    outcome.why_not = study::why_impossible(testbed, trial);
    if (outcome.why_not.empty()) outcome.figures = study::observe(testbed, trial, figures);
    outcomes.push_back(std::move(outcome));
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
  const Questions questions = questions_of(cases);
  std::map<Machine, models::PlatformSpec> specs;
  std::vector<std::pair<const Machine*, Batch>> work;
  for (const auto& [machine, trials] : questions) {
    specs.emplace(machine, platforms(machine).spec);
    for (Batch& batch : batches_of(trials)) work.emplace_back(&machine, std::move(batch));
  }
  std::vector<std::vector<Outcome>> outcomes(work.size());
  study::for_each_index(
      work.size(),
      [&](std::size_t index) {
        study::Testbed testbed(specs.at(*work[index].first));
        outcomes[index] = run(testbed, work[index].second);
      },
      progress, jobs);

  std::map<std::pair<Machine, study::Trial>, Outcome> known;
  for (std::size_t i = 0; i < work.size(); ++i) {
    for (std::size_t t = 0; t < outcomes[i].size(); ++t) {
      known.emplace(std::pair{*work[i].first, work[i].second[t].first}, std::move(outcomes[i][t]));
    }
  }
  for (Case& one : cases) {
    const Outcome& outcome = known.at({one.machine, one.trial});
    const auto figure = outcome.figures.find(one.figure);
    if (figure != outcome.figures.end()) one.predicted = figure->second;
    one.why_not_predicted = outcome.why_not;
    if (!one.predicted && one.why_not_predicted.empty()) one.why_not_predicted = "the model has no such figure here";
  }
}

namespace {

// Figures of the trials of a batch on one machine of an ensemble.
struct Draw {
  const Machine* machine;
  const study::Ensemble* ensemble;
  std::size_t member;
  const Batch* batch;
};

using Values = std::map<std::tuple<Machine, study::Trial, study::Figure>, std::vector<double>>;

Values values_of(const std::vector<Draw>& draws, int jobs, const study::Progress& progress) {
  std::vector<std::vector<Outcome>> outcomes(draws.size());
  study::for_each_index(
      draws.size(),
      [&](std::size_t index) {
        const Draw& draw = draws[index];
        outcomes[index] = run(*draw.ensemble->member(draw.member), *draw.batch);
      },
      progress, jobs);
  Values values;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    for (std::size_t t = 0; t < outcomes[i].size(); ++t) {
      const auto& [trial, asked] = (*draws[i].batch)[t];
      for (const auto& [figure, value] : outcomes[i][t].figures) {
        if (asked.contains(figure)) values[{*draws[i].machine, trial, figure}].push_back(value);
      }
    }
  }
  return values;
}

}  // namespace

std::vector<std::string> add_intervals(std::vector<Case>& cases, const Platforms& platforms,
                                       const study::Sampling& sampling, int jobs, const study::Progress& progress) {
  const Questions questions = questions_of(cases);
  std::vector<std::string> warnings;
  std::map<Machine, study::Ensemble> ensembles;
  std::map<Machine, std::vector<Batch>> batches;
  std::vector<Draw> draws;
  for (const auto& [machine, trials] : questions) {
    const study::Ensemble& ensemble =
        ensembles.emplace(machine, study::Ensemble(platforms(machine), sampling, jobs)).first->second;
    for (std::string& warning : ensemble.warnings()) {
      if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(std::move(warning));
    }
    const std::vector<Batch>& of_machine = batches.emplace(machine, batches_of(trials)).first->second;
    for (std::size_t member = 0; member < ensemble.size(); ++member) {
      for (const Batch& batch : of_machine) draws.push_back({&machine, &ensemble, member, &batch});
    }
  }
  const Values values = values_of(draws, jobs, progress);
  for (Case& one : cases) {
    const auto drawn = values.find({one.machine, one.trial, one.figure});
    if (one.predicted && drawn != values.end()) one.interval = study::interval_of(drawn->second);
  }
  return warnings;
}

}  // namespace c3sim::validate
