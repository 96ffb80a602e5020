// An operation of a step and what kind it is; blocks of them that run one after another, each repeated, as an
// experiment file has them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/choice.h"
#include "sim/units.h"
#include "study/program/operation_graph.h"
#include "study/program/operators.h"

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
  all_to_all,
  send
};
constexpr auto all_names(Kind) {
  return sim::names("gemm", "attention", "norm", "elementwise", "optimizer", "embedding", "copy", "softmax",
                    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send");
}
using sim::to_string;
inline constexpr auto all_kinds = sim::all_of<Kind>();
Kind kind_of(models::CollectiveKind kind);  // a step has no broadcasts: one is a failed check
// None of kinds that are no collectives.
std::optional<models::CollectiveKind> collective_of(Kind kind);
inline bool communicates(Kind kind) { return kind == Kind::send || collective_of(kind).has_value(); }

// What runs steps: a machine, and the kernels that operators come to (configs/operators.yaml). Both outlive it.
struct StepMachine {
  const models::PlatformSpec& platform;
  std::span<const ElementwiseOperator> operators;
};

struct StepOperation {
  std::string name;  // of its own within the step
  Kind kind;
  Work work;
  std::string stream;
  std::vector<Wait> after{};
  bool again = false;  // it was done before, and is done again as its results were not kept
};

// What a stage of a pipeline does next: a micro-batch forward, or its gradient.
struct Turn {
  bool forward = true;
  int micro = 0;

  bool operator==(const Turn&) const = default;
};

// Which layers of a stage a block is of: of the kind of that place among the model's, the first layer of a turn or
// others.
struct LayersOfStage {
  std::size_t kind = 0;
  bool first = false;
  bool behind_first = false;  // others of the kind that the turn's first layer is of

  // Of a stage with so many layers of the kind, those that this block shows.
  std::int64_t shown_of(std::int64_t layers) const {
    if (first) return std::min<std::int64_t>(1, layers);
    return behind_first ? std::max<std::int64_t>(0, layers - 1) : layers;
  }
};

struct StepBlock {
  std::int64_t layers = 0;  // it is repeated by the index "layer"; 0: it runs once
  std::vector<StepOperation> operations;
  std::string suffix{};     // of the names of its operations, where a step has several blocks of the same ones
  std::vector<int> gpus{};  // that do it, or from which to which it is sent; empty: all
  int stage = 0;            // whose it is, or who sends it
  std::optional<Turn> turn{};
  std::optional<LayersOfStage> of_stage{};  // of a pipeline's layers

  bool is_on(int gpu) const { return gpus.empty() || std::ranges::count(gpus, gpu) > 0; }
  bool is_sent() const { return operations.front().kind == Kind::send; }
  // How much of it the mean GPU does, of so many in the step.
  double share(int of_gpus) const {
    if (gpus.empty()) return 1.0;
    return (is_sent() ? 1.0 : static_cast<double>(gpus.size())) / of_gpus;
  }
};

}  // namespace c3sim::study
