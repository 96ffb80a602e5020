// Tunes a whole step of a model: how its GPUs share out the model and what moves data between them. For the best way
// and for the question's own split it also tunes each collective: its carrier, its channels and its pieces.
#pragma once

#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "study/ask/arguments.h"
#include "study/play/parallel.h"
#include "study/play/platform_file.h"
#include "study/program/layer_templates.h"
#include "study/report/results.h"
#include "study/step/step.h"
#include "study/step/step_carriers.h"

namespace c3sim::tune {

// A collective as tuning chose it. Times are of all of its parts (pieces or buckets) together.
struct TunedCollective {
  std::string split{};  // of the step, as LayerTuning has it
  study::StepCollective collective;
  study::CollectiveCarrier carrier;
  std::optional<int> channels{};  // of the kernels; none: engines alone carry the collective
  double times = 0.0;             // how often the collective runs in the step
  sim::Time time{0};              // within the step, launched from a graph with other work running
  sim::Time alone{0};             // with the node to itself, from launch until the host knows of the end
  // The three shares say how much longer the step takes where this collective alone is carried in another way; a share
  // is absent where that way is impossible.
  std::optional<double> by_rccl{};         // by RCCL with the library's channels
  std::optional<double> by_engines{};      // by SDMA engines
  std::optional<double> usual_channels{};  // by its own carrier with the library's channels

  double bytes() const {
    const auto& parts = collective.parts;
    return std::accumulate(parts.begin(), parts.end(), 0.0,
                           [](double sum, const models::CollectiveSpec& part) { return sum + part.bytes.value(); });
  }
};

// A rule that needs no tuning, and how much longer a step by the rule takes than the tuned one.
struct StepRule {
  std::string split{};  // of the step, where the rule is about its collectives
  std::string name;
  std::string choice;   // "sdma, prelaunched"; for splits "tp 8 by sdma"
  sim::Time time{0};    // of a step that follows the rule
  double regret = 0.0;  // extra time relative to the tuned step; 0 where the rule is no slower
};

// The choices of tuning for the collectives of a step with a given split of the model over the GPUs.
struct LayerTuning {
  std::string split;  // "tp 8"
  sim::Time before{0};
  study::StepResult result;  // after tuning; no slower than `before`
  std::vector<TunedCollective> collectives;
  std::vector<StepRule> rules;  // each for all collectives at once, compared on steps of few layers
};

// Tunes one decision after the other, from the question of `start`: one carrier for all collectives; the pieces of each
// half of a layer, where there are any; the carrier of each collective, in the order of the step; whether commands of
// engines are queued beforehand. The step must have a collective.
LayerTuning tune_layer(const study::StepMachine& machine, const study::StepResult& start, std::string split,
                       const study::Progress& progress = {}, int jobs = 0);

// StepWay is a way to do the step with the question's numbers of GPUs, sequences and tokens.
struct StepWay {
  std::string split;        // "tp 4, dp 2"
  std::string collectives;  // "rccl", "sdma, prelaunched"; of ways not simulated also "all", "all but rccl"
  study::StepQuestion question;
  std::optional<study::StepResult> result{};  // none where the way was not simulated
  std::string why_not{};                      // the reason in a sentence
};

struct StepTuning {
  std::vector<StepWay> choices;     // simulated ways, the fastest first
  std::vector<StepRule> rules;      // compared with the fastest choice
  std::vector<LayerTuning> layers;  // from the fastest choice, and from the fastest of the question's own split
  std::vector<StepWay> untried;     // ways that were not simulated
};

// Tries every split of the question's GPUs over tensors, replicas, sequences and pipeline stages, of its experts over
// tensors and replicas, and of its sequences into micro-batches. RCCL carries each split first. Splits that may be the
// fastest are also tried with all other carriers, and prefills with GEMMs whose tokens are gathered and reduced in
// pieces. Throws sim::ConfigError with the question's own faults where no way is possible. `progress` counts ways, and
// decisions about collectives as they become known: neither of its numbers ever falls. `jobs` is the number of threads;
// 0 takes one per core.
StepTuning tune(const study::StepMachine& machine, const study::StepQuestion& question,
                const study::Progress& progress = {}, int jobs = 0);

// Returns tables that name the question in the title, give for each row the words that ask for the way and the fidelity
// of its prediction, and have the commands that ask for tuned steps; `beside` holds the options for model and platform.
study::Results to_tables(const StepTuning& tuning, const study::StepQuestion& question, const study::Platform& platform,
                         const study::LayerTemplates& templates, const study::Given& beside = {});

}  // namespace c3sim::tune
