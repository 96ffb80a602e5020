#include "models/collectives/rccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/collectives/deliveries.h"
#include "models/node.h"
#include "models/platform/rccl_spec.h"

namespace c3sim::models {
namespace {

// RingRounds are for channels of a ring or a tree, which move at most a chunk of every part of the array in a round.
struct RingRounds {
  double tuned_hops = 0.0;            // hops that the library's tuner counts
  double parts = 1.0;                 // parts of the array
  bool in_step = false;               // all channels end a round, and begin the next, together
  double filling_hops = 0.0;          // hops that wait for a whole chunk before they can send
  std::optional<sim::Bytes> chunk{};  // chunk of the protocol Simple; overrides the collective's
};

// ChannelDealing says how an algorithm deals data and channels to the links.
struct ChannelDealing {
  RcclAlgorithm algorithm = RcclAlgorithm::ring;
  double hops = 0.0;        // dependent hops before data flows at full rate
  double loop_bytes = 0.0;  // bytes that the copy loop of a channel handles per byte of payload
  std::optional<RingRounds> rounds;
  // The busiest link takes longest.
  struct Link {
    sim::Bytes payload;
    sim::Bytes back;  // payload in the opposite direction
    double channels = 0.0;
  } busiest;
  std::vector<ChannelTransfer> transfers;  // those of the simulated GPUs
};

// Calls `visit` for each pair of different GPUs of which the first is simulated.
template <class Visit>
void for_each_pair(const Node& node, const CollectiveSpec& spec, const Visit& visit) {
  for (int from = 0; from < std::min(spec.gpus, node.simulated()); ++from) {
    for (int to = 0; to < spec.gpus; ++to) {
      if (from != to) visit(from, to);
    }
  }
}

// Returns what RCCL moves from `from` to `to` over the whole collective, whatever its channels and protocol. The source
// of each byte is where it was originally.
std::vector<Delivery> rccl_transfers(const CollectiveSpec& spec, int from, int to) {
  if (from == to) return {};
  if (spec.kind != CollectiveKind::broadcast) return deliveries(spec.kind, spec, from, to);
  // GPU 0 deals parts to the others, which pass them on to each other.
  if (to == 0) return {};
  const int part = from == 0 ? to : from;
  const Delivery whole = deliveries(spec.kind, spec, 0, to).front();
  return {{share_of(whole.destination, part - 1, part, spec.gpus - 1),
           share_of(whole.source, part - 1, part, spec.gpus - 1)}};
}

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
  // Around a ring all channels send their GPU's own part first and the last one to nobody: while all of them copy it
  // out of their buffers, no link has work. From round to round they get out of step, as random walks do, so that the
  // n-th round leaves the links without work for 1 / sqrt(n) of what the first does (docs/model.md, "Rounds").
  std::optional<ChannelRounds> rounds_of(const RcclProtocolSpec& protocol) const {
    if (!goes_in_step()) return {};
    const std::optional<Chunk> chunk = chunk_of(protocol);
    if (!chunk) return {};
    const double rounds = 1.0 / chunk->share;
    return ChannelRounds{1.0 / dealing_.busiest.channels * dealing_.busiest.payload, full_rate(protocol),
                         (2.0 * std::sqrt(rounds) - 1.0) * chunk->last};
  }

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
  // Returns the time of the busiest link. Channels that find no room on the CUs come after the others.
  sim::Seconds time_of(const RcclProtocolSpec& protocol) const {
    sim::Seconds time;
    for (int left = channels_; left > 0; left -= slots_) {
      const double part = static_cast<double>(std::min(left, slots_)) / channels_;
      time += sim::to_seconds(latency_of(protocol));
      time += part * dealing_.busiest.payload / link_rate(protocol, part * dealing_.busiest.channels);
    }
    return time;
  }

  sim::Seconds tuned_time(const RcclProtocolSpec& protocol) const {
    const RcclSpec& library = node_.spec().rccl;
    const sim::Bytes payload = (spec_.gpus - 1) * dealing_.busiest.payload;
    return library.tuned_time(dealing_.algorithm, name_of(library, protocol), dealing_.rounds->tuned_hops, payload);
  }

