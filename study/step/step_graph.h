// A step as operations on streams, and so many of its layers as a schedule that a machine can run.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "study/network/step_question.h"
#include "study/play/testbed.h"
#include "study/program/operation_graph.h"
#include "study/program/operators.h"
#include "study/program/step_operation.h"

namespace c3sim::study {

// The step of a question that has no faults, with so many layers of each kind, of each stage. Throws sim::ConfigError
// where the configurations lack an operator.
std::vector<StepBlock> step_blocks(const StepQuestion& question, FewLayers layers, const StepMachine& machine);

// Operations of the products of all GPUs together, and of one GPU that does it all by itself. What is done again, as
// results were not kept, does not count. A split repeats the difference: a router's products, heads of keys and values,
// tokens that are filled up.
struct ProductFlops {
  sim::Flops of_all_gpus;
  sim::Flops on_one;
  sim::Flops repeated() const { return of_all_gpus - on_one; }
  bool some_are_repeated() const { return repeated() > 1e-9 * on_one; }
};
ProductFlops product_flops(const StepQuestion& question, const StepMachine& machine);

// Expanded, on all GPUs of the platform; resolved. A framework launches it: all that begins with a kernel is queued.
// Before it hosts pause, which is an operation of that name.
inline constexpr auto pause_name = "pause";
OperationGraph graph_of(std::span<const StepBlock> blocks, const models::PlatformSpec& platform, sim::Time pause = {});

// So many layers of a step, all of whose operations the machine can do.
struct PartOfStep {
  std::vector<StepBlock> blocks;
  OperationGraph graph;
  Schedule schedule;

  // What each node of the graph is of; none of what is before the step.
  struct Place {
    const StepOperation* operation = nullptr;
    const StepBlock* block = nullptr;
  };
  std::vector<Place> places() const;
};

// `leaves_out`, if given, says which blocks are not in it. Throws sim::ConfigError with what the machine cannot do.
PartOfStep part_of(const StepQuestion& question, std::span<const ElementwiseOperator> operators, const Testbed& testbed,
                   FewLayers layers, const std::function<bool(const StepBlock&)>& leaves_out = {});
// Of these blocks, behind a pause.
PartOfStep part_of(std::vector<StepBlock> blocks, sim::Time pause, const Testbed& testbed);

// Two batches of sequences whose computing and communicating alternate: while one communicates, the other computes.
// `layers` are, kind by kind, the operations of a layer for half of the sequences, and how many layers of the kind
// follow each other. Of all these in their order, for both halves. What communicates is queued on a stream of its own
// behind what computed it, and what computes next of the same half waits for it; the halves take turns on the stream
// that computes where one has to wait. Names of operations end in _1 and _2.
std::vector<StepBlock> two_batches(std::span<const StepBlock> layers);

}  // namespace c3sim::study
