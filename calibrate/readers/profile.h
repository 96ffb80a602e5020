// What a profiler saw of a program: work on GPUs, the calls of the host that launched it, waits between streams, steps.
// Times are counted from the first event of the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/units.h"
#include "study/ask/trial.h"

namespace c3sim::calibrate {

// By what else it slows down: matrix products and attention keep the matrix units busy, other kernels and copies within
// a GPU its memory, copies to and from the host neither.
enum class WorkKind { matrix, memory, host_copy, collective };

// What an operator of the program says of its work: which trial it is, or why it is none.
struct KnownWork {
  std::optional<study::Trial> trial{};
  std::string why_not{};  // where there is none
};

struct ProfiledWork {
  std::string name;
  int line = 0;  // of the trace, where it stands
  WorkKind kind = WorkKind::memory;
  std::size_t stream = 0;  // place in Profile::streams
  sim::Time begin{0}, end{0};
  std::optional<std::size_t> launch{};  // place in Profile::calls
  std::optional<sim::Time> asked{};     // when that began; known as well where its launch is left out
  std::int64_t correlation = 0;
  // Of a collective: what it is, or why nobody knows.
  std::optional<models::CollectiveSpec> collective{};
  std::string why_unknown{};
  std::optional<std::size_t> product{};  // place in Profile::products: several kernels may be one
  // The least time of it among all ranks whose traces are at hand: the last to come waits for none (tell_waits).
  std::optional<sim::Time> least{};
  sim::Time length() const { return end - begin; }
};

struct ProfiledStream {
  std::int64_t device = 0;
  std::int64_t stream = 0;
  std::string name() const;  // "gpu0 stream 7"
};

enum class HostCallKind { launch, synchronise, wait_for_event };
// A call of the runtime that launches work or waits for it; the others are part of the time of the host.
struct HostCall {
  HostCallKind kind = HostCallKind::launch;
  std::string name;
  sim::Time begin{0}, end{0};
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

// Kernels that communicate, of one class of configs/communication.yaml, or of a list of labels.
struct CommunicationClass {
  std::size_t kernels = 0;
  sim::Time time{0};
};

// Events that say nothing that can be used, by the reason.
struct Misunderstood {
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
  std::vector<KnownWork> products;  // of matrices, as operators say
  std::vector<HostCall> calls;      // by begin
  std::vector<StreamWait> waits;    // that the trace tells with their streams, by the call
  std::size_t unnamed_waits = 0;    // calls that make a stream wait, of which it does not tell the stream
  std::vector<ProfiledStep> steps;  // of the host, by begin; empty: it tells of none
  std::vector<MarkedStep> marked_steps;
  std::map<std::string, CommunicationClass> communication;  // by the name of the class
  std::map<std::string, Misunderstood> misunderstood;
  std::string cut_off;  // why the end of the text could not be read; empty: it could

  // From the first begin of work to the last end.
  sim::Time begin() const;
  sim::Time end() const;
};

// From the traces of several ranks of one run, or from one of several GPUs, what each of their collectives takes
// without waits: those alike are the same in the order in which they came. Sorts that some rank ran more often than
// another are counted in `misunderstood` and left as they are. Throws sim::ConfigError where two traces are of one
// rank.
void tell_waits(std::span<Profile* const> profiles);

}  // namespace c3sim::calibrate
