#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <set>
#include <span>

#include "sim/units.h"
#include "study/report/table_of.h"
#include "study/uncertainty/fidelity.h"
#include "tune/tuning.h"

namespace c3sim::tune {

namespace {

constexpr std::size_t most_names = 4;     // names shown of alternatives that are as good
constexpr std::size_t longest_text = 64;  // a terminal shows tables of at most this many rows

// Returns the largest unit in which the size is at least 1.
const sim::Unit& unit_for(sim::Bytes bytes) {
  const sim::Unit* largest = sim::unit_of("B");
  for (const sim::Unit& unit : sim::binary_units) {
    if (bytes.value() >= unit.factor) largest = &unit;
  }
  return *largest;
}

// Returns a size as text to three digits: "18.2 MiB".
std::string rounded(sim::Bytes bytes) {
  const sim::Unit& unit = unit_for(bytes);
  return fmt::format("{:.3g} {}", bytes.value() / unit.factor, unit.name);
}

// Returns the alternatives whose regret is at most `error`, the fastest first: predictions cannot tell them apart.
std::vector<std::size_t> within_error(const Decision& decision, double error) {
  std::vector<std::size_t> alike;
  for (std::size_t i = 0; i < decision.attempts.size(); ++i) {
    if (decision.attempts[i].is_possible && decision.regret(i) <= error) alike.push_back(i);
  }
  std::ranges::stable_sort(alike, {}, [&](std::size_t i) { return decision.attempts[i].known(); });
  return alike;
}

std::string names_of(const Alternatives& alternatives, const std::vector<std::size_t>& places) {
  std::vector<std::string> names;
  for (const std::size_t place : std::span(places).first(std::min(places.size(), most_names))) {
    names.push_back(alternatives.all[place].name);
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (places.size() > most_names) text += fmt::format(" and {} more", places.size() - most_names);
  return text;
}

bool is_of_gemms(const Alternatives& alternatives) { return alternatives.subject != Alternatives::Subject::collective; }

// Returns the fidelity of a choice: that of the collective if it runs alone, else extrapolated at best.
study::Fidelity fidelity_of_choice(const Alternatives& alternatives, std::size_t place, const Sizes& sizes,
                                   const models::PlatformSpec& platform) {
  const study::C3Trial trial = alternatives.trial_of(sizes, place);
  const auto of_collective = [&] {
    return study::fidelity_of(collective_of(trial.scenario, trial.strategy, platform), platform);
  };
  if (!is_of_gemms(alternatives)) return of_collective();
  const study::Fidelity weakest = weaker(study::Fidelity::extrapolated, study::fidelity_of(sizes.gemm, platform));
  return alternatives.subject == Alternatives::Subject::pair ? weaker(weakest, of_collective()) : weakest;
}

// Returns the choices for collectives alone, or those for all other kinds of decisions.
study::ResultTable choice_table(const Tuning& tuning, const models::PlatformSpec& platform, bool alone) {
  study::ResultTable table({{"kind", "decision", ""},
                            {"gemm", "gemm", ""},
                            {"bytes", "bytes", "", 0},
                            {"choice", "choice", ""},
                            {"time_us", "time", "us"},
                            {"speedup", "speedup over default", "", 3},
                            {"rule", "by the rule on sizes", ""},
                            {"rule_regret_percent", "loses", "%"},
                            {"within_error", "as good within error", ""},
                            {"measured", "measured", ""},
                            {"error_percent", "error", "%", 1, false},
                            {"fidelity", "fidelity", ""}});
  for (const Decisions& kind : tuning.kinds) {
    const Alternatives& alternatives = kind.alternatives;
    if (is_of_gemms(alternatives) == alone) continue;
    for (const Decision& decision : kind.all) {
      if (decision.is_drawn) continue;
      const std::size_t best = decision.plainest();
      const std::size_t ruled = kind.tree.choose(alternatives.features_of(decision.sizes));
      std::vector<std::size_t> others = within_error(decision, tuning.question.error);
      std::erase(others, best);
      const Attempted& first = decision.attempts.front();
      table.add_row(
          {alternatives.key,
           is_of_gemms(alternatives) ? study::Cell(models::to_string(decision.sizes.gemm)) : study::Cell(),
           alternatives.subject != Alternatives::Subject::schedule
               ? study::Cell(static_cast<std::int64_t>(decision.sizes.bytes.value()))
               : study::Cell(),
           alternatives.all[best].name, sim::to_microseconds(decision.attempts[best].known()),
           first.is_possible ? study::Cell((1.0 + decision.regret(0)) / (1.0 + decision.regret(best))) : study::Cell(),
           alternatives.all[ruled].name,
           decision.attempts[ruled].is_possible ? study::Cell(100.0 * decision.regret(ruled)) : study::Cell(),
           names_of(alternatives, others), decision.attempts[best].is_measured, 100.0 * tuning.question.error,
           std::string(to_string(fidelity_of_choice(alternatives, best, decision.sizes, platform)))});
    }
  }
  return table;
}

study::Cell percentage(std::size_t part, std::size_t of) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(of);
}

study::ResultTable rule_table(const Tuning& tuning) {
  study::ResultTable table({{"kind", "decision", ""},
                            {"rule", "rule", ""},
                            {"decisions", "decisions", ""},
                            {"possible", "possible", ""},
                            {"right_percent", "as good as the best", "%", 1},
                            {"within_error_percent", "within error", "%", 1},
                            {"mean_regret_percent", "mean regret", "%"},
                            {"worst_regret_percent", "worst", "%"}});
  for (const Decisions& kind : tuning.kinds) {
    for (const RuleRecord& rule : kind.rules) {
      const auto where_possible = [&](study::Cell cell) { return rule.possible > 0 ? std::move(cell) : study::Cell(); };
      table.add_row({kind.alternatives.key, rule.rule, static_cast<std::int64_t>(rule.decisions),
                     static_cast<std::int64_t>(rule.possible), where_possible(percentage(rule.right, rule.possible)),
                     where_possible(percentage(rule.within_error, rule.possible)),
                     where_possible(100.0 * rule.mean_regret), where_possible(100.0 * rule.worst_regret)});
    }
  }
  return table;
}

study::ResultTable threshold_table(const Tuning& tuning) {
  using Of = const EngineThreshold&;
  return study::table_of<EngineThreshold>(
      tuning.thresholds,
      {{{"collective", "collective", ""}, &EngineThreshold::kind},
       {{"prelaunched", "prelaunched", ""}, &EngineThreshold::prelaunch},
       {{"engines_from_bytes", "engines faster from", "B", 0},
        [](Of one) { return one.from ? study::Cell(to_two_digits(*one.from).value()) : study::NoNumber{"never"}; }},
       {{"undecided", "undecided", ""}, [](Of one) {
          std::vector<std::string> ranges;
          for (const auto& [from, to] : one.undecided) {
            ranges.push_back(fmt::format("{} to {}", rounded(from), rounded(to)));
          }
          return fmt::format("{}", fmt::join(ranges, ", "));
        }}});
}

// Charts the mean and the worst regret of every rule of one kind of decisions.
study::Chart regret_chart(const Decisions& kind) {
  study::BarChart chart{.id = "regret_" + kind.alternatives.key,
                        .title = "What rules lose: " + kind.alternatives.about,
                        .value_axis = "mean regret, %",
                        .series = {"mean", "worst"},
                        .decimals = 1};
  for (const RuleRecord& rule : kind.rules) {
    if (rule.possible == 0) continue;
    chart.bars.push_back({rule.rule, {100.0 * rule.mean_regret, 100.0 * rule.worst_regret}, {}});
  }
  return chart;
}

// Charts the best by kernels and by engines over size: the time of a collective alone, or the speedup with a GEMM.
study::Chart means_chart(const Decisions& kind) {
  const Alternatives& alternatives = kind.alternatives;
  const bool alone = !is_of_gemms(alternatives);
  const std::size_t feature = alone ? 0 : 1;
  study::ScatterChart chart{.id = "means_" + alternatives.key,
                            .title = "The best by each means: " + alternatives.about};
  chart.x = {.label = std::string(alternatives.features[feature].about), .unit = alone ? "B" : "", .logarithmic = true};
  chart.y = {
      .label = alone ? "time" : "speedup over one after the other", .unit = alone ? "us" : "", .logarithmic = alone};
  chart.joined = alone;
  const std::vector<std::pair<std::string, bool>> means{{"kernels", false}, {"engines", true}};
  for (const auto& [name, engines] : means) {
    study::ScatterSeries series{name, {}};
    for (const Decision& decision : kind.all) {
      std::optional<std::size_t> best;
      for (std::size_t i = 0; i < decision.attempts.size(); ++i) {
        const bool by_engines = alternatives.all[i].name.starts_with("engines");
        const bool counts = decision.attempts[i].time && by_engines == engines;
        if (counts && (!best || *decision.attempts[i].time < *decision.attempts[*best].time)) best = i;
      }
      if (!best) continue;
      const double time = sim::to_microseconds(*decision.attempts[*best].time);
      const double serial = sim::to_microseconds(decision.attempts.front().known());
      series.points.push_back({alternatives.features[feature].of(decision.sizes), alone ? time : serial / time,
                               fmt::format("{}: {}", decision.name, alternatives.all[*best].name)});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::vector<std::string> sentences(const Tuning& tuning) {
  std::vector<std::string> sentences;
  std::size_t possible = 0;
  std::size_t tried = 0;
  for (const Decisions& kind : tuning.kinds) {
    for (const Decision& decision : kind.all) {
      for (const Attempted& one : decision.attempts) {
        if (one.is_possible) ++possible;
        if (one.time) ++tried;
      }
    }
    const RuleRecord& constant = kind.rules.front();
    std::string text = fmt::format("{}: {} loses {:.1f} % on average, {:.1f} % at worst", kind.alternatives.about,
                                   constant.rule, 100.0 * constant.mean_regret, 100.0 * constant.worst_regret);
    if (const auto tree = std::ranges::find(kind.rules, "tree", &RuleRecord::rule); tree != kind.rules.end()) {
      text += fmt::format(
          "; a rule on static sizes is as good as the best in {} of {} that it has not seen and loses "
          "{:.1f} %, {:.1f} % at worst",
          tree->right, tree->possible, 100.0 * tree->mean_regret, 100.0 * tree->worst_regret);
    }
    sentences.push_back(text + ".");
  }
  sentences.push_back(
      fmt::format("{} runs were simulated of {} possible ones; bounds rule the others out.", tried, possible));
  return sentences;
}

using models::CollectiveKind;

// The range of m, n, k or bytes over the cases that a rule was fitted to.
struct Range {
  std::string_view parameter;
  std::size_t values = 0;  // number of distinct values
  double least = 0.0, greatest = 0.0;
};

// Returns the ranges of features that are parameters, that is, whose expression is their own name.
std::vector<Range> ranges_of(const Decisions& kind) {
  std::vector<Range> ranges;
  for (const char* const name : {"m", "n", "k", "bytes"}) {
    for (const SizeFeature& feature : kind.alternatives.features) {
      if (feature.name != name) continue;
      std::set<double> values;
      for (const Decision& decision : kind.all) values.insert(feature.of(decision.sizes));
      ranges.push_back({feature.name, values.size(), *values.begin(), *values.rbegin()});
    }
  }
  return ranges;
}

std::string title_of(const Tuning& tuning, const models::PlatformSpec& platform) {
  return fmt::format("Made by c3sim tune: {}, for {} with {} GPUs.", tuning.question.name, platform.name,
                     platform.gpus);
}

// Returns the conditions of a leaf: "bytes <= 33554432", "flops_per_byte > 12000".
std::vector<std::string> conditions_of(const DecisionTree::Leaf& leaf, const Alternatives& alternatives) {
  std::vector<std::string> words;
  for (const auto& [feature, threshold, above] : leaf.conditions) {
    words.push_back(fmt::format("{} {} {}", alternatives.features[feature].name, above ? ">" : "<=", threshold));
  }
  return words;
}

std::string rules_in_yaml(const Tuning& tuning, const models::PlatformSpec& platform) {
  std::string text = fmt::format(
      "# {}\n# Of each kind the leaves of a decision tree on static sizes. Exactly one of its lists of conditions "
      "holds;\n# `cases` is how many of those that it was fitted to came there. Beyond the sizes of `fitted_to` it "
      "answers as at\n# their edge: a guess. A threshold is the roundest number between two cases.\n",
      title_of(tuning, platform));
  for (const Decisions& kind : tuning.kinds) {
    const Alternatives& alternatives = kind.alternatives;
    text += fmt::format("\n{}:\n  about: {}\n  sizes:\n", alternatives.key, alternatives.about);
    for (const SizeFeature& feature : alternatives.features) {
      text += fmt::format("    {}: \"{} ({})\"\n", feature.name, feature.about, feature.expression);
    }
    text += fmt::format("  fitted_to:\n    cases: {}\n", kind.all.size());
    for (const Range& range : ranges_of(kind)) {
      text += fmt::format("    {}: {{values: {}, least: {}, greatest: {}}}\n", range.parameter, range.values,
                          range.least, range.greatest);
    }
    text += "  rules:\n";
    for (const DecisionTree::Leaf& leaf : kind.tree.leaves) {
      text += fmt::format("    - {{when: [{}], choose: {}, cases: {}}}\n",
                          fmt::join(conditions_of(leaf, alternatives), ", "), alternatives.all[leaf.alternative].name,
                          leaf.cases);
    }
  }
  return text;
}

// Returns the enumeration's name for a key: "all_gather_beside_gemm" gives "AllGatherBesideGemm".
std::string type_name(const std::string& key) {
  std::string name;
  bool begins = true;
  for (const char c : key) {
    if (c != '_') name += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return name;
}

// Declares the features that the tree uses and that are not parameters of the function.
std::string derived_features(const Decisions& kind) {
  std::set<std::size_t> used;
  for (const DecisionTree::Leaf& leaf : kind.tree.leaves) {
    for (const DecisionTree::Condition& condition : leaf.conditions) used.insert(condition.feature);
  }
  std::string code;
  for (const std::size_t place : used) {
    const SizeFeature& feature = kind.alternatives.features[place];
    if (feature.name != feature.expression) {
      code += fmt::format("  const double {} = {};  // {}\n", feature.name, feature.expression, feature.about);
    }
  }
  return code;
}

std::string rules_in_cpp(const Tuning& tuning, const models::PlatformSpec& platform) {
  std::string text = fmt::format(
      "// {}\n// What to choose by static sizes: a GEMM of m x n x k (BLAS order) on every GPU, an array of so many "
      "bytes on every GPU.\n// A threshold is the roundest number between the two cases beside it, which tell no "
      "more.\n#pragma "
      "once\n\nnamespace c3sim_decisions {{\n",
      title_of(tuning, platform));
  for (const Decisions& kind : tuning.kinds) {
    const Alternatives& alternatives = kind.alternatives;
    const std::string type = type_name(alternatives.key);
    std::set<std::string> chosen;
    for (const DecisionTree::Leaf& leaf : kind.tree.leaves) chosen.insert(alternatives.all[leaf.alternative].name);
    std::vector<std::string> parameters, fitted, conditions;
    for (const auto& [name, values, least, greatest] : ranges_of(kind)) {
      parameters.push_back(fmt::format("[[maybe_unused]] double {}", name));
      fitted.push_back(values == 1 ? fmt::format("{} {}", name, least)
                                   : fmt::format("{} {} to {} ({} values)", name, least, greatest, values));
      conditions.push_back(fmt::format("{0} >= {1} && {0} <= {2}", name, least, greatest));
    }
    text += fmt::format(
        "\n// {}\nenum class {} {{ {} }};\n// Fitted to {} cases: {}.\n// Beyond these sizes it answers as at their "
        "edge, a guess: {}_covers() is false there.\nconstexpr {} {}({}) {{\n{}",
        alternatives.about, type, fmt::join(chosen, ", "), kind.all.size(), fmt::join(fitted, ", "), alternatives.key,
        type, alternatives.key, fmt::join(parameters, ", "), derived_features(kind));
    for (const DecisionTree::Leaf& leaf : kind.tree.leaves) {
      const bool is_last = &leaf == &kind.tree.leaves.back();  // whose conditions follow from those before
      const std::string when =
          is_last ? "" : fmt::format("if ({}) ", fmt::join(conditions_of(leaf, alternatives), " && "));
      text += fmt::format("  {}return {}::{};  // {} case{}\n", when, type, alternatives.all[leaf.alternative].name,
                          leaf.cases, leaf.cases == 1 ? "" : "s");
    }
    text += fmt::format("}}\nconstexpr bool {}_covers({}) {{\n  return {};\n}}\n", alternatives.key,
                        fmt::join(parameters, ", "), fmt::join(conditions, " && "));
    text += fmt::format("constexpr const char* to_string({} choice) {{\n  switch (choice) {{\n", type);
    for (const std::string& name : chosen) text += fmt::format("    case {}::{}: return \"{}\";\n", type, name, name);
    text += "  }\n  return \"\";\n}\n";
  }
  return text + "\n}  // namespace c3sim_decisions\n";
}

// RCCL's tuner skips comments. It reads lines of up to 256 characters.
std::string tuner_file(const Tuning& tuning, const models::PlatformSpec& platform) {
  std::string text = fmt::format(
      "# {}\n"
      "# export NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE=$PWD/THIS_FILE\n"
      "# This file replaces all rules of the library on one node of {} ranks, so every size has a line. Channels are "
      "the\n"
      "# fewest within 1 % of the fastest; the protocol is the one that the model of the library takes for them. The\n"
      "# algorithm is the ring, which alone was tried. A reduce is taken to be a broadcast the other way.\n"
      "# colltype,minbytes,maxbytes,algorithm,protocol,channels,nNodes,nRanks\n",
      title_of(tuning, platform), platform.gpus);
  for (const TunerLine& line : tuning.lines) {
    text += fmt::format("{},{},{},ring,{},{},1,{}\n", line.collective, line.low, line.high, line.protocol,
                        line.channels, platform.gpus);
  }
  return text;
}

std::string rccl_test(CollectiveKind kind) {
  return kind == CollectiveKind::all_to_all ? "alltoall_perf" : fmt::format("{}_perf", to_string(kind));
}

constexpr std::string_view plan_command = "c3sim-measure --out pairs --pairs plan.csv";
constexpr std::string_view plan_heads = "gemm,collective,bytes,strategy,channels,reserved_cus,variant,prelaunch\n";

std::string plan_row(const study::C3Trial& trial) {
  const study::Scenario& scenario = trial.scenario;
  const bool engines = on_copy_engines(trial.strategy);
  return fmt::format("{},{},{:.0f},{},{},{},{},{}\n", models::to_string(scenario.gemm),
                     models::to_string(scenario.collective), scenario.bytes.value(), to_string(trial.strategy),
                     scenario.channels ? std::to_string(*scenario.channels) : "", scenario.reserved.value_or(0),
                     engines ? models::to_string(scenario.variant) : "",
                     engines ? (scenario.prelaunch ? "yes" : "no") : "");
}

// A command that measures what predictions leave open, and what its result would decide.
struct OpenQuestion {
  std::string about;    // "all_gather alone, 16 MiB to 40 MiB: by kernels"
  std::string command;  // runs rccl-tests, TransferBench or c3sim-measure
  // Of a pair, the alternatives that nobody has measured, as rows of the plan of c3sim-measure.
  std::vector<std::string> rows;
};
// Adds the pairs whose fastest alternatives predictions cannot tell apart and nobody has measured.
void add_open_pairs(const Tuning& tuning, std::vector<OpenQuestion>& questions) {
  for (const Decisions& kind : tuning.kinds) {
    const Alternatives& pairs = kind.alternatives;
    if (pairs.subject != Alternatives::Subject::pair) continue;
    for (const Decision& decision : kind.all) {
      const std::vector<std::size_t> open = within_error(decision, tuning.question.error);
      if (decision.is_drawn || open.size() == 1) continue;
      std::vector<std::string> rows;
      for (const std::size_t i : open) {
        if (!decision.attempts[i].is_measured) rows.push_back(plan_row(pairs.trial_of(decision.sizes, i)));
      }
      if (rows.empty()) continue;
      questions.push_back({fmt::format("{} beside {}: which of {}, {} not measured", to_string(pairs.kind),
                                       decision.name, open.size(), rows.size()),
                           std::string(plan_command), std::move(rows)});
    }
  }
}

// Rounds to whole pages, at least one, so that every GPU gets whole elements.
std::int64_t in_pages(double bytes) {
  constexpr double page = 4096.0;
  return static_cast<std::int64_t>(std::max(1.0, std::round(bytes / page)) * page);
}

std::vector<OpenQuestion> open_questions(const Tuning& tuning, const models::PlatformSpec& platform) {
  std::vector<OpenQuestion> questions;
  for (const EngineThreshold& one : tuning.thresholds) {
    if (one.prelaunch) continue;
    for (const auto& [from, to] : one.undecided) {
      const std::string about = fmt::format("{} alone, {} to {}", to_string(one.kind), rounded(from), rounded(to));
      questions.push_back({about + ": by kernels",
                           fmt::format("{} -b {} -e {} -f 2 -g {}", rccl_test(one.kind), in_pages(from.value()),
                                       in_pages(to.value()), platform.gpus),
                           {}});
      if (one.kind != CollectiveKind::all_gather && one.kind != CollectiveKind::all_to_all) continue;
      // Engines do an all-to-all as one copy to each peer, all at once.
      questions.push_back({about + ": by engines",
                           fmt::format("USE_DMA_EXEC=1 NUM_GPU_DEVICES={} ./TransferBench a2a {}", platform.gpus,
                                       in_pages(std::sqrt(from.value() * to.value()) / platform.gpus)),
                           {}});
    }
  }
  add_open_pairs(tuning, questions);
  return questions;
}

}  // namespace

sim::Bytes to_two_digits(sim::Bytes bytes) {
  const double unit = unit_for(bytes).factor;
  return sim::Bytes(std::stod(fmt::format("{:.2g}", bytes.value() / unit)) * unit);
}

study::Results tuning_results(const Tuning& tuning, const models::PlatformSpec& platform) {
  study::Results results{platform.name, {}, {}, {}};
  results.title = tuning.question.name;
  study::NamedTable choices{"choices", "What to choose beside or around GEMMs", choice_table(tuning, platform, false)};
  study::NamedTable alone{"alone", "What to choose for collectives alone", choice_table(tuning, platform, true), false};
  choices.in_text = choices.table.rows().size() <= longest_text;
  study::NamedTable rules{"rules", "Rules, and what they lose against the best", rule_table(tuning)};
  for (const Decisions& kind : tuning.kinds) {
    rules.charts.push_back(regret_chart(kind));
    const bool has_means = kind.alternatives.all.back().name.starts_with("engines");
    if (has_means) (is_of_gemms(kind.alternatives) ? choices : alone).charts.push_back(means_chart(kind));
  }
  for (study::NamedTable* const table : {&choices, &alone, &rules}) {
    if (!table->table.rows().empty()) results.tables.push_back(std::move(*table));
  }
  if (!tuning.thresholds.empty()) {
    results.tables.push_back({"thresholds", "Collectives alone: by engines or by kernels", threshold_table(tuning)});
  }
  if (!tuning.lines.empty()) {
    results.tables.push_back(
        {"tuner", "Lines for the library's tuner",
         study::table_of<TunerLine>(tuning.lines, {{{"colltype", "collective", ""}, &TunerLine::collective},
                                                   {{"minbytes", "from", "B"}, &TunerLine::low},
                                                   {{"maxbytes", "to", "B"}, &TunerLine::high},
                                                   {{"protocol", "protocol", ""}, &TunerLine::protocol},
                                                   {{"channels", "channels", ""}, &TunerLine::channels}}),
         false});
  }
  study::NamedTable open{
      "measure", "What predictions leave open",
      study::table_of<OpenQuestion>(open_questions(tuning, platform),
                                    {{{"about", "undecided", ""}, &OpenQuestion::about},
                                     {{"command", "what would decide", ""}, &OpenQuestion::command}})};
  open.in_text = open.table.rows().size() <= longest_text / 4;
  results.tables.push_back(std::move(open));
  results.notes = sentences(tuning);
  results.files = tuning_files(tuning, platform);
  return results;
}

std::vector<study::TextFile> tuning_files(const Tuning& tuning, const models::PlatformSpec& platform) {
  std::vector<study::TextFile> files{{"decisions.yaml", rules_in_yaml(tuning, platform)},
                                     {"decisions.h", rules_in_cpp(tuning, platform)}};
  if (!tuning.lines.empty()) {
    const bool is_mesh = platform.fabric.topology == models::Topology::mesh;
    files.push_back({is_mesh ? "rccl_tuner_gfx942.csv" : "nccl_tuner.csv", tuner_file(tuning, platform)});
  }
  std::string plan(plan_heads);
  std::string commands = fmt::format(
      "# {}\n# Runs that decide what predictions leave open; c3sim tune --measured reads what they print.\n",
      title_of(tuning, platform));
  for (const OpenQuestion& question : open_questions(tuning, platform)) {
    plan += fmt::format("{}", fmt::join(question.rows, ""));
    if (question.rows.empty()) commands += fmt::format("\n# {}\n{}\n", question.about, question.command);
  }
  if (plan.size() > plan_heads.size()) {
    commands += fmt::format("\n# pairs within {:.3g} %\n{}\n", 100.0 * tuning.question.error, plan_command);
    files.push_back({"plan.csv", std::move(plan)});
  }
  files.push_back({"measure.sh", std::move(commands)});
  return files;
}

}  // namespace c3sim::tune
