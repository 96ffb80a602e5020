#include "study/testbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "models/kernels/gemm.h"
#include "models/node.h"
#include "sim/gate.h"
#include "sim/simulator.h"

namespace c3sim::study {

namespace {

// All that decides how a schedule plays out, and nothing else: names and streams do not.
std::string identity(const Schedule& schedule) {
  std::string text;
  for (const Operation& operation : schedule) {
    text += fmt::format("{} cus {}-{} after {} by {};", to_string(operation.work), operation.mask.begin,
                        operation.mask.end, fmt::join(operation.after, ","), operation.delay.count());
  }
  return text;
}

models::HostThreads host_threads(const models::PlatformSpec& platform, const Schedule& schedule) {
  for (const Operation& operation : schedule) {
    const auto* spec = std::get_if<models::CollectiveSpec>(&operation.work);
    if (spec && spec->host_threads) return *spec->host_threads;
  }
  return platform.host.threads;
}

models::PlatformSpec platform_for(models::PlatformSpec platform, const Schedule& schedule) {
  platform.host.threads = host_threads(platform, schedule);
  return platform;
}

// One GPU may stand for all if no operation tells them apart.
models::Symmetry symmetry_of(const models::PlatformSpec& platform, const Schedule& schedule) {
  for (const Operation& operation : schedule) {
    const auto* spec = std::get_if<models::CollectiveSpec>(&operation.work);
    const bool alike = spec ? models::is_symmetric(*spec, platform.gpus, platform.host.threads)
                            : std::holds_alternative<models::GemmShape>(operation.work);
    if (!alike) return models::Symmetry::none;
  }
  return models::Symmetry::all_alike;
}

// A schedule while it is being played on a node of its own.
class Play {
 public:
  Play(const models::PlatformSpec& platform, const Schedule& schedule, Testbed::Attach attach, sim::StepLog* steps)
      : platform_(platform_for(platform, schedule)),
        schedule_(schedule),
        attach_(std::move(attach)),
        node_(simulator_, platform_, symmetry_of(platform_, schedule)),
        words_(simulator_),
        prepared_(simulator_, "commands to be queued beforehand") {
    if (steps != nullptr) simulator_.record(*steps);
    for (const Operation& operation : schedule) {
      ended_.emplace_back(simulator_, "the end of " + operation.name);
      const auto* spec = std::get_if<models::CollectiveSpec>(&operation.work);
      collectives_.push_back(spec ? std::make_unique<models::CollectiveRun>(node_, *spec, operation.mask) : nullptr);
    }
    timeline_.operations.resize(schedule.size());
  }

  Timeline run() {
    simulator_.spawn("preparation", prepare());
    for (std::size_t place = 0; place < schedule_.size(); ++place) {
      simulator_.spawn(schedule_[place].name, play(place));
    }
    simulator_.run();
    return std::move(timeline_);
  }

 private:
  // What is queued beforehand is not timed: the clock of the timeline starts when all of it is in place.
  sim::Task<> prepare() {
    for (const auto& collective : collectives_) {
      if (collective) co_await collective->prepare();
    }
    origin_ = simulator_.now();
    if (attach_) attach_(node_, origin_);
    prepared_.open();
  }

  sim::Task<> play(std::size_t place) {
    const Operation& operation = schedule_[place];
    Span& span = timeline_.operations[place];
    co_await prepared_.wait();
    for (const std::size_t earlier : operation.after) co_await ended_[earlier].wait();
    if (operation.delay > sim::Time::zero()) co_await simulator_.delay(operation.delay);
    span.start = simulator_.now() - origin_;
    if (const auto* shape = std::get_if<models::GemmShape>(&operation.work)) {
      co_await models::run_gemm(node_, *shape, operation.mask);
    } else if (const auto* copy = std::get_if<models::SdmaCopySpec>(&operation.work)) {
      span.phases = co_await models::run_sdma_copy(node_.host(), node_.copy_engines(), *copy);
    } else if (const auto* list = std::get_if<models::SdmaPacketList>(&operation.work)) {
      co_await models::run_packet_list(node_.host(), node_.copy_engines(), *list, words_);
    } else {
      co_await collectives_[place]->run();
    }
    span.end = simulator_.now() - origin_;
    ended_[place].open();
  }

  models::PlatformSpec platform_;
  const Schedule& schedule_;
  Testbed::Attach attach_;
  sim::Simulator simulator_;
  models::Node node_;
  models::NamedWords words_;                                         // of packets written by hand
  std::vector<std::unique_ptr<models::CollectiveRun>> collectives_;  // by place; null for other work
  sim::Gate prepared_;
  std::deque<sim::Gate> ended_;  // by place
  sim::Time origin_{0};
  Timeline timeline_;
};

std::string reason_against(const models::GemmShape& shape, const models::Node&) {
  if (shape.compulsory_bytes() <= largest_array) return {};
  return fmt::format("{} does not fit any GPU: matrices of at most {} together are accepted", models::to_string(shape),
                     sim::to_string(largest_array));
}

std::string reason_against(const models::CollectiveSpec& spec, const models::Node& node) {
  return models::why_impossible(spec, node);
}

std::string reason_against(const models::SdmaCopySpec& copy, const models::Node& node) {
  return models::why_impossible(copy, node.spec().gpu.sdma, node.gpus());
}

std::string reason_against(const models::SdmaPacketList& list, const models::Node& node) {
  return models::why_impossible(list, node.spec().gpu.sdma, node.gpus());
}

}  // namespace

Testbed::Testbed(models::PlatformSpec platform)
    : platform_(std::move(platform)), idle_node_(idle_simulator_, platform_) {}

sim::Time Timeline::makespan() const {
  sim::Time latest{0};
  for (const Span& span : operations) latest = std::max(latest, span.end);
  return latest;
}

const Timeline& Testbed::run(const Schedule& schedule) {
  std::string key = identity(schedule);
  const auto known = timelines_.find(key);
  if (known != timelines_.end()) return known->second;
  return timelines_.emplace(std::move(key), Play(platform_, schedule, {}, nullptr).run()).first->second;
}

Timeline Testbed::watch(const Schedule& schedule, const Attach& attach, sim::StepLog* steps) const {
  return Play(platform_, schedule, attach, steps).run();
}

sim::Time Testbed::alone(const Work& work, models::CuMask mask) {
  return run({{.name = to_string(work), .work = work, .mask = mask, .stream = {}, .after = {}}}).makespan();
}

bool Testbed::is_memory_bound(const models::GemmShape& shape) {
  return models::is_memory_bound(models::plan_gemm(platform_.gpu.gemm, shape), idle_node_.gpu(0));
}

std::string Testbed::why_impossible(const Work& work) const {
  return std::visit([this](const auto& kind) { return reason_against(kind, idle_node_); }, work);
}

}  // namespace c3sim::study
