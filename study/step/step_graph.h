// Writes a step as operations on streams, and part of its layers as a schedule that a machine can run.
#pragma once

#include <span>
#include <vector>

#include "study/network/step_question.h"
#include "study/play/testbed.h"
#include "study/program/layer_templates.h"
#include "study/program/operation_graph.h"
#include "study/program/step_operation.h"

namespace c3sim::study {

// Writes the step of a question without faults, with at most `layers` of each kind per stage. Throws sim::ConfigError
// if the configurations lack an operator.
std::vector<StepBlock> step_blocks(const StepQuestion& question, FewLayers layers, const StepMachine& machine);

// ProductFlops counts floating-point operations of the products of all GPUs, and of one GPU that runs the whole step.
// Recomputation does not count. The difference is what a split repeats: a router's products, heads of keys and values,
// padding tokens.
struct ProductFlops {
  sim::Flops of_all_gpus;
  sim::Flops on_one;
  sim::Flops repeated() const { return of_all_gpus - on_one; }
  bool some_are_repeated() const { return repeated() > 1e-9 * on_one; }
};
ProductFlops product_flops(const StepQuestion& question, const StepMachine& machine);
// Returns the operations of the products and attention of one GPU that runs the whole step, without recomputation.
sim::Flops model_flops(const StepQuestion& question, const StepMachine& machine);

// Expands blocks to a resolved graph on all GPUs of the platform. As launched by a framework, everything that begins
// with a kernel is queued. A pause of the hosts comes first, as an operation of that name.
inline constexpr auto pause_name = "pause";
OperationGraph graph_of(std::span<const StepBlock> blocks, const models::PlatformSpec& platform, sim::Time pause = {});

// A PartOfStep is a step with some of its layers, all of whose operations the machine can do.
struct PartOfStep {
  std::vector<StepBlock> blocks;
  OperationGraph graph;
  Schedule schedule;

  // A Place is the origin of a node of the graph; it is empty for the pause before the step.
  struct Place {
    const StepOperation* operation = nullptr;
    const StepBlock* block = nullptr;
  };
  std::vector<Place> places() const;
};

// Returns a step with these layers or, if they are alone, only them and their update. Throws sim::ConfigError for
// impossible work.
PartOfStep part_of(const StepQuestion& question, const LayerTemplates& templates, const Testbed& testbed,
                   FewLayers layers, bool are_alone = false);
// Returns the part made of these blocks, after a pause.
PartOfStep part_of(std::vector<StepBlock> blocks, sim::Time pause, const Testbed& testbed);

// Writes two halves of the sequences whose computation and communication alternate: while one half communicates, the
// other computes. `layers` are, for each kind in order, the operations of a layer for one half, and the number of such
// layers. Communication is queued on its own stream after the computation that it depends on, and the next computation
// of the same half waits for it; the halves take turns on the compute stream when one has to wait. Operations get new
// handles from `next_handle` on, and names that end in _1 and _2.
std::vector<StepBlock> two_batches(std::span<const StepBlock> layers, Handle& next_handle);

}  // namespace c3sim::study
