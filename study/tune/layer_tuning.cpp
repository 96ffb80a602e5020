#include "study/tune/layer_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "study/run/testbed.h"
#include "study/step/step_faults.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

namespace {

constexpr double least_step_gain = 5e-4;  // of a step: what predictions of few layers do not tell apart
constexpr double impossible_time = std::numeric_limits<double>::infinity();

// Steps on one platform, each asked once.
class StepTimetable {
 public:
  StepTimetable(const models::PlatformSpec& platform, std::span<const ElementwiseOperator> operators, int jobs)
      : platform_(platform), operators_(operators), jobs_(jobs) {}

  std::vector<double> times(const std::vector<StepQuestion>& questions) {
    std::vector<const StepQuestion*> unknown;
    for (const StepQuestion& one : questions) {
      const auto [place, is_new] = seconds_.try_emplace(one, impossible_time);
      if (is_new) unknown.push_back(&place->first);
    }
    std::vector<double> found(unknown.size());
    for_each_index(
        unknown.size(), [&](std::size_t i) { found[i] = about(platform_, *unknown[i], operators_); }, {}, jobs_);
    for (std::size_t i = 0; i < unknown.size(); ++i) seconds_[*unknown[i]] = found[i];
    std::vector<double> all;
    for (const StepQuestion& one : questions) all.push_back(seconds_.at(one));
    return all;
  }
  double time(const StepQuestion& question) { return times({question}).front(); }

