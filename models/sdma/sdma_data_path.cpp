#include "models/sdma/sdma_data_path.h"

#include <algorithm>

#include "models/machine/activity_tag.h"
#include "models/machine/resource_kind.h"

namespace c3sim::models {

namespace {
constexpr double unlimited = 1e9;  // factor on the rate: even a turn for a single byte then takes no time
}

PullService::PullService(const SdmaSpec& spec, sim::ResourceNetwork& network, const std::string& name)
    : spec_(spec),
      network_(network),
      rate_(add_resource(network, ResourceKind::pulls, name + ".sdma_pulls", unlimited * spec.pull_rate.value())) {}

double PullService::cost(sim::Bytes pulled) const {
  return 1.0 + spec_.pull_rate * sim::to_seconds(spec_.pull_turn) / pulled;
}

void PullService::change(Side side, int by) {
  (side == Side::reader ? reading_ : read_from_) += by;
  const bool in_turns = reading_ > 1 || read_from_ > 1;
  network_.set_capacity(rate_, (in_turns ? 1.0 : unlimited) * spec_.pull_rate.value());
}

SdmaDataPath::SdmaDataPath(const SdmaSpec& spec, std::span<Memory* const> memories, std::span<PullService* const> pulls,
                           const Fabric& fabric)
    : spec_(spec), memories_(memories.begin(), memories.end()), pulls_(pulls.begin(), pulls.end()), fabric_(fabric) {}

void SdmaDataPath::add_memory(UsageList& usages, int device, const Traffic& traffic) const {
  if (device == host_device) return;  // host memory is never the tightest resource
  memories_[static_cast<std::size_t>(device)]->add_below_l2(usages, traffic);
}

sim::Time SdmaDataPath::memory_latency(int device) const {
  if (device == host_device) return sim::Time(0);  // the fabric's latency to the host includes it
  return memories_[static_cast<std::size_t>(device)]->latency(spec_.cache_hits);
}

sim::Time SdmaDataPath::travel(const TransferCommand& transfer) const {
  sim::Time hop{0};
  for (const BufferRange& destination : transfer.destinations) {
    hop = std::max(hop, fabric_.route(transfer.source.device, destination.device).latency);
  }
  return transfer.kind == TransferKind::swap ? 4 * hop : 2 * hop;
}

sim::Time SdmaDataPath::completion_latency(const TransferCommand& transfer) const {
  sim::Time write{0};
  for (const BufferRange& destination : transfer.destinations) {
    write = std::max(write, memory_latency(destination.device));
  }
  return spec_.transfer_latency + memory_latency(transfer.source.device) + travel(transfer) + write;
}

double SdmaDataPath::engine_cost(const TransferCommand& transfer, const Engine& engine) const {
  const auto written = static_cast<double>(transfer.destinations.size());
  const int from = transfer.source.device;
  const int to = transfer.destinations.front().device;
  const bool host = from == host_device || to == host_device;
  // A GPU's engines are recommended by peer, whichever way the bytes go.
  const int peer = from == engine.gpu ? to : from;
  const bool recommended = host ? engine.index == spec_.recommended_engine(from, to)
                                : from == to || engine.index == spec_.recommended_engine(engine.gpu, peer);
  double penalty = recommended ? 1.0 : host ? spec_.host_direction_penalty : spec_.affinity_penalty;
  // Between GPUs a host engine is no faster than a link engine, whatever its rate over PCIe.
  if (!host && engine.index < spec_.host_engines)
    penalty *= std::max(1.0, spec_.host_payload_rate / spec_.payload_rate);
  switch (transfer.kind) {
    case TransferKind::copy:
    case TransferKind::update:
      return penalty * written * (written > 1.0 ? spec_.broadcast_cost : 1.0);
    case TransferKind::swap:
      return penalty * 2.0 * spec_.swap_cost;
    case TransferKind::reduce:
      return penalty * spec_.reduce_cost;
  }
  return penalty;
}

bool SdmaDataPath::is_pull(const TransferCommand& transfer, const Engine& engine) {
  return transfer.source.device != engine.gpu && transfer.source.device != host_device;
}

void SdmaDataPath::enter(const TransferCommand& transfer, const Engine& engine) const {
  if (!is_pull(transfer, engine)) return;
  pulls_of(engine.gpu).enter(PullService::Side::reader);
  pulls_of(transfer.source.device).enter(PullService::Side::source);
}

void SdmaDataPath::leave(const TransferCommand& transfer, const Engine& engine) const {
  if (!is_pull(transfer, engine)) return;
  pulls_of(engine.gpu).leave(PullService::Side::reader);
  pulls_of(transfer.source.device).leave(PullService::Side::source);
}

sim::ActivitySpec SdmaDataPath::activity(const TransferCommand& transfer, const Engine& engine) const {
  const int source = transfer.source.device;
  const bool both_ways = transfer.kind == TransferKind::swap;
  const bool updates = transfer.kind == TransferKind::update;
  const bool reads_destination = transfer.kind != TransferKind::copy && !updates;
  UsageList usages;
  usages.add(engine.payload, engine_cost(transfer, engine));
  if (is_pull(transfer, engine)) {
    for (const int gpu : {engine.gpu, source}) {
      usages.add(pulls_of(gpu).rate(), pulls_of(gpu).cost(transfer.source.bytes));
    }
  }
  const double found = 1.0 - 1.0 / transfer.readers;  // share that another engine has read before
  add_memory(usages, source, {1.0, both_ways ? 1.0 : 0.0, std::max(spec_.cache_hits, found)});
  for (const BufferRange& destination : transfer.destinations) {
    const Traffic written{reads_destination ? 1.0 : 0.0, updates ? 0.0 : 1.0, spec_.cache_hits, updates ? 1.0 : 0.0};
    add_memory(usages, destination.device, written);
    fabric_.add(usages, source, destination.device, 1.0);
    if (both_ways) fabric_.add(usages, destination.device, source, 1.0);
  }

  sim::ActivitySpec activity{.amount = transfer.source.bytes.value(),
                             .usages = std::move(usages).take(),
                             .tag = ActivityTag{transfer.operation, Tenant::sdma}.packed()};
  // Each packet takes at least its set-up time.
  if (transfer.source.bytes > spec_.packets.transfer_limit && spec_.transfer_setup.count() > 0) {
    activity.cap = (spec_.packets.transfer_limit / sim::to_seconds(spec_.transfer_setup)).value();
  }
  activity.in_flight = spec_.bytes_in_flight.value() / (reads_destination ? 2.0 : 1.0);
  const int weighs = source == host_device ? transfer.destinations.front().device : source;
  activity.weight = memories_[static_cast<std::size_t>(weighs)]->collective_weight(spec_.bytes_in_flight.value());
  activity.fixed_latency = travel(transfer);
  const auto see = [&](int device) {
    if (device == host_device) return;
    for (const auto resource : memories_[static_cast<std::size_t>(device)]->latency_path()) {
      activity.latency_path.push_back(resource);
    }
  };
  see(source);
  see(transfer.destinations.front().device);
  return activity;
}

}  // namespace c3sim::models
