// The memory system of one GPU: per XCD an L2 and a port to its I/O die, then the memory-side Infinity Cache and HBM,
// both interleaved over all I/O dies. Tells what traffic costs at each level; sharing is the resource network's
// business. The L2s, and the ports, are pooled: kernels are dealt evenly to the XCDs, so all are equally loaded; a
// kernel that sits on some XCDs only pays for the busiest one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/machine/usage_list.h"
#include "models/platform/interference.h"
#include "models/platform/memory_spec.h"
#include "sim/resource_network.h"

namespace c3sim::models {

// What one GPU's memory system has moved so far.
struct MovedBytes {
  double l2 = 0.0;
  double cache = 0.0;  // unless metered, with what turning round costs
  double hbm_reads = 0.0;
  double hbm_writes = 0.0;  // updates among them
  double updates = 0.0;
  double links = 0.0;  // over its links, both ways
};

// Bytes that one unit of progress moves at a point of the hierarchy.
struct Traffic {
  double reads = 0.0;
  double writes = 0.0;
  double cache_hits = 0.0;  // share of these bytes that never come to HBM: the Infinity Cache serves or absorbs
                            // them or, in a machine without, an L2 does; 0..1
  double updates = 0.0;     // stores that the memory itself adds to what is there
};

class Memory {
 public:
  // `without`: what tenants do not share.
  Memory(const MemorySpec& spec, sim::ResourceNetwork& network, const std::string& name, Mechanisms without = {});

  // Traffic that starts below the L2s: copy engines, and what other GPUs read or write here.
  void add_below_l2(UsageList& usages, Traffic traffic) const;
  // Loads of matrix kernels at the L2s, beside what add_from_xcds() adds.
  void add_bursts(UsageList& usages, double busiest_share, double l2_bytes) const;
  // Traffic of workgroups: `l2_bytes` pass through the L2s, `beyond` leaves them. `busiest_share` of it comes from the
  // XCD that has most of it; evenly_spread() where all have the same.
  void add_from_xcds(UsageList& usages, double busiest_share, double l2_bytes, Traffic beyond) const;
  double evenly_spread() const { return 1.0 / spec_.xcds; }

  // The engine clock, over that which rates are stated at.
  void set_clock(double share) const;
  bool l2_follows_clock() const { return spec_.l2_follows_clock; }

  // The weight of a collective in the sharing of bandwidth: its bytes in flight, or more where memories serve
  // collectives first.
  double collective_weight(double in_flight) const;

  // Lets communication have what compute leaves, as the platform arbitrates; whether that is another share than before.
  bool arbitrate() const;
  // Of a memory that is metered.
  MovedBytes moved() const;
  // The adders near memory; none where there are no such.
  std::optional<sim::ResourceId> adders() const { return adders_; }

  // A load that misses the L2s, in an idle memory.
  sim::Time latency(double cache_hits) const;
  // Of so many bytes stored through all L2s, those still dirty in them at the end: addresses are spread over the lines
  // as if at random, so a line is still clean with probability exp(-stored / capacity).
  sim::Bytes dirty_in_l2(sim::Bytes stored) const;

  const MemorySpec& spec() const { return spec_; }
  // From the CUs on, as in MemorySpec::levels().
  struct Level {
    MemoryLevel spec;
    sim::ResourceId resource;
  };
  std::span<const Level> levels() const { return levels_; }
  sim::ResourceId hbm() const { return levels_.back().resource; }
  sim::ResourceId l2() const { return levels_.front().resource; }
  // Where the loads of matrix kernels are counted that hold up those of other kernels; none where they hold up nobody.
  std::optional<sim::ResourceId> bursts() const { return bursts_; }
  // The resources whose loaded latency a memory access sees, in order: those below the L2s.
  const std::vector<sim::ResourceId>& latency_path() const { return latency_path_; }

 private:
  std::span<const Level> below_l2() const { return levels().subspan(1); }

  MemorySpec spec_;
  sim::ResourceNetwork& network_;
  std::vector<Level> levels_;
  std::vector<sim::ResourceId> latency_path_;
  sim::ResourceId ports_;
  std::optional<sim::ResourceId> bursts_;
  std::optional<sim::ResourceId> adders_;
  struct Meters {
    sim::ResourceId reads, writes, cache;
  };
  std::optional<Meters> meters_;
};

}  // namespace c3sim::models
