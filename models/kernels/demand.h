// What the workgroups of a kernel ask of the machine for each unit of their progress, on a given footing: pure numbers.
// A kernel counts its progress in whatever suits it, operations or bytes. What becomes of a demand is the same for all
// kernels, and is decided in one place: activity_of.
#pragma once

#include <limits>
#include <optional>
#include <span>

#include "models/machine/activity_tag.h"
#include "models/machine/memory.h"
#include "models/machine/power.h"
#include "sim/resource_network.h"
#include "sim/units.h"

namespace c3sim::models {

class Node;

// What the workgroups of a kernel have of CUs and caches.
struct Footing {
  std::span<const int> residents;  // workgroups on each XCD, 0 for one that has none
  double per_cu = 1.0;             // that share a CU, on average
  double l2_share = 1.0;           // of the capacity
  double cache_share = 1.0;        // the same of the Infinity Cache
};

// Bytes at the memory of one GPU.
struct MemoryDemand {
  double l2 = 0.0;    // through its L2s
  Traffic beyond_l2;  // of these, what leaves them
  Traffic below_l2;   // what comes from elsewhere and does not see them
};

// What goes to or comes from another GPU, or the host, whose memory is never the tightest.
struct PeerDemand {
  int gpu = 0;  // or host_device
  double link_bytes = 0.0;
  bool pulled = false;          // read from there, rather than written there
  double reads_that_hit = 0.0;  // of what is pulled: the share that the peer's Infinity Cache answers
  MemoryDemand memory;          // there
};

struct Demand {
  MemoryDemand own;
  std::optional<PeerDemand> peer;
  // What a workgroup keeps under way, and the bytes of it that are one unit of progress. Where a memory is full, it
  // serves requesters in proportion to what they have under way.
  sim::Bytes in_flight;
  double bytes_per_unit = 1.0;
  // Little's law: whether progress waits for what is under way, for `step_latency` and the loaded latency of the
  // memories.
  bool waits = false;
  bool waits_for_own = true;   // for the GPU's own memory as well; not where it only takes what comes from a peer
  bool waits_for_peer = true;  // for the peer's memory; not where stores are posted
  sim::Time step_latency{0};
  // Of loads, those that go beyond the L2s, and beyond the Infinity Cache: none of them waits for what lies there.
  double loads_beyond_l2 = 1.0;
  double loads_beyond_cache = 1.0;
  double queue_knee = 0.0;  // how what is under way over its latency bends towards what the memory lets through
  double cycles = 0.0;      // of all that while nothing else is under way, the share that is cycles of the engine clock
  // Units of progress that a CU can do in a cycle of the engine clock; 0: nothing that counts in cycles bounds it.
  double matrix_per_cycle = 0.0;
  double matrix_energy = 1.0;  // of a unit, in matrix operations of bf16
  double vector_per_cycle = 0.0;
  double vector_flops = 0.0;  // of a unit, in vector operations of single precision
  double knee = 0.0;          // of its roofline; what its memories let through besides stands on the whole footing
  double cap = std::numeric_limits<double>::infinity();  // units per second, whatever the clock
};

// Arrays of `set` bytes together are gone through turn after turn on so many XCDs: what L2s and Infinity Cache hold of
// them is neither loaded from beyond them nor waited for. `demand` is that of arrays that no cache holds.
void hold_of_turn(Demand& demand, const MemorySpec& memory, sim::Bytes set, int xcds);

// What some workgroups that run alike have of their GPU.
struct Portion {
  double busiest_share = 0.0;  // of their traffic, that of the XCD with most of it
  double pipes = 0.0;          // of the CUs' matrix and vector pipes, in CUs
  double requests = 0.0;       // under way, in those of a workgroup
  double share = 1.0;          // of all workgroups of the kernel
};

// How the memory of the GPU bends the rate of these workgroups.
Bend bend_of(const Demand& demand, const MemorySpec& memory, const Portion& portion);

// The activity that a demand of workgroups on `gpu` is; its amount is the caller's.
sim::ActivitySpec activity_of(Node& node, int gpu, const Demand& demand, const Portion& portion, ActivityTag tag);

}  // namespace c3sim::models
