#include "study/run/testbed_pool.h"

namespace c3sim::study {

void TestbedPool::for_each(std::size_t count, const Work& work, const Progress& progress, int jobs) {
  const auto ask = [&](std::size_t index) {
    Testbed& testbed = take();
    work(testbed, index);
    give_back(testbed);  // after an exception none is asked again
  };
  for_each_index(count, ask, progress, jobs);
}

Testbed& TestbedPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Testbed& testbed = *idle_.back();
      idle_.pop_back();
      return testbed;
    }
  }
  auto made = std::make_unique<Testbed>(first_.platform(), first_.factor());
  const std::lock_guard lock(mutex_);
  return *others_.emplace_back(std::move(made));
}

void TestbedPool::give_back(Testbed& testbed) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(&testbed);
}

}  // namespace c3sim::study
