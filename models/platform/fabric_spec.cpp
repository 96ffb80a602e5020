#include "models/platform/fabric_spec.h"

#include "models/platform/limits.h"

namespace c3sim::models {

FabricSpec FabricSpec::read(sim::Section section, int gpus) {
  FabricSpec spec;
  spec.gpus = gpus;
  spec.topology = section.choice<Topology>("topology", sim::choices_of<Topology>());
  spec.link_rate = section.quantity("link_rate", limits::rate);
  spec.peak_link_rate = section.quantity("peak_link_rate", limits::rate);
  spec.reverse_share = section.number("reverse_share", 0.0, 1.0);
  spec.write_cost = section.number("write_cost", 0.5, 2.0, 1.0);
  spec.read_cost = section.number("read_cost", 0.1, 10.0);
  spec.reads_in_flight = section.quantity("reads_in_flight", limits::capacity);
  spec.latency = section.time("latency", limits::latency);
  spec.queueing = section.number("queueing", 0.0, 100.0);
  sim::Section host = section.section("host");
  spec.host_to_device_rate = host.quantity("to_device_rate", limits::rate);
  spec.device_to_host_rate = host.quantity("from_device_rate", limits::rate);
  spec.host_latency = host.time("latency", limits::latency);
  return spec;
}

}  // namespace c3sim::models
