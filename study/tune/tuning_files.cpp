#include "study/tune/tuning_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <cmath>
#include <set>

namespace c3sim::study {

namespace {

using models::CollectiveKind;

// What a rule was fitted to of m, n, k or bytes.
struct Range {
  std::string_view parameter;
  std::size_t values = 0;  // different ones
  double least = 0.0, greatest = 0.0;
};

// Of the parameters among the features: those that are their own expression.
std::vector<Range> ranges_of(const TunedDecisions& kind) {
  std::vector<Range> ranges;
  for (const char* const name : {"m", "n", "k", "bytes"}) {
    for (const SizeFeature& feature : kind.decisions.alternatives().features()) {
      if (feature.name != name) continue;
      std::set<double> values;
      for (const Decision& decision : kind.decisions.all()) values.insert(feature.of(decision.sizes));
      ranges.push_back({feature.name, values.size(), *values.begin(), *values.rbegin()});
    }
  }
  return ranges;
}

// A leaf of a tree in words: "bytes <= 33554432", "flops_per_byte > 12000".
struct Leaf {
  std::vector<std::string> conditions;
  std::string choose;
  std::size_t cases = 0;
};

std::string title_of(const Tuning& tuning, const models::PlatformSpec& platform) {
  return fmt::format("Made by c3sim tune: {}, for {} with {} GPUs.", tuning.question.name, platform.name,
                     platform.gpus);
}

// Of a node and what is below it, where these conditions hold.
void add_leaves(const TunedDecisions& kind, const DecisionTree::Node& node, const std::vector<std::string>& conditions,
                std::vector<Leaf>& leaves) {
  const Alternatives& alternatives = kind.decisions.alternatives();
  if (!node.split) {
    leaves.push_back({conditions, alternatives.all()[node.alternative].name, node.cases});
    return;
  }
  const std::string_view feature = alternatives.features()[node.split->feature].name;
  for (const auto& [relation, place] : {std::pair("<=", node.split->below), {">", node.split->above}}) {
    std::vector<std::string> longer = conditions;
    longer.push_back(fmt::format("{} {} {}", feature, relation, node.split->threshold));
    add_leaves(kind, kind.tree.nodes()[place], longer, leaves);
  }
}

std::vector<Leaf> leaves_of(const TunedDecisions& kind) {
  std::vector<Leaf> leaves;
  add_leaves(kind, kind.tree.nodes().front(), {}, leaves);
  return leaves;
}

std::string rules_in_yaml(const Tuning& tuning, const models::PlatformSpec& platform) {
  std::string text = fmt::format(
      "# {}\n# Of each kind the leaves of a decision tree on static sizes. Exactly one of its lists of conditions "
      "holds;\n# `cases` is how many of those that it was fitted to came there. Beyond the sizes of `fitted_to` it "
      "answers as at\n# their edge: a guess. A threshold is the roundest number between two cases.\n",
      title_of(tuning, platform));
  for (const TunedDecisions& kind : tuning.kinds) {
    const Alternatives& alternatives = kind.decisions.alternatives();
    text += fmt::format("\n{}:\n  about: {}\n  sizes:\n", alternatives.key(), alternatives.about());
    for (const SizeFeature& feature : alternatives.features()) {
      text += fmt::format("    {}: \"{} ({})\"\n", feature.name, feature.about, feature.expression);
    }
    text += fmt::format("  fitted_to:\n    cases: {}\n", kind.decisions.all().size());
    for (const Range& range : ranges_of(kind)) {
      text += fmt::format("    {}: {{values: {}, least: {}, greatest: {}}}\n", range.parameter, range.values,
                          range.least, range.greatest);
    }
    text += "  rules:\n";
    for (const Leaf& leaf : leaves_of(kind)) {
      text += fmt::format("    - {{when: [{}], choose: {}, cases: {}}}\n", fmt::join(leaf.conditions, ", "),
                          leaf.choose, leaf.cases);
    }
  }
  return text;
}

// Comments are skipped by the reader, which takes lines of up to 256 characters.
std::string tuner_file(const Tuning& tuning, const models::PlatformSpec& platform) {
  std::string text = fmt::format(
      "# {}\n"
      "# export NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE=$PWD/THIS_FILE\n"
      "# This file replaces all rules of the library on one node of {} ranks, so every size has a line. Channels are "
      "the\n"
      "# fewest within 1 % of the fastest; the protocol is the one that the model of the library takes for them. The\n"
      "# algorithm is the ring: trees are not simulated. A reduce is taken to be a broadcast the other way.\n"
      "# colltype,minbytes,maxbytes,algorithm,protocol,channels,nNodes,nRanks\n",
      title_of(tuning, platform), tuning.ranks);
  for (const TunerLine& line : tuning.lines) {
    text += fmt::format("{},{},{},ring,{},{},1,{}\n", line.collective, line.low, line.high, line.protocol,
                        line.channels, tuning.ranks);
  }
  return text;
}

std::string environment(const Tuning& tuning, const models::PlatformSpec& platform) {
  std::string text = fmt::format(
      "# {}\n# From how many bytes (whole array of one GPU) a collective alone is faster by copy engines than by "
      "kernels.\n# The names are this file's: give the values to the variables of your release of the library.\n"
      "# Where predictions differ by less than {:.3g} % they do not decide.\n",
      title_of(tuning, platform), 100.0 * tuning.question.error);
  for (const EngineThreshold& one : tuning.thresholds) {
    const std::string name = boost::to_upper_copy(
        fmt::format("SDMA_{}{}_MIN_BYTES", to_string(one.kind), one.prelaunch ? "_prelaunched" : ""));
    text += '\n';
    for (const EngineThreshold::Range& range : one.undecided) {
      text += fmt::format("# undecided from {} to {}\n", rounded(range.from), rounded(range.to));
    }
    text += one.from ? fmt::format("export {}={:.0f}\n", name, to_two_digits(*one.from).value())
                     : fmt::format("# {}: kernels are faster at every size\n", name);
  }
  return text;
}

std::string rccl_test(CollectiveKind kind) {
  return kind == CollectiveKind::all_to_all ? "alltoall_perf" : fmt::format("{}_perf", to_string(kind));
}

constexpr std::string_view plan_command = "c3sim-measure --out pairs --pairs plan.csv";
constexpr std::string_view plan_heads = "gemm,collective,bytes,strategy,channels,reserved_cus,variant,prelaunch\n";

std::string plan_row(const C3Trial& trial) {
  const Scenario& scenario = trial.scenario;
  const bool engines = trial.strategy == Strategy::conccl || trial.strategy == Strategy::conccl_rp;
  return fmt::format("{},{},{:.0f},{},{},{},{},{}\n", models::to_string(scenario.gemm),
                     models::to_string(scenario.collective), scenario.bytes.value(), to_string(trial.strategy),
                     scenario.channels ? std::to_string(*scenario.channels) : "", scenario.reserved.value_or(0),
                     engines ? models::to_string(scenario.variant) : "",
                     engines ? (scenario.prelaunch ? "yes" : "no") : "");
}

// A pair whose fastest alternatives predictions cannot tell apart, and those of them that nobody has measured, as rows
// of the plan of c3sim-measure.
struct OpenPair {
  std::string about;
  std::vector<std::string> rows;
};
std::vector<OpenPair> open_pairs(const Tuning& tuning) {
  std::vector<OpenPair> all;
  for (const TunedDecisions& kind : tuning.kinds) {
    const auto* const pairs = dynamic_cast<const PairAlternatives*>(&kind.decisions.alternatives());
    if (pairs == nullptr) continue;
    for (const Decision& decision : kind.decisions.all()) {
      const std::vector<std::size_t> open = within_error(decision, tuning.question.error);
      if (decision.is_drawn || open.size() == 1) continue;
      std::vector<std::string> rows;
      for (const std::size_t i : open) {
        if (!decision.attempts[i].is_measured) rows.push_back(plan_row(pairs->trial_of(decision.sizes, i)));
      }
      if (rows.empty()) continue;
      all.push_back({fmt::format("{} beside {}: which of {}, {} not measured", to_string(pairs->kind()), decision.name,
                                 open.size(), rows.size()),
                     std::move(rows)});
    }
  }
  return all;
}

// What the test takes: whole elements for every GPU.
std::int64_t in_pages(double bytes) {
  constexpr double page = 4096.0;
  return static_cast<std::int64_t>(std::max(1.0, std::round(bytes / page)) * page);
}

}  // namespace

std::vector<OpenQuestion> open_questions(const Tuning& tuning, const models::PlatformSpec& platform) {
  std::vector<OpenQuestion> questions;
  for (const EngineThreshold& one : tuning.thresholds) {
    if (one.prelaunch) continue;
    for (const auto& [from, to] : one.undecided) {
      const std::string about = fmt::format("{} alone, {} to {}", to_string(one.kind), rounded(from), rounded(to));
      questions.push_back(
          {about + ": by kernels", fmt::format("{} -b {} -e {} -f 2 -g {}", rccl_test(one.kind), in_pages(from.value()),
                                               in_pages(to.value()), platform.gpus)});
      if (one.kind != CollectiveKind::all_gather && one.kind != CollectiveKind::all_to_all) continue;
      // What engines do of it: one copy to each peer, all at once.
      questions.push_back({about + ": by engines",
                           fmt::format("USE_DMA_EXEC=1 NUM_GPU_DEVICES={} ./TransferBench a2a {}", platform.gpus,
                                       in_pages(std::sqrt(from.value() * to.value()) / platform.gpus))});
    }
  }
  for (OpenPair& pair : open_pairs(tuning)) questions.push_back({std::move(pair.about), std::string(plan_command)});
  return questions;
}

std::vector<TextFile> tuning_files(const Tuning& tuning, const models::PlatformSpec& platform) {
  std::vector<TextFile> files{{"decisions.yaml", rules_in_yaml(tuning, platform)}};
  if (!tuning.lines.empty()) {
    const bool is_mesh = platform.fabric.topology == models::Topology::mesh;
    files.push_back({is_mesh ? "rccl_tuner_gfx942.csv" : "nccl_tuner.csv", tuner_file(tuning, platform)});
  }
  if (!tuning.thresholds.empty()) files.push_back({"environment.sh", environment(tuning, platform)});
  std::string plan(plan_heads);
  for (const OpenPair& pair : open_pairs(tuning)) plan += fmt::format("{}", fmt::join(pair.rows, ""));
  std::string commands = fmt::format(
      "# {}\n# Runs that decide what predictions leave open; c3sim tune --measured reads what they print.\n",
      title_of(tuning, platform));
  for (const OpenQuestion& question : open_questions(tuning, platform)) {
    if (question.command != plan_command) commands += fmt::format("\n# {}\n{}\n", question.about, question.command);
  }
  if (plan.size() > plan_heads.size()) {
    commands += fmt::format("\n# pairs within {:.3g} %\n{}\n", 100.0 * tuning.question.error, plan_command);
    files.push_back({"plan.csv", std::move(plan)});
  }
  files.push_back({"measure.sh", std::move(commands)});
  return files;
}

}  // namespace c3sim::study
