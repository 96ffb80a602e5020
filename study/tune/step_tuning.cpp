#include "study/tune/step_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "sim/config/config_error.h"
#include "study/ask/question_columns.h"
#include "study/ask/request.h"
#include "study/ask/words.h"
#include "study/run/testbed.h"
#include "study/step/step_faults.h"
#include "study/step/step_fidelity.h"
#include "study/step/step_graph.h"
#include "study/step/step_memory.h"

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

namespace {

std::vector<int> divisors_of(int number) {
  std::vector<int> divisors;
  for (int divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) divisors.push_back(divisor);
  }
  return divisors;
}

// A stage has work while others have it, too, where there are at least as many micro-batches as stages: so many are
// tried, and twice, four times ... as many, one, and those of the question. Without stages micro-batches save memory,
// and as few are tried as fit.
std::vector<int> micro_batches_of(const StepQuestion& split, int asked, const models::PlatformSpec& platform) {
  std::vector<int> counts{1};
  const auto add = [&](std::int64_t count) {
    if (split.batch % count == 0 && std::ranges::count(counts, count) == 0) counts.push_back(static_cast<int>(count));
  };
  add(asked);
  if (split.pp > 1) {
    for (std::int64_t count = split.pp; count <= split.batch; count *= 2) add(count);
  } else if (split.trains()) {
    StepQuestion fewer = split;
    const auto fits = [&] { return memory_of(fewer).total() <= platform.gpu.memory.hbm_capacity; };
    while (!fits() && fewer.micro < split.batch) fewer.micro *= 2;
    if (fits()) add(fewer.micro);
  }
  return counts;
}

// Every split of as many GPUs and sequences.
std::vector<StepQuestion> splits_of(const StepQuestion& question, const models::PlatformSpec& platform,
                                    std::vector<StepUntried>& untried) {
  const std::int64_t sequences = question.tokens_in_all(question.batch);
  const int gpus = question.gpus();
  std::vector<StepQuestion> splits;
  const auto add = [&](const Split& shared) {
    StepQuestion split = question;
    static_cast<Split&>(split) = shared;
    split.pieces.reset();
    split.ffn_pieces.reset();
    if (sequences % split.dp != 0) {
      untried.push_back(
          {to_string(shared), "all", fmt::format("{} replicas do not share {} sequences evenly", split.dp, sequences)});
      return;
    }
    split.batch = sequences / split.dp;
    for (const int micro : micro_batches_of(split, question.micro, platform)) {
      split.micro = micro;
      split.shard = split.replicas() == 1 || split.has_turns() ? Shard::none : question.shard;
      splits.push_back(split);
    }
  };
  for (const int pp : divisors_of(gpus)) {
    for (const int cp : divisors_of(gpus / pp)) {
      for (const int tp : divisors_of(gpus / pp / cp)) {
        const int dp = gpus / pp / cp / tp;
        for (const int ep : divisors_of(question.model.experts > 0 ? tp * dp : 1)) {
          add({.tp = tp, .ep = ep, .dp = dp, .cp = cp, .pp = pp});
        }
      }
    }
  }
  return splits;
}

// The carriers that differ for this step, with and without commands queued beforehand.
std::vector<std::pair<std::string, StepQuestion>> carried(const StepQuestion& split) {
  std::vector<std::pair<std::string, StepQuestion>> ways;
  const bool communicates =
      split.pp > 1 || split.tp * split.ep * split.cp > 1 || (split.replicas() > 1 && split.trains());
  if (!communicates) return {{"none", split}};
  const bool only_sends = split.stage_gpus() == 1;  // stages of one GPU: by kernels or engines, as they compute
  for (const auto& [name, carrier] : sim::choices_of<Carrier>()) {
    if (carrier.fuses) continue;    // what no machine of today has is nothing to choose
    if (carrier.by_size) continue;  // each collective has its own choice
    const bool sends = carrier == models::Backend::rccl || carrier == models::Backend::sdma;
    if (only_sends && !sends) continue;
    StepQuestion way = split;
    way.collectives = carrier;
    way.prelaunch = false;
    if (carrier.backend && carrier != models::Backend::sdma) way.variant = models::SdmaVariant::pcpy;
    ways.emplace_back(name, way);
    if (carrier != models::Backend::sdma || only_sends) continue;
    way.prelaunch = true;
    ways.emplace_back("sdma, prelaunched", way);
  }
  return ways;
}

