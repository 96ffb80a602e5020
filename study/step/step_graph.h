// A step as operations on streams: blocks of operations that run one after another, each block repeated, as an
// experiment file has them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/operation_graph.h"
#include "study/operators.h"
#include "study/step/step_question.h"

namespace c3sim::study {

// What a kernel of a step does, as results tell them apart.
enum class Kind {
  gemm,
  attention,
  norm,
  elementwise,
  optimizer,
  embedding,
  copy,
  softmax,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all
};
inline constexpr std::size_t kinds = 12;
std::string_view to_string(Kind kind);
inline bool communicates(Kind kind) { return kind >= Kind::all_reduce; }

struct StepOperation {
  std::string name;  // of its own within the step
  Kind kind;
  Work work;
  std::string stream;
  std::vector<Wait> after{};
};

struct StepBlock {
  std::int64_t layers = 0;  // it is repeated by the index "layer"; 0: it is none of layers, and runs once
  std::vector<StepOperation> operations;
};

// The step of a question that has no faults, with so many layers. Throws sim::ConfigError where the configurations lack
// an operator.
std::vector<StepBlock> step_blocks(const StepQuestion& question, std::span<const ElementwiseOperator> operators,
                                   std::int64_t layers);

// Expanded, on a node of so many GPUs; resolved.
OperationGraph graph_of(std::span<const StepBlock> blocks, int gpus);

}  // namespace c3sim::study
