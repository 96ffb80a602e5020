#include "models/platform/rccl_spec.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/dynamic_bitset.hpp>
#include <cmath>
#include <utility>

#include "models/platform/limits.h"
#include "sim/config/nearest_name.h"

namespace c3sim::models {
namespace {

// Searches depth first, one ring after another, for rings that share no link. It tries a ring first in the order of the
// GPUs, then in the order of the previous ring, then from each GPU to the next free one, up to a number of steps.
class RingSearch {
 public:
  explicit RingSearch(int gpus) : gpus_(gpus), taken_(static_cast<std::size_t>(gpus * gpus)) {}

  int most() {
    add_ring();
    return most_;
  }

 private:
  enum class Order { of_gpus, of_ring_before, any };

  void add_ring() {
    if (--steps_left_ < 0 || most_ == gpus_ - 1) return;
    if (rings_.empty()) {
      visit(0, Order::of_gpus);
    } else {
      visit(rings_.back().front(), Order::of_ring_before);
    }
    for (int gpu = 0; gpu < gpus_; ++gpu) visit(gpu, Order::any);
  }

  void visit(int gpu, Order order) {
    if (steps_left_ < 0 || std::ranges::find(path_, gpu) != path_.end()) return;
    const int from = path_.empty() ? -1 : path_.back();
    if (from >= 0 && taken_[link(from, gpu)]) return;
    if (from >= 0) taken_.set(link(from, gpu));
    path_.push_back(gpu);
    go_on(order);
    path_.pop_back();
    if (from >= 0) taken_.reset(link(from, gpu));
  }

  void go_on(Order order) {
    if (--steps_left_ < 0) return;
    const auto length = static_cast<int>(path_.size());
    if (length == gpus_) return close();
    if (order == Order::of_gpus) return visit(length, order);
    if (order == Order::of_ring_before) return visit(rings_.back()[path_.size()], order);
    const int from = path_.back();
    for (int ahead = 1; ahead < gpus_; ++ahead) visit((from + ahead) % gpus_, order);
  }

  void close() {
    const std::size_t last = link(path_.back(), path_.front());
    if (taken_[last]) return;
    taken_.set(last);
    rings_.push_back(path_);
    most_ = std::max(most_, static_cast<int>(rings_.size()));
    std::vector<int> ring = std::exchange(path_, {});
    add_ring();
    path_ = std::move(ring);
    rings_.pop_back();
    taken_.reset(last);
  }

  std::size_t link(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(to);
  }

