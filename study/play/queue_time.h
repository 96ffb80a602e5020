// How long operations keep their queues busy: a kernel from when its turn has come, launched, to when its GPUs are done
// with it, without what the host takes to launch it and to notice its end; all else from when the host begins with it
// to when the host knows of its end.
#pragma once

#include <array>
#include <vector>

#include "study/play/testbed.h"
#include "study/program/operation.h"

namespace c3sim::study {

// By place, of a run on that platform. What a kernel waits for a host that is busy is part of its time.
std::vector<Span> on_queues(const Schedule& schedule, const Timeline& timeline, const models::PlatformSpec& platform);

// The same of one operation with the node to itself; of one that is queued beforehand, behind another.
sim::Time alone_on_queue(Testbed& testbed, const Operation& operation, bool is_queued,
                         Between between = Between::nothing);

// Begins two operations together. Returns for the first and for the second the time that it takes beside the other over
// the time that as much of its work takes alone; 1 where the other was over before.
std::array<double, 2> slowdowns_of_pair(Testbed& testbed, const Operation& first, const Operation& second,
                                        Between between = Between::nothing);

// Matrix products, and kernels that stream through memory.
enum class Neighbour { matrix, memory };

// A kernel of that sort that takes as long alone: a GEMM of 8192 x 8192, or an element-wise one that reads and writes.
Work kernel_as_long(Testbed& testbed, Neighbour beside, sim::Time length);

}  // namespace c3sim::study