// Tokens gathered and reduced whole or in pieces, instead of all-reduces.
constexpr std::array pieces_tried{1, 2, 4, 8};
void add_pieces(std::vector<std::pair<std::string, StepQuestion>>& ways) {
  for (std::size_t whole = ways.size(); whole-- > 0;) {
    const StepQuestion& way = ways[whole].second;
    if (way.tp == 1 || way.cp > 1 || way.has_turns() || way.phase != Phase::prefill) continue;
    if (way.model.experts > 0 && way.half != Half::attention) continue;
    for (const int pieces : pieces_tried) {
      ways.push_back(ways[whole]);
      ways.back().first += fmt::format(", in {}", pieces == 1 ? "one piece" : fmt::format("{} pieces", pieces));
      ways.back().second.pieces = pieces;
    }
  }
}

bool has_collectives(const StepResult& result) {
  return std::ranges::any_of(result.operations,
                             [](const auto& one) { return collective_of(one.second.kind).has_value(); });
}

// The fastest of the choices that a rule admits.
void add_rule(StepTuning& tuning, std::string name, const std::function<bool(const StepChoice&)>& admits) {
  const auto found = std::ranges::find_if(tuning.choices, admits);
  if (found == tuning.choices.end()) return;
  const sim::Seconds best = sim::to_seconds(tuning.choices.front().result.time);
  tuning.rules.push_back({std::move(name), static_cast<std::size_t>(found - tuning.choices.begin()),
                          sim::to_seconds(found->result.time) / best - 1.0});
}

// Products lose about so much at most beside kernels that carry collectives: what is hidden of these by others is no
// longer than that.
constexpr double most_lost_beside = 1.2;

double in_milliseconds(sim::Time time) { return sim::to_microseconds(time) / 1e3; }

// One way to do the step, and what came of it.
struct StepWay {
  std::string collectives;
  StepQuestion question;
  std::optional<StepResult> result{};
  std::string why_not{};
};

void simulate(std::vector<StepWay>& ways, const models::PlatformSpec& platform,
              std::span<const ElementwiseOperator> operators, const Progress& progress, int jobs) {
  const auto simulate_one = [&](std::size_t place) {
    StepWay& way = ways[place];
    try {
      way.result = ask(platform, way.question, operators);
    } catch (const sim::ConfigError& error) {
      way.why_not = error.faults().front().what;
    }
  };
  for_each_index(ways.size(), simulate_one, progress, jobs);
}

// A split by all that may carry it: the first of these ways alone, and what else is worth a try if that took so long.
struct TunedSplit {
  std::vector<StepWay> ways;

  const StepQuestion& question() const { return ways.front().question; }
  // No carrier takes less than the step does without what it exposes.
  bool may_beat(sim::Time best) const {
    const std::optional<StepResult>& first = ways.front().result;
    return !first || sim::to_seconds(first->time - first->exposed) <= most_lost_beside * sim::to_seconds(best);
  }
};

class TunedSplits {
 public:
  TunedSplits(const models::PlatformSpec& platform, const StepQuestion& question, StepTuning& tuning)
      : tuning_(tuning) {
    for (const StepQuestion& split : splits_of(question, platform, tuning.untried)) {
      const std::vector<sim::Fault> faults = faults_of(split, platform);
      if (!faults.empty()) {
        tuning.untried.push_back({to_string(split), "all", faults.front().what});
        continue;
      }
      std::vector<std::pair<std::string, StepQuestion>> carriers = carried(split);
      add_pieces(carriers);
      TunedSplit& tuned = splits_.emplace_back();
      for (auto& [name, way] : carriers) tuned.ways.push_back({std::move(name), std::move(way)});
    }
  }

  // Of every split the first way.
  std::vector<StepWay> first() const {
    std::vector<StepWay> ways;
    for (const TunedSplit& split : splits_) ways.push_back(split.ways.front());
    return ways;
  }
  // Of the question's own split and of those that may be the fastest the others, once the first are known.
  std::vector<StepWay> others(const std::vector<StepWay>& first, const StepQuestion& own) {
    const StepWay* best = nullptr;
    for (const StepWay& way : first) {
      if (way.result && (best == nullptr || way.result->time < best->result->time)) best = &way;
    }
    std::vector<StepWay> ways;
    for (std::size_t place = 0; place < splits_.size(); ++place) {
      TunedSplit& split = splits_[place];
      split.ways.front() = first[place];
      const bool is_own = static_cast<const Split&>(split.question()) == static_cast<const Split&>(own);
      if (best == nullptr || is_own || split.may_beat(best->result->time)) {
        ways.insert(ways.end(), split.ways.begin() + 1, split.ways.end());
      } else if (split.ways.size() > 1) {
        const StepResult& seen = *first[place].result;
        tuning_.untried.push_back(
            {to_string(split.question()), "all but " + first[place].collectives,
             fmt::format("without what it exposes by {} it takes {:.3f} ms, and {} takes {:.3f} ms in all",
                         first[place].collectives, in_milliseconds(seen.time - seen.exposed), to_string(best->question),
                         in_milliseconds(best->result->time))});
      }
    }
    return ways;
  }

