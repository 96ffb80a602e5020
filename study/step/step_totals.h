// What a step takes of one GPU, as sums over what its operations show: all of them grow with the number of layers by as
// much for each, once there are enough.
#pragma once

#include <map>
#include <string>

#include "models/platform/platform_spec.h"
#include "study/step/step_limits.h"
#include "study/step/step_operation.h"

namespace c3sim::study {

// All of a name: the same in every layer.
struct StepShare {
  Kind kind{};
  std::string work;
  double count = 0.0;
  double time = 0.0;  // seconds
  Limits limits;
};

struct StepTotals {
  double time = 0.0;  // seconds, as all times here
  double compute = 0.0;
  double communication = 0.0;
  double exposed = 0.0;
  double host = 0.0;  // without a kernel, while the host had not launched what could begin
  std::map<std::string, StepShare> operations;
  double energy = 0.0;  // joules
  double cycles = 0.0;  // of the engine clock
  double flops = 0.0;

  // An operation, or a part of one, of which one GPU has such a share.
  void count(const StepPart& part, double share, const models::PlatformSpec& platform);
  // By so many further layers of a kind, each of which adds what the last of these in `of_few` added to `of_one_less`.
  void extend(const StepTotals& of_few, const StepTotals& of_one_less, double by);
};

}  // namespace c3sim::study
