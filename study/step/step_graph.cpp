#include "study/step/step_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/check.h"
#include "study/step/ends.h"
#include "study/step/layer.h"
#include "study/step/pipeline.h"
#include "study/step/step_writer.h"
#include "study/step/training.h"
#include "study/step/two_batches.h"

namespace c3sim::study {

namespace {

std::vector<StepBlock> blocks_of_two_batches(std::span<LayerGroup> groups,
                                             std::span<const ElementwiseOperator> operators,
                                             const models::PlatformSpec& platform) {
  std::vector<LayersOfHalf> halves;
  for (LayerGroup& group : groups) {
    group.question.batch /= 2;
    StepWriter writer(group.question, operators, platform, group.prefix);
    write_forward(writer, "");
    halves.push_back({writer.take(), group.layers});
  }
  return two_batches(halves);
}

}  // namespace

std::vector<StepBlock> step_blocks(const StepQuestion& question, std::span<const ElementwiseOperator> operators,
                                   FewLayers layers, const models::PlatformSpec& platform) {
  if (question.has_turns()) {
    return pipeline_blocks(question, operators, std::min(layers.each, question.stage_layers()), platform);
  }
  StepWriter writer(question, operators, platform);
  const bool whole = !question.layers.has_value();
  std::vector<StepBlock> blocks;
  const auto block = [&](StepWriter& of, std::int64_t repeats) {
    if (std::vector<StepOperation> written = of.take(); !written.empty()) {
      blocks.push_back({repeats, std::move(written)});
    }
  };
  // Layers that are alike lie behind each other, wherever the model has them: that tells on no sum.
  std::vector<LayerGroup> groups = question.groups(layers);
  std::erase_if(groups, [](const LayerGroup& group) { return group.layers == 0; });
  const auto each = [&](auto& order, const auto& write) {
    for (const LayerGroup& group : order) {
      StepWriter of_group(group.question, operators, platform, group.prefix);
      write(of_group);
      block(of_group, group.layers);
    }
  };
  if (whole) write_end_gather(writer);
  if (whole) write_embedding(writer);
  block(writer, 0);
  if (question.overlap == Overlap::two_batches) {
    for (StepBlock& alternating : blocks_of_two_batches(groups, operators, platform)) {
      blocks.push_back(std::move(alternating));
    }
  } else {
    each(groups, [&](StepWriter& of_group) {
      std::vector<Gather> gathers;
      if (question.shard == Shard::full) gathers = write_gather(of_group, "");
      wait_for_layer_before(of_group, gathers, write_forward(of_group, ""));
    });
  }
  if (whole) write_head(writer);
  block(writer, 0);
  if (!question.trains()) return blocks;
  Written head_reduction;
  if (whole) head_reduction = write_head_reduction(writer, write_head_gradient(writer));
  block(writer, 0);
  std::vector<Written> reductions;
  std::ranges::reverse(groups);
  each(groups, [&](StepWriter& of_group) {
    std::vector<Gather> gathers;
    if (question.shard == Shard::full) gathers = write_gather(of_group, "backward_");
    if (question.recompute) {
      of_group.do_again(true);
      write_forward(of_group, "again_");
      of_group.do_again(false);
    }
    const std::vector<ProductGradients> gradients = write_backward(of_group);
    wait_for_layer_before(of_group, gathers, of_group.last());
    const std::vector<Written> reduced = write_reduction(of_group, gathers, gradients);
    reductions.insert(reductions.end(), reduced.begin(), reduced.end());
  });
  if (whole) write_embedding_gradient(writer);
  if (whole) write_end_reduction(writer);
  block(writer, 0);
  reductions.push_back(head_reduction);
  write_update(writer, question.groups(layers), reductions);
  block(writer, 0);
  return blocks;
}

namespace {

// Every micro-batch has the same products: one is written.
sim::Flops products_of_all_gpus(const StepQuestion& question, std::span<const ElementwiseOperator> operators,
                                const models::PlatformSpec& platform) {
  StepQuestion once = question;
  once.micro = 1;
  once.batch /= question.micro;
  sim::Flops flops;
  for (const StepBlock& block : step_blocks(once, operators, once.stage_layers(), platform)) {
    const auto layers = static_cast<double>(std::max<std::int64_t>(1, block.layers));
    const double times = question.micro * layers * block.share(once.gpus()) * once.gpus();
    for (const StepOperation& one : block.operations) {
      if (one.again) continue;
      const auto* const fused = std::get_if<models::FusedSpec>(&one.work);
      const auto* const product = fused != nullptr ? &fused->gemm : std::get_if<models::GemmShape>(&one.work);
      if (product != nullptr) flops += times * product->flops();
    }
  }
  return flops;
}

}  // namespace

ProductFlops product_flops(const StepQuestion& question, std::span<const ElementwiseOperator> operators,
                           const models::PlatformSpec& platform) {
  StepQuestion on_one = question;
  on_one.batch *= question.dp;
  static_cast<Split&>(on_one) = {};
  const sim::Flops of_all = products_of_all_gpus(question, operators, platform);
  return {of_all, question.gpus() == 1 ? of_all : products_of_all_gpus(on_one, operators, platform)};
}

OperationGraph graph_of(std::span<const StepBlock> blocks, const models::PlatformSpec& platform, sim::Time pause) {
  std::vector<int> all(static_cast<std::size_t>(platform.gpus));
  std::iota(all.begin(), all.end(), 0);
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
        const std::string listed = one.name + block.suffix;
        operation.name = block.layers == 0 ? listed : fmt::format("{}[{}]", listed, layer);
        if (one.kind != Kind::send) operation.gpus = block.gpus;
        if (may_be_queued(one.work, platform.gpu.sdma)) operation.launch = Launch::queued;
        Indices indices;
        if (block.layers > 0) indices["layer"] = layer;
        graph.add(
            {std::move(operation), listed, std::move(indices), {}, block.gpus.empty() ? all : block.gpus, whole++},
            one.after);
      }
    }
  }
  const std::vector<OperationGraph::Fault> faults = graph.resolve();
  SIM_CHECK(faults.empty());
  return graph;
}

}  // namespace c3sim::study
