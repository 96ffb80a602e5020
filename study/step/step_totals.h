// What a step takes of one GPU, as sums over what its operations show, all of which grow with the number of layers by
// as much for each, once there are enough; and what the hardware allows these at least, resource by resource, and so
// what bounds them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/units.h"
#include "study/play/timeline.h"
#include "study/program/operation.h"
#include "study/program/step_operation.h"

namespace c3sim::study {

// What of an operation is told apart: of a product that is fused with a collective the two, which overlap.
struct StepPart {
  std::string name;
  Kind kind;
  Work work;
  sim::Time start{0};  // on its GPUs
  sim::Time end{0};
  bool again = false;
};
std::vector<StepPart> parts_of(const StepOperation& operation, const Span& span, const models::PlatformSpec& platform);

// Times at peak rates. Of a collective, that of the busiest link.
struct Limits {
  sim::Seconds arithmetic;  // of matrix units, or of vector units where these do the work
  sim::Seconds memory;      // of HBM, each byte moved once
  sim::Seconds links;

  sim::Seconds longest() const;
  Limits& operator+=(const Limits& more);
  Limits& operator*=(double share);
};

Limits limits_of(const Work& work, const models::PlatformSpec& platform);

// "arithmetic", "HBM" or "links", by which takes longest at peak; "latency" where that is less than two fifths of
// `time`.
std::string bound_of(const Limits& limits, sim::Seconds time);

// All of a name: the same in every layer.
struct StepShare {
  Kind kind{};
  std::string work;
  double count = 0.0;
  double time = 0.0;  // seconds
  Limits limits;
};

// For how long a GPU is busy with what, in seconds.
struct BusySeconds {
  double compute = 0.0;
  double communication = 0.0;
  double exposed = 0.0;  // communication, without a kernel beside it
  double host = 0.0;     // without a kernel, while the host had not launched what could begin

  BusySeconds& operator+=(const BusySeconds& more);
  BusySeconds operator*(double share) const;
};
// `launching`: while the host had not launched what could begin.
BusySeconds busy_seconds(const BusyTimes& compute, const BusyTimes& communication, const BusyTimes& launching = {});

struct StepTotals : BusySeconds {
  double time = 0.0;  // seconds, as all times here
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
