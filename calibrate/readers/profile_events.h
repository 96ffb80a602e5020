// Events of a profiler's trace, whichever tool wrote it, and how they become a profile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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

}  // namespace c3sim::calibrate
