// A step as operations on streams.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/step/step_operation.h"
#include "study/step/step_question.h"
#include "study/work/operation_graph.h"
#include "study/work/operators.h"

namespace c3sim::study {

// The step of a question that has no faults, with so many layers of each kind, of each stage. Throws sim::ConfigError
// where the configurations lack an operator.
std::vector<StepBlock> step_blocks(const StepQuestion& question, std::span<const ElementwiseOperator> operators,
                                   FewLayers layers, const models::PlatformSpec& platform);

// Operations of the products of all GPUs together, and of one GPU that does it all by itself. What is done again, as
// results were not kept, does not count. A split repeats the difference: a router's products, heads of keys and values,
// tokens that are filled up.
struct ProductFlops {
  sim::Flops of_all_gpus;
  sim::Flops on_one;
  sim::Flops repeated() const { return of_all_gpus - on_one; }
  bool some_are_repeated() const { return repeated() > 1e-9 * on_one; }
};
ProductFlops product_flops(const StepQuestion& question, std::span<const ElementwiseOperator> operators,
                           const models::PlatformSpec& platform);

// Expanded, on all GPUs of the platform; resolved. A framework launches it: all that begins with a kernel is queued.
// Before it hosts pause, which is an operation of that name.
inline constexpr auto pause_name = "pause";
OperationGraph graph_of(std::span<const StepBlock> blocks, const models::PlatformSpec& platform, sim::Time pause = {});

}  // namespace c3sim::study
