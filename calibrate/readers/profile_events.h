// Traces of profilers as profiles: those of PyTorch, those of rocprofv3, and what they have in common, events.
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

// A date or a length to the picosecond: dates of traces have more digits than a double.
struct TraceMoment {
  std::int64_t whole = 0;     // us
  std::int64_t fraction = 0;  // ps
};

enum class EventKind : std::uint8_t { kernel, copy, fill, call, stream_wait, program_operator, step, marked_step };
// What the event does not say is absent.
struct TraceEvent {
  EventKind kind = EventKind::kernel;
  int line = 1;  // on which it begins
  std::string name{};
  std::optional<TraceMoment> begin{}, duration{};
  std::optional<std::int64_t> device{}, stream{}, correlation{}, external{};
  std::optional<std::int64_t> wait_stream{}, recorded_by{};  // of a stream's wait
  std::optional<std::int64_t> grid{};                        // workgroups along the first axis
  std::optional<KnownWork> collective{};
  std::optional<KnownWork> product{};  // of an operator that multiplies matrices
};

// What stands beside the events.
struct TraceHead {
  std::string gpu{};
  std::optional<int> rank{}, ranks{};
  std::string cut_off{};  // why the text could not be read to its end; empty: it could
};

// The profile of all events that `read` hands over, with what it returns beside them. What cannot be used is counted in
// `misunderstood`; nothing is made up for it. Throws sim::ConfigError where there is no work on a GPU.
using TakeEvent = std::function<void(const TraceEvent&)>;
Profile profile_of(const std::string& name, const Labels& labels,
                   const std::function<TraceHead(const TakeEvent& take)>& read);

// What follows throws sim::ConfigError where there is no work on a GPU. Of kernels of which a trace says no size
// `labels` may say what they are.

// A trace of PyTorch's profiler (export_chrome_trace: kineto's JSON, times in microseconds): all work on GPUs and all
// calls of the host that it follows from; matrix products whose operators recorded the shapes of their operands
// (record_shapes=True), and collectives of RCCL or NCCL, which record their sizes themselves. Linear in the size of the
// text. One that is cut off is read as far as it goes, and `cut_off` says so.
Profile read_kineto(std::string_view text, const std::string& name, const Labels& labels = {});
// The same of a text that comes piece by piece: the first one, and what hands over the others.
Profile read_kineto_pieces(std::string_view first, const MoreText& more, const std::string& name, const Labels& labels);
bool is_kineto(std::string_view text);

// Traces that rocprofv3 writes as CSV: a row per dispatch (--kernel-trace), copy (--memory-copy-trace) or call of the
// runtime (--hip-trace), with Start_Timestamp and End_Timestamp in nanoseconds of one clock. None says what a kernel
// computed or how many bytes were copied: runs are told by name (measurement.h, NamedRuns), but for those that a list
// of labels knows.

// Of such a CSV what its rows are: kernels, copies or calls; nothing of other texts.
std::optional<EventKind> rows_of_rocprof(std::string_view text);
// Traces of one run together, called as `log` is. Rows at fault are recorded there, and counted in `misunderstood`.
Profile read_rocprof_run(std::span<const std::string_view> texts, LogReading& log, const Labels& labels);

// The JSON that rocprofv3 writes (--output-format json): dispatches, copies and calls of the runtime of every process
// of a run, with the agents, kernels and operations that they name by numbers. Times in nanoseconds of one clock.
bool is_rocprof_json(std::string_view text);
Profile read_rocprof_json(std::string_view text, const std::string& name, const Labels& labels = {});

}  // namespace c3sim::calibrate
