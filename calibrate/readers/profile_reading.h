// Turns traces of PyTorch's profiler and of rocprofv3, both of which are read as a sequence of events, into profiles,
// and profiles into measurements: work that ran alone on its GPU, a GEMM concurrent with one collective, and
// collectives concurrent with computation in a replay of the run. The last two are predictions, which no fit reads. The
// trace of one rank includes that rank's waits for others in the times of collectives and of concurrent work, unless
// the traces of all ranks reveal them (tell_waits_of_ranks).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/measurement.h"
#include "calibrate/readers/roles.h"

namespace c3sim::calibrate {

enum class EventKind : std::uint8_t { kernel, copy, fill, call, stream_wait, program_operator, step, marked_step };
// A TraceEvent is one event of a trace. Fields that the trace does not tell are empty.
struct TraceEvent {
  EventKind kind = EventKind::kernel;
  int line = 1;  // on which the event begins
  std::string name{};
  std::optional<std::int64_t> begin{}, duration{};  // ns: dates have more digits than a double
  std::optional<std::int64_t> device{}, stream{}, correlation{}, external{};
  std::optional<std::int64_t> wait_stream{}, recorded_by{};  // of a stream_wait
  std::optional<std::int64_t> grid{};                        // workgroups along the first axis
  std::optional<KnownWork> collective{};
  std::optional<KnownWork> product{};  // of an operator that multiplies matrices
};

// Returns the profile of all events that `read` hands over, with the head that it returns. Counts events that cannot be
// used in `misunderstood`, and guesses nothing for them. Throws sim::ConfigError if there is no work on a GPU.
using TakeEvent = std::function<void(const TraceEvent&)>;
Profile profile_of(const std::string& name, const Labels& labels,
                   const std::function<TraceHead(const TakeEvent& take)>& read);

// The functions that read traces throw sim::ConfigError if there is no work on a GPU. `labels` may say what kernels are
// whose size the trace does not tell.

// Reads a trace of PyTorch's profiler (export_chrome_trace: kineto's JSON, times in microseconds): all work on GPUs,
// all host calls from which it follows, matrix products whose operators recorded the shapes of their operands
// (record_shapes=True), and collectives of RCCL or NCCL, which always record their sizes. Takes time linear in the size
// of the text. Reads a trace that is cut off as far as it goes and says so in `cut_off`. The text may come in pieces:
// `first`, and those that `more` returns.
Profile read_kineto(std::string_view first, const std::string& name, const Labels& labels = {},
                    const MoreText& more = {});

// rocprofv3 writes CSV with one row per dispatch (--kernel-trace), copy (--memory-copy-trace) or runtime call
// (--hip-trace), and Start_Timestamp and End_Timestamp in nanoseconds of one clock. No row says what a kernel computed
// or how many bytes were copied: only runs in a list of labels become measurements. read_rocprof_run() reads the CSV
// files of one run together. The profile has the name of `log`, which gets a fault for each bad row; bad
// rows also count in `misunderstood`.
Profile read_rocprof_run(std::span<const std::string_view> texts, LogReading& log, const Labels& labels);

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
