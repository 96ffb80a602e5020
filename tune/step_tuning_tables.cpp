#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "study/ask/answers.h"
#include "study/ask/command.h"
#include "study/ask/words.h"
#include "study/report/table_of.h"
#include "study/step/step.h"
#include "tune/step_tuning.h"

namespace c3sim::tune {

namespace {

std::optional<double> in_percent(std::optional<double> share) {
  return share ? std::optional(100.0 * *share) : std::nullopt;
}

// A row about one choice within a split, for tables over several splits.
template <class One>
struct OfSplit {
  std::string split;
  const One& one;
};
template <class One>
std::vector<OfSplit<One>> rows_of(const std::vector<LayerTuning>& layers, std::vector<One> LayerTuning::*member) {
  std::vector<OfSplit<One>> rows;
  for (const LayerTuning& layer : layers) {
    for (const One& one : layer.*member) rows.push_back({layer.split, one});
  }
  return rows;
}

// Returns tables "layer" and "layer_rules".
std::vector<study::NamedTable> layer_tables(const std::vector<LayerTuning>& layers) {
  using C = const OfSplit<TunedCollective>&;
  const study::ResultTable collectives = study::table_of<OfSplit<TunedCollective>>(
      rows_of(layers, &LayerTuning::collectives),
      {{{"split", "split", ""}, [](C c) { return c.split; }},
       {{"collective", "collective", ""}, [](C c) { return c.one.collective.name; }},
       {{"behind", "behind", ""}, [](C c) { return c.one.collective.behind; }},
       {{"stream", "stream", ""}, [](C c) { return c.one.collective.stream; }},
       {{"times", "times", "", 0}, [](C c) { return c.one.times; }},
       {{"size_MB", "size", "MB", 1}, [](C c) { return c.one.bytes() / 1e6; }},
       {{"carrier", "carrier", ""}, [](C c) { return c.one.carrier.backend; }},
       {{"channels", "channels", "", 0}, [](C c) { return c.one.channels; }},
       {{"pieces", "pieces", "", 0}, [](C c) { return c.one.collective.parts.size(); }},
       {{"time_us", "time", "us", 1}, [](C c) { return c.one.time; }},
       {{"alone_us", "alone", "us", 1}, [](C c) { return c.one.alone; }},
       {{"rccl_percent", "by rccl", "%", 2}, [](C c) { return in_percent(c.one.by_rccl); }},
       {{"engines_percent", "by engines", "%", 2}, [](C c) { return in_percent(c.one.by_engines); }},
       {{"library_channels_percent", "library's channels", "%", 2},
        [](C c) { return in_percent(c.one.usual_channels); }}});
  using R = const OfSplit<StepRule>&;
  const study::ResultTable rules = study::table_of<OfSplit<StepRule>>(
      rows_of(layers, &LayerTuning::rules),
      {{{"split", "split", ""}, [](R r) { return r.split; }},
       {{"rule", "rule", ""}, [](R r) { return r.one.name; }},
       {{"choice", "choice", ""}, [](R r) { return r.one.choice; }},
       {{"time_us", "time", "us", 1}, [](R r) { return r.one.time; }},
       {{"regret_percent", "regret", "%", 2}, [](R r) { return 100.0 * r.one.regret; }}});
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
                       {{"fidelity", "fidelity", ""},
                        [&](W w) { return study::fidelity_of(w.result->question, platform, templates); }}});
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
