#include "tune/step_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "sim/config/config_error.h"
#include "study/ask/answers.h"
#include "study/ask/command.h"
#include "study/ask/words.h"
#include "study/play/testbed.h"
#include "study/program/step_memory.h"
#include "study/report/table_of.h"
#include "study/step/step.h"

namespace c3sim::tune {

namespace {

constexpr double least_step_gain = 5e-4;  // share of the step's time that predictions of few layers do not resolve
constexpr double impossible_time = std::numeric_limits<double>::infinity();

// Simulates steps on one machine, each question once.
class StepTimetable {
 public:
  StepTimetable(const study::StepMachine& machine, int jobs) : machine_(machine), jobs_(jobs) {}

  std::vector<double> times(const std::vector<study::StepQuestion>& questions) {
    std::vector<const study::StepQuestion*> unknown;
    for (const study::StepQuestion& one : questions) {
      const auto [place, is_new] = seconds_.try_emplace(one, impossible_time);
      if (is_new) unknown.push_back(&place->first);
    }
    std::vector<double> found(unknown.size());
    study::for_each_index(
        unknown.size(), [&](std::size_t i) { found[i] = about(machine_, *unknown[i]); }, {}, jobs_);
    for (std::size_t i = 0; i < unknown.size(); ++i) seconds_[*unknown[i]] = found[i];
    std::vector<double> all;
    for (const study::StepQuestion& one : questions) all.push_back(seconds_.at(one));
    return all;
  }
  double time(const study::StepQuestion& question) { return times({question}).front(); }

