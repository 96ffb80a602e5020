// Sums up the operations of a step on one GPU, and the least time that the hardware allows them by resource, which
// tells what bounds them. Once a run has enough layers, each further layer adds the same to every sum.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/units.h"
#include "study/play/timeline.h"
#include "study/program/operation.h"
#include "study/program/step_operation.h"

namespace c3sim::study {

// A StepPart is an operation, or one of the two overlapping parts of a product fused with a collective.
struct StepPart {
  std::string name;
  Kind kind;
  Work work;
  sim::Time start{0};  // on its GPUs
  sim::Time end{0};
  bool with_attention = false;  // see StepOperation
};
std::vector<StepPart> parts_of(const StepOperation& operation, const Span& span, const models::PlatformSpec& platform);

// Limits are times at peak rates of matrix units, or of vector units for element-wise work, of HBM, with each byte
// moved once, and of links. That of a collective is the time of the busiest link.
struct Limits {
  static constexpr std::array<const char*, 3> resources{"arithmetic", "HBM", "links"};
  std::array<sim::Seconds, resources.size()> times{};

  sim::Seconds longest() const { return std::ranges::max(times); }
  void add(double share, const Limits& more);
};

Limits limits_of(const Work& work, const models::PlatformSpec& platform);

// Returns "arithmetic", "HBM" or "links", whichever takes longest at peak, or "latency" if this is less than two fifths
// of `time`.
std::string bound_of(const Limits& limits, sim::Seconds time);

// A StepShare sums up all operations of one name, which are the same in every layer.
struct StepShare {
  Kind kind{};
  bool with_attention = false;  // see StepOperation
  std::string work;
  double count = 0.0;
  double time = 0.0;  // seconds
  Limits limits;
};

// BusySeconds says how long a GPU is busy with each kind of activity.
struct BusySeconds {
  double compute = 0.0;
  double communication = 0.0;
  double exposed = 0.0;  // communication without a concurrent kernel
  double host = 0.0;     // nothing runs, while the host had not launched what could begin

  BusySeconds& operator+=(const BusySeconds& more);
  BusySeconds operator*(double share) const;
};
// `launching` are the times while the host had not launched what could begin.
BusySeconds busy_seconds(const BusyTimes& compute, const BusyTimes& communication, const BusyTimes& launching = {});

struct StepTotals : BusySeconds {
  double time = 0.0;  // seconds
  std::map<std::string, StepShare> operations;
  double energy = 0.0;  // joules
  double cycles = 0.0;  // of the engine clock

  // Counts an operation or a part of one that runs on the given share of GPUs.
  void count(const StepPart& part, double share, const models::PlatformSpec& platform);
  // Adds `by` layers of a kind, each of which adds `of_few` minus `of_one_less`, which has one layer fewer.
  void extend(const StepTotals& of_few, const StepTotals& of_one_less, double by);
};

}  // namespace c3sim::study
