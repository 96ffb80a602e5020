// The same work on many independent inputs, over all cores.
#pragma once

#include <cstddef>
#include <functional>

namespace c3sim::study {

using Progress = std::function<void(std::size_t done, std::size_t of)>;

// `jobs`, or, where that is 0, as many as the machine has cores.
int threads_of(int jobs);

// Calls work(0) to work(count - 1), each once, on that many threads. What a call leaves may depend on its index alone,
// so that results do not depend on threads. `progress`, if any, is called before the first and after each, never by two
// threads at once; what it throws ends the work early, and so does what a call throws that is no std::exception
// (sim::Interruption). The caller's sim::Interruption is asked while other threads work, too, and ends their runs with
// its own. If calls throw, the exception of the lowest index comes out, after all have ended.
void for_each_index(std::size_t count, const std::function<void(std::size_t index)>& work,
                    const Progress& progress = {}, int jobs = 0);

}  // namespace c3sim::study
