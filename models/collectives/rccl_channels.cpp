#include "models/collectives/rccl_channels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/collectives/rccl_transfers.h"
#include "models/node.h"
#include "models/platform/rccl_spec.h"

namespace c3sim::models {
namespace {

// Returns the name of one of the library's protocols.
RcclProtocol name_of(const RcclSpec& library, const RcclProtocolSpec& protocol) {
  return rccl_protocols[static_cast<std::size_t>(&protocol - library.protocols.data())];
}

// Returns the latency of a channel's copy loop. Concurrent channels delay each other even on unloaded links.
sim::Time latency_of_loop(const RcclSpec& library, double crowding, int channels) {
  const double crowd = 1.0 + crowding * channels * channels;
  return sim::to_time(crowd * sim::to_seconds(library.workgroup_latency));
}

// In an exchange NCCL uses LL up to this payload between two GPUs, and Simple beyond it (NCCL 2.28,
// NCCL_P2P_LL_THRESHOLD).
constexpr sim::Bytes exchanged_by_ll(16 << 10);

// A Tuner chooses the protocol and computes its times in an idle node.
class Tuner {
 public:
  Tuner(Node& node, const CollectiveSpec& spec, const CuMask& mask, const ChannelDealing& dealing)
      : node_(node),
        spec_(spec),
        dealing_(dealing),
        channels_(node.spec().rccl.channels(spec)),
        slots_(node.spec().gpu.slots(node.spec().gpu.memory.xcds * mask.cus(node.spec().gpu.cus_per_xcd),
                                     node.spec().rccl.collective(spec.kind).channel)) {}

  const RcclProtocolSpec& best() const {
    const RcclSpec& library = node_.spec().rccl;
    if (library.tuner && !dealing_.rounds) {
      const bool small = dealing_.busiest.payload <= exchanged_by_ll;
      return library.protocols[static_cast<std::size_t>(small ? RcclProtocol::ll : RcclProtocol::simple)];
    }
    const auto time = [this, &library](const RcclProtocolSpec& protocol) {
      return (library.tuner ? tuned_time(protocol) : time_of(protocol)).value();
    };
    return *std::ranges::min_element(library.protocols, {}, time);
  }
  // Returns payload over bytes on the link.
  double efficiency_of(const RcclProtocolSpec& protocol) const {
    const std::optional<double>& own = node_.spec().rccl.collective(spec_.kind).link_efficiency;
    return is_simple(protocol) ? own.value_or(protocol.link_efficiency) : protocol.link_efficiency;
  }
  std::optional<ChannelRounds> rounds_of(const RcclProtocolSpec& protocol) const;
  // Returns the time until data flows at full rate plus the idle time of the links.
  sim::Time latency_of(const RcclProtocolSpec& protocol) const {
    return start_of(protocol) + sim::to_time(idle_links(protocol));
  }

 private:
  bool is_simple(const RcclProtocolSpec& protocol) const {
    return name_of(node_.spec().rccl, protocol) == RcclProtocol::simple;
  }
  bool goes_in_step() const { return dealing_.rounds && dealing_.rounds->in_step; }
  sim::Time start_of(const RcclProtocolSpec& protocol) const {
    const std::optional<sim::Time>& own = node_.spec().rccl.collective(spec_.kind).start;
    if (own && is_simple(protocol)) return *own;
    return protocol.start + sim::to_time(dealing_.hops * sim::to_seconds(protocol.step_latency));
  }
  sim::Seconds time_of(const RcclProtocolSpec& protocol) const;
  sim::Seconds tuned_time(const RcclProtocolSpec& protocol) const;
  struct Chunk {
    sim::Bytes bytes;    // bytes of a part that a channel handles at once
    double share = 1.0;  // share of the part
    sim::Seconds last;   // time to copy the last part's chunk out of the buffer, on an idle node
  };
  // Returns the chunk of the protocol Simple; none for other protocols or collectives without chunks.
  std::optional<Chunk> chunk_of(const RcclProtocolSpec& protocol) const;
  sim::Seconds idle_links(const RcclProtocolSpec& protocol) const;
  sim::BytesPerSecond full_rate(const RcclProtocolSpec& protocol) const;
  sim::BytesPerSecond link_rate(const RcclProtocolSpec& protocol, double channels) const;

