// What to choose for a whole step: how its GPUs share out the model, and what moves data between them; of the best way
// and of the question's own also collective by collective.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "study/ask/option.h"
#include "study/report/results.h"
#include "study/run/parallel.h"
#include "study/run/platform_file.h"
#include "study/step/step.h"
#include "study/tune/layer_tuning.h"
#include "study/work/operators.h"

namespace c3sim::study {

// A way to do the same step: the same GPUs, sequences and tokens.
struct StepChoice {
  std::string split;        // "tp 4, dp 2"
  std::string collectives;  // "rccl", "sdma, prelaunched"
  StepResult result;
};

// Ways that were not simulated, and why, in a sentence.
struct StepUntried {
  std::string split;
  std::string collectives;  // "all", "all but rccl"
  std::string why;
};

// A rule that needs no simulation, and what it loses against the fastest.
struct StepRule {
  std::string name;
  std::size_t choice = 0;  // by place
  double regret = 0.0;     // share of the fastest time
};

struct StepTuning {
  std::vector<StepChoice> choices;  // the fastest first
  std::vector<StepRule> rules;
  std::vector<LayerTuning> layers;  // from the fastest way, and the fastest of the question's own split
  std::vector<StepUntried> untried;
};

// Tries every split of the question's GPUs over tensors, replicas, sequences and stages of a pipeline, of its experts
// over tensors and replicas, and of its sequences into micro-batches. Each split is tried by RCCL and, where it could
// be the fastest, by everything else that may carry its collectives and in pieces that a prefill's products may gather
// and reduce. Throws sim::ConfigError with the question's own faults where no way is possible. `jobs` is the number of
// threads; 0 takes one per core.
StepTuning tune(const models::PlatformSpec& platform, const StepQuestion& question,
                std::span<const ElementwiseOperator> operators, const Progress& progress = {}, int jobs = 0);

// With the commands that ask for tuned steps; `beside` is what these say of the model and the platform.
Results to_tables(const StepTuning& tuning, const models::PlatformSpec& platform, const Given& beside = {});
// The same with the question: in the title what was asked, in each row the words that ask for it, and how far it is
// backed.
Results to_tables(const StepTuning& tuning, const StepQuestion& question, const Platform& platform,
                  std::span<const ElementwiseOperator> operators, const Given& beside = {});

}  // namespace c3sim::study
