// What a profiler saw of a program: work on GPUs, the calls of the host that launched it, waits between streams, steps.
// Times are counted from the first event of the trace.
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

// By what else it slows down: matrix products and attention keep the matrix units busy, other kernels and copies within
// a GPU its memory, copies to and from the host neither.
enum class WorkKind : std::uint8_t { matrix, memory, host_copy, collective };

// What an operator of the program, or a collective of it, says of its work: which trial it is, or why it is none.
struct KnownWork {
  std::optional<study::Trial> trial{};
  std::string why_not{};  // where there is none
  auto operator<=>(const KnownWork&) const = default;
};

// A place in a list, or none, in four bytes: a trace may have millions of kernels, of which each holds several.
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

// What many have in common stands once in the lists of Profile.
struct ProfiledWork {
  sim::Time begin{0}, end{0};
  // The least time of it among all ranks whose traces are at hand: the last to come waits for none (tell_waits).
  static constexpr sim::Time unknown = sim::Time::max();
  sim::Time least = unknown;
  Place name;                // in Profile::names
  Place asked;               // in Profile::calls: the call that asked for it
  Place collective;          // in Profile::known; none: it is no collective
  Place product;             // in Profile::products: several kernels may be one
  int line = 0;              // of the trace, where it stands
  std::uint32_t stream = 0;  // place in Profile::streams
  WorkKind kind = WorkKind::memory;
  bool begins_before_launch = false;  // clocks that do not agree: nothing is known of when it could have begun
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
// A call of the runtime that launches work or waits for it; the others are part of the time of the host.
struct HostCall {
  sim::Time begin{0}, end{0};
  Place name;  // in Profile::names; of calls that wait
  HostCallKind kind = HostCallKind::launch;
};

// What is launched on `stream` behind the call of `correlation` waits for all that was launched on `of_stream` before
// the event was recorded by the call of `recorded_by`.
struct StreamWait {
  std::size_t stream = 0;
  std::size_t of_stream = 0;
  sim::Time at{0};           // of the call that asks for it
  sim::Time recorded_at{0};  // of the call that recorded the event
};

struct ProfiledStep {
  std::string name;  // "ProfilerStep#4"
  sim::Time begin{0}, end{0};
};
// When a GPU worked for a step, as the trace marks it itself.
struct MarkedStep {
  std::string name;
  std::int64_t device = 0;
  sim::Time begin{0}, end{0};
};

// Events of one sort: kernels that communicate, of one class of configs/communication.yaml or of a list of labels, or
// what says nothing that can be used, for one reason.
struct CountedEvents {
  std::size_t events = 0;
  int line = 0;          // of the first
  sim::Time time{0};     // that they took, as far as they say
  bool is_lost = false;  // they are no part of the profile
  void add(int at_line, sim::Time took) {
    if (events++ == 0) line = at_line;
    time += took;
  }
};

struct Profile {
  std::string file;          // without folders
  std::string gpu;           // as the trace names it; empty: it does not
  std::optional<int> ranks;  // of the program
  std::optional<int> rank;   // whose trace it is
  std::vector<ProfiledStream> streams;
  std::vector<ProfiledWork> work;   // by begin
  std::vector<HostCall> calls;      // by begin
  std::vector<std::string> names;   // each once
  std::vector<KnownWork> known;     // collectives, and products of matrices as operators say, each once
  std::vector<Place> products;      // in `known`; one for each operator that ran
  std::vector<StreamWait> waits;    // that the trace tells with their streams, by the call
  std::size_t unnamed_waits = 0;    // calls that make a stream wait, of which it does not tell the stream
  std::vector<ProfiledStep> steps;  // of the host, by begin; empty: it tells of none
  std::vector<MarkedStep> marked_steps;
  std::map<std::string, CountedEvents> communication;  // by the name of the class
  std::map<std::string, CountedEvents> misunderstood;  // by the reason
  std::string cut_off;                                 // why the end of the text could not be read; empty: it could

  const std::string& name_of(const ProfiledWork& one) const { return names[*one.name]; }
  // Null where it is no product of an operator.
  const KnownWork* product_of(const ProfiledWork& one) const {
    return one.product ? &known[*products[*one.product]] : nullptr;
  }
  // Null where nobody knows what collective it is, or it is none.
  const models::CollectiveSpec* collective_of(const ProfiledWork& one) const {
    if (!one.collective || !known[*one.collective].trial) return nullptr;
    return &std::get<study::CollectiveTrial>(*known[*one.collective].trial).spec;
  }
  // From the first begin of work to the last end.
  sim::Time begin() const { return work.empty() ? sim::Time(0) : work.front().begin; }
  sim::Time end() const {
    sim::Time end = begin();
    for (const ProfiledWork& one : work) end = std::max(end, one.end);
    return end;
  }
};

}  // namespace c3sim::calibrate