 private:
  study::StepMachine machine_;
  int jobs_;
  std::map<study::StepQuestion, double> seconds_;
};

using StepWays = std::vector<StepWay>;

StepWay way_of(std::string collectives, const study::StepQuestion& question) {
  return {to_string(question), std::move(collectives), question};
}

// Returns one way for each backend, and one for engines with commands queued beforehand. The backend carries all
// collectives that `chosen` does not name.
StepWays ways_by_one(const study::StepQuestion& question) {
  StepWays ways;
  for (const auto& [name, backend] : sim::choices_of<models::Backend>()) {
    const bool by_engines = backend == models::Backend::sdma;
    StepWay way = way_of(std::string(name), question);
    way.question.collectives = backend;
    way.question.prelaunch = false;
    if (!by_engines) way.question.variant = models::SdmaVariant::pcpy;
    ways.push_back(way);
    if (!by_engines) continue;
    way.collectives += ", prelaunched";
    way.question.prelaunch = true;
    ways.push_back(way);
  }
  return ways;
}

study::StepQuestion with_none_chosen(study::StepQuestion question) {
  question.chosen.clear();
  return question;
}

std::vector<study::StepDecision> decisions_of(const study::StepQuestion& question,
                                              std::span<const study::StepCollective> collectives,
                                              const models::PlatformSpec& platform) {
  std::vector<study::StepDecision> decisions;
  // The first decision gives all collectives one carrier, from which later decisions may move single collectives.
  study::StepDecision& by_one = decisions.emplace_back();
  for (std::size_t way = 0; way < ways_by_one(question).size(); ++way) {
    by_one.emplace_back([way, collectives](study::StepQuestion& now) {
      now = with_all_chosen(ways_by_one(with_none_chosen(now))[way].question, collectives);
    });
  }
  // The number of pieces is halved or doubled. tune() has tried equal numbers for both halves of a layer.
  for (const auto pieces : {&study::StepQuestion::pieces, &study::StepQuestion::ffn_pieces}) {
    if (!question.pieces) break;
    decisions.push_back({[pieces](study::StepQuestion& now) { now.*pieces = std::max(1, *(now.*pieces) / 2); },
                         [pieces](study::StepQuestion& now) { now.*pieces = 2 * *(now.*pieces); }});
  }
  for (const study::StepCollective& collective : collectives) {
    study::StepDecision& by_each = decisions.emplace_back();
    for (const study::CollectiveCarrier& carrier : carriers_for(collective, platform)) {
      by_each.emplace_back([carrier, name = collective.name](study::StepQuestion& now) { now.chosen[name] = carrier; });
    }
  }
  decisions.push_back({[](study::StepQuestion& now) { now.prelaunch = !now.prelaunch; }});
  return decisions;
}

// Returns the question without choices that equal its defaults.
study::StepQuestion plainly(study::StepQuestion question, std::span<const study::StepCollective> collectives) {
  for (const study::StepCollective& collective : collectives) {
    const study::CollectiveCarrier usual{question.carrier_of(collective.parts.front().kind)};
    const auto chosen = question.chosen.find(collective.name);
    if (chosen != question.chosen.end() && chosen->second == usual) question.chosen.erase(chosen);
  }
  if (question.ffn_pieces == question.pieces) question.ffn_pieces.reset();
  return question;
}

std::vector<std::pair<std::string, StepWays>> rules_for(const study::StepQuestion& tuned) {
  const StepWays by_one = ways_by_one(with_none_chosen(tuned));
  const StepWays by_rccl{by_one[0]};
  const StepWays by_engines{by_one[1], by_one[2]};
  StepWay usual = way_of("tuned", tuned);
  for (auto& [name, carrier] : usual.question.chosen) carrier.channels.reset();
  std::vector<std::pair<std::string, StepWays>> rules{{"all by rccl", by_rccl},
                                                      {"all by engines", by_engines},
                                                      {"the best carrier for all", by_one},
                                                      {"tuned carriers, the library's channels", {usual}}};
  if (!tuned.pieces) return rules;
  StepWay whole = by_rccl.front();
  whole.question.pieces.reset();
  whole.question.ffn_pieces.reset();
  rules.push_back({"all-reduces behind whole products, by rccl", {whole}});
  if (tuned.ffn_pieces == tuned.pieces) return rules;
  StepWays alike;
  for (const int pieces : {*tuned.pieces, *tuned.ffn_pieces}) {
    alike.push_back(way_of(fmt::format("{} in each", pieces), tuned));
    alike.back().question.pieces = pieces;
    alike.back().question.ffn_pieces.reset();
  }
  rules.emplace_back("tuned carriers, as many pieces in each half", alike);
  return rules;
}

std::vector<StepRule> losses_of_rules(const study::StepQuestion& tuned, sim::Time time_of_tuned,
                                      StepTimetable& timetable) {
  const double best = timetable.time(tuned);
  std::vector<StepRule> rules;
  for (const auto& [name, ways] : rules_for(tuned)) {
    std::vector<study::StepQuestion> questions;
    for (const StepWay& way : ways) questions.push_back(way.question);
    const std::vector<double> times = timetable.times(questions);
    const auto fastest = std::ranges::min_element(times);
    if (*fastest == impossible_time) continue;
    // Estimates from few layers are so coarse that a rule may seem faster than the tuned step.
    const double regret = std::max(0.0, *fastest / best - 1.0);
    const sim::Seconds time = (1.0 + regret) * sim::to_seconds(time_of_tuned);
    rules.push_back(
        {{}, name, ways[static_cast<std::size_t>(fastest - times.begin())].collectives, sim::to_time(time), regret});
  }
  return rules;
}

// Returns the collective with its carrier, how often it runs in the step, and how long all of its parts take together.
TunedCollective tuned_collective(const study::StepCollective& collective, const study::StepQuestion& question,
                                 const study::StepResult& result, study::Testbed& testbed) {
  const models::PlatformSpec& platform = testbed.platform();
  const models::CollectiveSpec& spec = collective.parts.front();
  TunedCollective tuned{{}, collective, question.carrier_of(collective.name, spec.kind)};
  if (const auto kernels = models::kernel_part(spec, platform.gpu.sdma)) {
    tuned.channels = models::channels_of(*kernels, platform);
  }
  double all = 0.0;
  double count = 0.0;
  for (const auto& [name, share] : result.operations) {
    if (!communicates(share.kind) || study::collective_name(name) != collective.name) continue;
    all += share.time;
    count += share.count;
  }
  tuned.times = count / static_cast<double>(collective.parts.size());
  if (count > 0.0) tuned.time = sim::to_time(sim::Seconds(all / tuned.times));
  for (models::CollectiveSpec part : collective.parts) {
    part.graph = models::by_kernels(part.backend);
    tuned.alone += testbed.alone(part);
  }
  return tuned;
}

std::vector<int> divisors_of(int number) {
  std::vector<int> divisors;
  for (int divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) divisors.push_back(divisor);
  }
  return divisors;
}

// Pipeline stages can work at once where there are at least as many micro-batches as stages. For pipelines, counts of
// 1, `asked`, and 1, 2, 4 ... times the number of stages are tried. Without stages micro-batches only save memory, so
// the least number that fits is tried in addition to 1 and `asked`.
std::vector<int> micro_batches_of(const study::StepQuestion& split, int asked, const study::StepMachine& machine) {
  std::vector<int> counts{1};
  const auto add = [&](std::int64_t count) {
    if (split.batch % count == 0 && std::ranges::count(counts, count) == 0) counts.push_back(static_cast<int>(count));
  };
  add(asked);
  if (split.pp > 1) {
    for (std::int64_t count = split.pp; count <= split.batch; count *= 2) add(count);
  } else if (split.trains()) {
    study::StepQuestion fewer = split;
    const auto fits = [&] {
      return memory_of(fewer, machine.templates).total() <= machine.platform.gpu.memory.hbm_capacity;
    };
    while (!fits() && fewer.micro < split.batch) fewer.micro *= 2;
    if (fits()) add(fewer.micro);
  }
  return counts;
}

// Returns every split with the same numbers of GPUs and sequences.
std::vector<study::StepQuestion> splits_of(const study::StepQuestion& question, const study::StepMachine& machine,
                                           StepWays& untried) {
  const std::int64_t sequences = question.tokens_in_all(question.batch);
  const int gpus = question.gpus();
  std::vector<study::StepQuestion> splits;
  const auto add = [&](const study::Split& shared) {
    study::StepQuestion split = question;
    static_cast<study::Split&>(split) = shared;
    split.pieces.reset();
    split.ffn_pieces.reset();
    if (sequences % split.dp != 0) {
      StepWay& none = untried.emplace_back(way_of("all", split));
      none.why_not = fmt::format("{} replicas do not share {} sequences evenly", split.dp, sequences);
      return;
    }
    split.batch = sequences / split.dp;
    for (const int micro : micro_batches_of(split, question.micro, machine)) {
      split.micro = micro;
      split.shard = split.replicas() == 1 || split.has_turns() ? study::Shard::none : question.shard;
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

// Returns the ways to carry the split's collectives that differ for this step, with and without prelaunched commands.
StepWays carried(const study::StepQuestion& split) {
  const bool communicates =
      split.pp > 1 || split.tp * split.ep * split.cp > 1 || (split.replicas() > 1 && split.trains());
  if (!communicates) return {way_of("none", split)};
  StepWays ways = ways_by_one(split);
  StepWay& of_each_kind = ways.emplace_back(way_of("auto", split));
  of_each_kind.question.collectives = study::Carrier(std::nullopt);
  of_each_kind.question.prelaunch = false;
  if (split.stage_gpus() > 1) return ways;
  // Stages of one GPU only send, by kernels or by engines.
  std::erase_if(ways, [](const StepWay& way) { return way.collectives != "rccl" && way.collectives != "sdma"; });
  return ways;
}

// Adds ways that gather and reduce tokens, whole or in pieces, instead of doing all-reduces.
void add_pieces(StepWays& ways) {
  for (std::size_t whole = ways.size(); whole-- > 0;) {
    const study::StepQuestion& way = ways[whole].question;
    if (way.tp == 1 || way.cp > 1 || way.has_turns() || way.phase != study::Phase::prefill) continue;
    if (way.model.experts > 0 && way.half != study::Half::attention) continue;
    for (const int pieces : {1, 2, 4, 8}) {
      StepWay cut = ways[whole];
      cut.collectives += pieces == 1 ? ", in one piece" : fmt::format(", in {} pieces", pieces);
      cut.question.pieces = pieces;
      ways.push_back(std::move(cut));
    }
  }
}

// Adds a rule that takes the fastest choice that `admits` accepts.
void add_rule(StepTuning& tuning, std::string name, const std::function<bool(const StepWay&)>& admits) {
  const auto found = std::ranges::find_if(tuning.choices, admits);
  if (found == tuning.choices.end()) return;
  const sim::Time time = found->result->time;
  tuning.rules.push_back({{},
                          std::move(name),
                          fmt::format("{} by {}", found->split, found->collectives),
                          time,
                          sim::to_seconds(time) / sim::to_seconds(tuning.choices.front().result->time) - 1.0});
}

// Kernels of concurrent collectives slow down GEMMs by at most this factor, so other carriers save no more than that.
constexpr double most_lost_beside = 1.2;

double in_milliseconds(sim::Time time) { return sim::to_microseconds(time) / 1e3; }

// Returns the progress of a part of `all`, before which `before` are done.
study::Progress part_of(const study::Progress& progress, std::size_t before, std::size_t all) {
  if (!progress) return {};
  return [=](std::size_t done, std::size_t) { progress(before + done, all); };
}

void simulate(StepWays& ways, const study::StepMachine& machine, const study::Progress& progress, int jobs) {
  const auto simulate_one = [&](std::size_t place) {
    StepWay& way = ways[place];
    try {
      way.result = ask(machine, way.question);
    } catch (const sim::ConfigError& error) {
      way.why_not = error.faults().front().what;
    }
  };
  study::for_each_index(ways.size(), simulate_one, progress, jobs);
}

// Returns all ways to carry each split. The first of a split is simulated before the others are known to be worth it.
std::vector<StepWays> ways_of_splits(const study::StepMachine& machine, const study::StepQuestion& question,
                                     StepWays& untried) {
  std::vector<StepWays> splits;
  for (const study::StepQuestion& split : splits_of(question, machine, untried)) {
    if (const std::vector<sim::Fault> faults = faults_of(split, machine); !faults.empty()) {
      untried.emplace_back(way_of("all", split)).why_not = faults.front().what;
      continue;
    }
    add_pieces(splits.emplace_back(carried(split)));
  }
  return splits;
}

// Returns the other ways, without the first one that was simulated, of the question's own split and of splits that may
// be the fastest. No carrier makes a step faster than its time without exposed communication.
StepWays others_of(const std::vector<StepWays>& splits, const StepWays& first, const study::StepQuestion& own,
                   StepWays& untried) {
  const StepWay* best = nullptr;
  for (const StepWay& way : first) {
    if (way.result && (best == nullptr || way.result->time < best->result->time)) best = &way;
  }
  StepWays others;
  for (std::size_t place = 0; place < splits.size(); ++place) {
    const StepWays& ways = splits[place];
    const StepWay& way = first[place];
    const std::optional<study::StepResult>& seen = way.result;
    const bool is_own = static_cast<const study::Split&>(way.question) == static_cast<const study::Split&>(own);
    const bool may_be_best =
        best == nullptr || !seen ||
        sim::to_seconds(seen->time - seen->exposed) <= most_lost_beside * sim::to_seconds(best->result->time);
    if (is_own || may_be_best) {
      others.insert(others.end(), ways.begin() + 1, ways.end());
    } else if (ways.size() > 1) {
      untried.emplace_back(way_of("all but " + way.collectives, way.question)).why_not = fmt::format(
          "without what it exposes by {} it takes {:.3f} ms, and {} takes {:.3f} ms in all", way.collectives,
          in_milliseconds(seen->time - seen->exposed), best->split, in_milliseconds(best->result->time));
    }
  }
  return others;
}

}  // namespace

LayerTuning tune_layer(const study::StepMachine& machine, const study::StepResult& start, std::string split,
                       const study::Progress& progress, int jobs) {
  const models::PlatformSpec& platform = machine.platform;
  study::StepQuestion question = start.question;
  if (!question.collectives.backend) question.collectives = models::Backend::rccl;
  const std::vector<study::StepCollective> collectives = collectives_of(question, machine);
  question = with_all_chosen(question, collectives);
  if (question.pieces) question.ffn_pieces = question.pieces;
  const std::vector<study::StepDecision> decisions = decisions_of(question, collectives, platform);
  StepTimetable timetable(machine, jobs);
  std::size_t asked = 0;
  const std::size_t decided_of = 1 + decisions.size();
  const auto times = [&](const std::vector<study::StepQuestion>& questions) {
    std::vector<double> seconds = timetable.times(questions);
    if (progress) progress(++asked, decided_of);
    return seconds;
  };
  study::StepQuestion tuned = descend(question, decisions, times, least_step_gain);
  LayerTuning tuning{std::move(split), start.time, ask(machine, plainly(tuned, collectives)), {}, {}};
  // A choice that seemed faster on few layers may be slower where layers do not repeat at once.
  if (tuning.result.time > start.time) {
    tuned = question;
    tuning.result = ask(machine, plainly(tuned, collectives));
  }
  const std::vector<study::StepCollective> tuned_collectives = collectives_of(tuned, machine);
  std::vector<study::StepQuestion> shown{tuned};
  for (const study::StepCollective& one : tuned_collectives) {
    const models::Backend own = tuned.carrier_of(one.name, one.parts.front().kind).backend;
    for (const models::Backend backend : {models::Backend::rccl, models::Backend::sdma, own}) {
      shown.emplace_back(tuned).chosen[one.name] = {backend};
    }
  }
  const std::vector<double> seconds = timetable.times(shown);
  const auto loss = [&seconds](std::size_t place) {
    return seconds[place] == impossible_time ? std::nullopt : std::optional(seconds[place] / seconds.front() - 1.0);
  };
  study::Testbed testbed(study::launching(platform, models::LaunchMode::graph));
  for (std::size_t i = 0; i < tuned_collectives.size(); ++i) {
    TunedCollective& one =
        tuning.collectives.emplace_back(tuned_collective(tuned_collectives[i], tuned, tuning.result, testbed));
    one.split = tuning.split;
    one.by_rccl = loss(1 + 3 * i);
    one.by_engines = loss(2 + 3 * i);
    if (one.channels) one.usual_channels = loss(3 + 3 * i);
  }
  tuning.rules = losses_of_rules(tuned, tuning.result.time, timetable);
  for (StepRule& rule : tuning.rules) rule.split = tuning.split;
  return tuning;
}

StepTuning tune(const study::StepMachine& machine, const study::StepQuestion& question, const study::Progress& progress,
                int jobs) {
  StepTuning tuning;
  const std::vector<StepWays> splits = ways_of_splits(machine, question, tuning.untried);
  StepWays ways;
  std::size_t all = 0;  // ways of all splits, of which those that are ruled out count as done
  for (const StepWays& split : splits) {
    ways.push_back(split.front());
    all += split.size();
  }
  simulate(ways, machine, part_of(progress, 0, all), jobs);
  StepWays others = others_of(splits, ways, question, tuning.untried);
  simulate(others, machine, part_of(progress, all - others.size(), all), jobs);
  std::ranges::move(others, std::back_inserter(ways));
  for (StepWay& way : ways) (way.result ? tuning.choices : tuning.untried).push_back(std::move(way));
  if (tuning.choices.empty()) {
    std::vector<sim::Fault> faults = faults_of(question, machine);
    if (faults.empty()) faults.push_back({"step", "", tuning.untried.front().why_not});
    throw sim::ConfigError(std::move(faults));
  }
  std::ranges::stable_sort(tuning.choices, {}, [](const StepWay& way) { return way.result->time; });
  const std::string own = to_string(question);
  add_rule(tuning, fmt::format("{}, by rccl", own),
           [&](const StepWay& choice) { return choice.split == own && choice.collectives == "rccl"; });
  add_rule(tuning, fmt::format("{}, by the best carrier", own),
           [&](const StepWay& choice) { return choice.split == own; });
  for (const char* const name : {"rccl", "sdma", "one_shot"}) {
    add_rule(tuning, fmt::format("the best split, by {}", name),
             [&](const StepWay& choice) { return choice.collectives == name; });
  }
  const StepWay& best = tuning.choices.front();
  const auto fastest_of_own = std::ranges::find(tuning.choices, own, &StepWay::split);
  for (const StepWay* const start : {&best, fastest_of_own == tuning.choices.end() ? &best : &*fastest_of_own}) {
    const bool is_known = !tuning.layers.empty() && tuning.layers.front().split == start->split;
    const bool has_collectives = std::ranges::any_of(
        start->result->operations, [](const auto& one) { return collective_of(one.second.kind).has_value(); });
    if (is_known || !has_collectives) continue;
    const std::size_t before = all;
    const study::Progress of_layer = [&](std::size_t done, std::size_t of) {
      all = before + of;
      if (progress) progress(before + done, all);
    };
    tuning.layers.push_back(tune_layer(machine, *start->result, start->split, of_layer, jobs));
  }
  return tuning;
}

namespace {

std::optional<double> in_percent(std::optional<double> share) {
  return share ? std::optional(100.0 * *share) : std::nullopt;
}

template <class One>
std::vector<One> over_splits(const std::vector<LayerTuning>& layers, std::vector<One> LayerTuning::*member) {
  std::vector<One> all;
  for (const LayerTuning& layer : layers) all.insert(all.end(), (layer.*member).begin(), (layer.*member).end());
  return all;
}

// Returns tables "layer" and "layer_rules".
std::vector<study::NamedTable> layer_tables(const std::vector<LayerTuning>& layers) {
  using C = const TunedCollective&;
  const study::ResultTable collectives = study::table_of<TunedCollective>(
      over_splits(layers, &LayerTuning::collectives),
      {{{"split", "split", ""}, &TunedCollective::split},
       {{"collective", "collective", ""}, [](C c) { return c.collective.name; }},
       {{"behind", "behind", ""}, [](C c) { return c.collective.behind; }},
       {{"stream", "stream", ""}, [](C c) { return c.collective.stream; }},
       {{"times", "times", "", 0}, &TunedCollective::times},
       {{"size_MB", "size", "MB", 1}, [](C c) { return c.bytes() / 1e6; }},
       {{"carrier", "carrier", ""}, [](C c) { return c.carrier.backend; }},
       {{"channels", "channels", "", 0}, &TunedCollective::channels},
       {{"pieces", "pieces", "", 0}, [](C c) { return c.collective.parts.size(); }},
       {{"time_us", "time", "us", 1}, &TunedCollective::time},
       {{"alone_us", "alone", "us", 1}, &TunedCollective::alone},
       {{"rccl_percent", "by rccl", "%", 2}, [](C c) { return in_percent(c.by_rccl); }},
       {{"engines_percent", "by engines", "%", 2}, [](C c) { return in_percent(c.by_engines); }},
       {{"library_channels_percent", "library's channels", "%", 2}, [](C c) { return in_percent(c.usual_channels); }}});
  const study::ResultTable rules = study::table_of<StepRule>(
      over_splits(layers, &LayerTuning::rules),
      {{{"split", "split", ""}, &StepRule::split},
       {{"rule", "rule", ""}, &StepRule::name},
       {{"choice", "choice", ""}, &StepRule::choice},
       {{"time_us", "time", "us", 1}, &StepRule::time},
       {{"regret_percent", "regret", "%", 2}, [](const StepRule& rule) { return 100.0 * rule.regret; }}});
  return {
      {"layer", "Collective by collective, and what the step loses where one alone is carried otherwise", collectives},
      {"layer_rules", "What simple rules for all collectives lose", rules}};
}

// Returns the command that asks for the step.
std::string command_for(const study::StepQuestion& question, const study::Given& beside) {
  study::Given given = spelled(study::StepWords{question, {}});
  for (const auto& [name, texts] : beside) given[name] = texts;
  return "c3sim " +
         study::command_line("step", study::options_of<study::StepWords>() + study::platform_options(), given);
}

study::ResultTable tuned_table(const std::vector<LayerTuning>& layers, const study::Given& beside) {
  using L = const LayerTuning&;
  const auto asked = [](L layer) -> const study::StepQuestion& { return layer.result.question; };
  return study::table_of<LayerTuning>(
      layers, {{{"split", "split", ""}, &LayerTuning::split},
               {{"pieces", "pieces", ""}, [=](L l) { return asked(l).pieces; }},
               {{"ffn_pieces", "of feed-forward", ""},
                [=](L l) { return asked(l).ffn_pieces ? asked(l).ffn_pieces : asked(l).pieces; }},
               {{"prelaunch", "prelaunched", ""}, [=](L l) { return asked(l).prelaunch; }},
               {{"before_us", "before", "us", 1}, &LayerTuning::before},
               {{"time_us", "time", "us", 1}, [](L l) { return l.result.time; }},
               {{"tokens_per_s", "tokens", "1/s", 0}, [](L l) { return l.result.tokens_per_second(); }},
               {{"gain_percent", "gain", "%", 2},
                [](L l) { return 100.0 * (sim::to_seconds(l.before) / sim::to_seconds(l.result.time) - 1.0); }},
               {{"command", "command", "", 0, false}, [=](L l) { return command_for(asked(l), beside); }}});
}

}  // namespace

study::Results to_tables(const StepTuning& tuning, const study::StepQuestion& question, const study::Platform& platform,
                         const study::LayerTemplates& templates, const study::Given& beside) {
  using W = const StepWay&;
  const auto model = beside.find("model");
  const std::string name = model == beside.end() ? question.model.name : model->second.back();
  const sim::Seconds best = sim::to_seconds(tuning.choices.front().result->time);
  study::ResultTable choices = study::table_of<StepWay>(
      tuning.choices, {{{"split", "split", ""}, &StepWay::split},
                       {{"collectives", "collectives", ""}, &StepWay::collectives},
                       {{"time_us", "time", "us", 1}, [](W w) { return w.result->time; }},
                       {{"tokens_per_s", "tokens", "1/s", 0}, [](W w) { return w.result->tokens_per_second(); }},
                       {{"exposed_us", "exposed", "us", 1}, [](W w) { return w.result->exposed; }},
                       {{"energy_J", "energy of a GPU", "J", 3}, [](W w) { return w.result->energy().value(); }},
                       {{"memory_GB", "memory", "GB", 1}, [](W w) { return w.result->memory.total().value() / 1e9; }},
                       {{"regret_percent", "regret", "%", 1},
                        [=](W w) { return 100.0 * (sim::to_seconds(w.result->time) / best - 1.0); }},
                       {{"fidelity", "fidelity", ""}, [&](W w) {
                          return study::fidelity_of(w.result->question, {platform.spec, templates});
                        }}});
  std::vector<std::vector<study::AskedWord>> words;
  for (const StepWay& choice : tuning.choices) {
    words.push_back(asked_words(study::StepWords{choice.result->question, name}));
  }
  // For people, the title says what all ways have in common, and the names of the ways say where they differ.
  const study::ResultTable asked = with_question(choices, words, "regret_percent");
  choices = columns_of(asked, [&](study::Column column, std::size_t) {
    const std::size_t known = place_of(choices.columns(), column.key);
    column.in_text = known < choices.columns().size() && choices.columns()[known].in_text;
    return std::optional(column);
  });
  const std::string told = told_in_words(asked_words(study::StepWords{question, name}), {"model", "phase"});
  const std::string title = fmt::format("What to choose for a step of {}: {}{}{}", question.model.name,
                                        to_string(question.phase), told.empty() ? "" : ", asked with ", told);
  study::ResultTable rules = study::table_of<StepRule>(
      tuning.rules, {{{"rule", "rule", ""}, &StepRule::name},
                     {{"choice", "choice", ""}, &StepRule::choice},
                     {{"regret_percent", "regret", "%", 1}, [](const StepRule& rule) { return 100.0 * rule.regret; }}});
  study::Results results{platform.spec.name, {{"results", title, std::move(choices)}}, {}, {}, title};
  results.tables.push_back({"rules", "What simple rules lose", std::move(rules)});
  if (!tuning.layers.empty()) {
    results.tables.push_back(
        {"tuned", "With a carrier, channels and pieces for each collective", tuned_table(tuning.layers, beside)});
    std::ranges::move(layer_tables(tuning.layers), std::back_inserter(results.tables));
    for (const LayerTuning& layer : tuning.layers) {
      results.notes.push_back(fmt::format("{}, tuned: {}", layer.split, command_for(layer.result.question, beside)));
    }
  }
  if (!tuning.untried.empty()) {
    results.tables.push_back(
        {"untried", "What was not tried, and why",
         study::table_of<StepWay>(tuning.untried, {{{"split", "split", ""}, &StepWay::split},
                                                   {{"collectives", "collectives", ""}, &StepWay::collectives},
                                                   {{"why", "why", ""}, &StepWay::why_not}})});
  }
  const std::size_t ways = tuning.choices.size();
  results.notes.push_back(
      (ways == 1 ? "One way was" : fmt::format("{} ways were", ways)) +
      " simulated. Where the model is a pipeline, these numbers of micro-batches are tried: one; the number of stages, "
      "and two, four ... times that number if the micro-batches share the sequences evenly; and what was asked for.");
  return results;
}

}  // namespace c3sim::tune
