// A Demand says what the workgroups of a kernel need from the machine for each unit of progress, on a given footing. A
// kernel counts its progress in operations, bytes or another unit. activity_of turns the demand of any kernel into an
// activity of the resource network.
#pragma once

#include <limits>
#include <optional>
#include <span>

#include "models/machine/memory.h"
#include "models/machine/power.h"
#include "models/machine/resource_kind.h"
#include "sim/resource_network.h"
#include "sim/units.h"

namespace c3sim::models {

class Node;

// A Footing says what share of CUs and caches the workgroups of a kernel have.
struct Footing {
  std::span<const int> residents;  // workgroups on each XCD, 0 for one that has none
  double per_cu = 1.0;             // mean number of workgroups on a CU that has any
  double l2_share = 1.0;           // share of the L2s' capacity
  double cache_share = 1.0;        // share of the Infinity Cache's capacity
};

// A MemoryDemand holds bytes at the memory of one GPU.
struct MemoryDemand {
  double l2 = 0.0;    // bytes through the L2s
  Traffic beyond_l2;  // the part of `l2` that goes on to the levels below
  Traffic below_l2;   // other traffic, which bypasses the L2s
};

// A PeerDemand is traffic with another GPU or the host, whose memory is never the tightest resource.
struct PeerDemand {
  int gpu = 0;  // or host_device
  double link_bytes = 0.0;
  bool pulled = false;          // read from the peer, rather than written to it
  double reads_that_hit = 0.0;  // share of pulled bytes that the peer's Infinity Cache serves
  MemoryDemand memory;          // at the peer's memory
};

struct Demand {
  MemoryDemand own{};
  std::optional<PeerDemand> peer{};
  // A workgroup keeps `in_flight` under way; a unit of progress is `bytes_per_unit` of it. A saturated memory serves
  // requesters in proportion to what they have under way.
  sim::Bytes in_flight{};
  double bytes_per_unit = 1.0;
  // If `waits`, Little's law bounds progress: what is under way over `step_latency` and the loaded memory latency.
  bool waits = false;
  bool waits_for_own = true;   // includes the GPU's own memory; false if it only takes what comes from a peer
  bool waits_for_peer = true;  // includes the peer's memory; false if stores are posted
  sim::Time step_latency{0};
  // These are the shares of loads that go beyond the L2s and the Infinity Cache; other loads do not wait for levels
  // below.
  double loads_beyond_l2 = 1.0;
  double loads_beyond_cache = 1.0;
  double queue_knee = 0.0;  // knee between the rate by Little's law and what the memory lets through; 0: none
  double cycles = 0.0;      // share of the unloaded latency that is cycles of the engine clock
  // The rates are units of progress of a CU in a cycle of the engine clock; 0: the clock does not bound progress.
  double matrix_per_cycle = 0.0;
  double matrix_energy = 1.0;  // energy of a unit, in bf16 matrix operations
  double vector_per_cycle = 0.0;
  double vector_flops = 0.0;                             // energy of a unit, in single-precision vector operations
  double knee = 0.0;                                     // knee of the roofline: see Bend
  double cap = std::numeric_limits<double>::infinity();  // units per second, whatever the clock
};

// Returns a demand whose progress counts in bytes, each read at one GPU, or the host, and written at the other.
Demand moving_demand(int peer, bool pulled);

// Adapts the demand of a kernel that finds nothing in caches to repeated runs, on `xcds` XCDs, over arrays of `set`
// bytes in all. What L2s and Infinity Cache hold of these is not loaded from, and not waited for at, the levels below.
void hold_of_turn(Demand& demand, const MemorySpec& memory, sim::Bytes set, int xcds);

// A Portion says what some workgroups that run alike have of their GPU.
struct Portion {
  double busiest_share = 0.0;  // share of their traffic from the XCD with most of it
  double pipes = 0.0;          // matrix and vector pipes, in CUs
  double requests = 0.0;       // requests under way, in units of one workgroup's
  double share = 1.0;          // share of all resident workgroups of the kernel
};

// Returns how the memory of the GPU bends the rate of these workgroups.
Bend bend_of(const Demand& demand, const MemorySpec& memory, const Portion& portion);

// Turns a demand of workgroups on `gpu` into an activity; the caller sets its amount.
sim::ActivitySpec activity_of(Node& node, int gpu, const Demand& demand, const Portion& portion, ActivityTag tag);

}  // namespace c3sim::models
