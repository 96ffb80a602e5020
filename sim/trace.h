// A PerfettoTrace writes what happened when, as slices on named tracks and counters over time, for people to look at:
// files that ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/units.h"

namespace c3sim::sim {

// The format is the Chrome JSON trace format with times in microseconds, exact to the picosecond. Equal calls give
// equal bytes. The text is complete when the writer is destroyed.
class PerfettoTrace {
 public:
  enum class Track : std::uint32_t {};

  // Every text of this writer begins so, which tells it from those of other programs.
  static constexpr std::string_view beginning =
      R"({"otherData":{"written_by":"c3sim"},"displayTimeUnit":"ns","traceEvents":[)";

  explicit PerfettoTrace(std::ostream& out);  // `out` must outlive the writer
  ~PerfettoTrace();
  PerfettoTrace(const PerfettoTrace&) = delete;
  PerfettoTrace& operator=(const PerfettoTrace&) = delete;

  // Adds a track, a line of the picture, and returns it: `name` "sdma3" in `group` "gpu0".
  Track add_track(std::string_view group, std::string_view name);
  // Adds a slice from `begin` to `end` (not before `begin`). Slices of one track follow or contain one another.
  void slice(Track track, std::string_view name, Time begin, Time end);
  // Sets the counter `name` of the track's group to `value`, which is finite, from `at` on.
  void counter(Track track, std::string_view name, Time at, double value);

 private:
  void write_event(std::string_view members);
  void write_name(std::string_view kind, std::uint32_t group, std::uint32_t track, std::string_view name);
  std::uint32_t group_of(Track track) const;

  std::ostream& out_;
  std::map<std::string, std::uint32_t, std::less<>> groups_;  // numbered from 1
  std::vector<std::uint32_t> group_of_track_;                 // indexed by track number less 1
  bool empty_ = true;
};

}  // namespace c3sim::sim
