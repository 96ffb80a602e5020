#include "models/platform/power_spec.h"

#include "models/platform/limits.h"

namespace c3sim::models {

double PowerSpec::step_to_cap(sim::Watts mean) const {
  const sim::Watts nearly_nothing(1.0);
  return std::cbrt((cap - at_rest()) / std::max(mean - at_rest(), nearly_nothing));
}

PowerSpec PowerSpec::read(sim::Section section) {
  constexpr sim::Limits<sim::Time> periods{sim::Time(1'000'000), limits::latency.high};       // at least a microsecond
  constexpr sim::Limits<sim::Time> awake_times{sim::Time(0), sim::Time(60'000'000'000'000)};  // at most a minute
  PowerSpec spec;
  spec.cap = section.quantity("cap", limits::power);
  spec.burst_limit = section.quantity("burst_limit", limits::power);
  spec.idle = section.quantity("idle", limits::power);
  spec.clock_tree = section.quantity("clock_tree", limits::power);
  spec.matrix_energy = section.quantity("matrix_energy", limits::energy_per_flop);
  spec.reference_clock = section.quantity("reference_clock", limits::clock);
  spec.voltage_exponent = section.number("voltage_exponent", 0.0, 5.0);
  spec.busy_workgroup = section.quantity("busy_workgroup", limits::power);
  spec.streaming_cu = section.quantity("streaming_cu", limits::power, sim::Watts(0.0));
  spec.vector_energy = section.quantity("vector_energy", limits::energy_per_flop, sim::JoulesPerFlop(0.0));
  spec.l2_energy = section.quantity("l2_energy", limits::energy_per_byte);
  spec.cache_energy = section.quantity("cache_energy", limits::energy_per_byte, sim::JoulesPerByte(0.0));
  spec.hbm_energy = section.quantity("hbm_energy", limits::energy_per_byte);
  spec.links_awake = section.quantity("links_awake", limits::power);
  spec.links_awake_for = section.time("links_awake_for", awake_times);
  spec.update_energy = section.quantity("update_energy", limits::energy_per_byte, sim::JoulesPerByte(0.0));
  spec.link_energy = section.quantity("link_energy", limits::energy_per_byte);
  spec.lowest_clock = section.quantity("lowest_clock", limits::clock);
  spec.highest_clock = section.quantity("highest_clock", limits::clock);
  // Files that predate this key state everything at their highest clock.
  spec.rated_clock = section.quantity("rated_clock", limits::clock, spec.highest_clock);
  const bool known = section.is_sound("cap") && section.is_sound("idle") && section.is_sound("clock_tree") &&
                     section.is_sound("highest_clock") && section.is_sound("rated_clock");
  if (known && spec.cap <= spec.at_rest()) section.fault("cap", "leaves nothing above idle and clock_tree power");
  const bool clocks_known = section.is_sound("lowest_clock") && section.is_sound("highest_clock");
  const bool ordered = clocks_known && spec.lowest_clock <= spec.highest_clock;
  if (clocks_known && !ordered) section.fault("highest_clock", "lies below lowest_clock");
  spec.matrix_clock = section.quantity("matrix_clock", limits::clock);
  if (ordered && section.is_sound("matrix_clock")) {
    if (spec.matrix_clock < spec.lowest_clock) section.fault("matrix_clock", "lies below lowest_clock");
    if (spec.matrix_clock > spec.highest_clock) {
      section.warn("matrix_clock", "lies above highest_clock, which counts while matrix pipes are busy, too");
    }
    spec.matrix_clock = std::min(spec.matrix_clock, spec.highest_clock);
  }
  const GovernorPolicy usual = spec.burst_limit > spec.cap ? GovernorPolicy::clock_steps : GovernorPolicy::at_once;
  spec.governor = section.choice<GovernorPolicy>("governor", sim::choices_of<GovernorPolicy>(), usual);
  spec.window = section.time("window", periods);
  spec.period = section.time("period", periods);
  spec.dead_band = section.number("dead_band", 0.0, 0.5);
  spec.start_energy = section.quantity("start_energy", limits::energy);
  spec.integral_gain = section.number("integral_gain", 0.0, 10.0);
  spec.proportional_gain = section.number("proportional_gain", 0.0, 10.0);
  const bool moves_limit = spec.governor == GovernorPolicy::power_limit;
  if (moves_limit && section.is_sound("integral_gain") && spec.integral_gain <= 0.0) {
    section.fault("integral_gain", "is 0: a governor that moves a power limit needs one above 0");
  }
  return spec;
}

}  // namespace c3sim::models
