// Copy engines of AMD GPUs, one by one, by HSA. What is used of it is declared here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/library.h"

namespace c3sim::measure {

class HsaEngines {
 public:
  // Without HSA's library in those folders, or elsewhere, nothing is known and nothing can be copied.
  explicit HsaEngines(const std::vector<std::string>& folders);

  enum class Handle : std::uint64_t {};  // of an agent (hsa_agent_t) or a signal (hsa_signal_t)
  struct Agent {
    Handle handle{};
    std::string name;    // "gfx942"
    std::string bus_id;  // "0000:05:00.0"
    int cus = 0;
  };
  // GpuError where HSA does not know that GPU.
  const Agent& agent(const std::string& bus_id) const;

  bool can_choose() const;                                             // an engine
  std::vector<int> engines(const Agent& from, const Agent& to) const;  // preferred ones first
  EngineCopy copy(int engine, const Agent& from, const Agent& to, void* destination, const void* source,
                  std::size_t bytes) const;

 private:
  double now() const;  // in us of HSA's clock

  Library library_;
  std::vector<Agent> agents_;
  double ticks_per_microsecond_ = 1.0;
};

}  // namespace c3sim::measure