 private:
  StepTuning& tuning_;
  std::vector<TunedSplit> splits_;
};

}  // namespace

StepTuning tune(const models::PlatformSpec& platform, const StepQuestion& question,
                std::span<const ElementwiseOperator> operators, const Progress& progress, int jobs) {
  StepTuning tuning;
  TunedSplits splits(platform, question, tuning);
  std::vector<StepWay> first = splits.first();
  simulate(first, platform, operators, progress, jobs);
  std::vector<StepWay> others = splits.others(first, question);
  simulate(others, platform, operators, progress, jobs);
  for (std::vector<StepWay>* const ways : {&first, &others}) {
    for (StepWay& way : *ways) {
      if (way.result) {
        tuning.choices.push_back({to_string(way.question), way.collectives, std::move(*way.result)});
      } else {
        tuning.untried.push_back({to_string(way.question), way.collectives, way.why_not});
      }
    }
  }
  if (tuning.choices.empty()) {
    std::vector<sim::Fault> faults = faults_of(question, platform);
    if (faults.empty()) faults.push_back({"step", "", tuning.untried.front().why});
    throw sim::ConfigError(std::move(faults));
  }
  std::ranges::stable_sort(tuning.choices, {}, [](const StepChoice& choice) { return choice.result.time; });
  const std::string own = to_string(question);
  add_rule(tuning, fmt::format("{}, by rccl", own),
           [&](const StepChoice& choice) { return choice.split == own && choice.collectives == "rccl"; });
  add_rule(tuning, fmt::format("{}, by the best carrier", own),
           [&](const StepChoice& choice) { return choice.split == own; });
  for (const char* const name : {"rccl", "sdma", "one_shot"}) {
    add_rule(tuning, fmt::format("the best split, by {}", name),
             [&](const StepChoice& choice) { return choice.collectives == name; });
  }
  const StepChoice& best = tuning.choices.front();
  const auto fastest_of_own = std::ranges::find(tuning.choices, own, &StepChoice::split);
  for (const StepChoice* const start : {&best, fastest_of_own == tuning.choices.end() ? &best : &*fastest_of_own}) {
    const bool is_known = !tuning.layers.empty() && tuning.layers.front().split == start->split;
    if (is_known || !has_collectives(start->result)) continue;
    tuning.layers.push_back(tune_layer(platform, start->result, start->split, operators, progress, jobs));
  }
  return tuning;
}

namespace {

// The command that asks for the step.
std::string command_for(const StepQuestion& question, const Given& beside) {
  Given given = spelled(StepWords{question, {}});
  for (const auto& [name, texts] : beside) given[name] = texts;
  return "c3sim " + command_line("step", options_of<StepWords>() + platform_options(), given);
}

ResultTable tuned_table(const std::vector<LayerTuning>& layers, const Given& beside) {
  constexpr double percent = 100.0;
  ResultTable table({{"split", "split", ""},
                     {"pieces", "pieces", ""},
                     {"ffn_pieces", "of feed-forward", ""},
                     {"prelaunch", "prelaunched", ""},
                     {"before_us", "before", "us", 1},
                     {"time_us", "time", "us", 1},
                     {"tokens_per_s", "tokens", "1/s", 0},
                     {"gain_percent", "gain", "%", 2},
                     {"command", "command", "", 0, false}});
  const auto count = [](std::optional<int> pieces) { return pieces ? Cell(std::int64_t{*pieces}) : Cell(); };
  for (const LayerTuning& layer : layers) {
    const StepQuestion& tuned = layer.result.question;
    table.add_row({layer.split, count(tuned.pieces), count(tuned.ffn_pieces ? tuned.ffn_pieces : tuned.pieces),
                   tuned.prelaunch, sim::to_microseconds(layer.before), sim::to_microseconds(layer.result.time),
                   layer.result.tokens_per_second(),
                   percent * (sim::to_seconds(layer.before) / sim::to_seconds(layer.result.time) - 1.0),
                   command_for(tuned, beside)});
  }
  return table;
}

}  // namespace

