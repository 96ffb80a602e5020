#include "study/step/step_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "sim/check.h"
#include "sim/config/config_error.h"
#include "study/program/layer_templates.h"
#include "study/program/pipeline.h"
#include "study/program/step_writer.h"
#include "study/program/training.h"

namespace c3sim::study {

namespace {

// A Stretch is what a half computes until it has to wait for its communication, as consecutive blocks.
using Stretch = std::vector<StepBlock>;

class OneHalf {
 public:
  OneHalf(int number, Handle& next_handle) : number_(number), next_handle_(next_handle) {}

  std::vector<Stretch> stretches(std::span<const StepBlock> layers) {
    stretches_.emplace_back();
    for (const StepBlock& kind : layers) {
      for (std::int64_t repeat = 0; repeat < kind.layers; ++repeat) {
        suffix_ = fmt::format("_l{}", layer_++);
        of_layer_.clear();
        for (const StepOperation& one : kind.operations) of_layer_[one.handle] = next_handle_++;
        for (const StepOperation& one : kind.operations) add(one);
      }
    }
    return std::move(stretches_);
  }

 private:
  void add(StepOperation one) {
    one.name = fmt::format("{}_{}", one.name, number_);
    one.handle = of_layer_.at(one.handle);
    for (Wait& wait : one.after) wait = {of_layer_.at(wait.on)};
    communicates(one.kind) ? move_beside(one) : wait_for_last(one);
    Stretch& stretch = stretches_.back();
    if (stretch.empty() || stretch.back().suffix != suffix_) stretch.push_back({.operations = {}, .suffix = suffix_});
    stretch.back().operations.push_back(std::move(one));
  }

  // Communication on other streams already states its dependencies.
  void move_beside(StepOperation& one) {
    if (one.stream != compute_stream) return;
    one.stream = exchange_stream;
    if (computed_) one.after.push_back({*computed_});
    awaited_ = one.handle;
  }

  void wait_for_last(StepOperation& one) {
    if (awaited_) one.after.push_back({*std::exchange(awaited_, {})});
    if (!one.after.empty()) stretches_.emplace_back();
    computed_ = one.handle;
  }

