#include "study/run/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace c3sim::study {

void for_each_index(std::size_t count, const std::function<void(std::size_t index)>& work, const Progress& progress,
                    int jobs) {
  std::atomic<std::size_t> next{0};
  std::mutex reporting;
  std::size_t done = 0;
  std::vector<std::exception_ptr> failures(count);
  const auto take_turns = [&] {
    for (std::size_t index = next++; index < count; index = next++) {
      try {
        work(index);
      } catch (...) {  // to be thrown again by the caller's thread
        failures[index] = std::current_exception();
      }
      const std::lock_guard lock(reporting);
      ++done;
      try {
        if (progress) progress(done, count);
      } catch (...) {  // somebody no longer wants the answer
        failures[index] = std::current_exception();
        next = count;
      }
    }
  };
  const std::size_t cores =
      jobs > 0 ? static_cast<std::size_t>(jobs) : std::max(1U, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(cores, count); ++i) threads.emplace_back(take_turns);
    take_turns();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace c3sim::study
