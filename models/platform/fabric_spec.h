// A FabricSpec describes the links between GPUs and to the host.
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
  sim::BytesPerSecond link_rate;       // payload in one direction, of a mesh link or of a GPU's port to the switch
  sim::BytesPerSecond peak_link_rate;  // signalling rate of the link, used only in rooflines
  double reverse_share = 0.0;  // bytes the opposite direction carries per payload byte (acknowledgements, requests)
  double write_cost = 1.0;     // link bytes per byte that a kernel writes, relative to a copy engine
  double read_cost = 1.0;      // link bytes per byte read, relative to a byte written
  sim::Bytes reads_in_flight;  // bytes that the kernels of one GPU can have requested from others and not yet received
  sim::Time latency{0};        // time from the memory system of one GPU to that of another, one way
  double queueing = 0.0;       // stores over a link with load u wait for latency * queueing * u^2 / (1 - u) more
  sim::BytesPerSecond host_to_device_rate;
  sim::BytesPerSecond device_to_host_rate;
  sim::Time host_latency{0};

  // Returns the latency of a link that kernels store over, which grows like a queue's up to the load at which buffers
  // hold senders back. It is zero without queueing, as the kernel's own latency then includes it.
  sim::LoadedLatency link_latency() const { return {queueing > 0.0 ? latency : sim::Time(0), queueing, 2.0, 0.8}; }

  // Returns the rate at which one GPU could send to all others at once at the peak rate of its links.
  sim::BytesPerSecond peak_rate_out() const {
    return topology == Topology::fabric_switch ? peak_link_rate : (gpus - 1) * peak_link_rate;
  }
};

}  // namespace c3sim::models
