// What to choose for a whole step: how its GPUs share out the model, and what moves data between them; of the best way
// and of the question's own also collective by collective: what carries each, by how many channels, in how many pieces.
#pragma once

#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "study/ask/option.h"
#include "study/play/parallel.h"
#include "study/play/platform_file.h"
#include "study/program/operators.h"
#include "study/report/results.h"
#include "study/step/step.h"
#include "study/step/step_carriers.h"

namespace c3sim::tune {

// A collective as it was chosen, where it stands, and how long all parts of one take: pieces, buckets.
struct TunedCollective {
  study::StepCollective collective;
  study::CollectiveCarrier carrier;
  std::optional<int> channels{};  // of its kernels; none: engines alone carry it
  double times = 0.0;             // so often in the step
  sim::Time time{0};              // beside what runs at the same time, as kernels of steps: launched from a graph
  sim::Time alone{0};             // with the node to itself, from its launch until the host knows of its end
  // What the step loses, as shares of its time, where this one is carried in another way and all others stay; none
  // where it cannot be.
  std::optional<double> by_rccl{};         // with the library's channels
  std::optional<double> by_engines{};      // alike
  std::optional<double> usual_channels{};  // by the same, with the library's channels

  double bytes() const {
    const auto& parts = collective.parts;
    return std::accumulate(parts.begin(), parts.end(), 0.0,
                           [](double sum, const models::CollectiveSpec& part) { return sum + part.bytes.value(); });
  }
};

// A rule that needs no tuning, and what it loses against what was chosen.
struct StepRule {
  std::string name;
  std::string choice;   // "sdma, prelaunched", of splits "tp 8 by sdma"
  sim::Time time{0};    // of the step by that rule
  double regret = 0.0;  // share of the time of what was chosen; 0 where the rule does not lose
};

// What to choose for the collectives of a step whose GPUs share out the model in one way.
struct LayerTuning {
  std::string split;  // "tp 8"
  sim::Time before{0};
  study::StepResult result;  // no slower than before
  std::vector<TunedCollective> collectives;
  std::vector<StepRule> rules;  // for all collectives at once, by steps of few layers
};

// From where `start` is, by one decision after the other: what carries all collectives; the pieces of each half of a
// layer, where there are any; what carries each, in the order of the step; whether commands of engines are queued
// beforehand. The step must have a collective.
LayerTuning tune_layer(const study::StepMachine& machine, const study::StepResult& start, std::string split,
                       const study::Progress& progress = {}, int jobs = 0);

// A way to do the same step: the same GPUs, sequences and tokens.
struct StepWay {
  std::string split;        // "tp 4, dp 2"
  std::string collectives;  // "rccl", "sdma, prelaunched"; of ways that were not simulated also "all", "all but rccl"
  study::StepQuestion question;
  std::optional<study::StepResult> result{};  // none where it was not simulated
  std::string why_not{};                      // why it was not, in a sentence
};

struct StepTuning {
  std::vector<StepWay> choices;     // that were simulated, the fastest first
  std::vector<StepRule> rules;      // against the fastest
  std::vector<LayerTuning> layers;  // from the fastest way, and the fastest of the question's own split
  std::vector<StepWay> untried;     // that were not
};

// Tries every split of the question's GPUs over tensors, replicas, sequences and stages of a pipeline, of its experts
// over tensors and replicas, and of its sequences into micro-batches. Each split is tried by RCCL and, where it could
// be the fastest, by everything else that may carry its collectives and in pieces that a prefill's products may gather
// and reduce. Throws sim::ConfigError with the question's own faults where no way is possible. `jobs` is the number of
// threads; 0 takes one per core.
StepTuning tune(const study::StepMachine& machine, const study::StepQuestion& question,
                const study::Progress& progress = {}, int jobs = 0);

// With the commands that ask for tuned steps; `beside` is what these say of the model and the platform.
study::Results to_tables(const StepTuning& tuning, const models::PlatformSpec& platform,
                         const study::Given& beside = {});
// The same with the question: in the title what was asked, in each row the words that ask for it, and how far it is
// backed.
study::Results to_tables(const StepTuning& tuning, const study::StepQuestion& question, const study::Platform& platform,
                         std::span<const study::ElementwiseOperator> operators, const study::Given& beside = {});

}  // namespace c3sim::tune
