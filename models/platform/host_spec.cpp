#include "models/platform/host_spec.h"

#include <algorithm>

#include "models/platform/limits.h"

namespace c3sim::models {

SubmissionCosts SubmissionCosts::read(sim::Section section) {
  return {.command_write = section.time("command_write", limits::latency),
          .packet_write = section.time("packet_write", limits::latency),
          .doorbell = section.time("doorbell", limits::latency),
          .doorbell_interval = section.time("doorbell_interval", limits::latency),
          .word_write = section.time("word_write", limits::latency),
          .word_check = section.time("word_check", limits::latency)};
}

CopyCallsSpec CopyCallsSpec::read(sim::Section section) {
  CopyCallsSpec copies;
  copies.call = section.time("call", limits::latency);
  copies.start = section.time("start", limits::latency);
  if (section.is_sound("call") && section.is_sound("start") && copies.start < copies.call) {
    section.fault("start", "is " + sim::to_string(copies.start) + ", which ends before the call that it begins with: " +
                               sim::to_string(copies.call) + " (host.copies.call) or more is accepted");
  }
  copies.order_from_host = section.time("order_from_host", limits::latency);
  copies.order_to_host = section.time("order_to_host", limits::latency);
  copies.order_of_peers = section.time("order_of_peers", limits::latency);
  copies.batch_packs = section.flag("batch_packs");
  copies.host_rate = section.quantity("host_rate", limits::rate);
  copies.both_ways_rate = section.quantity("both_ways_rate", limits::rate);
  copies.kernels_up_to = section.quantity<sim::Bytes>("kernels_up_to", {sim::Bytes(0.0), sim::Bytes(1 << 30)});
  copies.kernel_order = section.time("kernel_order", limits::latency);
  copies.kernel_batch_order = section.time("kernel_batch_order", limits::latency);
  copies.workgroup_in_flight = section.quantity("workgroup_in_flight", limits::capacity);
  return copies;
}

HostSpec HostSpec::read(sim::Section section) {
  HostSpec spec;
  spec.threads = section.choice<HostThreads>("threads", sim::choices_of<HostThreads>());
  spec.wait = section.choice<HostWait>("wait", sim::choices_of<HostWait>());
  spec.protocol = section.choice<Protocol>("protocol", sim::choices_of<Protocol>());
  spec.submission = SubmissionCosts::read(section);
  spec.interrupt_latency = section.time("interrupt_latency", limits::latency);
  spec.kernel_launch = section.time("kernel_launch", limits::latency);
  spec.collective_launch = section.time("collective_launch", limits::latency);
  spec.graph_launch = section.time("graph_launch", limits::latency);
  spec.framework_call = section.time("framework_call", limits::latency, spec.kernel_launch);
  spec.framework_collective = section.time("framework_collective", limits::latency, spec.framework_call);
  spec.framework_gap = section.time("framework_gap", limits::latency, sim::Time(0));
  spec.graph_kernel_gap = section.time("graph_kernel_gap", limits::latency, sim::Time(0));
  spec.kernel_gap = section.time("kernel_gap", limits::latency);
  spec.wake_up = section.time("wake_up", limits::latency);
  spec.kernel_notice = section.time("kernel_notice", limits::latency);
  spec.kernel_time = section.flag("kernel_time");
  spec.launch_interval = section.time("launch_interval", limits::latency, sim::Time(0));
  spec.collective_interval = section.time("collective_interval", limits::latency, sim::Time(0));
  spec.collective_skew = section.time("collective_skew", limits::latency, sim::Time(0));
  spec.copies = CopyCallsSpec::read(section.section("copies"));
  return spec;
}

HostSpec HostSpec::as_timed() const {
  HostSpec host = *this;
  if (!hides_launches(protocol) && !kernel_time) return host;
  host.kernel_launch = host.collective_launch = host.graph_launch = host.kernel_notice = sim::Time(0);
  host.wake_up = sim::Time(0);
  host.copies.start = host.copies.call;
  if (protocol == Protocol::graph) host.kernel_gap = graph_kernel_gap;
  if (hides_launches(protocol)) host.collective_skew = sim::Time(0);
  return host;
}

HostSpec HostSpec::launched(LaunchMode mode) const {
  const bool graph = mode == LaunchMode::graph;
  HostSpec host = *this;
  host.kernel_launch = graph ? sim::Time(0) : framework_call;
  host.collective_launch = graph ? sim::Time(0) : std::max(sim::Time(0), framework_collective - framework_call);
  host.graph_launch = sim::Time(0);
  host.kernel_gap = graph ? graph_kernel_gap : framework_gap;
  return host;
}

}  // namespace c3sim::models
