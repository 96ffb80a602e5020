#include "sim/trace.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "sim/check.h"

namespace c3sim::sim {
namespace {
constexpr std::int64_t picoseconds_per_microsecond = 1'000'000;

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// Returns an exact text. A double would not be exact after two hours of simulated time.
std::string microseconds(Time time) {
  SIM_CHECK(time >= Time::zero());
  return fmt::format("{}.{:06}", time.count() / picoseconds_per_microsecond,
                     time.count() % picoseconds_per_microsecond);
}
}  // namespace

PerfettoTrace::PerfettoTrace(std::ostream& out) : out_(out) { out_ << beginning; }

PerfettoTrace::~PerfettoTrace() { out_ << "\n]}\n"; }

void PerfettoTrace::write_event(std::string_view members) {
  out_ << (empty_ ? "\n{" : ",\n{") << members << '}';
  empty_ = false;
}

void PerfettoTrace::write_name(std::string_view kind, std::uint32_t group, std::uint32_t track, std::string_view name) {
  write_event(fmt::format(R"("ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}})", group, track, kind,
                          json_string(name)));
}

std::uint32_t PerfettoTrace::group_of(Track track) const {
  const auto number = static_cast<std::size_t>(track);
  SIM_CHECK(number >= 1 && number <= group_of_track_.size() && "a track comes from add_track");
  return group_of_track_[number - 1];
}

PerfettoTrace::Track PerfettoTrace::add_track(std::string_view group, std::string_view name) {
  const auto next_group = static_cast<std::uint32_t>(groups_.size() + 1);
  const auto [known, added] = groups_.try_emplace(std::string(group), next_group);
  if (added) write_name("process_name", known->second, 0, group);
  group_of_track_.push_back(known->second);
  const auto number = static_cast<std::uint32_t>(group_of_track_.size());
  write_name("thread_name", known->second, number, name);
  return Track{number};
}

void PerfettoTrace::slice(Track track, std::string_view name, Time begin, Time end) {
  SIM_CHECK(begin <= end && "a slice ends after it begins");
  write_event(fmt::format(R"("ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{})", group_of(track),
                          static_cast<std::uint32_t>(track), microseconds(begin), microseconds(end - begin),
                          json_string(name)));
}

void PerfettoTrace::counter(Track track, std::string_view name, Time at, double value) {
  SIM_CHECK(std::isfinite(value) && "JSON has no such number");
  write_event(fmt::format(R"("ph":"C","pid":{},"ts":{},"name":{},"args":{{"value":{}}})", group_of(track),
                          microseconds(at), json_string(name), value));
}

}  // namespace c3sim::sim
