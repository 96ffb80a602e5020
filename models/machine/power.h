// A PowerGovernor computes the board power of one GPU and bounds it at every instant by slowing the engine clock. Power
// is a constant plus energy per operation and per byte at each level; energy of an operation grows with the clock, as a
// faster clock needs a higher voltage. If the cap acts at once, it is that bound; if it holds for a mean, others move
// the limit or the clock's ceiling: governor_loop.h, or callers that know where the clock settles.
#pragma once

#include <algorithm>
#include <cmath>
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

// A Bend says how loads hold back pipes that do not hide them entirely. If the pipes alone take a time a for a unit and
// the memory alone b, together they take (a^knee + b^knee)^(1/knee). With a knee of 1 one follows the other; a higher
// one makes the roofline sharper; 0 turns the bend off, and the resource network lets the slower one bound the rate.
struct Bend {
  double bound = std::numeric_limits<double>::infinity();  // rate that memory lets through, in units per second
  double knee = 0.0;

  double of(double rate) const;
};

class PowerGovernor {
 public:
  // `links` carry what this GPU sends and receives. Loads of all tenants count or, where loads are apart, those of the
  // tenants named. The clock of L2s is that of the governor which has GEMMs.
  PowerGovernor(const PowerSpec& spec, sim::ResourceNetwork& network, const Memory& memory,
                std::vector<sim::ResourceNetwork::ResourceId> links, std::vector<Tenant> tenants = {});

  // Caps the rate of matrix work at `per_cycle` units per cycle of the engine clock. A unit takes the energy of
  // `energy` operations in bf16. A second call for the same activity changes its cap.
  void set_matrix_work(sim::ResourceNetwork::ActivityId activity, double per_cycle, double energy = 1.0,
                       Bend bend = {});
  // Does the same for vector work of `flops` operations in single precision per unit.
  void set_vector_work(sim::ResourceNetwork::ActivityId activity, double per_cycle, double flops, Bend bend = {});
  void remove_work(sim::ResourceNetwork::ActivityId activity) {
    std::erase_if(work_, [activity](const Work& work) { return work.activity == activity; });
  }
  void add_busy_workgroups(int count) {
    network_.regulate_anew();  // power changes from now on, not from the last change of rates on
    busy_workgroups_ += count;
  }
  void add_streaming_cus(double count) {
    if (count == 0.0) return;
    network_.regulate_anew();
    streaming_cus_ += count;
  }

  // Calls `on_change` whenever the clock has moved, until it is removed.
  using Listener = std::list<std::function<void()>>::iterator;
  Listener add_listener(std::function<void()> on_change) {
    return listeners_.insert(listeners_.end(), std::move(on_change));
  }
  void remove_listener(Listener listener) { listeners_.erase(listener); }

  sim::Hertz clock() const { return clock_; }
  // Bounds board power at every instant from now on; the limit is PowerSpec::limit() at first.
  void set_limit(sim::Watts limit) {
    network_.regulate_anew();
    limit_ = limit;
  }
  // Keeps links awake from now on, whatever they carry, as on a machine that has communicated and will again.
  void keep_links_awake() { awake_until_ = sim::Time::max(); }
  // Bounds the clock from now on; the ceiling is the highest clock at first.
  void set_ceiling(sim::Hertz ceiling) {
    network_.regulate_anew();
    ceiling_ = ceiling;
  }
  sim::Hertz ceiling() const { return ceiling_; }
  // Returns the last clock at which matrix work ran.
  sim::Hertz clock_at_work() const { return clock_at_work_; }
  // Returns the clock as drivers report it: the clock that is set, without the cycles that a burst limit leaves out.
  sim::Hertz reported_clock() const {
    return spec_.governor == GovernorPolicy::clock_steps && !spec_.acts_at_once() ? highest_now() : clock_;
  }
  // Returns how much longer than at the rated clock a fixed number of cycles takes.
  double slowdown() const { return spec_.rated_clock / clock_; }
  // Returns board power at the rates that the network has now.
  sim::Watts power() const;
  // Moves the clock to where power meets its limit, or to the highest clock that work and ceiling allow. Returns
  // whether that may change a rate, so that it must be called again after the next solve.
  bool regulate();

 private:
  struct Work {
    sim::ResourceNetwork::ActivityId activity;
    bool matrix;
    double per_cycle;
    double energy;  // joules per unit at the reference clock
    Bend bend;
    double cap_now = 0.0;  // cap at the clock that the governor has set
    double beside = 0.0;   // rate when last regulated if the clock does not bound it, else infinity

    double cap(sim::Hertz clock) const { return bend.of(per_cycle * clock.value()); }
    // Returns how fast the cap, which is `cap` at this clock, rises with the clock.
    double slope(sim::Hertz clock, double cap) const;
  };
  struct Drawn {
    double watts;
    double slope;  // how fast the watts rise with the clock, in W/Hz
  };
  void set_work(Work work);
  bool does_matrix_work() const { return std::ranges::any_of(work_, &Work::matrix); }
  // Notes the present rates of work that the clock does not bound, and infinity for all other work.
  void note_rates_beside_clock();
  // Returns what workgroups and the clock tree draw, in W/Hz.
  double watts_by_clock() const;
  // Returns the energy of matrix operations at a clock, relative to that at the reference clock.
  double matrix_energy_at(sim::Hertz clock) const {
    return std::pow(clock / spec_.reference_clock, spec_.voltage_exponent);
  }
  // Returns board power (W) if each work goes at `rate_of` it or at its cap, whichever is lower.
  template <class RateOf>
  double watts_at(sim::Hertz clock, sim::Watts traffic, const RateOf& rate_of) const;
  // Returns that power and its slope at the noted rates.
  Drawn drawn_at(sim::Hertz clock, sim::Watts traffic) const;
  sim::Watts traffic_power(bool links_carry) const;
  bool links_carry() const {
    return std::ranges::any_of(links_, [this](const auto link) { return network_.load(link) > 0.0; });
  }
  void note_links();
  void set_clock(sim::Hertz clock);
  void set_clock_of_l2s() const;
  sim::Hertz highest_now() const {
    return std::min(ceiling_, does_matrix_work() ? spec_.matrix_clock : spec_.highest_clock);
  }
  double overshoot(double excess) const;

  PowerSpec spec_;
  sim::ResourceNetwork& network_;
  const Memory& memory_;
  std::vector<sim::ResourceNetwork::ResourceId> links_;
  std::vector<Tenant> tenants_;  // whose loads count; empty: all
  std::vector<Work> work_;
  std::list<std::function<void()>> listeners_;
  int busy_workgroups_ = 0;
  double streaming_cus_ = 0.0;
  bool links_carried_ = false;  // whether links carried data when rates were last solved
  sim::Time awake_until_{0};    // idle links stay awake until then
  sim::Watts limit_;
  sim::Hertz ceiling_;
  sim::Hertz clock_;
  sim::Hertz clock_at_work_;
  // Step is the last step towards the limit: its time, the excess in watts before it, and the part of the way it went.
  struct Step {
    sim::Time at;
    double excess;
    double part;
  };
  std::optional<Step> last_step_;
};

}  // namespace c3sim::models
