#include "models/platform/memory_spec.h"

#include <cmath>

#include "models/platform/limits.h"

namespace c3sim::models {

std::vector<MemoryLevel> MemorySpec::levels() const {
  std::vector<MemoryLevel> levels{{Mechanism::l2, "l2", "L2", xcds * l2_rate, sim::Time(0)}};
  if (has_cache()) {
    levels.push_back({Mechanism::infinity_cache, "infinity_cache", "Infinity Cache", cache_rate, cache_latency});
  }
  levels.push_back({Mechanism::hbm, "hbm", "HBM", hbm_rate, hbm_latency});
  return levels;
}

std::string MemorySpec::why_no_near_memory() const {
  if (near_memory != NearMemory::infinity_cache || has_cache()) return {};
  return "this GPU has no Infinity Cache: none and hbm are accepted";
}

namespace {

double held(double excess, double overflow) {
  if (excess <= 0.0) return 1.0;
  return overflow > 0.0 ? std::exp(-excess / overflow) : 0.0;
}

}  // namespace

double MemorySpec::held_of_turn(sim::Bytes set, double share) const {
  return has_cache() ? held(set / cache_capacity - share, cache_overflow) : 0.0;
}

double MemorySpec::held_in_l2_of_turn(sim::Bytes set, int of_xcds) const {
  return held(set / (of_xcds * l2_capacity) - 1.0, cache_overflow);
}

double MemorySpec::untranslated(sim::Bytes set) const {
  if (translation_reach <= sim::Bytes(0.0) || set <= translation_reach) return 0.0;
  return 1.0 - translation_reach / set;
}

std::string MemorySpec::why_no_arbitration() const {
  if (arbitration == Arbitration::off || collective_channels == 0.0) return {};
  return "channels that are set apart for collectives have nobody else to be served before: off is accepted, or "
         "gpu.memory.collective_channels 0";
}

MemorySpec MemorySpec::read(sim::Section section, int xcds) {
  MemorySpec spec;
  spec.xcds = xcds;
  sim::Section l2 = section.section("l2");
  spec.l2_capacity = l2.quantity("capacity", limits::capacity);
  spec.l2_rate = l2.quantity("rate", limits::rate);
  spec.l2_latency = l2.time("latency", limits::latency, sim::Time(0));
  spec.l2_far_latency = l2.time("far_latency", limits::latency, spec.l2_latency);
  spec.l2_follows_clock = l2.flag("follows_clock", false);
  spec.l2_wait = l2.time("wait", limits::latency);
  spec.writeback_rate = l2.quantity("writeback_rate", limits::rate);
  spec.port_rate = l2.quantity("port_rate", limits::rate);
  if (section.has("infinity_cache")) {
    sim::Section cache = section.section("infinity_cache");
    spec.cache_capacity = cache.quantity("capacity", limits::capacity);
    spec.cache_rate = cache.quantity("rate", limits::rate);
    spec.cache_turnaround = cache.number("turnaround", 0.0, 10.0, 0.0);
    spec.cache_overflow = cache.number("overflow", 0.0, 1.0, 0.0);
    spec.cache_latency = cache.time("latency", limits::latency);
  }
  sim::Section hbm = section.section("hbm");
  // Files that predate this key get the largest capacity, so that everything fits.
  spec.hbm_capacity = hbm.quantity("capacity", limits::capacity, limits::capacity.high);
  spec.hbm_rate = hbm.quantity("peak_rate", limits::rate);
  spec.hbm_read_efficiency = hbm.number("read_efficiency", 0.05, 1.0);
  spec.hbm_write_efficiency = hbm.number("write_efficiency", 0.05, 1.0);
  spec.hbm_turnaround = hbm.number("turnaround", 0.0, 10.0);
  spec.hbm_latency = hbm.time("latency", limits::latency);
  if (section.has("translation")) {
    sim::Section translation = section.section("translation");
    spec.translation_reach = translation.quantity("reach", limits::capacity);
    spec.translation_latency = translation.time("latency", limits::latency);
  }
  spec.queueing_factor = section.number("queueing_factor", 0.0, 100.0);
  spec.collective_channels = section.number("collective_channels", 0.0, 0.99);
  spec.collectives_first = section.flag("collectives_first");
  spec.arbitration = section.choice<Arbitration>("arbitration", sim::choices_of<Arbitration>(), Arbitration::off);
  spec.arbitration_threshold = section.number("arbitration_threshold", 0.05, 1.0, 1.0);
  spec.arbitration_floor = section.number("arbitration_floor", 0.001, 0.5, 0.05);
  spec.near_memory = section.choice<NearMemory>("near_memory", sim::choices_of<NearMemory>(), NearMemory::none);
  if (const std::string why = spec.why_no_near_memory(); !why.empty()) section.fault("near_memory", why);
  if (const std::string why = spec.why_no_arbitration(); !why.empty()) section.fault("arbitration", why);
  spec.update_rate = section.number("update_rate", 0.001, 100.0, 0.5);
  if (section.has("tracker")) {
    sim::Section tracker = section.section("tracker");
    spec.tracker.entries = tracker.integer("entries", 1, 1'000'000'000);
    spec.tracker.full = tracker.choice<TrackerFull>("full", sim::choices_of<TrackerFull>(), TrackerFull::kernel_end);
    spec.tracker.latency = tracker.time("latency", limits::latency);
  }
  return spec;
}

}  // namespace c3sim::models
