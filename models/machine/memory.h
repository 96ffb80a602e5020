// The memory system of one GPU: per XCD an L2 and a port to its I/O die, then the memory-side Infinity Cache and HBM,
// both interleaved over all I/O dies. Tells what traffic costs at each level; sharing is the resource network's
// business. The L2s, and the ports, are pooled: kernels are dealt evenly to the XCDs, so all are equally loaded; a
// kernel that sits on some XCDs only pays for the busiest one.
#pragma once

#include <string>
#include <vector>

#include "models/machine/tenant_resource.h"
#include "models/machine/usage_list.h"
#include "models/platform/memory_spec.h"
#include "sim/resource_network.h"

namespace c3sim::models {

// Bytes that one unit of progress moves at a point of the hierarchy.
struct Traffic {
  double reads = 0.0;
  double writes = 0.0;
  double cache_hits = 0.0;  // share of these bytes that the Infinity Cache serves or absorbs, 0..1
};

class Memory {
 public:
  // As a GEMM sees it; `without`: what tenants do not share.
  Memory(const MemorySpec& spec, sim::ResourceNetwork& network, const std::string& name, Mechanisms without = {});
  // The same memory as a collective sees it.
  Memory seen_by_collectives(sim::ResourceNetwork& network) const;

  // Traffic that starts below the L2s: copy engines, and what other GPUs read or write here.
  void add_below_l2(UsageList& usages, Traffic traffic) const;
  // Traffic of workgroups: `l2_bytes` pass through the L2s, `beyond` leaves them. `busiest_share` of it comes from the
  // XCD that has most of it; evenly_spread() where all have the same.
  void add_from_xcds(UsageList& usages, double busiest_share, double l2_bytes, Traffic beyond) const;
  double evenly_spread() const { return 1.0 / spec_.xcds; }

  // The weight of a collective in the sharing of bandwidth: its bytes in flight, or more where memories serve
  // collectives first.
  double collective_weight(double in_flight) const;

  // A load that misses the L2s, in an idle memory.
  sim::Time latency(double cache_hits) const;
  // Of so many bytes stored through all L2s, those still dirty in them at the end: addresses are spread over the lines
  // as if at random, so a line is still clean with probability exp(-stored / capacity).
  sim::Bytes dirty_in_l2(sim::Bytes stored) const;

  const MemorySpec& spec() const { return spec_; }
  // What this tenant's power depends on.
  sim::ResourceNetwork::ResourceId cache() const { return cache_.power(); }
  sim::ResourceNetwork::ResourceId hbm() const { return hbm_.power(); }
  sim::ResourceNetwork::ResourceId l2() const { return l2_.power(); }
  // The resources whose loaded latency a memory access sees, in order.
  std::vector<std::uint32_t> latency_path() const { return {cache_.latency(), hbm_.latency()}; }

 private:
  MemorySpec spec_;
  TenantResource l2_;
  TenantResource ports_;
  TenantResource cache_;
  TenantResource hbm_;
};

}  // namespace c3sim::models
