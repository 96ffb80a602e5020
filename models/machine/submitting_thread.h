// A SubmittingThread writes packets, rings doorbells and looks at completion words. It is a thread of the host, or a
// wavefront of a GPU that drives its engines itself, and does one thing after the other.
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

  // Says for records what the thread does: "ring doorbell" "gpu0.sdma2.queue0". The texts must outlive the work.
  struct Occupation {
    std::string_view kind;
    std::string_view subject;
  };
  // Occupies the thread for `duration`, after all that it was asked to do before.
  sim::Task<> work(sim::Time duration, Occupation occupation);
  // Does the same, then sleeps for `sleep`. Work that the thread is asked for meanwhile waits, in order.
  sim::Task<> work_and_sleep(sim::Time duration, Occupation occupation, sim::Time sleep, Occupation why);
  sim::Task<> write_command(std::int64_t packets, std::string_view subject);
  // Rings a doorbell; ends when the store has left the thread.
  sim::Task<> ring_doorbell(std::string_view subject);
  sim::Task<> write_word(MemoryWord& word, std::int64_t value);
  // Waits for the condition without occupying the thread, then occupies it for the check of the word. The thread
  // notices a write no earlier than `delay` after it (an interrupt under way).
  sim::Task<> see(MemoryWord& word, Condition condition, sim::Time delay);

  sim::Simulator& simulator() { return simulator_; }
  const std::string& name() const { return name_; }
  sim::Time busy() const { return busy_; }  // time occupied so far

 private:
  // Occupies the thread until `end`; the caller has acquired it and must release it.
  sim::Task<> occupy_until(sim::Time end, Occupation occupation);

  sim::Simulator& simulator_;
  std::string name_;
  SubmissionCosts costs_;
  sim::Semaphore free_;
  sim::Time next_doorbell_{0};  // the earliest time of the next doorbell's store
  sim::Time busy_{0};
};

}  // namespace c3sim::models
