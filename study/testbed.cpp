#include "study/testbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "models/node.h"
#include "sim/gate.h"
#include "sim/simulator.h"

namespace study {

namespace {

// All that decides how a schedule plays out, and nothing else: names and streams do not.
std::string identity(const Schedule& schedule) {
  std::string text;
  for (const Operation& operation : schedule) {
    text += fmt::format("{} cus {}-{} after {};", to_string(operation.work), operation.mask.begin, operation.mask.end,
                        fmt::join(operation.after, ","));
  }
  return text;
}

sim::Task<> perform(models::Node& node, models::GemmShape shape, models::CuMask mask, Span&) {
  return models::run_gemm(node, shape, mask);
}

sim::Task<> perform(models::Node& node, models::CollectiveSpec spec, models::CuMask mask, Span& span) {
  models::CollectiveRun collective(node, spec, mask);
  co_await collective.prepare();
  span.start = node.simulator().now();
  co_await collective.run();
}

sim::Task<> perform(models::Node& node, models::SdmaCopySpec copy, models::CuMask, Span& span) {
  span.phases = co_await models::run_sdma_copy(node.host(), node.copy_engines(), copy);
}

sim::Task<> play(models::Node& node, const Operation& operation, std::deque<sim::Gate>& ended, sim::Gate& own,
                 Span& span) {
  for (const std::size_t earlier : operation.after) co_await ended[earlier].wait();
  span.start = node.simulator().now();
  co_await std::visit([&](const auto& work) { return perform(node, work, operation.mask, span); }, operation.work);
  span.end = node.simulator().now();
  own.open();
}

Timeline simulate(const models::PlatformSpec& platform, const Schedule& schedule) {
  sim::Simulator simulator;
  models::Node node(simulator, platform);
  Timeline timeline;
  timeline.operations.resize(schedule.size());
  std::deque<sim::Gate> ended;
  for (const Operation& operation : schedule) ended.emplace_back(simulator, operation.name + " has ended");
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    simulator.spawn(schedule[i].name, play(node, schedule[i], ended, ended[i], timeline.operations[i]));
  }
  simulator.run();
  return timeline;
}

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
  return timelines_.emplace(std::move(key), simulate(platform_, schedule)).first->second;
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

}  // namespace study