  Node& node_;
  const CollectiveSpec& spec_;
  const ChannelDealing& dealing_;
  int channels_;
  int slots_;  // channels that fit on the CUs of the mask
};

// Returns the time of the busiest link. Channels that find no room on the CUs come after the others.
sim::Seconds Tuner::time_of(const RcclProtocolSpec& protocol) const {
  sim::Seconds time;
  for (int left = channels_; left > 0; left -= slots_) {
    const double part = static_cast<double>(std::min(left, slots_)) / channels_;
    time += sim::to_seconds(latency_of(protocol));
    time += part * dealing_.busiest.payload / link_rate(protocol, part * dealing_.busiest.channels);
  }
  return time;
}

sim::Seconds Tuner::tuned_time(const RcclProtocolSpec& protocol) const {
  const RcclSpec& library = node_.spec().rccl;
  const sim::Bytes payload = (spec_.gpus - 1) * dealing_.busiest.payload;
  return library.tuned_time(dealing_.algorithm, name_of(library, protocol), dealing_.rounds->tuned_hops, payload);
}

std::optional<Tuner::Chunk> Tuner::chunk_of(const RcclProtocolSpec& protocol) const {
  const RcclSpec& library = node_.spec().rccl;
  const RcclCollectiveSpec& collective = library.collective(spec_.kind);
  if (!collective.chunk || !is_simple(protocol)) return {};
  const sim::Bytes part = dealing_.rounds ? 1.0 / (dealing_.rounds->parts * channels_) * spec_.bytes
                                          : 1.0 / dealing_.busiest.channels * dealing_.busiest.payload;
  const sim::Bytes most = dealing_.rounds ? dealing_.rounds->chunk.value_or(*collective.chunk) : *collective.chunk;
  const sim::Bytes chunk = std::min(part, most);
  const sim::Seconds loop = sim::to_seconds(latency_of_loop(library, collective.crowding, channels_) +
                                            2 * node_.gpu(0).memory().latency(0.0));
  return Chunk{chunk, chunk / part, collective.last_loop_bytes * (chunk / library.workgroup_in_flight) * loop};
}

// Around a ring all channels send their GPU's own part first and the last one to nobody: while all of them copy it out
// of their buffers, no link has work. From round to round they get out of step, as random walks do, so that the n-th
// round leaves the links without work for 1 / sqrt(n) of what the first does (docs/model.md, "Rounds").
std::optional<ChannelRounds> Tuner::rounds_of(const RcclProtocolSpec& protocol) const {
  if (!goes_in_step()) return {};
  const std::optional<Chunk> chunk = chunk_of(protocol);
  if (!chunk) return {};
  const double rounds = 1.0 / chunk->share;
  return ChannelRounds{1.0 / dealing_.busiest.channels * dealing_.busiest.payload, full_rate(protocol),
                       (2.0 * std::sqrt(rounds) - 1.0) * chunk->last};
}

// Returns the time without work on the links for algorithms whose channels do not go in step; for others rounds_of()
// has it. Channels begin together, so all copy the last chunk out of their buffers while no link has work, less the
// time by which their loops are slower than the links; and down a chain each GPU first waits for a whole chunk.
sim::Seconds Tuner::idle_links(const RcclProtocolSpec& protocol) const {
  if (goes_in_step()) return {};
  const std::optional<Chunk> chunk = chunk_of(protocol);
  if (!chunk) return {};
  const ChannelDealing::Link& busiest = dealing_.busiest;
  const sim::BytesPerSecond rate = link_rate(protocol, busiest.channels);
  const sim::Bytes round = chunk->share * busiest.payload;
  const sim::Seconds hidden = round / rate - round / full_rate(protocol);
  const double filling_hops = dealing_.rounds ? dealing_.rounds->filling_hops : 0.0;
  const sim::Seconds filling = filling_hops * busiest.channels * chunk->bytes / rate;
  return filling + std::max(chunk->last - hidden, sim::Seconds{});
}

// Returns the rate of payload on the busiest link, given the overhead of the protocol and other peers' share of a port.
sim::BytesPerSecond Tuner::full_rate(const RcclProtocolSpec& protocol) const {
  const RcclSpec& library = node_.spec().rccl;
  const FabricSpec& fabric = node_.spec().fabric;
  const double sharers = fabric.topology == Topology::fabric_switch ? spec_.gpus - 1 : 1;
  // Payload in the opposite direction is acknowledged over this link.
  const double acknowledged = fabric.reverse_share * (dealing_.busiest.back / dealing_.busiest.payload);
  const double written = library.access == RcclAccess::store ? fabric.write_cost : 1.0;
  sim::BytesPerSecond full = efficiency_of(protocol) / written / (1.0 + acknowledged) / sharers * fabric.link_rate;
  if (library.access == RcclAccess::load) {
    const sim::Seconds round_trip = sim::to_seconds(2 * fabric.latency + node_.gpu(0).memory().latency(0.0));
    full = std::min(full, efficiency_of(protocol) / (spec_.gpus - 1) * fabric.reads_in_flight / round_trip);
  }
  return full;
}

// Returns the rate of `channels` channels over the busiest link, by Little's law with the latency of the loaded link.
sim::BytesPerSecond Tuner::link_rate(const RcclProtocolSpec& protocol, double channels) const {
  const RcclSpec& library = node_.spec().rccl;
  const bool pulls = library.access == RcclAccess::load;
  const sim::Time memory = node_.gpu(0).memory().latency(0.0);
  const sim::LoadedLatency link = pulls ? sim::LoadedLatency{} : node_.spec().fabric.link_latency();
  const sim::BytesPerSecond full = full_rate(protocol);
  const sim::Bytes under_way = channels / dealing_.loop_bytes * library.workgroup_in_flight;
  const sim::Seconds loop = sim::to_seconds(
      latency_of_loop(library, library.collective(spec_.kind).crowding, std::min(channels_, slots_)) + 2 * memory);
  double load = 0.0;  // the highest load that the channels can cause
  for (double step = 0.5; step > 1e-6; step *= 0.5) {
    if (under_way / (loop + link.at(load + step)) >= (load + step) * full) load += step;
  }
  const std::optional<ChannelRounds> rounds = rounds_of(protocol);
  return std::min(under_way / (loop + link.at(load)), rounds ? rounds->rate(channels) : full);
}

// Returns the demand of a channel per byte of payload.
Demand demand_of(const RcclSpec& library, CollectiveKind kind, double link_efficiency, const ChannelDealing& dealing,
                 int channels) {
  const RcclCollectiveSpec& collective = library.collective(kind);
  const double hits = collective.buffer_share;
  Demand demand;
  demand.own = {collective.sender_reads + collective.sender_writes,
                {collective.sender_reads, collective.sender_writes, hits},
                {}};
  PeerDemand& peer = demand.peer.emplace();
  peer.link_bytes = 1.0 / link_efficiency;
  peer.pulled = library.access == RcclAccess::load;
  peer.reads_that_hit = hits;
  peer.memory = {collective.receiver_reads + collective.receiver_writes,
                 {collective.receiver_reads, collective.receiver_writes, hits},
                 {0.0, 1.0, hits}};
  demand.in_flight = library.workgroup_in_flight;
  demand.bytes_per_unit = dealing.loop_bytes;
  demand.waits = true;
  demand.step_latency = latency_of_loop(library, collective.crowding, channels);
  demand.cycles = library.loop_cycles;
  return demand;
}

}  // namespace

ChannelProgram rccl_program(Node& node, const CollectiveSpec& spec, const CuMask& mask, ChannelDealing dealing) {
  const RcclSpec& library = node.spec().rccl;
  const RcclCollectiveSpec& collective = library.collective(spec.kind);
  const Tuner tuner(node, spec, mask, dealing);
  const RcclProtocolSpec& protocol = tuner.best();
  ChannelProgram program;
  program.channels = library.channels(spec);
  program.channel = collective.channel;
  program.protocol = to_string(name_of(library, protocol));
  program.late_placement = library.late_placement;
  const double bytes = collective.memory_bytes();
  program.fills = {bytes, bytes * (1.0 - collective.buffer_share)};
  ChannelStep& step = program.steps.emplace_back();
  step.latency = tuner.latency_of(protocol);
  step.rounds = tuner.rounds_of(protocol);
  step.demand = demand_of(library, spec.kind, tuner.efficiency_of(protocol), dealing, program.channels);
  step.transfers = std::move(dealing.transfers);
  for (int from = 0; from < std::min(spec.gpus, node.simulated()); ++from) {
    for (int to = 0; to < spec.gpus; ++to) {
      for (const Delivery& delivery : rccl_transfers(spec, from, to)) step.deliveries.push_back(delivery);
    }
  }
  return program;
}

}  // namespace c3sim::models
