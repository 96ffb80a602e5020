// Testbeds of one platform for many questions at once: each is asked by one thread at a time and keeps what it knows.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "study/run/parallel.h"
#include "study/run/testbed.h"

namespace c3sim::study {

class TestbedPool {
 public:
  // Others like `first` are made when they are needed.
  explicit TestbedPool(Testbed& first) : first_(first), idle_{&first} {}
  TestbedPool(const TestbedPool&) = delete;
  TestbedPool& operator=(const TestbedPool&) = delete;

  // Calls work(testbed, 0) to work(testbed, count - 1) as for_each_index does. What a testbed answers does not depend
  // on what it was asked before, so that results depend on the index alone.
  using Work = std::function<void(Testbed& testbed, std::size_t index)>;
  void for_each(std::size_t count, const Work& work, const Progress& progress, int jobs);

 private:
  Testbed& take();
  void give_back(Testbed& testbed);

  Testbed& first_;
  std::mutex mutex_;
  std::vector<Testbed*> idle_;
  std::vector<std::unique_ptr<Testbed>> others_;
};

}  // namespace c3sim::study
