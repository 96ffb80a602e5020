#include "study/tune/step_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "sim/config/config_error.h"
#include "study/ask/question_columns.h"
#include "study/ask/request.h"
#include "study/ask/words.h"
#include "study/step/step_faults.h"
#include "study/step/step_fidelity.h"

namespace c3sim::study {

namespace {

std::vector<int> divisors_of(int number) {
  std::vector<int> divisors;
  for (int divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) divisors.push_back(divisor);
  }
  return divisors;
}

// As many sequences in all: replicas share them out.
std::vector<StepQuestion> splits_of(StepQuestion question) {
  question.pieces.reset();
  const std::int64_t sequences = question.batch * question.dp;
  const int gpus = question.gpus();
  std::vector<StepQuestion> splits;
  for (const int tp : divisors_of(gpus)) {
    for (const int ep : divisors_of(question.model.experts > 0 ? gpus / tp : 1)) {
      for (const int cp : divisors_of(question.phase == Phase::decode ? 1 : gpus / tp / ep)) {
        StepQuestion split = question;
        split.tp = tp;
        split.ep = ep;
        split.cp = cp;
        split.pp = 1;
        split.micro = 1;
        split.dp = gpus / (tp * ep * cp);
        if (sequences % split.dp != 0) continue;
        split.batch = sequences / split.dp;
        if (split.replicas() == 1) split.shard = Shard::none;
        splits.push_back(split);
      }
    }
  }
  // And as stages, whose GPUs share out products, with the question's micro-batches.
  for (const int pp : divisors_of(gpus)) {
    StepQuestion stages = question;
    stages.tp = gpus / pp;
    stages.ep = stages.cp = stages.dp = 1;
    stages.pp = pp;
    stages.batch = sequences;
    stages.shard = Shard::none;
    if (pp > 1) splits.push_back(stages);
  }
  return splits;
}

std::string split_of(const StepQuestion& question) {
  std::string text;
  for (const auto& [name, gpus] : {std::pair("tp", question.tp),
                                   {"ep", question.ep},
                                   {"dp", question.dp},
                                   {"cp", question.cp},
                                   {"pp", question.pp}}) {
    if (gpus > 1) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, gpus);
  }
  return text.empty() ? "one GPU" : text;
}

// The carriers that differ for this step, with and without commands queued beforehand.
std::vector<std::pair<std::string, StepQuestion>> carried(const StepQuestion& split) {
  std::vector<std::pair<std::string, StepQuestion>> ways;
  const bool communicates = split.pp > 1 || split.tp * split.ep * split.cp > 1 || (split.dp > 1 && split.trains()) ||
                            split.shard == Shard::full;
  if (!communicates) return {{"none", split}};
  const bool only_sends = split.stage_gpus() == 1;  // stages of one GPU: by kernels or engines, as they compute
  for (const auto& [name, carrier] : sim::choices_of<Carrier>()) {
    if (carrier.fuses) continue;  // what no machine of today has is nothing to choose
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
    if (way.tp == 1 || way.pp > 1 || way.phase != Phase::prefill) continue;
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

}  // namespace

StepTuning tune(const models::PlatformSpec& platform, const StepQuestion& question,
                std::span<const ElementwiseOperator> operators, const Progress& progress, int jobs) {
  std::vector<std::pair<std::string, StepQuestion>> all;
  for (const StepQuestion& split : splits_of(question)) {
    std::vector<std::pair<std::string, StepQuestion>> ways = carried(split);
    add_pieces(ways);
    std::ranges::move(ways, std::back_inserter(all));
  }
  std::vector<std::optional<StepResult>> results(all.size());
  const auto try_way = [&](std::size_t way) {
    if (!faults_of(all[way].second, platform).empty()) return;
    try {
      results[way] = ask(platform, all[way].second, operators);
    } catch (const sim::ConfigError&) {  // such as commands that a ring has no room for
    }
  };
  for_each_index(all.size(), try_way, progress, jobs);
  StepTuning tuning;
  for (std::size_t way = 0; way < all.size(); ++way) {
    const auto& [name, asked] = all[way];
    if (results[way]) tuning.choices.push_back({split_of(asked), name, std::move(*results[way])});
  }
  tuning.impossible = all.size() - tuning.choices.size();
  if (tuning.choices.empty()) throw sim::ConfigError(faults_of(question, platform));
  std::ranges::stable_sort(tuning.choices, {}, [](const StepChoice& choice) { return choice.result.time; });
  const std::string own = split_of(question);
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
  results.notes.push_back(
      fmt::format("{} ways were simulated; {} more the model, the machine or its memory do not "
                  "allow.",
                  tuning.choices.size(), tuning.impossible));
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