 private:
  const models::PlatformSpec& platform_;
  std::span<const ElementwiseOperator> operators_;
  int jobs_;
  std::map<StepQuestion, double> seconds_;
};

std::vector<StepCollective> collectives_in(const StepQuestion& question, const models::PlatformSpec& platform,
                                           std::span<const ElementwiseOperator> operators) {
  return collectives_of(step_blocks(question, operators, 1, platform));
}

StepDecision carrier_decision(const StepCollective& collective, const models::PlatformSpec& platform) {
  const std::vector<CollectiveCarrier> carriers = carriers_for(collective, platform);
  return [carriers, name = collective.name](const StepQuestion& now) {
    std::vector<StepQuestion> others;
    for (const CollectiveCarrier& carrier : carriers) {
      if (carrier == now.chosen.at(name)) continue;
      others.push_back(now);
      others.back().chosen[name] = carrier;
    }
    return others;
  };
}

// Half and twice as many, as all halves alike have been tried.
StepDecision pieces_decision(std::optional<int> StepQuestion::*pieces) {
  return [pieces](const StepQuestion& now) {
    std::vector<StepQuestion> others;
    for (const int count : {*(now.*pieces) / 2, *(now.*pieces) * 2}) {
      if (count == 0) continue;
      others.push_back(now);
      others.back().*pieces = count;
    }
    return others;
  };
}

// All by one carrier, where it can, with the library's channels.
StepQuestion all_by(StepQuestion question, models::Backend backend, bool prelaunch) {
  question.chosen.clear();
  question.collectives = backend;
  question.prelaunch = prelaunch;
  if (backend != models::Backend::sdma) question.variant = models::SdmaVariant::pcpy;
  return question;
}

// What a rule admits, of which it takes the fastest.
struct LayerRuleWay {
  std::string choice;
  StepQuestion question;
};
using LayerRuleWays = std::vector<LayerRuleWay>;

// RCCL, engines with commands queued as the step goes and beforehand, and the others.
LayerRuleWays ways_by_one(const StepQuestion& question) {
  using enum models::Backend;
  LayerRuleWays ways{{"rccl", all_by(question, rccl, false)},
                     {"sdma", all_by(question, sdma, false)},
                     {"sdma, prelaunched", all_by(question, sdma, true)}};
  for (const models::Backend backend : {one_shot, two_shot}) {
    ways.push_back({std::string(models::to_string(backend)), all_by(question, backend, false)});
  }
  return ways;
}

// Each carrier for all, from which single collectives may then go another way.
std::vector<StepQuestion> with_other_carrier(const StepQuestion& now, std::span<const StepCollective> collectives) {
  std::vector<StepQuestion> others;
  for (const auto& [name, way] : ways_by_one(now)) others.push_back(with_all_chosen(way, collectives));
  return others;
}

std::vector<StepDecision> decisions_of(const StepQuestion& question, std::span<const StepCollective> collectives,
                                       const models::PlatformSpec& platform) {
  std::vector<StepDecision> decisions;
  decisions.emplace_back([collectives](const StepQuestion& now) { return with_other_carrier(now, collectives); });
  if (question.pieces) {
    decisions.push_back(pieces_decision(&StepQuestion::pieces));
    decisions.push_back(pieces_decision(&StepQuestion::ffn_pieces));
  }
  for (const StepCollective& collective : collectives) decisions.push_back(carrier_decision(collective, platform));
  decisions.emplace_back([](const StepQuestion& now) {
    StepQuestion other = now;
    other.prelaunch = !now.prelaunch;
    return std::vector{other};
  });
  return decisions;
}

// Without what would be so anyway.
StepQuestion plainly(StepQuestion question, std::span<const StepCollective> collectives) {
  for (const StepCollective& collective : collectives) {
    const CollectiveCarrier usual{question.carrier_of(collective.parts.front().kind)};
    const auto chosen = question.chosen.find(collective.name);
    if (chosen != question.chosen.end() && chosen->second == usual) question.chosen.erase(chosen);
  }
  if (question.ffn_pieces == question.pieces) question.ffn_pieces.reset();
  return question;
}

LayerRuleWays ways_by(models::Backend backend, const LayerRuleWays& ways) {
  LayerRuleWays by_it;
  std::ranges::copy_if(ways, std::back_inserter(by_it),
                       [&](const LayerRuleWay& way) { return way.question.collectives == backend; });
  return by_it;
}

std::vector<std::pair<std::string, LayerRuleWays>> rules_for(const StepQuestion& tuned) {
  const LayerRuleWays by_one = ways_by_one(tuned);
  const LayerRuleWays by_rccl = ways_by(models::Backend::rccl, by_one);
  const LayerRuleWays by_engines = ways_by(models::Backend::sdma, by_one);
  LayerRuleWay usual{"tuned", tuned};
  for (auto& [name, carrier] : usual.question.chosen) carrier.channels.reset();
  std::vector<std::pair<std::string, LayerRuleWays>> rules{{"all by rccl", by_rccl},
                                                           {"all by engines", by_engines},
                                                           {"the best carrier for all", by_one},
                                                           {"tuned carriers, the library's channels", {usual}}};
  if (!tuned.pieces) return rules;
  LayerRuleWay whole{"rccl", by_rccl.front().question};
  whole.question.pieces.reset();
  whole.question.ffn_pieces.reset();
  rules.push_back({"all-reduces behind whole products, by rccl", {whole}});
  if (tuned.ffn_pieces == tuned.pieces) return rules;
  LayerRuleWays alike;
  for (const int pieces : {*tuned.pieces, *tuned.ffn_pieces}) {
    alike.push_back({fmt::format("{} in each", pieces), tuned});
    alike.back().question.pieces = pieces;
    alike.back().question.ffn_pieces.reset();
  }
  rules.emplace_back("tuned carriers, as many pieces in each half", alike);
  return rules;
}

std::vector<LayerRule> losses_of_rules(const StepQuestion& tuned, sim::Time time_of_tuned, StepTimetable& timetable) {
  const double best = timetable.time(tuned);
  std::vector<LayerRule> rules;
  for (const auto& [name, ways] : rules_for(tuned)) {
    std::vector<StepQuestion> questions;
    for (const LayerRuleWay& way : ways) questions.push_back(way.question);
    const std::vector<double> times = timetable.times(questions);
    const auto fastest = std::ranges::min_element(times);
    if (*fastest == impossible_time) continue;
    // Few layers tell steps apart no better than that some rule may seem the faster.
    const double regret = std::max(0.0, *fastest / best - 1.0);
    const sim::Seconds time = (1.0 + regret) * sim::to_seconds(time_of_tuned);
    rules.push_back({name, ways[static_cast<std::size_t>(fastest - times.begin())].choice, sim::to_time(time), regret});
  }
  return rules;
}

// Of all parts of a name: how often one of its layers has it, and how long all of it takes then.
void add_times(TunedCollective& tuned, const StepResult& result, Testbed& testbed) {
  const double parts = static_cast<double>(tuned.collective.parts.size());
  double all = 0.0;
  double count = 0.0;
  for (const auto& [name, share] : result.operations) {
    if (!communicates(share.kind) || collective_name(name) != tuned.collective.name) continue;
    all += share.time;
    count += share.count;
  }
  tuned.times = count / parts;
  if (count > 0.0) tuned.time = sim::to_time(sim::Seconds(all / tuned.times));
  for (models::CollectiveSpec part : tuned.collective.parts) {
    part.graph = models::by_kernels(part.backend);
    tuned.alone += testbed.alone(part);
  }
}

// What else carries it in the table: RCCL and engines, and its own carrier with the library's channels.
std::array<StepQuestion, 3> carried_otherwise(const StepQuestion& question, const StepCollective& collective) {
  const models::Backend own = question.carrier_of(collective.name, collective.parts.front().kind).backend;
  std::array<StepQuestion, 3> others{question, question, question};
  others[0].chosen[collective.name] = {models::Backend::rccl};
  others[1].chosen[collective.name] = {models::Backend::sdma};
  others[2].chosen[collective.name] = {own};
  return others;
}

TunedCollective tuned_collective(const StepCollective& collective, const StepQuestion& question,
                                 const models::PlatformSpec& platform, StepTimetable& timetable) {
  const models::CollectiveSpec& spec = collective.parts.front();
  TunedCollective tuned{collective, question.carrier_of(collective.name, spec.kind)};
  if (const auto kernels = models::kernel_part(spec, platform.gpu.sdma)) {
    tuned.channels = models::channels_of(*kernels, platform);
  }
  const double best = timetable.time(question);
  const auto loses = [&](const StepQuestion& other) -> std::optional<double> {
    const double time = timetable.time(other);
    return time == impossible_time ? std::nullopt : std::optional(time / best - 1.0);
  };
  const auto [by_rccl, by_engines, with_usual_channels] = carried_otherwise(question, collective);
  tuned.by_rccl = loses(by_rccl);
  tuned.by_engines = loses(by_engines);
  if (tuned.channels) tuned.usual_channels = loses(with_usual_channels);
  return tuned;
}

}  // namespace

