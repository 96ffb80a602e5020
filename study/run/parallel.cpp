#include "study/run/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace c3sim::study {

int threads_of(int jobs) {
  return jobs > 0 ? jobs : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

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
      } catch (const std::exception&) {  // to be thrown again by the caller's thread
        failures[index] = std::current_exception();
      } catch (...) {  // no error, as where a run is interrupted: somebody no longer wants the answer
        failures[index] = std::current_exception();
        next = count;
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
  {
    std::vector<std::jthread> threads;
    const std::size_t most = std::min(static_cast<std::size_t>(threads_of(jobs)), count);
    for (std::size_t i = 1; i < most; ++i) threads.emplace_back(take_turns);
    take_turns();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace c3sim::study
