// The runs of a trace, gathered by name: which of them were alone on their GPU, and how long these took.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/repeated_runs.h"

namespace c3sim::calibrate {

class TraceRuns {
 public:
  // What runs have in common: a kernel of that name, the same one whenever it is asked for.
  std::size_t kernel(std::string_view name);
  // Another subject, in words for people.
  std::size_t add_subject(std::string words);
  void add(std::size_t subject, const Stay& stay, int line) { runs_.push_back({stay, subject, line}); }

  struct Alone {
    std::size_t subject = 0;
    std::string words;
    int line = 0;  // of the first that counts
    std::size_t runs = 0;
    Percentiles seconds;
    double all = 0.0;                 // seconds that all of them took
    std::vector<std::size_t> places;  // of its runs, in the order in which they were added
  };
  // Of every subject the runs that were alone; those that were not are left out with the reason, but for those of which
  // something else is told (by place in the order in which they were added).
  std::vector<Alone> alone(LogReading& reading, const std::vector<bool>& is_told = {}) const;

 private:
  struct Run {
    Stay stay;
    std::size_t subject = 0;
    int line = 0;
  };
  std::vector<std::string> subjects_;
  std::map<std::string, std::size_t, std::less<>> kernels_;  // by name
  std::vector<Run> runs_;
};

}  // namespace c3sim::calibrate
