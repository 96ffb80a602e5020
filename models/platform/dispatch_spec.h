// How workgroups of queued kernels reach the CUs.
#pragma once

#include "sim/config/choice.h"
#include "sim/units.h"

namespace c3sim::models {

// Which of several queues with the same priority an XCD serves.
enum class DispatchPolicy {
  oldest_first,  // the kernel that came first, until its last workgroup has been placed
  rotation       // the same, but a queue that has held the turn for a quantum passes it on
};
constexpr auto all_names(DispatchPolicy) { return sim::names("oldest_first", "rotation"); }

// How the pieces of a kernel's work reach the CUs.
enum class Dealing {
  per_xcd,   // a workgroup each, dealt to the XCDs in turn when the kernel is queued
  resident,  // workgroups that stay on the CUs which they found free at the start, and take one piece after another
  stealing   // the same, and more of them join where CUs fall free later
};

struct DispatchSpec {
  DispatchPolicy policy = DispatchPolicy::oldest_first;
  sim::Time quantum{0};           // rotation: how long a queue keeps its turn while others wait
  sim::Time workgroup_launch{0};  // from the decision to place a cohort until its first instruction
  // Of an XCD. Workgroups are dealt to them in turn, to each as often as it has CUs, and one that is due at a shader
  // engine without room holds up those behind it (Otterness and Anderson, RTNS 2021, section 4).
  int shader_engines = 1;
};

}  // namespace c3sim::models
