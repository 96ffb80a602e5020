#include "models/platform/rccl_spec.h"

#include <algorithm>

#include "models/platform/limits.h"
#include "sim/config/nearest_name.h"

namespace c3sim::models {

namespace {
// What a generation of the software says of its kernels.
struct Channels {
  int channels = 0;
  CuResources channel;
};
using Generation = std::array<Channels, sim::all_of<CollectiveKind>().size()>;  // by CollectiveKind

Channels read_channels(sim::Section section, const CuResources& cu) {
  Channels channels;
  channels.channels = static_cast<int>(section.integer("channels", 1, most_channels));
  channels.channel = CuResources::read(section);
  check_fits(section, channels.channel, cu);
  return channels;
}

Generation read_generation(sim::Section section, const CuResources& cu) {
  Generation generation;
  generation.fill(read_channels(section, cu));
  for (const auto& [name, kind] : sim::choices_of<CollectiveKind>()) {
    if (!section.has(name)) continue;
    generation[static_cast<std::size_t>(kind)] = read_channels(section.section(name), cu);
  }
  return generation;
}

Generation read_generations(sim::Section section, const CuResources& cu, RcclSpec& spec) {
  spec.generation = section.name("generation");
  Generation used;
  for (sim::Section row : section.list("generations")) {
    spec.generations.push_back(row.name("name"));
    const Generation generation = read_generation(row, cu);
    if (spec.generations.back() == spec.generation) used = generation;
  }
  if (std::ranges::find(spec.generations, spec.generation) == spec.generations.end()) {
    section.fault("generation", "no generation is named '" + spec.generation.substr(0, 80) + "'" +
                                    sim::name_hint(spec.generation, spec.generations));
  }
  return used;
}

RcclTuner read_tuner(sim::Section section) {
  RcclTuner tuner;
  for (const RcclProtocol name : rccl_protocols) {
    sim::Section protocol = section.section(to_string(name));
    RcclTunedProtocol& tuned = tuner[static_cast<std::size_t>(name)];
    tuned.base = protocol.time("base", limits::latency);
    tuned.hop = protocol.time("hop", limits::latency);
    tuned.rate = protocol.rate("rate", limits::rate);
  }
  return tuner;
}

RcclCollectiveSpec read_collective(sim::Section section, const Channels& channels) {
  RcclCollectiveSpec spec;
  spec.channels = channels.channels;
  spec.channel = channels.channel;
  spec.steps_per_peer = section.number("steps_per_peer", 0.0, 1e3);
  spec.loop_bytes = section.number("loop_bytes", 0.1, 100.0);
  spec.sender_reads = section.number("sender_reads", 0.0, 16.0);
  spec.sender_writes = section.number("sender_writes", 0.0, 16.0);
  spec.receiver_reads = section.number("receiver_reads", 0.0, 16.0);
  spec.receiver_writes = section.number("receiver_writes", 0.0, 16.0);
  spec.buffer_share = section.number("buffer_share", 0.0, 1.0);
  if (section.has("chunk")) {
    spec.chunk = section.bytes("chunk", limits::capacity);
    spec.last_loop_bytes = section.number("last_loop_bytes", 0.0, 100.0);
  }
  return spec;
}
}  // namespace

RcclSpec RcclSpec::read(sim::Section section, const CuResources& cu) {
  RcclSpec spec;
  spec.access = section.choice<RcclAccess>("access", sim::choices_of<RcclAccess>());
  spec.workgroup_in_flight = section.bytes("workgroup_in_flight", limits::capacity);
  spec.workgroup_latency = section.time("workgroup_latency", limits::latency);
  spec.graph_gap = section.time("graph_gap", limits::latency, sim::Time(0));
  spec.crowding = section.number("crowding", 0.0, 1.0);
  spec.loop_cycles = section.number("loop_cycles", 0.0, 1.0);
  sim::Section protocols = section.section("protocols");
  for (const RcclProtocol name : rccl_protocols) {
    sim::Section protocol = protocols.section(to_string(name));
    RcclProtocolSpec& read = spec.protocols[static_cast<std::size_t>(name)];
    read.step_latency = protocol.time("step_latency", limits::latency);
    read.link_efficiency = protocol.number("link_efficiency", 0.01, 1.0);
    read.start = protocol.time("start", limits::latency, sim::Time(0));
  }
  if (section.has("tuner")) spec.tuner = read_tuner(section.section("tuner"));
  const Generation generation = read_generations(section, cu, spec);
  sim::Section collectives = section.section("collectives");
  for (const auto& [name, kind] : sim::choices_of<CollectiveKind>()) {
    const auto index = static_cast<std::size_t>(kind);
    spec.collectives[index] = read_collective(collectives.section(name), generation[index]);
  }
  return spec;
}

}  // namespace c3sim::models
