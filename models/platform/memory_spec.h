// A MemorySpec describes what the memory system of one GPU can hold and move.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/interference.h"
#include "sim/config/choice.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

// A MemoryLevel is a level of the memory hierarchy that bytes pass between HBM and a CU.
struct MemoryLevel {
  Mechanism mechanism;    // interference at this level
  std::string_view key;   // "infinity_cache", as in platform files and names of resources
  std::string_view name;  // "Infinity Cache"
  sim::BytesPerSecond rate;
  sim::Time latency{0};  // unloaded latency that the level adds to a load which reaches it
};

// Arbitration decides who is served first at HBM. With compute first, communication gets what compute leaves of a share
// of the bandwidth, but never less than a floor. The share stands for the queue occupancy below which communication is
// admitted (T3, arXiv 2401.16677).
enum class Arbitration {
  off,       // in proportion to the bytes in flight
  fixed,     // compute first, with the share `arbitration_threshold`
  adaptive,  // compute first; the share falls from 1 to `arbitration_threshold` as compute takes more
};
constexpr auto all_names(Arbitration) { return sim::names("off", "fixed", "adaptive"); }
// NearMemory tells where memory adds the operands of updating stores: nowhere, at the Infinity Cache or in HBM.
enum class NearMemory { none, infinity_cache, hbm };
constexpr auto all_names(NearMemory) { return sim::names("none", "infinity_cache", "hbm"); }

// TrackerFull decides what happens to a tile for which a tracker has no free entry.
enum class TrackerFull {
  kernel_end,  // the tile is not counted: its piece is ready when the kernel has ended
  next_free    // the stores of the tile wait at the controllers for the next free entry
};
constexpr auto all_names(TrackerFull) { return sim::names("kernel_end", "next_free"); }

// A tracker at the memory controllers counts how much of a tile has been stored.
struct TrackerSpec {
  std::int64_t entries = 0;  // number of tiles that it can follow concurrently
  TrackerFull full = TrackerFull::kernel_end;
  sim::Time latency{0};  // time from the last store to an engine that may start
};

struct MemorySpec {
  int xcds = 0;
  sim::Bytes l2_capacity;              // capacity per XCD
  sim::Time l2_latency{0};             // unloaded latency of a hit beyond the way to the L2, if one L2 holds the set
  sim::Time l2_far_latency{0};         // the same if only all L2s together hold the set
  sim::BytesPerSecond l2_rate;         // rate per XCD, at the rated engine clock
  bool l2_follows_clock = false;       // whether l2_rate follows the engine clock
  sim::Time l2_wait{0};                // mean wait of a load for bursts of matrix kernels that use the L2s fully
  sim::BytesPerSecond writeback_rate;  // rate of all L2s for lines of other GPUs' memory at the end of a kernel
  sim::BytesPerSecond port_rate;       // rate between one XCD and its I/O die
  sim::Bytes cache_capacity;           // capacity of the GPU's Infinity Cache; 0: there is none
  sim::BytesPerSecond cache_rate;      // rate of the GPU's Infinity Cache
  double cache_turnaround = 0.0;       // bytes' worth of cache_rate lost per byte both read and written in one stream
  double cache_overflow = 0.0;         // share of the capacity: see held_of_turn()
  sim::Bytes hbm_capacity;             // capacity per GPU
  sim::BytesPerSecond hbm_rate;        // peak rate of the data bus
  double hbm_read_efficiency = 1.0;    // share of the peak that pure reads reach
  double hbm_write_efficiency = 1.0;   // share of the peak that pure writes reach
  // Turnarounds of the bus cost this many bytes' worth of it per byte both read and written in one stream.
  double hbm_turnaround = 0.0;
  sim::Time cache_latency{0};        // unloaded latency of an Infinity Cache hit
  sim::Time hbm_latency{0};          // unloaded latency that HBM adds to a load that misses the cache
  sim::Bytes translation_reach;      // bytes of addresses with a cached translation; 0: all
  sim::Time translation_latency{0};  // latency of a random load outside translation_reach
  double queueing_factor = 0.0;      // strength of the loaded latency of the Infinity Cache and HBM
  // The following describe hypothetical machines (ConCCL, section VII-A).
  double collective_channels = 0.0;  // share of Infinity Cache and HBM reserved for collectives; 0: none
  bool collectives_first = false;    // requests of collectives overtake those of GEMMs
  Arbitration arbitration = Arbitration::off;
  double arbitration_threshold = 1.0;  // share of HBM up to which communication is admitted
  double arbitration_floor = 0.0;      // share of HBM that communication always has
  NearMemory near_memory = NearMemory::none;
  double update_rate = 0.0;  // bytes per second added up near memory, relative to hbm_rate
  TrackerSpec tracker;
  bool metered = false;  // counts bytes read from and written to HBM; set by a study, never by a file

  // Return what a stream that reads and writes these bytes takes of HBM's bus and of the Infinity Cache's rate.
  double bus_bytes(double reads, double writes) const {
    return reads / hbm_read_efficiency + writes / hbm_write_efficiency + hbm_turnaround * std::min(reads, writes);
  }
  double cache_bytes(double reads, double writes) const {
    return reads + writes + cache_turnaround * std::min(reads, writes);
  }
  bool adds() const { return near_memory != NearMemory::none; }
  bool has_cache() const { return cache_capacity > sim::Bytes(0.0); }
  // Returns the share of a set of bytes, traversed again and again, that this share of the Infinity Cache still holds
  // at the next pass: all of a set that fits, else e^-(excess / cache_overflow), with the excess in capacities, because
  // addresses spread unevenly over the cache's sets and the oldest line of each is replaced.
  double held_of_turn(sim::Bytes set, double share = 1.0) const;
  // Returns the same share for the L2s of `of_xcds` XCDs together, whatever part of the set each of them sees.
  double held_in_l2_of_turn(sim::Bytes set, int of_xcds) const;
  // Returns the share of random loads within a set whose address has no cached translation.
  double untranslated(sim::Bytes set) const;
  // Returns the levels from the CUs outwards: the L2s, the Infinity Cache if there is one, HBM.
  std::vector<MemoryLevel> levels() const;
  // Say in one sentence why the memory cannot add at `near_memory` or use `arbitration`, and what would be accepted.
  // Return an empty text if it can.
  std::string why_no_near_memory() const;
  std::string why_no_arbitration() const;

  static MemorySpec read(sim::Section section, int xcds);
};

}  // namespace c3sim::models
