// What to choose for each collective of a step whose GPUs share out the model in one way: what carries it, by how many
// channels, in how many pieces.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "study/report/results.h"
#include "study/run/parallel.h"
#include "study/step/step.h"
#include "study/step/step_carriers.h"
#include "study/work/operators.h"

namespace c3sim::study {

// A collective as it was chosen, where it stands, and how long all parts of one take: pieces, buckets.
struct TunedCollective {
  StepCollective collective;
  CollectiveCarrier carrier;
  std::optional<int> channels{};  // of its kernels; none: engines alone carry it
  double times = 0.0;             // so often in the step
  sim::Time time{0};              // beside what runs at the same time, as kernels of steps: launched from a graph
  sim::Time alone{0};             // with the node to itself, likewise, with its launch and the host's notice
  // What the step loses, as shares of its time, where this one is carried in another way and all others stay; none
  // where it cannot be.
  std::optional<double> by_rccl{};         // with the library's channels
  std::optional<double> by_engines{};      // alike
  std::optional<double> usual_channels{};  // by the same, with the library's channels
};

// A rule for all collectives at once, and what it loses against the choice of each.
struct LayerRule {
  std::string name;
  std::string choice;   // "sdma, prelaunched"
  sim::Time time{0};    // so much longer than the tuned step
  double regret = 0.0;  // share of the time of the tuned step, of few layers; 0 where the rule does not lose
};

struct LayerTuning {
  std::string split;  // "tp 8"
  sim::Time before{0};
  StepResult result;  // no slower than before
  std::vector<TunedCollective> collectives;
  std::vector<LayerRule> rules;
};

// From where `start` is, by one decision after the other: what carries all collectives; the pieces of each half of a
// layer, where there are any; what carries each, in the order of the step; whether commands of engines are queued
// beforehand. The step must have a collective.
LayerTuning tune_layer(const models::PlatformSpec& platform, const StepResult& start, std::string split,
                       std::span<const ElementwiseOperator> operators, const Progress& progress = {}, int jobs = 0);

// "layer" and "layer_rules".
std::vector<NamedTable> to_tables(const std::vector<LayerTuning>& layers);

}  // namespace c3sim::study
