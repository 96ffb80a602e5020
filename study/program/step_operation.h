// A StepOperation is one operation of a step with its kind; a StepBlock is a list of them that run one after another,
// may be repeated, and becomes a block of an experiment file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/check.h"
#include "sim/config/choice.h"
#include "sim/units.h"
#include "study/program/operation_graph.h"
#include "study/program/operators.h"

namespace c3sim::study {

// A Kind classifies the kernels of a step for results.
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
// Returns the collective of the same name; nothing for kinds that are no collectives.
inline std::optional<models::CollectiveKind> collective_of(Kind kind) {
  for (const models::CollectiveKind one : sim::all_of<models::CollectiveKind>()) {
    if (to_string(one) == to_string(kind)) return one;
  }
  return {};
}
// Returns the kind of a collective, which is no broadcast, as steps have none.
inline Kind kind_of(models::CollectiveKind collective) {
  const auto* const kind =
      std::ranges::find_if(all_kinds, [collective](Kind one) { return collective_of(one) == collective; });
  SIM_CHECK(kind != all_kinds.end());
  return *kind;
}
inline bool communicates(Kind kind) { return kind == Kind::send || collective_of(kind).has_value(); }

class LayerTemplates;

// A StepMachine is what runs steps: a platform, and what layers are made of (study/program/layer_templates.h). Both
// must outlive it.
struct StepMachine {
  const models::PlatformSpec& platform;
  const LayerTemplates& templates;
};

struct StepOperation {
  Handle handle = 0;
  std::string name;  // as results and files show it; its block's suffix makes it unique
  Kind kind;
  Work work;
  std::string stream;
  std::vector<Wait> after{};
  // Model FLOPs over the FLOPs of its product: 0 of a recomputation; the busiest rank's experts have more than the
  // mean.
  double of_model = 1.0;
  bool with_attention = false;  // makes what attention reads of the cache, or stands for that: its context decides it
};

// A Turn is a pass of a stage of a pipeline: a micro-batch forward, or its gradient.
struct Turn {
  bool forward = true;
  int micro = 0;

  bool operator==(const Turn&) const = default;
};

// LayersOfStage says which layers of a stage a block contains: those of the model's kind at index `kind`, either the
// first layer of a turn or others.
struct LayersOfStage {
  std::size_t kind = 0;
  bool first = false;
  bool behind_first = false;  // others, of the same kind as the turn's first layer

  // Returns how many of the stage's `layers` layers of the kind this block stands for.
  std::int64_t shown_of(std::int64_t layers) const {
    if (first) return std::min<std::int64_t>(1, layers);
    return behind_first ? std::max<std::int64_t>(0, layers - 1) : layers;
  }
};

struct StepBlock {
  std::int64_t layers = 0;  // repetitions, with the index "layer"; 0: it runs once
  std::vector<StepOperation> operations;
  std::string suffix{};     // suffix of operation names, if a step has several similar blocks
  std::vector<int> gpus{};  // GPUs that run it, or sender and receiver; empty: all
  int stage = 0;            // the stage that runs or sends it
  std::optional<Turn> turn{};
  std::optional<LayersOfStage> of_stage{};  // only for layers of a pipeline

  bool is_on(int gpu) const { return gpus.empty() || std::ranges::count(gpus, gpu) > 0; }
  bool is_sent() const { return operations.front().kind == Kind::send; }
  // Returns the share of the step's `of_gpus` GPUs that run this block; a send counts as one GPU's.
  double share(int of_gpus) const {
    if (gpus.empty()) return 1.0;
    return (is_sent() ? 1.0 : static_cast<double>(gpus.size())) / of_gpus;
  }
};

}  // namespace c3sim::study
