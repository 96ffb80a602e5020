#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "sim/config/quantity_text.h"
#include "study/step/step.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

namespace {

std::string bytes_text(sim::Bytes bytes) { return fmt::format("{:.0f} B", bytes.value()); }

std::string words(const models::GemmShape& shape) {
  std::string text = fmt::format("gemm: {}x{}x{}", shape.m, shape.n, shape.k);
  if (shape.products > 1) text += fmt::format("x{}", shape.products);
  if (shape.dtype != models::Dtype::bf16) text += fmt::format(", dtype: {}", to_string(shape.dtype));
  if (shape.layout != models::Layout::forward) text += fmt::format(", layout: {}", to_string(shape.layout));
  return text;
}

std::string words(const models::AttentionShape& shape) {
  return fmt::format(
      "attention: {{batch: {}, heads: {}, kv_heads: {}, queries: {}, keys: {}, head_dim: {}, causal: {}, "
      "gradient: {}, dropout: {}, dtype: {}}}",
      shape.batch, shape.heads, shape.kv_heads, shape.queries, shape.keys, shape.head_dim, shape.causal, shape.backward,
      shape.dropout, to_string(shape.dtype));
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

}  // namespace

std::string experiment_text(const StepQuestion& question, const models::PlatformSpec& platform,
                            std::span<const ElementwiseOperator> operators) {
  const std::vector<StepBlock> blocks = step_blocks(question, operators, question.stage_layers(), platform);
  std::string text =
      fmt::format("# A step of {}: {}, {} x {} tokens, {} cached, on {} GPUs. Times of kernels {}.\n",
                  question.model.name, to_string(question.phase), question.batch, question.tokens, question.context,
                  question.gpus(), question.graph ? "from a captured graph" : "launched op by op");
  text += fmt::format("name: {}\nplatform: {}\nlaunch: {}\noperations:\n", question.model.name, platform.name,
                      to_string(question.launch()));
  for (const StepBlock& block : blocks) {
    if (block.layers > 0) text += fmt::format("  - repeat: {{layer: {}}}\n    operations:\n", block.layers);
    for (const StepOperation& one : block.operations)
      text += (block.layers > 0 ? "      - " : "  - ") + line_of(one, block);
  }
  return text;
}

}  // namespace c3sim::study
