// What two operations cost each other while both run.
#pragma once

#include <array>

#include "study/run/testbed.h"
#include "study/work/operation.h"

namespace c3sim::study {

// Of the first and of the second, begun together: the time of each beside the other over that of as much of its work
// alone; 1 where the other was over before.
std::array<double, 2> slowdowns_of_pair(Testbed& testbed, const Operation& first, const Operation& second,
                                        Between between = Between::nothing);

// Matrix products, and kernels that stream through memory.
enum class Neighbour { matrix, memory };

// A kernel of that sort that takes as long alone: a GEMM of 8192 x 8192, or an element-wise one that reads and writes.
Work kernel_as_long(Testbed& testbed, Neighbour beside, sim::Time length);

}  // namespace c3sim::study
