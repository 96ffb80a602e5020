// Whoever writes packets, rings doorbells and looks at completion words: a thread of the host, or a wavefront of a GPU
// that drives its engines itself. A serial resource: what it does, it does one thing after the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/machine/memory_word.h"
#include "models/platform/host_spec.h"
#include "sim/semaphore.h"
#include "sim/simulator.h"
#include "sim/task.h"

namespace c3sim::models {

class SubmittingThread {
 public:
  SubmittingThread(sim::Simulator& simulator, std::string name, const SubmissionCosts& costs);

  // What the thread is at, for records: "ring doorbell" "gpu0.sdma2.queue0". The texts live as long as the work.
  struct Occupation {
    std::string_view kind;
    std::string_view subject;
  };
  // Occupies the thread for `duration`, after whatever it was asked to do before.
  sim::Task<> work(sim::Time duration, Occupation occupation);
  // The same, and sleeps for `sleep` more: what it is asked for meanwhile waits, in order.
  sim::Task<> work_and_sleep(sim::Time duration, Occupation occupation, sim::Time sleep, Occupation why);
  sim::Task<> write_command(std::int64_t packets, std::string_view subject);
  // Ends when the store has left the thread.
  sim::Task<> ring_doorbell(std::string_view subject);
  sim::Task<> write_word(MemoryWord& word, std::int64_t value);
  // Waits for the condition without occupying the thread, then takes the time of noticing it. A word that meets its
  // condition only `delay` after the last write (an interrupt under way) is noticed no earlier.
  sim::Task<> see(MemoryWord& word, Condition condition, sim::Time delay);

  sim::Simulator& simulator() { return simulator_; }
  const std::string& name() const { return name_; }
  sim::Time busy() const { return busy_; }  // time occupied so far

 private:
  // Keeps the thread, which is the caller's to release.
  sim::Task<> occupy_until(sim::Time end, Occupation occupation);

  sim::Simulator& simulator_;
  std::string name_;
  SubmissionCosts costs_;
  sim::Semaphore free_;
  sim::Time next_doorbell_{0};  // the earliest
  sim::Time busy_{0};
};

}  // namespace c3sim::models
