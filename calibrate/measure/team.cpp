#include "calibrate/measure/team.h"

#include <utility>

namespace c3sim::measure {

bool Rendezvous::arrive(const std::function<void()>& then) {
  constexpr int spins = 20000;  // then others may need the core
  const int round = round_;
  if (++waiting_ == threads_) {
    if (then) then();
    waiting_ = 0;
    ++round_;
    return !given_up_;
  }
  for (int i = 0; round_ == round && !given_up_; ++i) {
    if (i > spins) std::this_thread::yield();
  }
  return !given_up_;
}

Team::Team(int threads) : begins_(threads + 1), ended_(threads + 1) {
  for (int number = 0; number < threads; ++number) {
    threads_.emplace_back([this, number] { serve(number); });
  }
}

Team::~Team() {
  begins_.arrive_and_wait();  // without work: the end
}

void Team::run(const std::function<void(int)>& work) {
  work_ = &work;
  begins_.arrive_and_wait();
  ended_.arrive_and_wait();
  work_ = nullptr;
  if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
}

void Team::serve(int number) {
  for (;;) {
    begins_.arrive_and_wait();
    if (work_ == nullptr) return;
    try {
      (*work_)(number);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
    }
    ended_.arrive_and_wait();
  }
}

}  // namespace c3sim::measure
