// What the memory system of one GPU can hold and move.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/interference.h"
#include "sim/config/choice.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

// One level of the memory hierarchy, of those that bytes pass on their way from HBM to a CU.
struct MemoryLevel {
  Mechanism mechanism;    // that interference at this level is
  std::string_view key;   // "infinity_cache", as in platform files and names of resources
  std::string_view name;  // "Infinity Cache"
  sim::BytesPerSecond rate;
  sim::Time latency{0};  // that it adds to a load which comes to it, unloaded
};

// Who is served first at HBM. Compute first: communication has what compute leaves of a share of the bandwidth, which
// stands for the threshold on the queue's occupancy below which it is let in (T3, arXiv 2401.16677), and never less
// than a floor.
enum class Arbitration {
  off,       // in proportion to what is under way
  fixed,     // of `arbitration_threshold`
  adaptive,  // from all, where compute takes nothing, down to `arbitration_threshold`, where it takes all
};
constexpr auto all_names(Arbitration) { return sim::names("off", "fixed", "adaptive"); }
// Where the operands of stores that update are added up: nowhere, at the Infinity Cache, in HBM.
enum class NearMemory { none, infinity_cache, hbm };
constexpr auto all_names(NearMemory) { return sim::names("none", "infinity_cache", "hbm"); }

// What becomes of a tile that finds no entry in a tracker.
enum class TrackerFull {
  kernel_end,  // nothing counts it: its piece is there when the kernel has ended
  next_free    // its stores wait at the controllers for the next entry that falls free
};
constexpr auto all_names(TrackerFull) { return sim::names("kernel_end", "next_free"); }

// At the memory controllers: counts what of a tile has been stored.
struct TrackerSpec {
  std::int64_t entries = 0;  // tiles that it can follow at once
  TrackerFull full = TrackerFull::kernel_end;
  sim::Time latency{0};  // from the last store to an engine that may begin
};

struct MemorySpec {
  int xcds = 0;
  sim::Bytes l2_capacity;         // of one XCD
  sim::Time l2_latency{0};        // a load that hits the L2, unloaded, beyond the way there ...
  sim::Time l2_far_latency{0};    // ... and where all L2s together hold what one could not
  sim::BytesPerSecond l2_rate;    // of one XCD, at the rated engine clock
  bool l2_follows_clock = false;  // whether its rate goes with the engine clock
  sim::Time l2_wait{0};           // of a step's loads behind the bursts of matrix kernels, were these to fill the L2s
  sim::BytesPerSecond writeback_rate;  // of lines of other GPUs' memory, from all L2s, at the end of a kernel
  sim::BytesPerSecond port_rate;       // between one XCD and its I/O die
  sim::Bytes cache_capacity;           // Infinity Cache of the GPU; 0: there is none
  sim::BytesPerSecond cache_rate;      // Infinity Cache of the GPU
  double cache_turnaround = 0.0;      // bytes' worth of its rate lost for each byte both read and written in one stream
  double cache_overflow = 0.0;        // of its capacity: see held_of_turn
  sim::Bytes hbm_capacity;            // of the GPU
  sim::BytesPerSecond hbm_rate;       // peak of the data bus
  double hbm_read_efficiency = 1.0;   // share of the peak that pure reads reach
  double hbm_write_efficiency = 1.0;  // share of the peak that pure writes reach
  // Bytes' worth of the bus lost for each byte that is both read and written in one stream, as it turns round.
  double hbm_turnaround = 0.0;
  sim::Time cache_latency{0};        // a load that hits the Infinity Cache, unloaded
  sim::Time hbm_latency{0};          // the part HBM adds to a load that misses it, unloaded
  sim::Bytes translation_reach;      // addresses that are translated at once; 0: all
  sim::Time translation_latency{0};  // of a load at random beyond them
  double queueing_factor = 0.0;      // strength of loaded latency at the Infinity Cache and HBM
  // What other machines could do (ConCCL, section VII-A):
  double collective_channels = 0.0;  // share of Infinity Cache and HBM set apart for collectives; 0: all for all
  bool collectives_first = false;    // requests of collectives overtake those of GEMMs
  Arbitration arbitration = Arbitration::off;
  double arbitration_threshold = 1.0;  // share of HBM up to which communication is let in
  double arbitration_floor = 0.0;      // share of HBM that it always has
  NearMemory near_memory = NearMemory::none;
  double update_rate = 0.0;  // bytes added up near memory per second, over HBM's peak rate
  TrackerSpec tracker;
  bool metered = false;  // bytes read from and written to HBM are counted; in no file: a question, not a machine

  // What of HBM's bus, and of the Infinity Cache's rate, a stream takes that reads and writes so many bytes.
  double bus_bytes(double reads, double writes) const;
  double cache_bytes(double reads, double writes) const;
  bool adds() const { return near_memory != NearMemory::none; }
  bool has_cache() const { return cache_capacity > sim::Bytes(0.0); }
  // Of a set of bytes that is gone through turn after turn, the share that this share of the Infinity Cache still holds
  // when it comes again: all that fits; of a larger one e^-(excess / cache_overflow), in capacities, as addresses are
  // not spread evenly over its sets and the oldest line of each is replaced.
  double held_of_turn(sim::Bytes set, double share = 1.0) const;
  // The same of the L2s of so many XCDs together, whatever part of the set each of them gets to see.
  double held_in_l2_of_turn(sim::Bytes set, int of_xcds) const;
  // Of loads at random within a set, those whose address nobody has translated not long ago.
  double untranslated(sim::Bytes set) const;
  // From the CUs on: the L2s, the Infinity Cache if there is one, HBM.
  std::vector<MemoryLevel> levels() const;
  // Why memory cannot add where, or arbitrate as, it is asked to, in one sentence that says what would be accepted;
  // empty if it can.
  std::string why_no_near_memory() const;
  std::string why_no_arbitration() const;

  static MemorySpec read(sim::Section section, int xcds);
};

}  // namespace c3sim::models
