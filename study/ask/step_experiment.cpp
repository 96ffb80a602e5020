#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "sim/overloaded.h"
#include "study/ask/command.h"
#include "study/ask/words.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

namespace {

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

using Names = std::map<Handle, std::string>;  // as the file has them

// Returns a wait as a file has it: the name, with "@layer-2" if the operation that it waits for is of an earlier layer.
std::string words(const Wait& wait, const Names& names) {
  const std::string& on = names.at(wait.on);
  return wait.shift == 0 ? on : fmt::format("{}@{}{:+}", on, wait.index, wait.shift);
}

// `gpus` are those of the block; empty: all of the platform.
std::string line_of(const StepOperation& one, const std::vector<int>& gpus, const Names& names,
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

// Counts operations as the reader of experiments does.
std::size_t operations_in(const std::vector<StepBlock>& blocks) {
  std::size_t count = 1;
  for (const StepBlock& block : blocks) {
    const std::size_t once = block.operations.size();
    count += block.layers > 0 ? static_cast<std::size_t>(block.layers) * (1 + once) : once;
  }
  return count;
}

sim::ConfigError too_large(const std::string& what, const std::string& most) {
  return sim::ConfigError({{"--write", "",
                            fmt::format("cannot write this step: it is {}, and run takes up to {}: fewer --micro, "
                                        "--pp or --layers are accepted",
                                        what, most)}});
}

}  // namespace

std::string experiment_text(const StepQuestion& question, const StepMachine& machine,
                            const std::string& machine_lines) {
  const std::vector<StepBlock> blocks = step_blocks(question, most_layers, machine);
  if (const std::size_t operations = operations_in(blocks); operations > most_operations)
    throw too_large(fmt::format("{} operations", operations), fmt::format("{}", most_operations));
  std::string text =
      fmt::format("# A step of {}: {}, {} x {} tokens, {} cached, on {} GPUs. Times of kernels {}.\n",
                  question.model.name, to_string(question.phase), question.batch, question.tokens, question.context,
                  question.gpus(), question.graph ? "from a captured graph" : "launched op by op");
  text += fmt::format("name: {}\n{}launch: {}\noperations:\n", question.model.name,
                      machine_lines.empty() ? fmt::format("platform: {}\n", machine.platform.name) : machine_lines,
                      to_string(question.launch()));
  // Other GPUs of the node would compute, too, and not wait for the collectives of these.
  std::vector<int> first_gpus(question.gpus() < machine.platform.gpus ? static_cast<std::size_t>(question.gpus()) : 0);
  std::iota(first_gpus.begin(), first_gpus.end(), 0);
  Names names;
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

}  // namespace c3sim::study
