#include "calibrate/measure/team.h"

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

Team::Team(int threads) {
  for (int number = 0; number < threads; ++number) {
    threads_.emplace_back([this, number] { serve(number); });
  }
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  begins_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run(const std::function<void(int)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  busy_ = size();
  fault_ = nullptr;
  ++round_;
  begins_.notify_all();
  ended_.wait(lock, [this] { return busy_ == 0; });
  work_ = nullptr;
  if (fault_) std::rethrow_exception(fault_);
}

void Team::serve(int number) {
  int served = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begins_.wait(lock, [&] { return closing_ || round_ != served; });
    if (closing_) return;
    served = round_;
    const std::function<void(int)>& work = *work_;
    lock.unlock();
    std::exception_ptr fault;
    try {
      work(number);
    } catch (...) {
      fault = std::current_exception();
    }
    lock.lock();
    if (fault && !fault_) fault_ = fault;
    if (--busy_ == 0) ended_.notify_all();
  }
}

}  // namespace c3sim::measure
