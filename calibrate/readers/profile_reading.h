// Turns a profiler's trace into measurements: work that ran alone on its GPU, a GEMM concurrent with one collective,
// and collectives concurrent with computation in a replay of the run. The last two are predictions, which no fit reads.
// The trace of one rank includes that rank's waits for others in the times of collectives and of concurrent work,
// unless the traces of all ranks reveal them (tell_waits_of_ranks).
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// A Stay is the time that work spent on a GPU, in seconds from an arbitrary origin.
struct Stay {
  int gpu = 0;
  double begin = 0.0, end = 0.0;
  bool computes = false;
};
// Company is the other work on the GPU for more than 1% of a stay. Timestamps of traces are rounded, so that work that
// follows another may seem to begin too early: shorter overlaps do not count.
struct Company {
  bool is_there = false;   // all other work together exceeded 1%: the stay was not alone
  std::size_t others = 0;  // number of stays that exceeded 1% by themselves
  std::size_t last = 0;    // place among the stays of the last of `others`
  bool computes = false;   // one of `others` computes
};
// Returns the company of each stay. Of many stays that are on a GPU at once only the first 32 are counted.
std::vector<Company> company_of(const std::vector<Stay>& stays);

// Returns the measurements of a trace. `path` is the path of its file.
Reading reading_of(Profile profile, const std::string& path);

// Reads traces of PyTorch's profiler and JSON of rocprofv3, one profile each, and CSV of rocprofv3, all files of which
// make one profile. Throws sim::ConfigError for other files, and for a trace without work on a GPU.
std::vector<Profile> read_profiles(std::span<const std::filesystem::path> files);

// Finds out how long each collective takes without waits, from traces of several ranks of one run or one trace of
// several GPUs: the n-th of equal collectives on each rank is the same one. Counts collectives that ranks ran with
// different frequency in `misunderstood` and leaves them alone. Throws sim::ConfigError if two traces are of one rank.
void tell_waits(std::span<Profile* const> profiles);

// Takes waits for other ranks out of measurements from traces of several ranks of one run. Each run of a collective
// counts only in the trace of the rank that came last and so waited for nobody. A collective to which a rank never came
// last is left out of that rank's trace.
void tell_waits_of_ranks(std::span<Reading> readings);

}  // namespace c3sim::calibrate
