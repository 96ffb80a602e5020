#include "models/machine/trigger.h"

#include <algorithm>
#include <array>

#include "models/platform/platform_spec.h"
#include "sim/check.h"

namespace c3sim::models {
namespace {

// This is what systems do today without signals from within the kernel: the next command in the stream begins after it.
Trigger at_kernel_end(const PlatformSpec&) { return {.at_end = true}; }

// Kernels can already signal from within: each workgroup makes its stores visible and adds to a polled word.
Trigger by_flag(const PlatformSpec& platform) {
  return {.fence = platform.shots.fence_latency, .notice = platform.gpu.sdma.gpu_submission.word_write};
}

// The last workgroup of a piece writes the engine's command and rings its doorbell, as libraries with put operations in
// kernels do (rocSHMEM, MORI).
Trigger by_doorbell(const PlatformSpec& platform) {
  const SdmaSpec& sdma = platform.gpu.sdma;
  const SubmissionCosts& costs = sdma.gpu_submission;
  return {.fence = platform.shots.fence_latency,
          .notice = costs.command_write + costs.packet_write + costs.doorbell + sdma.gpu_doorbell_latency,
          .told = true};
}

// As in T3 (arXiv 2401.16677), a table at the memory controllers counts what is stored of each tile, and a tile's last
// store releases an engine's command that was queued beforehand.
Trigger by_tracker(const PlatformSpec& platform) {
  const TrackerSpec& tracker = platform.gpu.memory.tracker;
  return {.notice = tracker.latency,
          .told = true,
          .entries = tracker.entries,
          .queues = tracker.full == TrackerFull::next_free};
}

constexpr std::array<TriggerPolicy, 4> policies{
    {{"kernel_end", at_kernel_end}, {"flag", by_flag}, {"doorbell", by_doorbell}, {"tracker", by_tracker}}};

}  // namespace

std::span<const TriggerPolicy> trigger_policies() { return policies; }

std::vector<sim::Choice<TriggerChoice>> all_choices(TriggerChoice) {
  std::vector<sim::Choice<TriggerChoice>> choices;
  for (const TriggerPolicy& policy : policies) choices.emplace_back(policy.name, TriggerChoice{choices.size()});
  return choices;
}

TriggerChoice trigger_named(std::string_view name) {
  const auto named = std::ranges::find(policies, name, &TriggerPolicy::name);
  SIM_CHECK(named != policies.end() && "a name of a policy");
  return {static_cast<std::size_t>(named - policies.begin())};
}

}  // namespace c3sim::models
