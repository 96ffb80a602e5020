// What happened when, for people to look at: slices on named tracks and counters over time. Models write to a
// TraceSink; PerfettoTrace writes what ui.perfetto.dev and chrome://tracing open.
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

class TraceSink {
 public:
  enum class Track : std::uint32_t {};

  TraceSink() = default;
  TraceSink(const TraceSink&) = delete;
  TraceSink& operator=(const TraceSink&) = delete;
  virtual ~TraceSink() = default;

  // A new line of the picture, `name`, among those of `group`: "sdma3" of "gpu0".
  virtual Track add_track(std::string_view group, std::string_view name) = 0;
  // Something that lasted from `begin` to `end` (not before `begin`). Slices of a track follow or contain one another.
  virtual void slice(Track track, std::string_view name, Time begin, Time end) = 0;
  // The curve `name` of the track's group has the (finite) `value` from `at` on.
  virtual void counter(Track track, std::string_view name, Time at, double value) = 0;
};

// Writes the Chrome JSON trace format, times in microseconds with all picoseconds. The same calls give the same bytes.
// The text is complete when the writer is destroyed.
class PerfettoTrace : public TraceSink {
 public:
  // What each of its texts begins with, and no other program's.
  static constexpr std::string_view beginning =
      R"({"otherData":{"written_by":"c3sim"},"displayTimeUnit":"ns","traceEvents":[)";

  explicit PerfettoTrace(std::ostream& out);  // outlives the writer
  ~PerfettoTrace() override;

  Track add_track(std::string_view group, std::string_view name) override;
  void slice(Track track, std::string_view name, Time begin, Time end) override;
  void counter(Track track, std::string_view name, Time at, double value) override;

 private:
  void write_event(std::string_view members);
  void write_name(std::string_view kind, std::uint32_t group, std::uint32_t track, std::string_view name);
  std::uint32_t group_of(Track track) const;

  std::ostream& out_;
  std::map<std::string, std::uint32_t, std::less<>> groups_;  // numbered from 1
  std::vector<std::uint32_t> group_of_track_;                 // tracks, too, are numbered from 1
  bool empty_ = true;
};

}  // namespace c3sim::sim
