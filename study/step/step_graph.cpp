#include "study/step/step_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "sim/check.h"
#include "study/step/layer.h"
#include "study/step/step_writer.h"
#include "study/step/training.h"

namespace c3sim::study {

namespace {

// Rows of the head's product: in decode and prefill the last token of a sequence tells the next, training scores all or
// a share of them.
std::int64_t scored_tokens(const StepQuestion& question) {
  if (question.phase != Phase::train) return question.batch + question.decoding;
  const double share = question.model.scored * static_cast<double>(question.new_tokens()) / question.cp;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(share)));
}

void write_embedding(StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const double elements = static_cast<double>(writer.tokens()) * static_cast<double>(model.hidden);
  writer.operate("embedding", Kind::embedding, "embedding", elements);
  if (model.position == Positions::learned) writer.operate("positions", Kind::elementwise, "add", elements);
}

void write_head(StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const std::int64_t rows = scored_tokens(writer.question());
  const std::int64_t words = writer.share(model.vocabulary);
  const double scores = static_cast<double>(rows) * static_cast<double>(words);
  writer.operate("last_norm", Kind::norm, model.norm == Norm::rms ? "rmsnorm" : "layernorm",
                 static_cast<double>(rows) * static_cast<double>(model.hidden));
  writer.gemm("head", words, model.hidden, rows);
  writer.collective("head_all_gather", models::CollectiveKind::all_gather,
                    static_cast<double>(rows) * static_cast<double>(model.vocabulary) * writer.element(),
                    writer.question().tp);
  if (writer.question().phase == Phase::train) {
    writer.operate("head_cast", Kind::copy, "cast_up", scores);
    writer.operate("loss", Kind::softmax, "cross_entropy", scores, sim::Bytes(4.0));
  } else {
    writer.operate("choice", Kind::softmax, "softmax", scores * writer.question().tp);
  }
}

void write_head_gradient(StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const std::int64_t rows = scored_tokens(writer.question());
  const std::int64_t words = writer.share(model.vocabulary);
  const double scores = static_cast<double>(rows) * static_cast<double>(words);
  writer.operate("loss_gradient", Kind::softmax, "cross_entropy_backward", scores, sim::Bytes(4.0));
  writer.operate("head_gradient_cast", Kind::copy, "cast_down", scores);
  writer.input_gradient("head_input", words, model.hidden, rows);
  writer.weight_gradient("head_weights", words, model.hidden, rows);
}

void write_embedding_gradient(StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const double elements = static_cast<double>(writer.tokens()) * static_cast<double>(model.hidden);
  writer.operate("embedding_zero", Kind::embedding, "fill",
                 static_cast<double>(model.vocabulary) * static_cast<double>(model.hidden), sim::Bytes(4.0));
  writer.operate("embedding_gradient", Kind::embedding, "embedding_gradient", elements, sim::Bytes(4.0));
}

}  // namespace

std::vector<StepBlock> step_blocks(const StepQuestion& question, const models::PlatformSpec& platform,
                                   std::span<const ElementwiseOperator> operators, std::int64_t layers) {
  StepWriter writer(question, platform, operators);
  const bool whole = !question.layers.has_value();
  std::vector<StepBlock> blocks;
  const auto block = [&](std::int64_t repeats) {
    if (std::vector<StepOperation> written = writer.take(); !written.empty()) {
      blocks.push_back({repeats, std::move(written)});
    }
  };
  if (whole) write_end_gather(writer);
  if (whole) write_embedding(writer);
  block(0);
  if (question.shard == Shard::full) write_gather(writer, "");
  write_forward(writer, "");
  block(layers);
  if (whole) write_head(writer);
  block(0);
  if (!question.trains()) return blocks;
  if (whole) write_head_gradient(writer);
  block(0);
  if (question.shard == Shard::full) write_gather(writer, "backward_");
  if (question.recompute) write_forward(writer, "again_");
  write_backward(writer);
  write_reduction(writer);
  block(layers);
  if (whole) write_embedding_gradient(writer);
  if (whole) write_end_reduction(writer);
  block(0);
  write_update(writer, layers);
  block(0);
  return blocks;
}

OperationGraph graph_of(std::span<const StepBlock> blocks, int gpus, sim::Time pause) {
  std::vector<int> all(static_cast<std::size_t>(gpus));
  for (int gpu = 0; gpu < gpus; ++gpu) all[static_cast<std::size_t>(gpu)] = gpu;
  OperationGraph graph;
  std::size_t whole = 0;
  if (pause > sim::Time(0)) {
    Operation waiting = operation_of(HostWorkSpec{pause});
    waiting.name = pause_name;
    graph.add({std::move(waiting), pause_name, {}, {}, all, whole++}, {});
  }
  for (const StepBlock& block : blocks) {
    for (std::int64_t layer = 0; layer < std::max<std::int64_t>(1, block.layers); ++layer) {
      for (const StepOperation& one : block.operations) {
        Operation operation = operation_of(one.work, {}, one.stream);
        operation.name = block.layers == 0 ? one.name : fmt::format("{}[{}]", one.name, layer);
        Indices indices;
        if (block.layers > 0) indices["layer"] = layer;
        graph.add({std::move(operation), one.name, std::move(indices), {}, all, whole++}, one.after);
      }
    }
  }
  const std::vector<OperationGraph::Fault> faults = graph.resolve();
  SIM_CHECK(faults.empty());
  return graph;
}

}  // namespace c3sim::study