LayerTuning tune_layer(const models::PlatformSpec& platform, const StepResult& start, std::string split,
                       std::span<const ElementwiseOperator> operators, const Progress& progress, int jobs) {
  StepQuestion question = start.question;
  if (!question.collectives.backend) question.collectives = models::Backend::rccl;
  const std::vector<StepCollective> collectives = collectives_in(question, platform, operators);
  question = with_all_chosen(question, collectives);
  if (question.pieces) question.ffn_pieces = question.pieces;
  const std::vector<StepDecision> decisions = decisions_of(question, collectives, platform);
  StepTimetable timetable(platform, operators, jobs);
  std::size_t asked = 0;
  const std::size_t decided_of = 1 + decisions.size();
  const auto times = [&](const std::vector<StepQuestion>& questions) {
    std::vector<double> seconds = timetable.times(questions);
    if (progress) progress(++asked, decided_of);
    return seconds;
  };
  StepQuestion tuned = descend(question, decisions, times, least_step_gain);
  LayerTuning tuning{std::move(split), start.time, ask(platform, plainly(tuned, collectives), operators), {}, {}};
  // Where layers do not repeat at once, what seemed faster may not be.
  if (tuning.result.time > start.time) {
    tuned = question;
    tuning.result = ask(platform, plainly(tuned, collectives), operators);
  }
  const std::vector<StepCollective> tuned_collectives = collectives_in(tuned, platform, operators);
  std::vector<StepQuestion> shown;
  for (const StepCollective& collective : tuned_collectives) {
    std::ranges::move(carried_otherwise(tuned, collective), std::back_inserter(shown));
  }
  static_cast<void>(timetable.times(shown));  // at once, by many threads
  Testbed testbed(launching(platform, models::LaunchMode::graph));
  for (const StepCollective& collective : tuned_collectives) {
    TunedCollective one = tuned_collective(collective, tuned, platform, timetable);
    add_times(one, tuning.result, testbed);
    tuning.collectives.push_back(std::move(one));
  }
  tuning.rules = losses_of_rules(tuned, tuning.result.time, timetable);
  return tuning;
}

std::vector<NamedTable> to_tables(const std::vector<LayerTuning>& layers) {
  constexpr double percent = 100.0;
  ResultTable collectives({{"split", "split", ""},
                           {"collective", "collective", ""},
                           {"behind", "behind", ""},
                           {"stream", "stream", ""},
                           {"times", "times", "", 0},
                           {"size_MB", "size", "MB", 1},
                           {"carrier", "carrier", ""},
                           {"channels", "channels", "", 0},
                           {"pieces", "pieces", "", 0},
                           {"time_us", "time", "us", 1},
                           {"alone_us", "alone", "us", 1},
                           {"rccl_percent", "by rccl", "%", 2},
                           {"engines_percent", "by engines", "%", 2},
                           {"library_channels_percent", "library's channels", "%", 2}});
  ResultTable rules({{"split", "split", ""},
                     {"rule", "rule", ""},
                     {"choice", "choice", ""},
                     {"time_us", "time", "us", 1},
                     {"regret_percent", "regret", "%", 2}});
  const auto loss = [](std::optional<double> share) { return share ? Cell(percent * *share) : Cell(); };
  for (const LayerTuning& layer : layers) {
    for (const TunedCollective& one : layer.collectives) {
      double bytes = 0.0;
      for (const models::CollectiveSpec& part : one.collective.parts) bytes += part.bytes.value();
      collectives.add_row({layer.split, one.collective.name, one.collective.behind, one.collective.stream, one.times,
                           bytes / 1e6, std::string(models::to_string(one.carrier.backend)),
                           one.channels ? Cell(std::int64_t{*one.channels}) : Cell(),
                           static_cast<std::int64_t>(one.collective.parts.size()), sim::to_microseconds(one.time),
                           sim::to_microseconds(one.alone), loss(one.by_rccl), loss(one.by_engines),
                           loss(one.usual_channels)});
    }
    for (const LayerRule& rule : layer.rules) {
      rules.add_row({layer.split, rule.name, rule.choice, sim::to_microseconds(rule.time), percent * rule.regret});
    }
  }
  std::vector<NamedTable> tables;
  tables.push_back({"layer", "Collective by collective, and what the step loses where one alone is carried otherwise",
                    std::move(collectives)});
  tables.push_back({"layer_rules", "What simple rules for all collectives lose", std::move(rules)});
  return tables;
}

}  // namespace c3sim::study
