// Board power of one GPU and the governor that bounds it at every instant by slowing the engine clock. Power is what is
// always burnt plus energy per operation and per byte at each level; energy of an operation grows with the clock, as a
// faster clock needs a higher voltage. Where the cap acts at once, it is that bound; where it holds for a mean,
// somebody else moves the clock's ceiling: models/machine/clock_loop.h, or who knows what it settles at.
#pragma once

#include <functional>
#include <limits>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "models/machine/memory.h"
#include "models/platform/power_spec.h"
#include "sim/resource_network.h"

namespace c3sim::models {

// How loads hold back pipes that do not hide them entirely. Alone the pipes would go at one rate and the memory at
// another; together a unit takes (a^knee + b^knee)^(1/knee), of the times a and b that each would take. 1: one behind
// the other; the higher, the sharper the roofline; 0: the slower alone counts, which is none of this one's business.
struct Bend {
  double bound = std::numeric_limits<double>::infinity();  // what memory lets through, in units per second
  double knee = 0.0;

  double of(double rate) const;
};

class PowerGovernor {
 public:
  // `links` are the resources whose load is what this GPU sends and receives. Where loads are apart, the clock is that
  // of `tenant`.
  PowerGovernor(const PowerSpec& spec, sim::ResourceNetwork& network, const Memory& memory,
                std::vector<sim::ResourceNetwork::ResourceId> links, Tenant tenant = Tenant::gemm);

  // Matrix work whose rate is bounded by `per_cycle` units at the engine clock: its cap follows the clock. A unit takes
  // the energy of so many operations in bf16. Setting it again changes the bound.
  void set_matrix_work(sim::ResourceNetwork::ActivityId activity, double per_cycle, double energy = 1.0,
                       Bend bend = {});
  // The same of vector work, of so many operations in single precision a unit.
  void set_vector_work(sim::ResourceNetwork::ActivityId activity, double per_cycle, double flops, Bend bend = {});
  void remove_work(sim::ResourceNetwork::ActivityId activity);
  void add_busy_workgroups(int count) { busy_workgroups_ += count; }
  void add_streaming_cus(double count) { streaming_cus_ += count; }

  // Calls `on_change` whenever the clock has moved, until it is removed.
  using Listener = std::list<std::function<void()>>::iterator;
  Listener add_listener(std::function<void()> on_change) {
    return listeners_.insert(listeners_.end(), std::move(on_change));
  }
  void remove_listener(Listener listener) { listeners_.erase(listener); }

  sim::Hertz clock() const { return clock_; }
  // Nothing above it is drawn at once from now on; PowerSpec::limit at first.
  void set_limit(sim::Watts limit);
  // Links are awake from now on, whatever they carry, as on a machine that has communicated and will again.
  void keep_links_awake() { awake_until_ = sim::Time::max(); }
  // No clock above it from now on; the highest clock at first.
  void set_ceiling(sim::Hertz ceiling);
  sim::Hertz ceiling() const { return ceiling_; }
  // The last clock at which matrix work ran.
  sim::Hertz clock_at_work() const { return clock_at_work_; }
  // As drivers report it: the clock that is set, without the cycles that a burst limit leaves out.
  sim::Hertz reported_clock() const {
    return spec_.governor == GovernorPolicy::clock_steps && !spec_.acts_at_once() ? highest_now() : clock_;
  }
  // How much longer than at the rated clock a fixed number of cycles takes.
  double slowdown() const { return spec_.rated_clock / clock_; }
  // Board power at the rates the network has now.
  sim::Watts power() const;
  // Moves the clock to where power meets its limit, or to the highest clock that work and ceiling allow. True if that
  // changed any rate: to be asked again after the next solve.
  bool regulate();

 private:
  struct Work {
    sim::ResourceNetwork::ActivityId activity;
    bool matrix;
    double per_cycle;
    double energy;  // of a unit at the reference clock, in joules
    Bend bend;
    double cap_now = 0.0;  // at the clock that the governor has set
    double beside =
        0.0;  // the rate that it has, when last regulated, if the clock does not hold it back; else infinity

    double cap(sim::Hertz clock) const { return bend.of(per_cycle * clock.value()); }
    // How the cap, which it is at this clock, rises with the clock.
    double slope(sim::Hertz clock, double cap) const;
  };
  struct Drawn {
    double watts;
    double slope;  // how that rises with the clock, in W/Hz
  };
  void set_work(Work work);
  bool does_matrix_work() const;
  void note_rates_beside_clock();
  // What workgroups and the clock tree draw, in W/Hz.
  double watts_by_clock() const;
  // The energy of matrix operations at a clock over that at the reference clock.
  double matrix_energy_at(sim::Hertz clock) const;
  // Board power (W) where work goes as at this clock, or at the rate that it has beside the clock if that is lower.
  double watts_at(sim::Hertz clock, sim::Watts traffic) const;
  Drawn drawn_at(sim::Hertz clock, sim::Watts traffic) const;
  // `links_carry`: whether links carry anything.
  sim::Watts traffic_power(bool links_carry) const;
  bool links_carry() const;
  void note_links();
  void set_clock(sim::Hertz clock);
  sim::Hertz highest_now() const;
  double overshoot(double excess) const;

  PowerSpec spec_;
  sim::ResourceNetwork& network_;
  const Memory& memory_;
  std::vector<sim::ResourceNetwork::ResourceId> links_;
  Tenant tenant_;
  std::vector<Work> work_;
  std::list<std::function<void()>> listeners_;
  int busy_workgroups_ = 0;
  double streaming_cus_ = 0.0;
  bool links_carried_ = false;  // when rates were last solved
  sim::Time awake_until_{0};    // links, without carrying anything
  sim::Watts limit_;
  sim::Hertz ceiling_;
  sim::Hertz clock_;
  sim::Hertz clock_at_work_;
  // The last step towards the limit: when it was taken, the excess of watts before it, and which part of the way it
  // went.
  struct Step {
    sim::Time at;
    double excess;
    double part;
  };
  std::optional<Step> last_step_;
};

}  // namespace c3sim::models
