#include "models/platform/host_spec.h"

#include <array>
#include <utility>
#include <vector>

#include "models/platform/limits.h"

namespace c3sim::models {

SubmissionCosts SubmissionCosts::read(sim::Section section) {
  SubmissionCosts costs;
  costs.command_write = section.time("command_write", limits::latency);
  costs.packet_write = section.time("packet_write", limits::latency);
  costs.doorbell = section.time("doorbell", limits::latency);
  costs.doorbell_interval = section.time("doorbell_interval", limits::latency);
  costs.word_write = section.time("word_write", limits::latency);
  costs.word_check = section.time("word_check", limits::latency);
  return costs;
}

CopyCallsSpec CopyCallsSpec::read(sim::Section section) {
  CopyCallsSpec copies;
  copies.call = section.time("call", limits::latency);
  copies.start = section.time("start", limits::latency);
  copies.order_from_host = section.time("order_from_host", limits::latency);
  copies.order_to_host = section.time("order_to_host", limits::latency);
  copies.order_of_peers = section.time("order_of_peers", limits::latency);
  copies.batch_packs = section.flag("batch_packs");
  copies.host_rate = section.rate("host_rate", limits::rate);
  copies.both_ways_rate = section.rate("both_ways_rate", limits::rate);
  copies.kernels_up_to = section.bytes("kernels_up_to", {sim::Bytes(0.0), sim::Bytes(1 << 30)});
  copies.kernel_order = section.time("kernel_order", limits::latency);
  copies.kernel_batch_order = section.time("kernel_batch_order", limits::latency);
  copies.workgroup_in_flight = section.bytes("workgroup_in_flight", limits::capacity);
  return copies;
}

std::string_view to_string(HostThreads threads) { return threads == HostThreads::one ? "one" : "per_gpu"; }

std::string_view to_string(Protocol protocol) {
  constexpr std::array<std::string_view, all_protocols.size()> names{"steady", "shot", "rounds"};
  return names[static_cast<std::size_t>(protocol)];
}

HostSpec HostSpec::read(sim::Section section) {
  using enum HostThreads;
  const std::array<std::pair<std::string_view, HostThreads>, 2> threads{
      {{to_string(one), one}, {to_string(per_gpu), per_gpu}}};
  static constexpr std::array<std::pair<std::string_view, HostWait>, 2> waits{
      {{"polling", HostWait::polling}, {"interrupt", HostWait::interrupt}}};
  std::vector<std::pair<std::string_view, Protocol>> protocols;
  for (const Protocol protocol : all_protocols) protocols.emplace_back(to_string(protocol), protocol);
  HostSpec spec;
  spec.threads = section.choice<HostThreads>("threads", threads);
  spec.wait = section.choice<HostWait>("wait", waits);
  spec.protocol = section.choice<Protocol>("protocol", protocols);
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
  spec.copies = CopyCallsSpec::read(section.section("copies"));
  return spec;
}

}  // namespace c3sim::models