  int number_;
  Handle& next_handle_;
  int layer_ = 0;
  std::map<Handle, Handle> of_layer_;  // new handles of the layer's operations
  std::string suffix_;                 // suffix of the layer
  std::vector<Stretch> stretches_;
  Written computed_;  // the last computation
  Written awaited_;   // the last communication that nothing waits for yet
};

std::vector<StepBlock> blocks_of_two_batches(std::span<LayerGroup> groups, const StepMachine& machine,
                                             Handle& next_handle) {
  std::vector<StepBlock> halves;
  for (LayerGroup& group : groups) {
    group.question.batch /= 2;
    StepWriter writer(group.question, machine, next_handle, group.prefix);
    write_forward(writer);
    halves.push_back({group.layers, writer.take()});
  }
  return two_batches(halves, next_handle);
}

}  // namespace

std::vector<StepBlock> two_batches(std::span<const StepBlock> layers, Handle& next_handle) {
  std::vector<Stretch> first = OneHalf(1, next_handle).stretches(layers);
  std::vector<Stretch> second = OneHalf(2, next_handle).stretches(layers);
  std::vector<StepBlock> blocks;
  for (std::size_t at = 0; at < first.size(); ++at) {
    for (Stretch* const stretch : {&first[at], &second[at]}) {
      std::ranges::move(*stretch, std::back_inserter(blocks));
    }
  }
  return blocks;
}

std::vector<StepBlock> step_blocks(const StepQuestion& question, FewLayers layers, const StepMachine& machine) {
  if (question.has_turns()) {
    return pipeline_blocks(question, std::min(layers.each, question.stage_layers()), machine);
  }
  Handle next_handle = 0;
  StepWriter writer(question, machine, next_handle);
  const bool whole = !question.layers.has_value();
  std::vector<StepBlock> blocks;
  const auto block = [&](StepWriter& of, std::int64_t repeats) {
    if (std::vector<StepOperation> written = of.take(); !written.empty()) {
      blocks.push_back({repeats, std::move(written)});
    }
  };
  // Layers of a kind follow each other wherever the model has them; this does not change any sum.
  std::vector<LayerGroup> groups = question.groups(layers);
  std::erase_if(groups, [](const LayerGroup& group) { return group.layers == 0; });
  const auto each = [&](auto& order, const auto& write) {
    for (const LayerGroup& group : order) {
      StepWriter of_group(group.question, machine, next_handle, group.prefix);
      write(of_group);
      block(of_group, group.layers);
    }
  };
  if (whole) write_end_gather(writer);
  if (whole) machine.templates.write(writer, "embedding");
  block(writer, 0);
  if (question.overlap == Overlap::two_batches) {
    std::ranges::move(blocks_of_two_batches(groups, machine, next_handle), std::back_inserter(blocks));
  } else {
    each(groups, [&](StepWriter& of_group) {
      const std::vector<Gather> gathers = write_gather(of_group, "");
      wait_for_layer_before(of_group, gathers, write_forward(of_group));
    });
  }
  if (whole) machine.templates.write(writer, "head");
  block(writer, 0);
  if (!question.trains()) return blocks;
  Written head_reduction;
  if (whole) {
    machine.templates.write(writer, "head_gradient");
    head_reduction = write_head_reduction(writer);
  }
  block(writer, 0);
  std::vector<Written> reductions;
  std::ranges::reverse(groups);
  each(groups, [&](StepWriter& of_group) {
    const std::vector<Gather> gathers = write_gather(of_group, "backward_");
    if (question.recompute) write_forward(of_group, true);
    const std::vector<ProductGradients> gradients = write_backward(of_group);
    wait_for_layer_before(of_group, gathers, of_group.last());
    const std::vector<Written> reduced = write_reduction(of_group, gathers, gradients);
    reductions.insert(reductions.end(), reduced.begin(), reduced.end());
  });
  if (whole) machine.templates.write(writer, "embedding_gradient");
  if (whole) write_end_reduction(writer);
  block(writer, 0);
  reductions.push_back(head_reduction);
  write_update(writer, question.groups(layers), reductions);
  block(writer, 0);
  return blocks;
}

namespace {

// Returns the operations of products on all GPUs, and those of attention if it counts. Every micro-batch has the same
// products, so that one is written.
sim::Flops flops_of_all_gpus(const StepQuestion& question, const StepMachine& machine, bool counts_attention) {
  StepQuestion once = question;
  once.micro = 1;
  once.batch /= question.micro;
  sim::Flops flops;
  for (const StepBlock& block : step_blocks(once, once.stage_layers(), machine)) {
    const auto layers = static_cast<double>(std::max<std::int64_t>(1, block.layers));
    const double times = question.micro * layers * block.share(once.gpus()) * once.gpus();
    for (const StepOperation& one : block.operations) {
      const auto* const fused = std::get_if<models::FusedSpec>(&one.work);
      const auto* const product = fused != nullptr ? &fused->gemm : std::get_if<models::GemmShape>(&one.work);
      const auto* const attention = std::get_if<models::AttentionShape>(&one.work);
      if (product != nullptr) flops += times * one.of_model * product->flops();
      if (attention != nullptr && counts_attention) flops += times * one.of_model * attention->flops();
    }
  }
  return flops;
}

StepQuestion on_one_gpu(StepQuestion question) {
  question.batch *= question.dp;
  question.decoding *= question.dp;
  static_cast<Split&>(question) = {};
  return question;
}

}  // namespace

ProductFlops product_flops(const StepQuestion& question, const StepMachine& machine) {
  const sim::Flops of_all = flops_of_all_gpus(question, machine, false);
  return {of_all, question.gpus() == 1 ? of_all : flops_of_all_gpus(on_one_gpu(question), machine, false)};
}

sim::Flops model_flops(const StepQuestion& question, const StepMachine& machine) {
  return flops_of_all_gpus(on_one_gpu(question), machine, true);
}

OperationGraph graph_of(std::span<const StepBlock> blocks, const models::PlatformSpec& platform, sim::Time pause) {
  std::vector<int> all(static_cast<std::size_t>(platform.gpus));
  std::iota(all.begin(), all.end(), 0);
  OperationGraph graph;
  std::size_t whole = 0;
  if (pause > sim::Time(0)) {
    Handle unused = 0;
    for (const StepBlock& block : blocks) {
      for (const StepOperation& one : block.operations) unused = std::max(unused, one.handle + 1);
    }
    Operation waiting{.name = pause_name, .work = HostWorkSpec{pause}, .mask = {}, .stream = pause_name, .after = {}};
    graph.add({std::move(waiting), unused, pause_name, {}, {}, all, whole++}, {});
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
        const std::vector<int>& gpus = block.gpus.empty() ? all : block.gpus;
        graph.add({std::move(operation), one.handle, listed, std::move(indices), {}, gpus, whole++}, one.after);
      }
    }
  }
  const std::vector<sim::Fault> faults = graph.resolve();
  SIM_CHECK(faults.empty());
  return graph;
}

std::vector<PartOfStep::Place> PartOfStep::places() const {
  std::map<Handle, Place> listed;
  for (const StepBlock& block : blocks) {
    for (const StepOperation& one : block.operations) listed[one.handle] = {&one, &block};
  }
  std::vector<Place> places;
  for (const GraphNode& node : graph.nodes()) {
    const auto found = listed.find(node.handle);
    places.push_back(found == listed.end() ? Place{} : found->second);
  }
  return places;
}

PartOfStep part_of(const StepQuestion& question, const LayerTemplates& templates, const Testbed& testbed,
                   FewLayers layers, bool are_alone) {
  std::vector<StepBlock> blocks = step_blocks(question, layers, {testbed.platform(), templates});
  if (!are_alone) return part_of(std::move(blocks), question.pause, testbed);
  std::erase_if(blocks, [](const StepBlock& block) {
    return block.layers == 0 && block.operations.front().kind != Kind::optimizer;
  });
  std::set<Handle> left;
  for (const StepBlock& block : blocks) {
    for (const StepOperation& one : block.operations) left.insert(one.handle);
  }
  for (StepBlock& block : blocks) {
    for (StepOperation& one : block.operations) {
      std::erase_if(one.after, [&](const Wait& wait) { return !left.contains(wait.on); });
    }
  }
  return part_of(std::move(blocks), question.pause, testbed);
}

PartOfStep part_of(std::vector<StepBlock> blocks, sim::Time pause, const Testbed& testbed) {
  PartOfStep part{std::move(blocks), {}, {}};
  part.graph = graph_of(part.blocks, testbed.platform(), pause);
  part.schedule = part.graph.schedule();
  std::vector<sim::Fault> faults;
  for (const Operation& operation : part.schedule) {
    const std::string why = testbed.why_impossible(operation.work);
    const bool is_new = std::ranges::find(faults, why, &sim::Fault::what) == faults.end();
    if (!why.empty() && is_new) faults.push_back({"step", operation.name, why});
  }
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
  return part;
}

}  // namespace c3sim::study
