#include "study/play/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/interruption.h"
#include "sim/simulator.h"

namespace c3sim::study {

int threads_of(int jobs) {
  return jobs > 0 ? jobs : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

namespace {

// NoLongerWanted ends the simulations of a thread whose results nobody wants any more. It is no std::exception, so that
// no caller takes it for an error.
struct NoLongerWanted {};

constexpr std::chrono::milliseconds between_asking(20);

}  // namespace

void for_each_index(std::size_t count, const std::function<void(std::size_t index)>& work, const Progress& progress,
                    int jobs) {
  if (progress && count > 0) progress(0, count);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  std::mutex reporting;
  std::size_t done = 0;
  std::vector<std::exception_ptr> failures(count);
  std::exception_ptr interruption;  // thrown by the caller's interruption while other threads still work
  std::exception_ptr unwanted;
  const auto stop = [&] {
    next = count;
    stopped = true;
  };
  const auto take_turns = [&] {
    for (std::size_t index = next++; index < count; index = next++) {
      try {
        work(index);
      } catch (const NoLongerWanted&) {  // an outer loop or another thread stopped: its exception counts
        const std::lock_guard lock(reporting);
        unwanted = std::current_exception();
        stop();
      } catch (const std::exception&) {  // the caller's thread throws it again
        failures[index] = std::current_exception();
      } catch (...) {  // no error: the run was interrupted, as nobody wants the answer any more
        failures[index] = std::current_exception();
        stop();
      }
      const std::lock_guard lock(reporting);
      ++done;
      if (stopped) return;
      try {
        if (progress) progress(done, count);
      } catch (...) {  // nobody wants the answer any more
        failures[index] = std::current_exception();
        stop();
      }
    }
  };
  std::mutex ending;
  std::condition_variable ended;
  std::size_t working = 0;
  {
    std::vector<std::jthread> threads;
    const std::size_t most = std::min(static_cast<std::size_t>(threads_of(jobs)), count);
    working = most > 0 ? most - 1 : 0;
    for (std::size_t i = 1; i < most; ++i) {
      threads.emplace_back([&] {
        {
          const sim::Interruption told([&stopped] {
            if (stopped) throw NoLongerWanted();
          });
          take_turns();
        }
        const std::lock_guard lock(ending);
        --working;
        ended.notify_one();
      });
    }
    take_turns();
    // Only the caller's thread asks its sim::Interruption; it has no work of its own left.
    std::unique_lock lock(ending);
    while (sim::is_interruptible() && !stopped && !ended.wait_for(lock, between_asking, [&] { return working == 0; })) {
      try {
        sim::ask_interruption();
      } catch (...) {
        interruption = std::current_exception();
        stop();
      }
    }
  }
  if (interruption) std::rethrow_exception(interruption);
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  if (unwanted) std::rethrow_exception(unwanted);
}

}  // namespace c3sim::study