  int gpus_;
  int steps_left_ = 1 << 14;  // the value of NCCL_SEARCH_TIMEOUT
  boost::dynamic_bitset<> taken_;
  std::vector<int> path_;
  std::vector<std::vector<int>> rings_;
  int most_ = 0;
};

}  // namespace

int rings_of_mesh(int gpus) {
  static std::array<std::atomic<int>, most_gpus_of_mesh + 1> known{};  // 0: not searched yet
  std::atomic<int>& rings = known.at(static_cast<std::size_t>(gpus));
  if (rings == 0) rings = RingSearch(gpus).most();
  return rings;
}

namespace {
// A Generation holds what a generation of the software says about its kernels.
struct Generation {
  std::array<RcclChannels, sim::all_of<CollectiveKind>().size()> of;  // indexed by CollectiveKind
  int mesh = 0;
  int rings_of_link = 1;
  std::map<int, int> of_subsets;
};

RcclChannels read_channels(sim::Section section, const CuResources& cu) {
  RcclChannels channels;
  channels.channels = static_cast<int>(section.integer("channels", 1, most_channels));
  channels.channel = CuResources::read(section);
  check_fits(section, channels.channel, cu);
  return channels;
}

Generation read_generation(sim::Section section, const CuResources& cu) {
  Generation generation;
  generation.of.fill(read_channels(section, cu));
  for (const auto& [name, kind] : sim::choices_of<CollectiveKind>()) {
    if (!section.has(name)) continue;
    generation.of[static_cast<std::size_t>(kind)] = read_channels(section.section(name), cu);
  }
  if (!section.has("mesh")) return generation;
  generation.mesh = static_cast<int>(section.integer("mesh", 2, most_gpus_of_mesh));
  const int links = generation.mesh - 1;
  const auto rings = static_cast<int>(section.integer("rings", 1, most_channels, links));
  if (rings % links != 0) {
    section.fault("rings", fmt::format("is no multiple of {}: all links of a GPU have equally many rings", links));
  }
  generation.rings_of_link = rings / links;
  for (sim::Section row : section.list("subsets")) {
    const auto gpus = static_cast<int>(row.integer("gpus", 2, most_gpus_of_mesh));
    generation.of_subsets[gpus] = static_cast<int>(row.integer("channels", 1, most_channels));
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
    tuned.rate = protocol.quantity("rate", limits::rate);
  }
  return tuner;
}

NvlsSpec read_nvls(sim::Section section, const CuResources& cu) {
  NvlsSpec spec;
  static_cast<RcclChannels&>(spec) = read_channels(section, cu);
  spec.enabled = section.flag("enabled");
  spec.chunk = section.quantity("chunk", limits::capacity);
  spec.start = section.time("start", limits::latency);
  spec.round_latency = section.time("round_latency", limits::latency);
  spec.link_efficiency = section.number("link_efficiency", 0.01, 1.0);
  sim::Section tuner = section.section("tuner");
  spec.tuned_base = tuner.time("base", limits::latency);
  spec.tuned_rate = tuner.quantity("rate", limits::rate);
  return spec;
}

RcclCollectiveSpec read_collective(sim::Section section, const RcclChannels& channels, double crowding) {
  RcclCollectiveSpec spec;
  static_cast<RcclChannels&>(spec) = channels;
  spec.steps_per_peer = section.number("steps_per_peer", 0.0, 1e3);
  spec.loop_bytes = section.number("loop_bytes", 0.1, 100.0);
  spec.sender_reads = section.number("sender_reads", 0.0, 16.0);
  spec.sender_writes = section.number("sender_writes", 0.0, 16.0);
  spec.receiver_reads = section.number("receiver_reads", 0.0, 16.0);
  spec.receiver_writes = section.number("receiver_writes", 0.0, 16.0);
  spec.buffer_share = section.number("buffer_share", 0.0, 1.0);
  if (section.has("chunk")) {
    spec.chunk = section.quantity("chunk", limits::capacity);
    spec.last_loop_bytes = section.number("last_loop_bytes", 0.0, 100.0);
  }
  spec.crowding = section.has("crowding") ? section.number("crowding", 0.0, 1.0) : crowding;
  if (section.has("least_part")) spec.least_part = section.quantity("least_part", limits::capacity);
  if (section.has("start")) spec.start = section.time("start", limits::latency);
  if (section.has("link_efficiency")) spec.link_efficiency = section.number("link_efficiency", 0.01, 1.0);
  return spec;
}
}  // namespace

RcclSpec RcclSpec::read(sim::Section section, const CuResources& cu) {
  RcclSpec spec;
  spec.access = section.choice<RcclAccess>("access", sim::choices_of<RcclAccess>());
  spec.workgroup_in_flight = section.quantity("workgroup_in_flight", limits::capacity);
  spec.workgroup_latency = section.time("workgroup_latency", limits::latency);
  spec.stream_gap = section.time("stream_gap", limits::latency, sim::Time(0));
  spec.graph_gap = section.time("graph_gap", limits::latency, sim::Time(0));
  const double crowding = section.number("crowding", 0.0, 1.0);
  if (section.has("late_placement")) spec.late_placement = section.number("late_placement", 0.5, 1.0);
  spec.loop_cycles = section.number("loop_cycles", 0.0, 1.0);
  sim::Section protocols = section.section("protocols");
  for (const RcclProtocol name : rccl_protocols) {
    sim::Section protocol = protocols.section(to_string(name));
    RcclProtocolSpec& read = spec.protocols[static_cast<std::size_t>(name)];
    read.step_latency = protocol.time("step_latency", limits::latency);
    read.link_efficiency = protocol.number("link_efficiency", 0.01, 1.0);
    read.start = protocol.time("start", limits::latency, sim::Time(0));
  }
  if (section.has("nvls")) spec.nvls = read_nvls(section.section("nvls"), cu);
  if (section.has("tuner")) spec.tuner = read_tuner(section.section("tuner"));
  if (section.has("tree_tuner")) spec.tree_tuner = read_tuner(section.section("tree_tuner"));
  const Generation generation = read_generations(section, cu, spec);
  sim::Section collectives = section.section("collectives");
  for (const auto& [name, kind] : sim::choices_of<CollectiveKind>()) {
    const auto index = static_cast<std::size_t>(kind);
    const bool in_a_ring = kind != CollectiveKind::all_to_all;
    spec.collectives[index] =
        read_collective(collectives.section(name), generation.of[index], in_a_ring ? crowding : 0.0);
  }
  spec.known_mesh = generation.mesh;
  spec.known_rings_of_link = generation.rings_of_link;
  spec.channels_of_subsets = generation.of_subsets;
  return spec;
}

// The formula is that of NCCL 2.28, src/graph/tuning.cc.
sim::Seconds RcclSpec::tuned_time(RcclAlgorithm algorithm, RcclProtocol protocol, double hops,
                                  sim::Bytes payload) const {
  const RcclTuner& of_algorithm = algorithm == RcclAlgorithm::tree ? *tree_tuner : *tuner;
  const RcclTunedProtocol& tuned = of_algorithm[static_cast<std::size_t>(protocol)];
  return sim::to_seconds(tuned.base) + hops * sim::to_seconds(tuned.hop) + payload / tuned.rate;
}

sim::Seconds RcclSpec::expected(RcclAlgorithm algorithm, const CollectiveSpec& all_reduce) const {
  const double others = all_reduce.gpus - 1.0;
  const double sent = algorithm == RcclAlgorithm::tree ? 2.0 : 2.0 * others / all_reduce.gpus;
  const auto time = [&](RcclProtocol protocol) {
    return tuned_time(algorithm, protocol, 2.0 * others, sent * all_reduce.bytes).value();
  };
  return sim::Seconds(time(std::ranges::min(rccl_protocols, {}, time)));
}

int RcclSpec::channels(const CollectiveSpec& spec) const {
  const RcclCollectiveSpec& of_kind = collective(spec.kind);
  int most = of_kind.channels;
  if (spec.kind == CollectiveKind::all_to_all) {
    if (of_kind.least_part > sim::Bytes(0.0)) {
      const double parts = std::max(1.0, std::ceil(spec.bytes / (spec.gpus * of_kind.least_part)));
      most = static_cast<int>(std::min<double>(most, spec.gpus * parts));
    }
  } else if (spec.gpus < known_mesh) {
    const auto said = channels_of_subsets.find(spec.gpus);
    most = said != channels_of_subsets.end() ? said->second : rings_of_mesh(spec.gpus);
  }
  return std::min(spec.channels.value_or(most), most);
}

}  // namespace c3sim::models
