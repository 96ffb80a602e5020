// What the links between GPUs, and to the host, can do.
#pragma once

#include "sim/config/choice.h"
#include "sim/loaded_latency.h"
#include "sim/units.h"

namespace c3sim::models {

enum class Topology { mesh, fabric_switch };
constexpr auto all_names(Topology) { return sim::names("mesh", "switch"); }

struct FabricSpec {
  Topology topology = Topology::mesh;
  int gpus = 0;
  sim::BytesPerSecond link_rate;       // mesh: one link, one way, as payload; switch: one GPU's port, one way
  sim::BytesPerSecond peak_link_rate;  // what the link signals: of rooflines alone
  double reverse_share = 0.0;  // bytes the opposite direction carries per payload byte (acknowledgements, requests)
  double write_cost = 1.0;     // link bytes per byte that a kernel writes, relative to one by an engine
  double read_cost = 1.0;      // link bytes per byte read, relative to a byte written
  sim::Bytes reads_in_flight;  // that the kernels of one GPU can have asked of others and not yet received
  sim::Time latency{0};        // one way, from one GPU's memory system into another's
  double queueing = 0.0;       // of latency: stores over a link with load u wait for queueing * u^2 / (1 - u) more
  sim::BytesPerSecond host_to_device_rate;
  sim::BytesPerSecond device_to_host_rate;
  sim::Time host_latency{0};

  // The latency of a link that a kernel stores over, as in a queue up to the load at which buffers hold senders back;
  // none where nothing queues: it is part of the kernel's own latency then.
  sim::LoadedLatency link_latency() const { return {queueing > 0.0 ? latency : sim::Time(0), queueing, 2.0, 0.8}; }

  // What one GPU could send to all others at once at the peak of its links.
  sim::BytesPerSecond peak_rate_out() const {
    return topology == Topology::fabric_switch ? peak_link_rate : (gpus - 1) * peak_link_rate;
  }
};

}  // namespace c3sim::models
