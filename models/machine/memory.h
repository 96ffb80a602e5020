// Memory is the memory system of one GPU: per XCD an L2 and a port to its I/O die, then the memory-side Infinity Cache
// and HBM, both interleaved over all I/O dies. It tells what traffic takes of each level; the resource network divides
// the levels. All L2s are one resource, and so are all ports: kernels are dealt evenly to the XCDs, so all are equally
// loaded; a kernel that sits on some XCDs only pays for the busiest one.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/machine/resource_kind.h"
#include "models/platform/interference.h"
#include "models/platform/memory_spec.h"
#include "sim/resource_network.h"
#include "sim/units.h"

namespace c3sim::models {

// MovedBytes counts what one GPU's memory system has moved so far.
struct MovedBytes {
  double l2 = 0.0;
  double cache = 0.0;  // includes the cost of turning between reads and writes, unless the memory is metered
  double hbm_reads = 0.0;
  double hbm_writes = 0.0;  // includes updates
  double updates = 0.0;
  double links = 0.0;  // over the GPU's links, both ways
};

// Traffic holds the bytes that one unit of progress moves at a point of the hierarchy.
struct Traffic {
  double reads = 0.0;
  double writes = 0.0;
  double cache_hits = 0.0;  // share of these bytes, 0..1, that never reach HBM: the Infinity Cache, or an L2 on a
                            // machine without one, serves or absorbs them
  double updates = 0.0;     // stores that the memory itself adds to its contents
};

class Memory {
 public:
  // `without` names the mechanisms by which tenants do not disturb each other.
  Memory(const MemorySpec& spec, sim::ResourceNetwork& network, const std::string& name, Mechanisms without = {});

  // Adds traffic that starts below the L2s: that of copy engines, and of reads and writes by other GPUs.
  void add_below_l2(UsageList& usages, Traffic traffic) const;
  // Adds the loads of matrix kernels to the bursts at the L2s, in addition to what add_from_xcds() adds.
  void add_bursts(UsageList& usages, double busiest_share, double l2_bytes) const {
    if (bursts_) usages.add(*bursts_, busiest_share * spec_.xcds * l2_bytes);
  }
  // Adds the traffic of workgroups: `l2_bytes` pass through the L2s, `beyond` leaves them. `busiest_share` is the share
  // that comes from the XCD with most of it; evenly_spread() if all have the same.
  void add_from_xcds(UsageList& usages, double busiest_share, double l2_bytes, Traffic beyond) const;
  double evenly_spread() const { return 1.0 / spec_.xcds; }

  // Sets the engine clock as a share of the rated clock. Changes the rate of the L2s if it follows the clock.
  void set_clock(double share) const;
  bool l2_follows_clock() const { return spec_.l2_follows_clock; }

  // Returns a collective's weight for bandwidth: its bytes in flight, or far more if memories serve collectives first.
  double collective_weight(double in_flight) const;

  // Sets the share of HBM that the platform's arbitration leaves to communication; returns whether it changed.
  bool arbitrate() const;
  // Returns the bytes moved. Reads and writes of HBM are known only for a metered memory; links are not counted here.
  MovedBytes moved() const;
  // Returns the adders near memory, if there are any.
  std::optional<sim::ResourceId> adders() const { return adders_; }

  // Returns the mean latency of a load that misses the L2s, in an idle memory.
  sim::Time latency(double cache_hits) const;
  // Returns how many of the bytes stored through all L2s are still dirty in them at the end. Addresses are spread over
  // the lines as if at random, so a line is still clean with probability exp(-stored / capacity).
  sim::Bytes dirty_in_l2(sim::Bytes stored) const;

  const MemorySpec& spec() const { return spec_; }
  // Levels are in the order of MemorySpec::levels(), from the CUs on.
  struct Level {
    MemoryLevel spec;
    sim::ResourceId resource;
  };
  std::span<const Level> levels() const { return levels_; }
  sim::ResourceId hbm() const { return levels_.back().resource; }
  sim::ResourceId l2() const { return levels_.front().resource; }
  // Returns the resource that counts matrix kernels' loads, which delay those of other kernels; none if they do not.
  std::optional<sim::ResourceId> bursts() const { return bursts_; }
  // Returns the resources whose loaded latency a memory access sees, in order: those below the L2s.
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

// CacheSharing divides the caches of one GPU among its kernels. Under least-recently-used replacement a stream's share
// of a cache follows its share of the fills, so every kernel declares how fast it fills each level while undisturbed.
class CacheSharing {
 public:
  struct Client {
    sim::BytesPerSecond l2_fill;      // over all L2s of the GPU
    sim::BytesPerSecond cache_fill;   // Infinity Cache
    std::function<void()> on_change;  // called when another client enters or leaves; may be empty
  };
  using Handle = std::list<Client>::iterator;

  // Every client holds all of the levels in `without`. `set_apart` is the share of the Infinity Cache that belongs to
  // collectives, which never ask for their share.
  explicit CacheSharing(Mechanisms without = {}, double set_apart = 0.0) : without_(without), set_apart_(set_apart) {}

  Handle enter(Client client);
  void leave(Handle client);

  // Both return the share of the capacity that the client holds, 0..1.
  double l2_share(Handle client) const { return share(client, &Client::l2_fill, Mechanism::l2); }
  double cache_share(Handle client) const {
    return set_apart_ > 0.0 ? 1.0 - set_apart_ : share(client, &Client::cache_fill, Mechanism::infinity_cache);
  }

 private:
  double share(Handle client, sim::BytesPerSecond Client::*fill, Mechanism level) const;
  void notify_all_but(Handle client);

  Mechanisms without_;
  double set_apart_;
  std::list<Client> clients_;
};

}  // namespace c3sim::models
