// What of a profiler's trace a model can be held against: what ran alone on its GPU, a GEMM beside one collective, and
// collectives beside computation, in the run played again. The last two are predictions, which no fit reads. A trace is
// of one rank: times of collectives, and of what ran beside them, hold what that rank waited for others, unless traces
// of all ranks tell it (tell_waits_of_ranks).
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// When work was on a GPU, in seconds since any moment.
struct Stay {
  int gpu = 0;
  double begin = 0.0, end = 0.0;
  bool computes = false;
};
// What else was on the GPU for more than a hundredth of a stay. Clocks of traces are rounded, so that work that follows
// may seem to begin too early.
struct Company {
  bool is_there = false;   // all of it together was: the stay was not alone
  std::size_t others = 0;  // that each were so long by themselves
  std::size_t last = 0;    // of these, place among the stays
  bool computes = false;   // one of these does
};
// By stay. Where more are on a GPU at once than streams could want, not all of them are counted.
std::vector<Company> company_of(const std::vector<Stay>& stays);

// `path` is that of the trace.
Reading reading_of(Profile profile, const std::string& path);

// Traces of PyTorch's profiler and the JSON of rocprofv3, a profile each, and the CSV of rocprofv3, which is of one run
// together. Throws sim::ConfigError for others, and for those without work on a GPU.
std::vector<Profile> read_profiles(std::span<const std::filesystem::path> files);

// From the traces of several ranks of one run, or from one of several GPUs, what each of their collectives takes
// without waits: those alike are the same in the order in which they came. Sorts that some rank ran more often than
// another are counted in `misunderstood` and left as they are. Throws sim::ConfigError where two traces are of one
// rank.
void tell_waits(std::span<Profile* const> profiles);

// Takes waits for other ranks out of what traces of several ranks of one run tell of a collective. Each run of it
// counts in the trace of the rank that came last and waited for nobody. What a rank never came last to is left out of
// its trace.
void tell_waits_of_ranks(std::span<Reading> readings);

}  // namespace c3sim::calibrate
