#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "study/step/step.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

namespace {

std::string bytes_text(sim::Bytes bytes) { return fmt::format("{:.0f} B", bytes.value()); }

std::string words(const models::GemmShape& shape) {
  std::string text = fmt::format("gemm: {}x{}x{}", shape.m, shape.n, shape.k);
  if (shape.products > 1) text += fmt::format("x{}", shape.products);
  if (shape.dtype != models::Dtype::bf16) text += fmt::format(", dtype: {}", to_string(shape.dtype));
  if (shape.weights) text += fmt::format(", weights: {}", to_string(*shape.weights));
  if (shape.layout != models::Layout::forward) text += fmt::format(", layout: {}", to_string(shape.layout));
  if (shape.of_experts) text += ", of_experts: true";
  return text;
}

std::string words(const models::AttentionShape& shape) {
  std::string more;
  if (shape.value_dim > 0) more += fmt::format(", value_dim: {}", shape.value_dim);
  if (shape.window > 0) more += fmt::format(", window: {}", shape.window);
  if (shape.shared_values) more += ", shared_values: true";
  if (shape.soft_cap) more += ", soft_cap: true";
  if (shape.cache) more += fmt::format(", cache: {}", to_string(*shape.cache));
  return fmt::format(
      "attention: {{batch: {}, heads: {}, kv_heads: {}, queries: {}, keys: {}, head_dim: {}, causal: {}, "
      "gradient: {}, dropout: {}, dtype: {}{}}}",
      shape.batch, shape.heads, shape.kv_heads, shape.queries, shape.keys, shape.head_dim, shape.causal, shape.backward,
      shape.dropout, to_string(shape.dtype), more);
}

std::string words(const models::ElementwiseSpec& spec) {
  return fmt::format("kernel: {{read: {}, write: {}, flops: {:.0f}, reduces: {}, row: {}, strided: {}}}",
                     bytes_text(spec.read), bytes_text(spec.written), spec.flops.value(), spec.reduces, spec.row,
                     spec.strided);
}

std::string words(const models::CollectiveSpec& spec) {
  std::string how = spec.host_threads ? ", host_threads: per_gpu" : "";
  if (spec.channels) how += fmt::format(", channels: {}", *spec.channels);
  if (spec.backend == models::Backend::sdma) {
    how += fmt::format(", variant: {}, prelaunch: {}", to_string(spec.variant), spec.prelaunch);
  }
  if (spec.first > 0) how += fmt::format(", first: {}", spec.first);
  return fmt::format("collective: {{kind: {}, bytes: {}, backend: {}, gpus: {}{}{}}}", to_string(spec.kind),
                     bytes_text(spec.bytes), to_string(spec.backend), spec.gpus, how,
                     spec.graph ? ", graph: true" : "");
}

std::string words(const models::FusedSpec& spec) {
  return fmt::format("fused: {{{}, kind: {}, path: {}, trigger: {}, stores: {}, pieces: {}, gpus: {}}}",
                     words(spec.gemm), to_string(spec.kind), to_string(spec.path), to_string(spec.trigger), spec.stores,
                     spec.pieces, spec.gpus);
}

std::string words(const models::SdmaCopySpec& copy) {
  return fmt::format("copy: {{from: {}, to: {}, bytes: {}, host_threads: per_gpu}}", copy.from, copy.to,
                     bytes_text(copy.bytes));
}

std::string words(const models::RemoteKernelSpec& spec) {
  return fmt::format("remote: {{gpu: {}, peers: [{}], access: {}, bytes: {}, cus: {}}}", spec.gpu, spec.peers.front(),
                     to_string(spec.access), bytes_text(spec.bytes), spec.workgroups);
}

// What a wait is in a file: the name, and of a layer before its own "@layer-2". Of its own layer there is nothing to
// say.
std::string words(const Wait& wait) {
  return wait.shift == 0 ? wait.on : fmt::format("{}@{}{:+}", wait.on, wait.index, wait.shift);
}

std::string line_of(const StepOperation& one, const StepBlock& block) {
  std::string after;
  for (const Wait& wait : one.after) after += (after.empty() ? "" : ", ") + words(wait);
  const std::string waits = after.empty() ? "" : fmt::format("after: [{}], ", after);
  const auto words_of = [](const auto& work) {
    if constexpr (requires { words(work); }) return words(work);
    return std::string();  // a step has no other work
  };
  const bool placed = !communicates(one.kind) && !block.gpus.empty();
  const std::string gpus = placed ? fmt::format("gpus: [{}], ", fmt::join(block.gpus, ", ")) : "";
  return fmt::format("{{name: {}{}, stream: {}, {}{}{}}}\n", one.name, block.suffix, one.stream, gpus, waits,
                     std::visit(words_of, one.work));
}

// As the reader of experiments counts them.
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
  for (const StepBlock& block : blocks) {
    if (block.layers > 0) text += fmt::format("  - repeat: {{layer: {}}}\n    operations:\n", block.layers);
    for (const StepOperation& one : block.operations)
      text += (block.layers > 0 ? "      - " : "  - ") + line_of(one, block);
  }
  if (text.size() > sim::max_config_bytes) {
    throw too_large(fmt::format("{} KiB of text", text.size() >> 10),
                    fmt::format("files of {} KiB", sim::max_config_bytes >> 10));
  }
  return text;
}

}  // namespace c3sim::study
