#include "models/platform/rccl_spec.h"

#include <utility>

#include "models/platform/limits.h"

namespace c3sim::models {

namespace {
constexpr std::array<std::pair<std::string_view, CollectiveKind>, 5> kinds{
    {{"all_gather", CollectiveKind::all_gather},
     {"all_to_all", CollectiveKind::all_to_all},
     {"all_reduce", CollectiveKind::all_reduce},
     {"reduce_scatter", CollectiveKind::reduce_scatter},
     {"broadcast", CollectiveKind::broadcast}}};
constexpr std::array<std::pair<std::string_view, RcclAccess>, 2> accesses{
    {{"store", RcclAccess::store}, {"load", RcclAccess::load}}};

RcclCollectiveSpec read_collective(sim::Section section, const CuResources& cu) {
  RcclCollectiveSpec spec;
  spec.workgroups = static_cast<int>(section.integer("workgroups", 1, most_channels));
  spec.workgroup = CuResources::read(section);
  check_fits(section, spec.workgroup, cu);
  spec.steps = section.number("steps", 0.0, 1e3);
  spec.ll_limit = section.bytes("ll_limit", {sim::Bytes(0.0), limits::capacity.high});
  spec.ll128_limit = section.bytes("ll128_limit", {sim::Bytes(0.0), limits::capacity.high});
  spec.sender_reads = section.number("sender_reads", 0.0, 16.0);
  spec.sender_writes = section.number("sender_writes", 0.0, 16.0);
  spec.receiver_reads = section.number("receiver_reads", 0.0, 16.0);
  spec.receiver_writes = section.number("receiver_writes", 0.0, 16.0);
  spec.buffer_share = section.number("buffer_share", 0.0, 1.0);
  return spec;
}
}  // namespace

RcclSpec RcclSpec::read(sim::Section section, const CuResources& cu) {
  RcclSpec spec;
  spec.access = section.choice<RcclAccess>("access", accesses);
  spec.workgroup_in_flight = section.bytes("workgroup_in_flight", limits::capacity);
  spec.workgroup_latency = section.time("workgroup_latency", limits::latency);
  sim::Section protocols = section.section("protocols");
  for (std::size_t i = 0; i < rccl_protocol_names.size(); ++i) {
    sim::Section protocol = protocols.section(rccl_protocol_names[i]);
    spec.protocols[i].step_latency = protocol.time("step_latency", limits::latency);
    spec.protocols[i].link_efficiency = protocol.number("link_efficiency", 0.01, 1.0);
  }
  sim::Section collectives = section.section("collectives");
  for (const auto& [name, kind] : kinds) {
    spec.collectives[static_cast<std::size_t>(kind)] = read_collective(collectives.section(name), cu);
  }
  return spec;
}

const RcclProtocolSpec& RcclSpec::protocol(CollectiveKind kind, sim::Bytes bytes) const {
  const RcclCollectiveSpec& limits = collective(kind);
  return protocols[bytes <= limits.ll_limit ? 0 : bytes <= limits.ll128_limit ? 1 : 2];
}

}  // namespace c3sim::models
