// One host thread per GPU, as programs have that drive all GPUs of a node from one process.
#pragma once

#include <atomic>
#include <barrier>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace c3sim::measure {

// Where threads wait for one another, over and over, without sleeping: GPUs are then launched on within a microsecond.
class Rendezvous {
 public:
  explicit Rendezvous(int threads) : threads_(threads) {}

  // The last to arrive does `then` before all go on. False where one of them gave up.
  bool arrive(const std::function<void()>& then = {});
  void give_up() { given_up_ = true; }

 private:
  int threads_;
  std::atomic<int> waiting_{0};
  std::atomic<int> round_{0};
  std::atomic<bool> given_up_{false};
};

class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Every thread does it, with its number, and all have when this returns. What the first of them threw is thrown.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int number);

  std::barrier<> begins_, ended_;
  const std::function<void(int)>* work_ = nullptr;
  std::mutex mutex_;  // of the fault
  std::exception_ptr fault_;
  std::vector<std::jthread> threads_;
};

}  // namespace c3sim::measure