Results to_tables(const StepTuning& tuning, const models::PlatformSpec& platform, const Given& beside) {
  constexpr double percent = 100.0;
  ResultTable choices({{"split", "split", ""},
                       {"collectives", "collectives", ""},
                       {"time_us", "time", "us", 1},
                       {"tokens_per_s", "tokens", "1/s", 0},
                       {"exposed_us", "exposed", "us", 1},
                       {"energy_J", "energy of a GPU", "J", 3},
                       {"memory_GB", "memory", "GB", 1},
                       {"regret_percent", "regret", "%", 1}});
  const sim::Seconds best = sim::to_seconds(tuning.choices.front().result.time);
  for (const auto& [split, collectives, result] : tuning.choices) {
    choices.add_row({split, collectives, sim::to_microseconds(result.time), result.tokens_per_second(),
                     sim::to_microseconds(result.exposed), result.energy().value(), result.memory.total().value() / 1e9,
                     percent * (sim::to_seconds(result.time) / best - 1.0)});
  }
  ResultTable rules({{"rule", "rule", ""}, {"choice", "choice", ""}, {"regret_percent", "regret", "%", 1}});
  for (const StepRule& rule : tuning.rules) {
    const StepChoice& choice = tuning.choices[rule.choice];
    rules.add_row({rule.name, fmt::format("{} by {}", choice.split, choice.collectives), percent * rule.regret});
  }
  Results results{platform.name, {{"results", "", std::move(choices)}}, {}, {}};
  results.tables.push_back({"rules", "What simple rules lose", std::move(rules)});
  if (!tuning.layers.empty()) {
    results.tables.push_back(
        {"tuned", "With a carrier, channels and pieces for each collective", tuned_table(tuning.layers, beside)});
    std::ranges::move(to_tables(tuning.layers), std::back_inserter(results.tables));
    for (const LayerTuning& layer : tuning.layers) {
      results.notes.push_back(fmt::format("{}, tuned: {}", layer.split, command_for(layer.result.question, beside)));
    }
  }
  if (!tuning.untried.empty()) {
    ResultTable untried({{"split", "split", ""}, {"collectives", "collectives", ""}, {"why", "why", ""}});
    for (const auto& [split, collectives, why] : tuning.untried) untried.add_row({split, collectives, why});
    results.tables.push_back({"untried", "What was not tried, and why", std::move(untried)});
  }
  results.notes.push_back(fmt::format(
      "{} ways were simulated. Of micro-batches of a pipeline one is tried, as many as stages, two, four ... "
      "times as many where they share the sequences evenly, and those that were asked for.",
      tuning.choices.size()));
  return results;
}

Results to_tables(const StepTuning& tuning, const StepQuestion& question, const Platform& platform,
                  std::span<const ElementwiseOperator> operators, const Given& beside) {
  Results results = to_tables(tuning, platform.spec, beside);
  const auto model = beside.find("model");
  const std::string name = model == beside.end() ? question.model.name : model->second.back();
  std::vector<std::vector<AskedWord>> words;
  std::vector<Cell> fidelities;
  for (const StepChoice& choice : tuning.choices) {
    words.push_back(asked_words(StepWords{choice.result.question, name}));
    fidelities.emplace_back(std::string(to_string(fidelity_of(choice.result.question, platform, operators))));
  }
  ResultTable& table = results.tables.front().table;
  table.add_column({"fidelity", "fidelity", ""}, std::move(fidelities));
  // People read what all ways have in common in the title, and what differs in the names of the ways.
  const ResultTable asked = with_question(table, words, "regret_percent");
  std::vector<Column> columns = asked.columns();
  for (Column& column : columns) {
    column.in_text = std::ranges::any_of(table.columns(),
                                         [&](const Column& known) { return known.key == column.key && known.in_text; });
  }
  ResultTable shown(std::move(columns));
  for (const std::vector<Cell>& row : asked.rows()) shown.add_row(row);
  table = std::move(shown);
  const std::string told = told_in_words(asked_words(StepWords{question, name}), {"model", "phase"});
  results.title = fmt::format("What to choose for a step of {}: {}{}{}", question.model.name, to_string(question.phase),
                              told.empty() ? "" : ", asked with ", told);
  results.tables.front().title = results.title;
  return results;
}

}  // namespace c3sim::study
