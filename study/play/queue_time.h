// Computes how long operations keep their queues busy. A kernel counts from when the first of its GPUs begins it until
// its GPUs have finished it: without the host's launch and notice, and without the gap behind the kernel before it. Any
// other work counts from when the host begins it until the host knows of its end.
#pragma once

#include <array>
#include <vector>

#include "study/play/testbed.h"
#include "study/program/operation.h"

namespace c3sim::study {

// Returns spans by place for a run on `platform`. The time that a kernel waits for CUs is included.
std::vector<Span> on_queues(const Schedule& schedule, const Timeline& timeline, const models::PlatformSpec& platform);

// Returns the time of an operation alone on the node, or, if `is_queued`, of one that is queued after another.
sim::Time alone_on_queue(Testbed& testbed, const Operation& operation, bool is_queued,
                         Between between = Between::nothing);

// Begins two operations together. Returns the slowdown of each during the overlap: its time there over the time that
// the same part of its work takes alone; 1 without overlap.
std::array<double, 2> slowdowns_of_pair(Testbed& testbed, const Operation& first, const Operation& second,
                                        Between between = Between::nothing);

// A Neighbour is a kernel of matrix products or one that streams through memory.
enum class Neighbour { matrix, memory };

// Returns a kernel of that kind that takes `length` alone: a GEMM with an 8192 x 8192 result or an element-wise kernel.
Work kernel_as_long(Testbed& testbed, Neighbour beside, sim::Time length);

}  // namespace c3sim::study
