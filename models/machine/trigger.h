// A Trigger tells an engine or a kernel that a piece of what a kernel and other GPUs store is complete. Each policy is
// a row of the table in trigger.cpp, which says what the trigger costs; a new policy needs only a row.
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
  bool at_end = false;       // no tile counts before the kernel has ended
  sim::Time fence{0};        // how long a workgroup stays on its CU until others see its stores
  sim::Time notice{0};       // from the last store of a piece to the word that says so
  bool told = false;         // the waiter is notified of the word and does not poll it
  std::int64_t entries = 0;  // tiles tracked at once, those being stored included; 0: any number
  bool queues = false;       // further tiles wait for an entry; otherwise they count when the kernel has ended

  // Returns the share of tiles that counts before the kernel has ended, if `at_once` tiles are stored at once.
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
// Returns the policies "kernel_end", "flag", "doorbell" and "tracker".
std::span<const TriggerPolicy> trigger_policies();

// A TriggerChoice names a policy by its index in trigger_policies().
struct TriggerChoice {
  std::size_t place = 0;
  auto operator<=>(const TriggerChoice&) const = default;
};
inline const TriggerPolicy& policy_of(TriggerChoice choice) { return trigger_policies()[choice.place]; }
inline std::string_view to_string(TriggerChoice choice) { return policy_of(choice).name; }
std::vector<sim::Choice<TriggerChoice>> all_choices(TriggerChoice);
// Returns the policy of that name, which must exist.
TriggerChoice trigger_named(std::string_view name);

}  // namespace c3sim::models
