// Turns traces of PyTorch's profiler and of rocprofv3 into profiles. Both kinds are read as a sequence of events.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/profile.h"
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

// A TraceHead is what a trace tells in addition to its events.
struct TraceHead {
  std::string gpu{};
  std::optional<int> rank{}, ranks{};
  std::string cut_off{};  // why the text could not be read to its end; empty: it could
};

// Returns the profile of all events that `read` hands over, with the head that it returns. Counts events that cannot be
// used in `misunderstood`, and guesses nothing for them. Throws sim::ConfigError if there is no work on a GPU.
using TakeEvent = std::function<void(const TraceEvent&)>;
Profile profile_of(const std::string& name, const Labels& labels,
                   const std::function<TraceHead(const TakeEvent& take)>& read);

// All functions below throw sim::ConfigError if there is no work on a GPU. `labels` may say what kernels are whose size
// the trace does not tell.

// Reads a trace of PyTorch's profiler (export_chrome_trace: kineto's JSON, times in microseconds): all work on GPUs,
// all host calls from which it follows, matrix products whose operators recorded the shapes of their operands
// (record_shapes=True), and collectives of RCCL or NCCL, which always record their sizes. Takes time linear in the size
// of the text. Reads a trace that is cut off as far as it goes and says so in `cut_off`.
// The text may come in pieces: `first`, and those that `more` returns.
Profile read_kineto(std::string_view first, const std::string& name, const Labels& labels = {},
                    const MoreText& more = {});
bool is_kineto(std::string_view text);

// rocprofv3 writes CSV with one row per dispatch (--kernel-trace), copy (--memory-copy-trace) or runtime call
// (--hip-trace), and Start_Timestamp and End_Timestamp in nanoseconds of one clock. No row says what a kernel computed
// or how many bytes were copied: only runs in a list of labels become measurements.

// Returns whether the rows of such a CSV are kernels, copies or calls; nothing for other texts.
std::optional<EventKind> rows_of_rocprof(std::string_view text);
// Reads the CSV files of one run together. The profile has the name of `log`, which gets a fault for each bad row; bad
// rows also count in `misunderstood`.
Profile read_rocprof_run(std::span<const std::string_view> texts, LogReading& log, const Labels& labels);

// The JSON of rocprofv3 (--output-format json) holds dispatches, copies and runtime calls of every process of a run,
// and the agents, kernels and operations that they name by numbers. Times are in nanoseconds of one clock.
bool is_rocprof_json(std::string_view text);
Profile read_rocprof_json(std::string_view text, const std::string& name, const Labels& labels = {});

}  // namespace c3sim::calibrate
