#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "sim/overloaded.h"
#include "study/ask/answers.h"
#include "study/ask/command.h"
#include "study/ask/words.h"
#include "study/config_folders.h"
#include "study/play/testbed.h"
#include "study/program/layer_templates.h"
#include "study/program/operation.h"
#include "study/report/results_folder.h"
#include "study/step/step.h"
#include "study/step/step_carriers.h"
#include "study/step/step_graph.h"
#include "study/uncertainty/ensemble.h"

namespace c3sim::study {

namespace {

constexpr auto step_examples =
    "Examples:\n"
    "  c3sim step --model llama3-70b --phase decode --tp 8 --batch 64 --context 4096 --graph\n"
    "  c3sim step --model llama3-8b --layers 4 --phase prefill --tokens 2048 --tp 8\n"
    "  c3sim step --model bert-large --phase train --batch 32 --tokens 128 --optimizer lamb --dtype fp32\n"
    "  c3sim step --model llama3-70b --layers 8 --phase train --dp 8 --shard full --tokens 4096\n"
    "  c3sim step --model llama3-8b --phase prefill --tokens 2048 --tp 2 --platform h200 --uncertainty\n"
    "  c3sim step --model llama3-8b --phase train --dp 8 --shard full --tokens 4096 --chosen "
    "gather=sdma,backward_gather=rccl/16\n"
    "  c3sim step --model deepseek-v3 --phase decode --batch 64 --context 4096 --tp 8 --ep 8 --graph --dtype "
    "fp8,activations=bf16\n"
    "  c3sim step --model path/to/config.json --phase decode --context 1024 --write step.yaml\n"
    "Kernels are those that PyTorch launches; --batch is of each replica (--dp). With --layers there is no embedding "
    "and no head.";

// Adds intervals of the step's times. All draws have the carriers that were chosen.
void add_intervals(Results& results, const StepResult& result, const Platform& platform, const Sampling& sampling,
                   const LayerTemplates& templates, const Progress& progress, int jobs) {
  const Ensemble ensemble(platform, sampling, jobs, progress);
  const std::vector<StepResult> drawn = ensemble.ask_each(
      [&](const Testbed& member) {
        return ask({member.platform(), templates}, result.question, member.factor());
      },
      jobs, progress);
  Intervals intervals;
  for (const auto figure : {&StepResult::time, &StepResult::exposed}) {
    std::vector<double> values;
    for (const StepResult& one : drawn) values.push_back(sim::to_seconds(one.*figure).value());
    intervals.push_back(at_least(interval_of(std::move(values)), sim::to_seconds(result.*figure).value(),
                                 ensemble.error_of(Unfitted::steps)));
  }
  add_intervals(results.tables.front().table, std::span(&intervals, 1), {{"time", "time"}, {"exposed", "exposed"}});
  if (const std::optional<Interval>& time = intervals.front(); time) {
    results.headlines.front().beside =
        fmt::format("90 %: {} to {}", time_in_words(sim::Seconds(time->low)), time_in_words(sim::Seconds(time->high)));
  }
  for (std::string& warning : ensemble.warnings()) results.warnings.push_back(std::move(warning));
}

// Returns the lines by which an experiment describes the machine that this command was asked of.
std::string machine_lines(const Request& request) {
  std::string lines = fmt::format("platform: {}\n", nlohmann::json(request.platform_name().value_or("mi300x")).dump());
  if (request.says("protocol")) lines += fmt::format("protocol: {}\n", request.text("protocol"));
  const nlohmann::json assignments = request.assignments();
  if (!assignments.empty()) lines += fmt::format("set: {}\n", assignments.dump());
  return lines;
}

// Write work under the key of its kind. A GEMM's words are keys of the operation itself.
std::string in_file(const models::GemmShape& shape) { return in_section(shape); }
template <class Question>
std::string under_key(const Work& work, const Question& said, const Question& untold = {}) {
  return fmt::format("{}: {{{}}}", kind_of(work).key, in_section(said, untold));
}
std::string in_file(const models::AttentionShape& shape) { return under_key(shape, shape, untold_attention); }
std::string in_file(const models::CollectiveSpec& spec) { return under_key(spec, CollectiveTrial{spec}); }
std::string in_file(const models::SdmaCopySpec& copy) { return under_key(copy, CopyTrial{copy}); }
// The file has no operator but its cycles, as operations: two in each.
std::string in_file(models::ElementwiseSpec kernel, const models::GpuSpec& gpu) {
  kernel.flops = sim::Flops(2.0 * models::lane_cycles(kernel, gpu));
  return under_key(kernel, kernel);
}
std::string in_file(const auto& work) {
  if constexpr (requires { words_of(work); }) return under_key(work, work);
  return {};  // a step has no other work
}

using NamesInFile = std::map<Handle, std::string>;  // as the file has them

// Returns a wait as a file has it: the name, with "@layer-2" if the operation that it waits for is of an earlier layer.
std::string words(const Wait& wait, const NamesInFile& names) {
  const std::string& on = names.at(wait.on);
  return wait.shift == 0 ? on : fmt::format("{}@{}{:+}", on, wait.index, wait.shift);
}

// `gpus` are those of the block; empty: all of the platform.
std::string line_of(const StepOperation& one, const std::vector<int>& gpus, const NamesInFile& names,
                    const models::GpuSpec& gpu) {
  std::string after;
  for (const Wait& wait : one.after) after += (after.empty() ? "" : ", ") + words(wait, names);
  const std::string waits = after.empty() ? "" : fmt::format("after: [{}], ", after);
  const bool placed = kind_of(one.work).on_any_gpus && !gpus.empty();
  const std::string places = placed ? fmt::format("gpus: [{}], ", fmt::join(gpus, ", ")) : "";
  return fmt::format(
      "{{name: {}, stream: {}, {}{}{}}}\n", names.at(one.handle), one.stream, places, waits,
      std::visit(sim::Overloaded{[&](const models::ElementwiseSpec& kernel) { return in_file(kernel, gpu); },
                                 [](const auto& work) { return in_file(work); }},
                 one.work));
}

sim::ConfigError too_large(const std::string& what, const std::string& most) {
  return sim::ConfigError({{"--write", "",
                            fmt::format("cannot write this step: it is {}, and run takes up to {}: fewer --micro, "
                                        "--pp or --layers are accepted",
                                        what, most)}});
}

// Says how long the GPU waits for the host, and what the platform file says of the host's calls.
std::string word_of_host(const StepResult& result, const Platform& platform) {
  bool is_assumed = false;
  std::vector<std::string> values;
  for (const char* const path : {"host.framework_call", "host.framework_collective"}) {
    const auto known = std::ranges::find(platform.parameters, path, &sim::Parameter::path);
    if (known == platform.parameters.end()) continue;
    if (result.communication == sim::Time(0) && !values.empty()) break;
    is_assumed = is_assumed || known->kind == "assumed";
    values.push_back(fmt::format("{} = {} ({})", path, known->value, known->kind));
  }
  return fmt::format(
      "The step is bound by the host{}: for {:.0f} % of the time the GPU waits for what the host has not launched yet, "
      "at {}. From a captured graph (--graph) operations are not launched one by one.",
      is_assumed ? " (assumed)" : "", 100.0 * (sim::to_seconds(result.host) / sim::to_seconds(result.time)),
      fmt::join(values, ", "));
}

Results answer_step(Request& request) {
  Arguments arguments;
  if (request.says("write") && request.says("profiles")) {
    arguments.fault("--write",
                    "cannot write measured GEMMs, which run takes by --profiles, too: one of both is accepted");
  }
  std::vector<std::string> remarks;
  const StepQuestion question = read_step(request, arguments, &remarks);
  const std::vector<AskedWord> asked =
      asked_words(StepWords{question, request.text("model"), request.text("ignore"), request.text("like")});
  const std::optional<Sampling> sampling = request.sampling(arguments);
  const int jobs = request.jobs(arguments);
  const Platform platform = request.platform(arguments);
  const LayerTemplates templates(config_folders());
  const StepMachine machine{platform.spec, templates};
  arguments.check_with(faults_of(question, machine));
  arguments.check_with(faults_of_carriers(question, machine));
  const std::string lines = machine_lines(request);
  const bool writes = request.says("write");
  // A step that run would refuse is refused before it is simulated.
  if (writes) experiment_text(question, machine, lines);
  const StepResult result = ask(machine, question, {}, writes ? in_whole : simulated_layers);
  if (writes) {
    request.write("write", signed_text(experiment_text(result.question, machine, lines)));
  }
  Results results = to_tables(result, machine);
  results.tables.front().table = with_question(results.tables.front().table, {asked}, "dtype");
  if (const std::string told = told_in_words(asked, {"model", "phase"}); !told.empty()) results.title += ", " + told;
  for (const StepBlock& block : step_blocks(result.question, 1, machine)) {
    for (const StepOperation& one : block.operations) warn_of_channels(results.warnings, one.work, platform.spec);
  }
  // While the GPU waits for the host, launches are on the critical path, and a longer call makes the step longer by as
  // much.
  if (10 * result.host > result.time) results.notes.insert(results.notes.begin(), word_of_host(result, platform));
  results.warnings.insert(results.warnings.end(), remarks.begin(), remarks.end());
  if (sampling) add_intervals(results, result, platform, *sampling, templates, request.progress(), jobs);
  if (const std::string& quantity = request.text("sensitivity"); !quantity.empty()) {
    const auto again = [&](Testbed& other) {
      const StepMachine varied{other.platform(), templates};
      return to_tables(ask(varied, result.question), varied);
    };
    results.tables.push_back(sensitivity_of(quantity, platform, again, request.progress()));
  }
  Testbed testbed(launching(platform.spec, question.launch()));
  return request.finish(testbed, platform, std::move(results));
}

}  // namespace

std::string experiment_text(const StepQuestion& question, const StepMachine& machine,
                            const std::string& machine_lines) {
  const std::vector<StepBlock> blocks = step_blocks(question, most_layers, machine);
  const bool pauses = question.pause > sim::Time(0);
  std::size_t operations = pauses ? 2 : 1;  // as the reader of experiments counts them
  for (const StepBlock& block : blocks) {
    const std::size_t once = block.operations.size();
    operations += block.layers > 0 ? static_cast<std::size_t>(block.layers) * (1 + once) : once;
  }
  if (operations > most_operations)
    throw too_large(fmt::format("{} operations", operations), fmt::format("{}", most_operations));
  std::string text =
      fmt::format("# A step of {}: {}, {} x {} tokens, {} cached, on {} GPUs, launched {}.\n", question.model.name,
                  to_string(question.phase), question.batch, question.tokens, question.context, question.gpus(),
                  question.graph ? "from a captured graph" : "op by op");
  text += fmt::format("name: {}\n{}launch: {}\noperations:\n", question.model.name,
                      machine_lines.empty() ? fmt::format("platform: {}\n", machine.platform.name) : machine_lines,
                      to_string(question.launch()));
  if (pauses) {
    text += fmt::format(
        "  # The makespan has this pause, which the step's time leaves out.\n"
        "  - {{name: {0}, stream: {0}, host: {1}}}\n",
        pause_name, time_text(question.pause));
  }
  // Other GPUs of the node would compute, too, and not wait for the collectives of these.
  std::vector<int> first_gpus(question.gpus() < machine.platform.gpus ? static_cast<std::size_t>(question.gpus()) : 0);
  std::iota(first_gpus.begin(), first_gpus.end(), 0);
  NamesInFile names;
  for (const StepBlock& block : blocks) {
    for (const StepOperation& one : block.operations) names[one.handle] = one.name + block.suffix;
  }
  for (const StepBlock& block : blocks) {
    if (block.layers > 0) text += fmt::format("  - repeat: {{layer: {}}}\n    operations:\n", block.layers);
    for (const StepOperation& one : block.operations)
      text += (block.layers > 0 ? "      - " : "  - ") +
              line_of(one, block.gpus.empty() ? first_gpus : block.gpus, names, machine.platform.gpu);
  }
  if (text.size() > sim::max_config_bytes) {
    throw too_large(fmt::format("{} KiB of text", text.size() >> 10),
                    fmt::format("files of {} KiB", sim::max_config_bytes >> 10));
  }
  return text;
}

StepQuestion read_step(const Request& request, Arguments& arguments, std::vector<std::string>* remarks) {
  StepWords asked;
  read_words(asked, request.given(), arguments, nullptr);
  std::vector<sim::Fault> faults;
  trial_in(asked, request.given(), faults);
  for (const sim::Fault& fault : faults) arguments.fault(typed_name(fault.where), fault.what);
  if (asked.model_name.empty()) {
    arguments.fault("--model", "is empty: a name in configs/models, a file like those, or a config.json is accepted");
    arguments.check();
  }
  const ReadModel read = read_model_of(asked);
  if (request.says("dtype")) {
    asked.model = read.model;
  } else {
    asked.take(read);
  }
  if (remarks != nullptr) *remarks = read.ignored;
  return asked;
}

Command step_command() {
  return {"step", "Predict a whole step of a model: decode, prefill or training", step_examples,
          options_of<StepWords>() +
              std::vector<Option>{{"write", "FILE",
                                   "Write the step as an experiment that c3sim run takes; the answer is then of "
                                   "all layers, stages and micro-batches, simulated in whole as run does"}} +
              run_options() + gemm_options() + uncertainty_options() + sensitivity_option("time_us") + jobs_option(),
          answer_step};
}

}  // namespace c3sim::study
