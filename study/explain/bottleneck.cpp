#include "study/explain/bottleneck.h"

#include "sim/check.h"

namespace c3sim::study {

std::string_view to_string(Bottleneck bottleneck) {
  switch (bottleneck) {
    case Bottleneck::own_rate:
      return "own rate: CUs, clock or engine set-up";
    case Bottleneck::latency:
      return "latency of its loop, links and memories";
    case Bottleneck::l2:
      return "L2";
    case Bottleneck::infinity_cache:
      return "Infinity Cache";
    case Bottleneck::hbm:
      return "HBM";
    case Bottleneck::link:
      return "link";
    case Bottleneck::engine:
      return "engine payload rate";
    case Bottleneck::xcd_port:
      return "XCD ports";
    case Bottleneck::remote_reads:
      return "reads of other GPUs under way";
    case Bottleneck::host_link:
      return "host link";
  }
  return "";
}

namespace {

Bottleneck bottleneck_at(models::Mechanism level) {
  if (level == models::Mechanism::l2) return Bottleneck::l2;
  return level == models::Mechanism::infinity_cache ? Bottleneck::infinity_cache : Bottleneck::hbm;
}

}  // namespace

Bottlenecks::Bottlenecks(models::Node& node) : network_(node.network()) {
  for (int gpu = 0; gpu < node.simulated(); ++gpu) {
    const models::Memory& memory = node.gpu(gpu).memory();
    for (const models::Memory::Level& level : memory.levels()) {
      resources_.emplace(level.resource, bottleneck_at(level.spec.mechanism));
    }
    resources_.emplace(memory.xcd_ports(), Bottleneck::xcd_port);
    const models::Fabric& fabric = node.fabric();
    for (const auto port : fabric.ports(gpu)) resources_.emplace(port, Bottleneck::link);
    resources_.emplace(fabric.reads(gpu), Bottleneck::remote_reads);
    for (const auto link : fabric.host_links(gpu)) resources_.emplace(link, Bottleneck::host_link);
  }
  for (models::SdmaComplex* const engines : node.copy_engines()) {
    for (int engine = 0; engine < engines->spec().engines; ++engine) {
      resources_.emplace(engines->engine(engine).payload(), Bottleneck::engine);
    }
  }
}

Bottleneck Bottlenecks::of(sim::ResourceNetwork::ActivityId activity) const {
  const sim::RateLimit limit = network_.limit(activity);
  if (limit.kind == sim::RateLimit::Kind::cap) return Bottleneck::own_rate;
  if (limit.kind == sim::RateLimit::Kind::latency) return Bottleneck::latency;
  const auto found = resources_.find(network_.whole(limit.resource));
  SIM_CHECK(found != resources_.end() && "every resource that can be full has a name");
  return found->second;
}

std::string Bottlenecks::words(sim::ResourceNetwork::ActivityId activity) const {
  const sim::RateLimit limit = network_.limit(activity);
  std::string text(to_string(of(activity)));
  if (limit.kind == sim::RateLimit::Kind::resource) text += ' ' + network_.name(limit.resource);
  return text;
}

}  // namespace c3sim::study
