// A DispatchSpec describes how workgroups of queued kernels reach the CUs.
#pragma once

#include "sim/config/choice.h"
#include "sim/units.h"

namespace c3sim::models {

// The policy decides which of several queues of equal priority an XCD serves.
enum class DispatchPolicy {
  oldest_first,  // the kernel that was queued first, until its last workgroup is placed
  rotation       // like oldest_first, but a queue passes its turn on after a quantum
};
constexpr auto all_names(DispatchPolicy) { return sim::names("oldest_first", "rotation"); }

// Dealing decides how the pieces of a kernel's work reach the CUs.
enum class Dealing {
  per_xcd,   // each piece is a workgroup; workgroups are dealt to the XCDs in turn when the kernel is queued
  resident,  // workgroups stay on the CUs that were free at the start and take one piece after another
  stealing   // like resident, but more workgroups join when CUs become free later
};

struct DispatchSpec {
  DispatchPolicy policy = DispatchPolicy::oldest_first;
  sim::Time quantum{0};           // rotation: how long a queue keeps its turn while others wait
  sim::Time workgroup_launch{0};  // time from the decision to place a cohort to its first instruction
  // An XCD has this many shader engines. Workgroups go to them in turn, to each as often as it has CUs; one that is due
  // at a full engine blocks those after it (Otterness and Anderson, RTNS 2021, section 4).
  int shader_engines = 1;
};

}  // namespace c3sim::models
