#include "validate/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <set>
#include <utility>

#include "calibrate/readers/profile_reading.h"
#include "calibrate/replay/replay_report.h"
#include "study/ask/arguments.h"
#include "study/c3/strategy.h"
#include "study/report/statistics.h"
#include "study/serve/serve.h"

namespace c3sim::validate {

std::string suite_title(const std::string& suite) { return suite.empty() ? "your files" : suite; }

double Case::error_of(double value) const {
  return form().error == study::ErrorKind::points ? value - measured : value / measured - 1.0;
}

std::optional<double> Case::noise() const {
  if (!low || !high) return {};
  const double half = std::abs(*high - *low) / 2.0;
  return form().error == study::ErrorKind::points ? half : half / measured;
}

bool Case::is_within_band() const { return is_scored() && is_within(error(), band); }

bool is_within(double error, double band) {
  constexpr double rounding = 1e-12;  // 105 / 100 - 1 is more than 0.05
  return std::abs(error) <= band + rounding;
}

std::string subject_of(const Case& one) {
  std::string text = one.machine.platform;
  for (const std::string& assignment : one.machine.assignments) text += " " + assignment;
  return fmt::format("{}: {}: {}", text, study::to_string(one.trial), one.form().key);
}

std::string command_of(const Case& one) {
  // Commands tell a kernel's own time on a machine without launches, where the clock may be another.
  const bool is_told = one.figure != study::Figure::kernel_time || std::holds_alternative<study::StepTrial>(one.trial);
  const std::string command = is_told ? study::command_of(one.trial) : std::string();
  const std::string& of = one.suite.empty() ? one.path : one.suite;
  std::string text = "c3sim " + (command.empty() ? fmt::format("validate {} --case {}", study::shell_word(of),
                                                               study::shell_word(one.id))
                                                 : command);
  if (one.machine.platform != "mi300x") text += " --platform " + study::shell_word(one.machine.platform);
  if (!command.empty()) {
    for (const std::string& assignment : one.machine.assignments) text += " --set " + study::shell_word(assignment);
  }
  for (const std::string& change : one.machine.changes) text += " --set " + study::shell_word(change);
  return text;
}

namespace {

// A Batch holds trials of one machine and the figures to observe; one thread runs them on one testbed.
using Batch = std::vector<std::pair<study::Trial, std::set<study::Figure>>>;

struct Outcome {
  study::Figures figures;
  std::string why_not;
};

// These slowdowns against runs in turn give the predicted time of each operation in turn.
constexpr std::array figures_in_turn{study::Figure::gemm_stretch_in_turn, study::Figure::collective_stretch_in_turn};

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
  testbed.kept<study::ServeMachine>().grid = study::BatchGrid::coarse;
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

// Returns the times alone of the two operations of a concurrent run, from which its slowdowns were computed.
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

// Outcomes holds, for every trial, an outcome for each of its runs, in order.
using Outcomes = std::map<std::pair<Machine, study::Trial>, std::vector<Outcome>>;
// The testbeds on each of which the trials of a machine run, made when they are needed.
using Testbeds = std::vector<std::function<std::unique_ptr<study::Testbed>()>>;

// Runs each trial once on each testbed of its machine. If `with_turns` is set, trials whose operations were measured in
// turn get figures_in_turn, too.
Outcomes outcomes_of(const std::vector<Case>& cases, bool with_turns,
                     const std::function<Testbeds(const Machine&)>& testbeds_of, int jobs,
                     const study::Progress& progress) {
  constexpr std::size_t most = 16;  // enough for testbeds to reuse runs, few enough to share the work evenly
  std::map<Machine, std::map<study::Trial, std::set<study::Figure>>> questions;
  for (const Case& one : cases) {
    std::set<study::Figure>& asked = questions[one.machine][one.trial];
    asked.insert(one.figure);
    const bool in_turn = one.alone.gemm_in_turn || one.alone.collective_in_turn;
    if (with_turns && in_turn) asked.insert(figures_in_turn.begin(), figures_in_turn.end());
  }
  struct Run {
    const Machine& machine;
    Testbeds::value_type testbed;
    Batch batch;
    std::vector<Outcome> outcomes{};
  };
  std::vector<Run> runs;
  for (const auto& [machine, trials] : questions) {
    for (const auto& testbed : testbeds_of(machine)) {
      std::size_t trial = 0;
      for (const auto& asked : trials) {
        if (trial++ % most == 0) runs.push_back({machine, testbed, {}});
        runs.back().batch.push_back(asked);
      }
    }
  }
  const auto run_one = [&runs](std::size_t i) { runs[i].outcomes = run(*runs[i].testbed(), runs[i].batch); };
  study::for_each_index(runs.size(), run_one, progress, jobs);
  Outcomes outcomes;
  for (Run& one : runs) {
    for (std::size_t t = 0; t < one.batch.size(); ++t) {
      outcomes[{one.machine, one.batch[t].first}].push_back(std::move(one.outcomes[t]));
    }
  }
  return outcomes;
}

// The spread of at least this many repetitions is their 10th to 90th percentile; that of fewer is their range.
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
  std::map<std::string, int> uses;  // counts uses of an id, since the cells of a wide row share a line
  for (const calibrate::Measurement& measurement : measurements) {
    for (const calibrate::Seen& seen : measurement.seen) {
      Case one{.suite = suite,
               .group = measurement.group,
               .where = measurement.where(),
               .role = measurement.role,
               .machine = {platform, measurement.assignments},
               .trial = measurement.trial,
               .figure = seen.figure,
               .measured = seen.value,
               .low = seen.low,
               .high = seen.high,
               .why_not_scored = measurement.holds_waits ? "its time holds waits for other ranks" : "",
               .band = seen.band.value_or(band),
               .others = seen.others,
               .alone = measurement.alone,
               .decision = measurement.decision,
               .alternative = measurement.alternative};
      if (one.low && one.high && *one.low > *one.high) std::swap(one.low, one.high);
      one.id = (suite.empty() ? "" : suite + "/") + one.where + "/" + std::string(one.form().key);
      if (const int use = ++uses[one.id]; use > 1) one.id += "." + std::to_string(use);
      cases.push_back(std::move(one));
    }
  }
  share_spread(cases);
  return cases;
}

void predict(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress) {
  std::deque<models::PlatformSpec> specs;
  const auto testbed_of = [&](const Machine& machine) -> Testbeds {
    return {[&spec = specs.emplace_back(platforms(machine).spec)] { return std::make_unique<study::Testbed>(spec); }};
  };
  const Outcomes outcomes = outcomes_of(cases, true, testbed_of, jobs, progress);
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
  std::vector<std::string> warnings;
  std::deque<study::Ensemble> ensembles;
  const auto members_of = [&](const Machine& machine) {
    const study::Ensemble& ensemble = ensembles.emplace_back(platforms(machine), sampling, jobs);
    for (std::string& warning : ensemble.warnings()) {
      if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(std::move(warning));
    }
    Testbeds members;
    for (std::size_t member = 0; member < ensemble.size(); ++member) {
      members.emplace_back([&ensemble, member] { return ensemble.member(member); });
    }
    return members;
  };
  Outcomes outcomes = outcomes_of(cases, false, members_of, jobs, progress);
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

namespace {

using study::Figure;

// Times holds the times of both operations together, of the GEMM and of the collective under a rule.
struct Times {
  double both, gemm, collective;
};

// Each operation takes as long as alone; if they run one after the other, the second waits for the end of the first.
Times times_under(bool one_after_the_other, const study::Trial& trial, double gemm, double collective) {
  const auto* const c3 = std::get_if<study::C3Trial>(&trial);
  const bool gemm_first = c3 != nullptr && !study::launches_collective_first(c3->strategy);
  const double delay = c3 == nullptr ? 0.0 : sim::to_seconds(c3->scenario.delay).value();  // of the second launch
  const double first = gemm_first ? gemm : collective;
  const double second = gemm_first ? collective : gemm;
  const double begin = one_after_the_other ? std::max(first, delay) : delay;
  const double of_second = begin - delay + second;
  return {std::max(first, begin + second), gemm_first ? gemm : of_second, gemm_first ? of_second : collective};
}

void add_overlap_rules(Case& one) {
  const double gemm = one.alone.gemm.value_or(0.0);
  const double collective = one.alone.collective.value_or(0.0);
  const auto under = [&](bool one_after_the_other) -> std::optional<double> {
    const Times times = times_under(one_after_the_other, one.trial, gemm, collective);
    switch (one.figure) {
      case Figure::time:
        return times.both;
      case Figure::gemm_time:
        return times.gemm;
      case Figure::collective_time:
        return times.collective;
      case Figure::over_longer:
        return times.both / std::max(gemm, collective);
      case Figure::gemm_stretch:
        return times.gemm / gemm;
      default:
        return {};
    }
  };
  const bool knows_both = one.alone.gemm && one.alone.collective;
  const bool is_of_gemm = one.figure == Figure::gemm_time || one.figure == Figure::gemm_stretch;
  if (knows_both || (one.alone.gemm && is_of_gemm)) one.baselines.perfect = under(false);
  if (knows_both) one.baselines.serial = under(true);
}

// Returns ceil(tiles / (CUs - lost)) / ceil(tiles / CUs), the slowdown of a GEMM by lost CUs.
double waves_over_alone(double tiles, double cus, double lost) {
  return std::ceil(tiles / std::max(cus - lost, 1.0)) / std::ceil(tiles / cus);
}

// Returns the CUs that a concurrent collective by kernels takes from a GEMM, or that are reserved.
double cus_lost(const study::C3Trial& trial, const models::PlatformSpec& platform) {
  using enum study::Strategy;
  const study::Strategy strategy = trial.strategy;
  if (strategy == conccl || strategy == serial) return 0.0;
  if (strategy == conccl_rp) return trial.scenario.reserved.value_or(0);
  if (study::splits_cus(strategy) && trial.scenario.reserved) return *trial.scenario.reserved;
  return platform.rccl.channels(trial.scenario.collective, trial.scenario.channels);
}

void add_waves(Case& one, const models::PlatformSpec& platform) {
  if (!one.alone.tiles || !one.alone.gemm) return;
  const double cus = platform.gpu.cus();
  if (const auto* const trial = std::get_if<study::GemmTrial>(&one.trial)) {
    if (!trial->cus || one.figure != Figure::time) return;
    one.baselines.waves = *one.alone.gemm * waves_over_alone(*one.alone.tiles, cus, cus - *trial->cus);
  }
  if (const auto* const trial = std::get_if<study::C3Trial>(&one.trial)) {
    const double stretch = waves_over_alone(*one.alone.tiles, cus, cus_lost(*trial, platform));
    if (one.figure == Figure::gemm_time) one.baselines.waves = *one.alone.gemm * stretch;
    if (one.figure == Figure::gemm_stretch) one.baselines.waves = stretch;
  }
}

// Returns what the constant factor of isolated work multiplies: the time at peak rates, or 1 for other figures.
std::optional<double> at_peak(const Case& one, const models::PlatformSpec& platform) {
  if (one.form().error == study::ErrorKind::points) return {};
  if (one.figure != Figure::time) return 1.0;
  const double link = platform.fabric.peak_rate_out().value();
  if (const auto* const gemm = std::get_if<study::GemmTrial>(&one.trial)) {
    const double share = gemm->cus ? static_cast<double>(*gemm->cus) / platform.gpu.cus() : 1.0;
    return study::roofline(gemm->shape, platform).value() / share;
  }
  if (const auto* const collective = std::get_if<study::CollectiveTrial>(&one.trial)) {
    return study::roofline(study::on_gpus_of(platform, collective->spec), platform).value();
  }
  if (const auto* const copy = std::get_if<study::CopyTrial>(&one.trial)) return copy->spec.bytes.value() / link;
  if (const auto* const fan = std::get_if<study::FanOutTrial>(&one.trial))
    return fan->peers * fan->bytes.value() / link;
  return 1.0;
}

// Adds the rules of a step, sums of rooflines (in turn, or with communication hidden). Returns the sum in turn.
std::optional<double> add_step_rules(Case& one, const study::StepTrial& trial, const models::PlatformSpec& platform) {
  if (one.figure != Figure::time) return {};
  const study::StepRoofline sums = study::roofline(trial, platform);
  one.baselines.perfect = std::max(sums.compute, sums.communication).value();
  one.baselines.serial = (sums.compute + sums.communication).value();
  return one.baselines.serial;
}

std::string operation_of(const Case& one) {
  if (!study::is_concurrent(one.trial)) return std::string(study::kind_of(one.trial));
  if (one.figure == Figure::gemm_time || one.figure == Figure::gemm_stretch) return "GEMM";
  if (one.figure == Figure::collective_time) return "collective";
  return one.figure == Figure::time || one.figure == Figure::over_longer ? "both" : std::string(one.form().heading);
}

std::string strategy_of(const Case& one) {
  if (const auto* const c3 = std::get_if<study::C3Trial>(&one.trial)) return std::string(to_string(c3->strategy));
  if (const auto* const dependent = std::get_if<study::DependentTrial>(&one.trial)) {
    return std::string(to_string(dependent->schedule));
  }
  return {};
}

// Replaces `constant`, which holds the value that the factor multiplies, by its product with the fitted factor.
void fit_constants(std::vector<Case>& cases) {
  std::map<GroupKey, std::vector<Case*>> groups;
  for (Case& one : cases) {
    if (one.baselines.constant) groups[alike_to_rules(one)].push_back(&one);
  }
  const auto log_of = [](const Case& one) { return std::log(one.measured / *one.baselines.constant); };
  for (const auto& [key, alike] : groups) {
    double all = 0.0;
    std::vector<double> to_be_fitted;
    for (const Case* const one : alike) {
      all += log_of(*one);
      if (one->role == calibrate::Role::calibrate) to_be_fitted.push_back(log_of(*one));
    }
    const auto others = static_cast<double>(alike.size() - 1);
    for (Case* const one : alike) {
      std::optional<double>& constant = one->baselines.constant;
      if (!to_be_fitted.empty()) {
        *constant *= std::exp(study::mean(to_be_fitted));
      } else if (alike.size() > 1) {
        *constant *= std::exp((all - log_of(*one)) / others);
      } else {
        constant.reset();
      }
    }
  }
}

}  // namespace

GroupKey alike_to_rules(const Case& one) {
  return {.suite = suite_title(one.suite),
          .name = operation_of(one),
          .strategy = strategy_of(one),
          .figure = std::string(one.form().heading)};
}

void add_baselines(std::vector<Case>& cases, const Platforms& platforms) {
  std::map<Machine, models::PlatformSpec> specs;
  for (Case& one : cases) {
    auto found = specs.find(one.machine);
    if (found == specs.end()) found = specs.emplace(one.machine, platforms(one.machine).spec).first;
    if (const auto* const step = std::get_if<study::StepTrial>(&one.trial)) {
      one.baselines.constant = add_step_rules(one, *step, found->second);
    } else if (study::is_concurrent(one.trial)) {
      add_overlap_rules(one);
      one.baselines.constant = one.baselines.perfect;
    } else {
      one.baselines.constant = at_peak(one, found->second);
    }
    add_waves(one, found->second);
    if (!one.why_not_scored.empty()) one.baselines.constant.reset();
  }
  fit_constants(cases);
}

}  // namespace c3sim::validate
