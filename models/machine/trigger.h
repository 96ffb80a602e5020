// How whoever waits for a piece of what a kernel and other GPUs store learns that all of it is there. A policy is a row
// of the table in trigger.cpp: what it costs whom, and nothing else; one more is one row.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/config/choice.h"
#include "sim/units.h"

namespace c3sim::models {

struct PlatformSpec;

struct Trigger {
  bool at_end = false;       // nothing counts before the kernel has ended
  sim::Time fence{0};        // that a workgroup stays on its CU, until others see what it has stored
  sim::Time notice{0};       // from the last store that counts to the word that says so
  bool told = false;         // whoever waits is told of the word, and does not poll it
  std::int64_t entries = 0;  // tiles that can be followed at once, those being stored among them; 0: any number
  bool queues = false;       // those beyond wait for an entry; else they count when the kernel has ended

  // Where so many tiles are stored at once, the share of them that counts before the kernel has ended.
  double counted(std::int64_t at_once) const {
    if (at_end) return 0.0;
    if (entries == 0 || entries >= at_once) return 1.0;
    return queues ? static_cast<double>(entries) / static_cast<double>(at_once) : 0.0;
  }
};

struct TriggerPolicy {
  std::string_view name;
  Trigger (*on)(const PlatformSpec& platform);
};
// "kernel_end", "flag", "doorbell", "tracker".
std::span<const TriggerPolicy> trigger_policies();

// A policy by its place among them.
struct TriggerChoice {
  std::size_t place = 0;
  auto operator<=>(const TriggerChoice&) const = default;
};
inline const TriggerPolicy& policy_of(TriggerChoice choice) { return trigger_policies()[choice.place]; }
inline std::string_view to_string(TriggerChoice choice) { return policy_of(choice).name; }
std::vector<sim::Choice<TriggerChoice>> all_choices(TriggerChoice);
// The one of that name, which there is.
TriggerChoice trigger_named(std::string_view name);

}  // namespace c3sim::models