  struct Chunk {
    sim::Bytes bytes;    // bytes of a part that a channel handles at once
    double share = 1.0;  // share of the part
    sim::Seconds last;   // time to copy the last part's chunk out of the buffer, on an idle node
  };
  // Returns the chunk of the protocol Simple; none for other protocols or collectives without chunks.
  std::optional<Tuner::Chunk> chunk_of(const RcclProtocolSpec& protocol) const {
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

  // Returns the time without work on the links for algorithms whose channels do not go in step; for others rounds_of()
  // has it. Channels begin together, so all copy the last chunk out of their buffers while no link has work, less the
  // time by which their loops are slower than the links; and down a chain each GPU first waits for a whole chunk.
  sim::Seconds idle_links(const RcclProtocolSpec& protocol) const {
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

  // Returns the rate of payload on the busiest link, given the overhead of the protocol and other peers' share of a
  // port.
  sim::BytesPerSecond full_rate(const RcclProtocolSpec& protocol) const {
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
  sim::BytesPerSecond link_rate(const RcclProtocolSpec& protocol, double channels) const {
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

  Node& node_;
  const CollectiveSpec& spec_;
  const ChannelDealing& dealing_;
  int channels_;
  int slots_;  // channels that fit on the CUs of the mask
};

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

// Returns the program of an algorithm that deals data and channels so; it has one step.
ChannelProgram laid_out(Node& node, const CollectiveSpec& spec, const CuMask& mask, ChannelDealing dealing) {
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
  for_each_pair(node, spec, [&](int from, int to) {
    for (const Delivery& delivery : rccl_transfers(spec, from, to)) step.deliveries.push_back(delivery);
  });
  return program;
}

// Returns the bytes that a channel's copy loop handles for each byte that arrives. A ring brings a channel all parts of
// the array except its GPU's own, which it sends first; it sends on all except the last. A broadcast is one stream.
double loop_bytes_per_arrival(const RcclCollectiveSpec& collective, CollectiveKind kind, double gpus) {
  const double last = collective.chunk ? collective.last_loop_bytes : collective.loop_bytes;
  switch (kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return collective.loop_bytes + last / (gpus - 1.0);
    case CollectiveKind::all_reduce:
      return collective.loop_bytes + last / (2.0 * gpus - 2.0);
    default:
      return collective.loop_bytes;
  }
}

class Rings {
 public:
  Rings(Node& node, const CollectiveSpec& spec)
      : spec_(spec),
        channels_(node.spec().rccl.channels(spec)),
        of_link_(node.spec().rccl.rings_of_link(spec.gpus)),
        share_ports_(node.spec().fabric.topology == Topology::fabric_switch) {}

  // Returns the channels of the rings that use this link, which follow each other. The first rings have one more if
  // channels are left over.
  double channels_towards(int from, int to) const {
    const int links = spec_.gpus - 1;
    if (share_ports_) return static_cast<double>(channels_) / links;
    const int rings = of_link_ * links;
    const int first = of_link_ * ((to - from + spec_.gpus) % spec_.gpus - 1);
    const int channels = of_link_ * (channels_ / rings) + std::clamp(channels_ % rings - first, 0, of_link_);
    return channels;
  }
  sim::Bytes payload(int from, int to) const {
    return (spec_.gpus - 1) * channels_towards(from, to) / channels_ * payload_between(spec_, from, to);
  }
  // Returns the busiest link. Links of all GPUs are alike, except in a broadcast, where those of the source carry less.
  ChannelDealing::Link busiest_link(double reverse_share) const {
    ChannelDealing::Link busiest;
    const auto load = [reverse_share](const ChannelDealing::Link& link) {
      return link.payload.value() + reverse_share * link.back.value();
    };
    for (int from = 0; from < (spec_.kind == CollectiveKind::broadcast ? 2 : 1); ++from) {
      for (int to = from + 1; to < spec_.gpus; ++to) {
        const ChannelDealing::Link link{payload(from, to), payload(to, from), channels_towards(from, to)};
        if (load(link) > load(busiest)) busiest = link;
      }
    }
    return busiest;
  }

 private:
  const CollectiveSpec& spec_;
  int channels_;
  int of_link_;
  bool share_ports_;
};

// Channels form rings over all GPUs, and data goes around them. In a mesh each ring has a link of every GPU for itself.
// The library's kernels use rings by default for all collectives except exchanges.
ChannelProgram ring(Node& node, const CollectiveSpec& spec, const CuMask& mask) {
  const Rings rings(node, spec);
  const RcclCollectiveSpec& collective = node.spec().rccl.collective(spec.kind);
  ChannelDealing dealing;
  dealing.hops = collective.steps_per_peer * (spec.gpus - 1);
  dealing.loop_bytes = loop_bytes_per_arrival(collective, spec.kind, spec.gpus);
  // A broadcast goes down a chain, for which the tuner counts one hop.
  const bool chain = spec.kind == CollectiveKind::broadcast;
  RingRounds& rounds = dealing.rounds.emplace();
  rounds.tuned_hops = chain ? 1.0 : dealing.hops;
  rounds.parts = chain ? 1.0 : spec.gpus;
  rounds.in_step = !chain;
  rounds.filling_hops = chain ? spec.gpus - 2.0 : 0.0;
  dealing.busiest = rings.busiest_link(node.spec().fabric.reverse_share);
  for_each_pair(node, spec, [&](int from, int to) {
    const double channels = rings.channels_towards(from, to);
    if (channels > 0.0) dealing.transfers.push_back({from, to, channels, rings.payload(from, to)});
  });
  return laid_out(node, spec, mask, std::move(dealing));
}

// In a direct exchange each GPU sends every other its part; the library's kernels do an all-to-all so. The channels of
// a GPU's part for itself, as many as each peer has, are idle.
ChannelProgram direct(Node& node, const CollectiveSpec& spec, const CuMask& mask) {
  const RcclSpec& library = node.spec().rccl;
  const RcclCollectiveSpec& collective = library.collective(spec.kind);
  const double channels = static_cast<double>(library.channels(spec)) / spec.gpus;
  const sim::Bytes payload = payload_between(spec, 0, 1);
  ChannelDealing dealing;
  dealing.hops = collective.steps_per_peer * (spec.gpus - 1);
  dealing.loop_bytes = collective.loop_bytes;
  dealing.busiest = {payload, payload, channels};
  for_each_pair(node, spec, [&](int from, int to) { dealing.transfers.push_back({from, to, channels, payload}); });
  return laid_out(node, spec, mask, std::move(dealing));
}

// Returns the chunk of a channel by the protocol Simple. It is smaller for a short array, so that a chain of `depth`
// hops fills sooner (NCCL 2.28, src/enqueue.cc).
sim::Bytes chunk_of(sim::Bytes of_channel, double depth) {
  sim::Bytes chunk(512 << 10);
  for (const auto& [rounds, least] : {std::pair(8.0, sim::Bytes(128 << 10)), std::pair(4.0, sim::Bytes(64 << 10)),
                                      std::pair(1.0, sim::Bytes(32 << 10))}) {
    while (of_channel / chunk < rounds * depth && chunk > least) chunk = 0.5 * chunk;
  }
  return chunk;
}

// A tree is a chain inside one node: in an all-reduce sums go down to its first GPU and results come back up, chunk by
// chunk. A GPU in the middle sends the array twice; around a ring it sends 2 (n - 1) / n of it. Every GPU has the load
// of one in the middle of the chain.
ChannelProgram tree(Node& node, const CollectiveSpec& spec, const CuMask& mask) {
  const RcclSpec& library = node.spec().rccl;
  const RcclCollectiveSpec& collective = library.collective(spec.kind);
  const int channels = library.channels(spec);
  const double peers = spec.gpus - 1.0;
  const sim::Bytes payload = 2.0 / peers * spec.bytes;
  ChannelDealing dealing;
  dealing.algorithm = RcclAlgorithm::tree;
  dealing.hops = 2.0 * peers;
  dealing.loop_bytes = collective.loop_bytes;
  RingRounds& rounds = dealing.rounds.emplace();
  rounds.tuned_hops = dealing.hops;
  rounds.filling_hops = dealing.hops;
  rounds.chunk = chunk_of(1.0 / channels * spec.bytes, peers);
  dealing.busiest = {payload, payload, channels / peers};
  for_each_pair(node, spec, [&](int from, int to) {
    dealing.transfers.push_back({from, to, channels / peers, payload});
  });
  return laid_out(node, spec, mask, std::move(dealing));
}

constexpr double stages = 3.0;  // per round

// The switch adds these kinds of elements (NCCL 2.28, ncclNvlsSupported).
constexpr std::array added_in_switch{ElementType::bf16, ElementType::fp16, ElementType::fp32, ElementType::int32};

// A Round is one of all channels.
struct Round {
  sim::Bytes array;  // bytes of the array
  sim::Bytes out;    // bytes that leave a GPU's port; as many arrive
};

// Returns the chunk of one part. It is smaller for small arrays, so that several rounds overlap (NCCL 2.28,
// src/enqueue.cc).
sim::Bytes chunk_of(const CollectiveSpec& spec, const NvlsSpec& library, double parts) {
  sim::Bytes chunk = 1.0 / spec.gpus * library.chunk;
  for (const auto& [rounds, most] : {std::pair(8.0, sim::Bytes(32 << 10)), std::pair(2.0, sim::Bytes(16 << 10))}) {
    if (spec.bytes < rounds * parts * chunk) chunk = std::min(chunk, most);
  }
  return chunk;
}

// In a round a GPU's port sends one part of its addends for every GPU, its own included, and the results of its own
// part. It receives the sums of its own part and all results.
Round round_of(const CollectiveSpec& spec, const NvlsSpec& library) {
  const double parts = static_cast<double>(nvls_channels(spec, library)) * spec.gpus;
  const sim::Bytes array = std::min(spec.bytes, parts * chunk_of(spec, library, parts));
  return {array, (1.0 + 1.0 / spec.gpus) * array};
}

// NVLS is multicast and reduction in the switch: a GPU that loads a multicast address gets the sum over all GPUs, and a
// store there reaches all. NCCL's kernels do all-reduces over many GPUs behind NVSwitch so. Each GPU adds up a part of
// the array; its channels go round by round through three pipelined stages: own addends into buffers, sums out of the
// switch and back into it, results out of the buffers.
ChannelProgram nvls(Node& node, const CollectiveSpec& spec) {
  const NvlsSpec& library = *node.spec().rccl.nvls;
  const FabricSpec& fabric = node.spec().fabric;
  const Round round = round_of(spec, library);
  const sim::BytesPerSecond port =
      library.link_efficiency / fabric.write_cost / (1.0 + fabric.reverse_share) * fabric.link_rate;
  const sim::Seconds time = sim::to_seconds(library.round_latency) + round.out / port;
  const double per_port = round.array / round.out;  // bytes of the array for each of the port

  ChannelProgram program;
  program.channels = nvls_channels(spec, library);
  program.channel = library.channel;
  program.protocol = to_string(RcclAlgorithm::nvls);
  program.fills = {4.0 * per_port, 2.0 * per_port};
  ChannelStep& step = program.steps.emplace_back();
  step.latency = library.start + sim::to_time((stages - 1.0) * time);
  Demand& demand = step.demand;
  // The array is read once and the result written once; the buffers stay in the L2.
  demand.own = {4.0 * per_port, {per_port, per_port, 0.0}, {}};
  PeerDemand& peer = demand.peer.emplace();
  peer.link_bytes = 1.0 / library.link_efficiency;
  peer.memory = {0.0, {}, {0.0, 1.0, 1.0}};
  demand.in_flight = 1.0 / program.channels * round.out;
  demand.waits = true;
  demand.waits_for_peer = false;
  demand.step_latency = sim::to_time(time) - std::min(sim::to_time(time), node.gpu(0).memory().latency(0.0));
  const double peers = spec.gpus - 1.0;
  for_each_pair(node, spec, [&](int from, int to) {
    step.transfers.push_back({from, to, program.channels / peers, 1.0 / (peers * per_port) * spec.bytes});
    for (const Delivery& delivery : rccl_transfers(spec, from, to)) step.deliveries.push_back(delivery);
  });
  return program;
}

}  // namespace

sim::Bytes payload_between(const CollectiveSpec& spec, int from, int to) {
  sim::Bytes payload;
  for (const Delivery& transfer : rccl_transfers(spec, from, to)) payload += transfer.destination.bytes;
  return payload;
}

std::string why_no_tree(const CollectiveSpec& spec, const PlatformSpec& platform) {
  if (!platform.rccl.tree_tuner) {
    return fmt::format("trees of {} are not described (rccl.tree_tuner): the algorithm ring is accepted",
                       platform.name);
  }
  if (spec.kind != CollectiveKind::all_reduce) {
    return fmt::format("a tree has no {}: the algorithm ring is accepted, or an all_reduce", to_string(spec.kind));
  }
  return {};
}

bool takes_tree(const CollectiveSpec& spec, const PlatformSpec& platform) {
  const RcclSpec& library = platform.rccl;
  if (spec.backend != Backend::rccl) return false;
  if (spec.algorithm) return *spec.algorithm == RcclAlgorithm::tree;
  if (!library.tuner || !why_no_tree(spec, platform).empty()) return false;
  return library.expected(RcclAlgorithm::tree, spec) < library.expected(RcclAlgorithm::ring, spec);
}

int nvls_channels(const CollectiveSpec& spec, const NvlsSpec& library) {
  return std::min(spec.channels.value_or(library.channels), library.channels);
}

std::string why_no_nvls(const CollectiveSpec& spec, const PlatformSpec& platform) {
  if (!platform.rccl.nvls) {
    return fmt::format("nothing adds in the switches of {} (rccl.nvls): the algorithm ring is accepted", platform.name);
  }
  if (!platform.rccl.nvls->enabled) {
    return "sums in the switches are turned off (rccl.nvls.enabled): the algorithm ring is accepted";
  }
  if (spec.kind != CollectiveKind::all_reduce) {
    return fmt::format("nvls has no {}: the algorithm ring is accepted, or an all_reduce", to_string(spec.kind));
  }
  if (spec.gpus < 3) return "nvls takes no less than 3 GPUs: the algorithm ring is accepted, or more GPUs";
  if (std::ranges::find(added_in_switch, spec.dtype) == added_in_switch.end()) {
    return fmt::format("switches do not add {}: bf16, fp16, fp32 and int32 are accepted, or the algorithm ring",
                       to_string(spec.dtype));
  }
  return {};
}

bool takes_nvls(const CollectiveSpec& spec, const PlatformSpec& platform) {
  const RcclSpec& library = platform.rccl;
  if (spec.backend != Backend::rccl) return false;
  if (spec.algorithm) return *spec.algorithm == RcclAlgorithm::nvls;
  if (!library.tuner || !why_no_nvls(spec, platform).empty()) return false;
  const sim::Seconds expected = sim::to_seconds(library.nvls->tuned_base) + spec.bytes / library.nvls->tuned_rate;
  return expected < library.expected(takes_tree(spec, platform) ? RcclAlgorithm::tree : RcclAlgorithm::ring, spec);
}

ChannelProgram rccl_program(Node& node, const CollectiveSpec& spec, const CuMask& mask) {
  if (spec.kind == CollectiveKind::all_to_all) return direct(node, spec, mask);
  if (takes_nvls(spec, node.spec())) return nvls(node, spec);
  return takes_tree(spec, node.spec()) ? tree(node, spec, mask) : ring(node, spec, mask);
}

}  // namespace c3sim::models
