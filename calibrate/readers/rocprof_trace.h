// The traces that rocprofv3 writes as CSV: a row per dispatch (--kernel-trace), copy (--memory-copy-trace) or call of
// the runtime (--hip-trace), with Start_Timestamp and End_Timestamp in nanoseconds of one clock; and its counters
// (--pmc), a row per dispatch and counter. None says what a kernel computed or how many bytes were copied: runs are
// told by name (measurement.h, NamedRuns), but for those that a list of labels knows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/profile_events.h"

namespace c3sim::calibrate {

// Of such a CSV what its rows are: kernels, copies or calls; nothing of other texts.
std::optional<EventKind> rows_of_rocprof(std::string_view text);

// Traces of one run together, called as `log` is. Rows at fault are recorded there, and counted in `misunderstood`.
// Throws sim::ConfigError where there is no work on a GPU.
Profile read_rocprof_run(std::span<const std::string_view> texts, LogReading& log, const Labels& labels);

// The JSON that rocprofv3 writes (--output-format json): dispatches, copies and calls of the runtime of every process
// of a run, with the agents, kernels and operations that they name by numbers. Times in nanoseconds of one clock.
bool is_rocprof_json(std::string_view text);

// Throws sim::ConfigError where there is no work on a GPU.
Profile read_rocprof_json(std::string_view text, const std::string& name, const Labels& labels = {});

}  // namespace c3sim::calibrate
