// Declares a Profile: what a profiler saw of a program, that is work on GPUs, the host calls that launched it, waits
// between streams, and steps. Times are counted from the first event of the trace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/units.h"
#include "study/ask/trial.h"

namespace c3sim::calibrate {

// A WorkKind says what work occupies, and so which other work it slows down: matrix products and attention occupy the
// matrix units, other kernels and copies within a GPU its memory, copies to and from the host neither.
enum class WorkKind : std::uint8_t { matrix, memory, host_copy, collective };

// KnownWork is what an operator or a collective of the program says of its work: its trial, or why there is none.
struct KnownWork {
  std::optional<study::Trial> trial{};
  std::string why_not{};  // if there is no trial
  auto operator<=>(const KnownWork&) const = default;
};

// A Place is an optional index into a list, in four bytes: a trace may have millions of kernels with several of them.
class Place {
 public:
  Place() = default;
  Place(std::size_t at) : at_(static_cast<std::uint32_t>(at)) {}
  explicit operator bool() const { return at_ != none; }
  std::size_t operator*() const { return at_; }
  bool operator==(const Place&) const = default;

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::uint32_t at_ = none;
};

// ProfiledWork is one kernel, copy or fill on a GPU. What many have in common is stored once, in the lists of Profile.
struct ProfiledWork {
  sim::Time begin{0}, end{0};
  // `least` is the least time of a collective over all traced ranks: the last rank waits for nobody (tell_waits).
  static constexpr sim::Time unknown = sim::Time::max();
  sim::Time least = unknown;
  Place name;                // in Profile::names
  Place asked;               // in Profile::calls: the call that launched it
  Place collective;          // in Profile::known; none: not a collective
  Place product;             // in Profile::products, which several kernels may share
  int line = 0;              // line of the trace
  std::uint32_t stream = 0;  // place in Profile::streams
  WorkKind kind = WorkKind::memory;
  bool begins_before_launch = false;  // host and GPU clocks disagree: when it could have begun is unknown
  sim::Time length() const { return end - begin; }
  bool computes() const { return kind == WorkKind::matrix || kind == WorkKind::memory; }
  Place launch() const { return begins_before_launch ? Place() : asked; }
};

struct ProfiledStream {
  std::int64_t device = 0;
  std::int64_t stream = 0;
  std::string name() const { return "gpu" + std::to_string(device) + " stream " + std::to_string(stream); }
};

enum class HostCallKind : std::uint8_t { launch, synchronise, wait_for_event };
// A HostCall is a runtime call that launches work or waits. All other calls are part of the host's own time.
struct HostCall {
  sim::Time begin{0}, end{0};
  Place name;  // in Profile::names, if the call waits
  HostCallKind kind = HostCallKind::launch;
};

// Work launched on `stream` after `at` waits for all work launched on `of_stream` before the event's `recorded_at`.
struct StreamWait {
  std::size_t stream = 0;
  std::size_t of_stream = 0;
  sim::Time at{0};           // begin of the call that requests the wait
  sim::Time recorded_at{0};  // begin of the call that recorded the event
};

struct ProfiledStep {
  std::string name;  // "ProfilerStep#4"
  sim::Time begin{0}, end{0};
};
// A MarkedStep is the time in which a GPU worked for a step, as marked in the trace.
struct MarkedStep {
  std::string name;
  std::int64_t device = 0;
  sim::Time begin{0}, end{0};
};

// CountedEvents sums up the events of one sort: kernels of one class of communication (configs/communication.yaml or a
// list of labels), or events that cannot be used for one reason.
struct CountedEvents {
  std::size_t events = 0;
  int line = 0;          // of the first event
  sim::Time time{0};     // total time, as far as events have one
  bool is_lost = false;  // the events are not part of the profile
  void add(int at_line, sim::Time took) {
    if (events++ == 0) line = at_line;
    time += took;
  }
};

// A TraceHead is what a trace tells in addition to its events.
struct TraceHead {
  std::string gpu{};           // name in the trace; empty: not said
  std::optional<int> ranks{};  // number of ranks of the program
  std::optional<int> rank{};   // the rank that wrote the trace
  std::string cut_off{};       // why the text could not be read to its end; empty: it could
};

struct Profile : TraceHead {
  std::string file;  // name without folders
  std::vector<ProfiledStream> streams;
  std::vector<ProfiledWork> work;   // sorted by begin
  std::vector<HostCall> calls;      // sorted by begin
  std::vector<std::string> names;   // no duplicates
  std::vector<KnownWork> known;     // collectives, and products as their operators tell them; no duplicates
  std::vector<Place> products;      // in `known`; one for each run of an operator
  std::vector<StreamWait> waits;    // waits with known streams, sorted by `at`
  std::size_t unnamed_waits = 0;    // number of calls that make a stream wait for an unknown stream
  std::vector<ProfiledStep> steps;  // on the host, sorted by begin; empty: the trace has none
  std::vector<MarkedStep> marked_steps;
  std::map<std::string, CountedEvents> communication;  // by class
  std::map<std::string, CountedEvents> misunderstood;  // by reason

  const std::string& name_of(const ProfiledWork& one) const { return names[*one.name]; }
  // Returns null if the work does not belong to an operator's product.
  const KnownWork* product_of(const ProfiledWork& one) const {
    return one.product ? &known[*products[*one.product]] : nullptr;
  }
  // Returns null if the work is no collective or an unknown one.
  const models::CollectiveSpec* collective_of(const ProfiledWork& one) const {
    if (!one.collective || !known[*one.collective].trial) return nullptr;
    return &std::get<study::CollectiveTrial>(*known[*one.collective].trial).spec;
  }
  // The profile lasts from the first begin of work to the last end.
  sim::Time begin() const { return work.empty() ? sim::Time(0) : work.front().begin; }
  sim::Time end() const {
    sim::Time end = begin();
    for (const ProfiledWork& one : work) end = std::max(end, one.end);
    return end;
  }
};

}  // namespace c3sim::calibrate
