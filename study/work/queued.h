// Which operations of a schedule a host launches beforehand.
#pragma once

#include <vector>

#include "study/work/operation.h"

namespace c3sim::study {

// By place, whether the host launches an operation before those that it waits for have ended, as Operation::launch has
// it. Of operations that do not say it, kernels wait on their GPUs, but for several that wait for just the same; copies
// wait on their engines for other copies that the host has launched.
std::vector<bool> queued(const Schedule& schedule);

}  // namespace c3sim::study
