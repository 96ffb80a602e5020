// Board power and clock of a node's first GPU, means over a run.
#pragma once

#include "models/node.h"
#include "sim/units.h"

namespace study {

// Attach it to an idle node before anything runs on it; it must outlive the run.
class PowerMeter {
 public:
  void attach(models::Node& node);

  // Over so long a run, whatever was not metered of it being idle.
  sim::Watts mean_power(sim::Seconds time) const;
  sim::Hertz mean_clock(sim::Seconds time) const;
  // While the GPU's resources held rates, which is from the first launch's arrival to the last end.
  sim::Hertz clock_while_busy() const;

 private:
  sim::Watts idle_power_;
  sim::Hertz idle_clock_;
  sim::Seconds busy_;
  sim::Joules energy_;
  double cycles_ = 0.0;
};

}  // namespace study
