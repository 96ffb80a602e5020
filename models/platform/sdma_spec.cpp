#include "models/platform/sdma_spec.h"

#include <algorithm>
#include <string>

#include "models/platform/limits.h"

namespace c3sim::models {
namespace {

void read_latencies(SdmaSpec& spec, sim::Section& section) {
  spec.doorbell_latency = section.time("doorbell_latency", limits::latency);
  spec.host_read_latency = section.time("host_read_latency", limits::latency);
  spec.packet_decode = section.time("packet_decode", limits::latency);
  spec.transfer_setup = section.time("transfer_setup", limits::latency);
  spec.transfer_latency = section.time("transfer_latency", limits::latency);
  spec.poll_interval = section.time("poll_interval", limits::latency);
  spec.atomic_latency = section.time("atomic_latency", limits::latency);
  spec.fence_latency = section.time("fence_latency", limits::latency);
}

void read_data_path(SdmaSpec& spec, sim::Section& section) {
  spec.payload_rate = section.quantity("payload_rate", limits::rate);
  spec.host_payload_rate = section.quantity("host_payload_rate", limits::rate);
  spec.pull_rate = section.quantity("pull_rate", limits::rate);
  spec.pull_turn = section.time("pull_turn", limits::latency);
  spec.broadcast_cost = section.number("broadcast_cost", 0.01, 100.0);
  spec.swap_cost = section.number("swap_cost", 0.01, 100.0);
  spec.reduce_cost = section.number("reduce_cost", 0.01, 100.0);
  spec.broadcast_width = static_cast<int>(section.integer("broadcast_width", 1, 64));
  spec.bytes_in_flight = section.quantity("bytes_in_flight", limits::capacity);
  spec.cache_hits = section.number("cache_hits", 0.0, 1.0);
  spec.l2_writeback = section.flag("l2_writeback");
  spec.l2_writeback_time = section.time("l2_writeback_time", limits::latency);
}

// Reads the engine map. The map of a larger node is cut to the first rows and columns, that of a smaller one dropped.
void read_engine_map(SdmaSpec& spec, sim::Section& section, int gpus) {
  spec.gpus = gpus;
  if (!section.has("engine_map")) return;
  spec.engine_map = section.integer_matrix("engine_map", -1, 1023);
  const std::size_t rows = spec.engine_map.size();
  const auto size = static_cast<std::size_t>(gpus);
  if (!section.is_sound("engine_map")) return;
  if (rows == 0 || spec.engine_map.front().size() != rows) {
    return section.fault("engine_map", "as many rows as columns are needed, one for each GPU");
  }
  if (rows < size) {
    spec.engine_map.clear();
    return section.warn("engine_map", "is for " + std::to_string(rows) + " GPUs: each of the " + std::to_string(gpus) +
                                          " takes the engines of its links in turn for its peers");
  }
  spec.engine_map.resize(size);
  for (std::vector<int>& row : spec.engine_map) {
    row.resize(size);
    spec.highest_in_map = std::max(spec.highest_in_map, std::ranges::max(row));
  }
  for (std::size_t from = 0; from < size; ++from) {
    for (std::size_t to = 0; to < size; ++to) {
      if (from != to && spec.engine_map[from][to] < spec.host_engines) {
        section.fault("engine_map", "an engine that serves links (from " + std::to_string(spec.host_engines) +
                                        " on) for every pair of GPUs");
        return;
      }
    }
  }
}

void read_affinity(SdmaSpec& spec, sim::Section& section, int gpus) {
  const int last = spec.engines - 1;
  read_engine_map(spec, section, gpus);
  spec.affinity_penalty = section.number("affinity_penalty", 1.0, 100.0);
  spec.to_host_engine = static_cast<int>(section.integer("to_host_engine", 0, last));
  spec.from_host_engine = static_cast<int>(section.integer("from_host_engine", 0, last));
  spec.host_direction_penalty = section.number("host_direction_penalty", 1.0, 100.0);
}

void read_future(SdmaSpec& spec, sim::Section& section) {
  spec.completion = section.choice<SdmaCompletion>("completion", sim::choices_of<SdmaCompletion>());
  spec.batched_doorbell = section.flag("batched_doorbell");
  spec.submitted_by = section.choice<Initiator>("submitted_by", sim::choices_of<Initiator>());
  spec.completion_seen_by = section.choice<Initiator>("completion_seen_by", sim::choices_of<Initiator>());
  spec.reduction = section.flag("reduction");
  sim::Section gpu = section.section("gpu_initiated");
  spec.gpu_submission = SubmissionCosts::read(gpu);
  spec.gpu_doorbell_latency = gpu.time("doorbell_latency", limits::latency);
  spec.gpu_read_latency = gpu.time("read_latency", limits::latency);
  spec.gpu_completion_latency = gpu.time("completion_latency", limits::latency);
}

void require_room_for_packets(const SdmaSpec& spec, sim::Section& section) {
  const PacketFormat& packets = spec.packets;
  const sim::Bytes broadcast = packets.copy + (spec.broadcast_width - 1) * packets.broadcast_destination;
  const sim::Bytes largest =
      std::max({broadcast, packets.swap, packets.poll, packets.atomic, packets.fence, packets.timestamp, packets.trap});
  if (section.is_sound("ring") && section.is_sound("packets") && spec.ring < largest) {
    section.fault("ring", "a ring of " + sim::to_string(spec.ring) + " is smaller than the largest packet, " +
                              sim::to_string(largest));
  }
}

}  // namespace

PacketFormat PacketFormat::read(sim::Section section) {
  const sim::Limits<sim::Bytes> sizes{sim::Bytes(4), sim::Bytes(256)};
  PacketFormat format;
  format.transfer_limit = section.quantity<sim::Bytes>("transfer_limit", {sim::Bytes(64), sim::Bytes(1ULL << 40)});
  format.copy = section.quantity("copy", sizes);
  format.broadcast_destination = section.quantity("broadcast_destination", sizes);
  format.swap = section.quantity("swap", sizes);
  format.poll = section.quantity("poll", sizes);
  format.atomic = section.quantity("atomic", sizes);
  format.fence = section.quantity("fence", sizes);
  format.timestamp = section.quantity("timestamp", sizes);
  format.trap = section.quantity("trap", sizes);
  return format;
}

SdmaSpec SdmaSpec::read(sim::Section section, int gpus) {
  SdmaSpec spec;
  spec.engines = static_cast<int>(section.integer("engines", 2, 1024));
  spec.host_engines = static_cast<int>(section.integer("host_engines", 1, 1023));
  if (section.is_sound("engines") && spec.host_engines >= spec.engines)
    section.fault("host_engines", "has to be below the number of engines, since some engines serve links");
  spec.queues_per_engine = static_cast<int>(section.integer("queues_per_engine", 1, 1024));
  spec.packets = PacketFormat::read(section.section("packets"));
  spec.ring = section.quantity("ring", limits::capacity);
  spec.fetch_granule = section.quantity("fetch_granule", limits::capacity);
  read_latencies(spec, section);
  read_data_path(spec, section);
  require_room_for_packets(spec, section);
  read_affinity(spec, section, gpus);
  read_future(spec, section);
  return spec;
}

int SdmaSpec::recommended_engine(int from, int to) const {
  if (to == host_device) return to_host_engine;
  if (from == host_device) return from_host_engine;
  const bool has_map = !engine_map.empty() && highest_in_map < engines;
  if (has_map) return engine_map[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  const int link_engines = engines - host_engines;
  const int apart = std::max(1, link_engines / (gpus - 1));
  return host_engines + (to - from - 1 + gpus) % gpus * apart % link_engines;
}

}  // namespace c3sim::models
