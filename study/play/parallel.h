// Runs the same work on many independent inputs, over all cores.
#pragma once

#include <cstddef>
#include <functional>

namespace c3sim::study {

using Progress = std::function<void(std::size_t done, std::size_t of)>;

// Returns `jobs`, or the number of cores of the machine if `jobs` is 0.
int threads_of(int jobs);

// Calls work(0) to work(count - 1), each once, on threads_of(jobs) threads. The result of a call may depend only on its
// index, so that results do not depend on threads. `progress`, if any, is called before the first and after each call,
// never concurrently. What it throws ends the work early, and so does anything but a std::exception from `work`. While
// other threads work, the caller's sim::Interruption is asked too; its exception ends their runs. Once all threads have
// ended, the exception of the lowest index is thrown.
void for_each_index(std::size_t count, const std::function<void(std::size_t index)>& work,
                    const Progress& progress = {}, int jobs = 0);

}  // namespace c3sim::study
