// One run as benchmark programs make it, on real GPUs or on simulated ones, and what is seen of it: the one question
// that fits and comparisons put to the simulator.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "models/kernels/attention.h"
#include "models/kernels/remote_kernel.h"
#include "study/ask/stream_trial.h"
#include "study/c3/strategy.h"
#include "study/network/step_question.h"
#include "study/program/dependent.h"
#include "study/program/step_operation.h"
#include "study/report/figure.h"
#include "study/serve/serve_question.h"

namespace c3sim::study {

class ServeMachine;

// Nothing runs.
struct RestTrial {
  auto operator<=>(const RestTrial&) const = default;
};

// A kernel that does nothing, on every GPU.
struct EmptyKernelTrial {
  auto operator<=>(const EmptyKernelTrial&) const = default;
};

// What a GPU has done before a GEMM that is timed again and again.
enum class Before {
  loop,       // the same GEMM, of the same operands: caches hold what they can, links sleep
  traffic,    // the same GEMM, of other operands; links have carried data not long ago
  collective  // a collective that has just ended, as the host knows
};
constexpr auto all_names(Before) { return sim::names("loop", "traffic", "collective"); }
using sim::to_string;

// Of a kernel in a loop: the same every time, so that caches hold what they can of them; others every time, after work
// that has filled the caches; or one set of several after another, as tuners rotate them, which together exceed the
// caches.
enum class Operands { warm, cold, rotating };
constexpr auto all_names(Operands) { return sim::names("warm", "cold", "rotating"); }

// A collective over all GPUs of whatever platform there is.
inline models::CollectiveSpec collective_of_all() {
  models::CollectiveSpec spec;
  spec.gpus = 0;
  return spec;
}

// A GEMM on every GPU. The testbed plays what schedule_of_gemm() has; what is timed is its last kernels_of()
// operations.
struct GemmTrial {
  models::GemmShape shape;
  std::optional<int> cus{};  // of each GPU; none: all
  std::optional<int> nth{};  // of those that follow each other from rest, from 0; none: as the host's protocol has it
  sim::Time pause{0};        // by turns with `group` of them, since long; `nth` is then one of a group
  int group = 1;             // that follow each other between two pauses
  Before before = Before::loop;
  models::CollectiveSpec collective = collective_of_all();  // which came before
  std::optional<Operands> operands{};                       // none: as `before` leaves them
  bool quantise = false;  // its second operand comes in bf16, and a kernel that is timed with it rounds that first
  auto operator<=>(const GemmTrial&) const = default;
};

// `gpus` of the spec is looked at where it is not 0; 0 stands for all of the platform.
struct CollectiveTrial {
  models::CollectiveSpec spec = collective_of_all();
  auto operator<=>(const CollectiveTrial&) const = default;
};

struct CopyTrial {
  models::SdmaCopySpec spec;
  bool phases = false;  // shown to people, too
  auto operator<=>(const CopyTrial&) const = default;
};

// Copies by engines from GPU 0 to so many peers at once.
struct FanOutTrial {
  int peers = 1;
  sim::Bytes bytes;  // to each
  auto operator<=>(const FanOutTrial&) const = default;
};

// Kernels that store into or load from other GPUs.
struct RemoteTrial {
  enum class Pattern {
    one_way,    // by `gpu`, of `peer`
    both_ways,  // and by `peer`, of `gpu`
    all         // by every GPU, of all others
  };
  friend constexpr auto all_names(Pattern) { return sim::names("one_way", "both_ways", "all"); }
  models::RemoteAccess access = models::RemoteAccess::store;
  Pattern pattern = Pattern::one_way;
  int gpu = 0;
  int peer = 1;
  sim::Bytes bytes;          // of each peer
  std::optional<int> cus{};  // with a workgroup on each; none: all
  auto operator<=>(const RemoteTrial&) const = default;
};

// One thread that follows a chain of pointers at random.
struct LoadTrial {
  sim::Bytes working_set;
  sim::BytesPerSecond beside;  // what streams through HBM meanwhile ...
  double beside_reads = 1.0;   // ... and how much of it is read
  auto operator<=>(const LoadTrial&) const = default;
};

// An all-gather of rows of B (tokens) and the GEMM that needs them.
struct DependentTrial {
  models::GemmShape shape;
  DependentSchedule schedule{};
  auto operator<=>(const DependentTrial&) const = default;
};

// A profiled run played again as it was, or with collectives that take no longer than they are simulated. What it did
// is in its trace: whoever reads such files observes it (validate/evaluation.h), no testbed does.
struct ReplayTrial {
  std::string trace;                                   // its file
  std::optional<models::CollectiveKind> collective{};  // the median of its collectives of that kind; none: the whole
  bool simulated = false;
  auto operator<=>(const ReplayTrial&) const = default;
};

// A GEMM fused with the collective that it feeds or that feeds it. gemm_time is the GEMM's, collective_time what is
// left of the collective then.
struct FusedTrial {
  models::FusedSpec spec;
  bool gathered = false;  // what it has reduced and scattered is then gathered by engines: an all-reduce
  auto operator<=>(const FusedTrial&) const = default;
};

// A whole step as programs time it.
struct StepTrial {
  StepQuestion question;
  std::optional<Kind> kind{};  // of the kernels that kernel_time is of; none: all
  auto operator<=>(const StepTrial&) const = default;
};

// Requests over time as a benchmark client measures them.
struct ServeTrial {
  ServeQuestion question;  // its model by name
  auto operator<=>(const ServeTrial&) const = default;
};

// Attention runs on every GPU.
using Trial =
    std::variant<RestTrial, EmptyKernelTrial, GemmTrial, CollectiveTrial, CopyTrial, FanOutTrial, RemoteTrial,
                 StreamTrial, LoadTrial, C3Trial, DependentTrial, StreamAndCollectiveTrial, StreamAndCopiesTrial,
                 StepTrial, ReplayTrial, FusedTrial, HogTrial, models::AttentionShape, ServeTrial>;

// For people and for grouping: "gemm", "collective by kernels", "collective by copy engines", "copy", "C3".
std::string_view kind_of(const Trial& trial);

// All that makes the trial what it is, in words: "gemm 8192x8192x8192 on 240 CUs". Equal words mean equal trials, but
// for fields that are not looked at: those of engines where kernels move the data, GPUs where a pattern is of all, and
// the name of a scenario.
std::string to_string(const Trial& trial);

// The arguments of c3sim that ask for it: "gemm --gemm 8192x8192x8192 --cus 240". Empty where no command does.
std::string command_of(const Trial& trial);

// What a trial is large by: bytes of a collective, copy or working set, operations of a GEMM; 0 of what has no size. In
// words it is what tables of measurements show: "64MiB", "8192x8192x8192".
struct TrialSize {
  double size = 0.0;
  std::string words{};
};
TrialSize extent_of(const Trial& trial);
inline double size_of(const Trial& trial) { return extent_of(trial).size; }

// Computation, or a stream, and communication at once: what no fit may see.
bool is_concurrent(const Trial& trial);

// What a testbed plays for it, and between that and the next; none of its `nth` and `pause`.
Schedule schedule_of_gemm(const GemmTrial& trial, const Testbed& testbed);
// How many of the last operations of that schedule are timed: the GEMM, and the kernel that quantises its operand.
constexpr std::size_t kernels_of(const GemmTrial& trial) { return trial.quantise ? 2 : 1; }
Between between_of(const GemmTrial& trial);

// Why the platform cannot run it, in one sentence that says what would be accepted; empty if it can.
std::string why_impossible(const Testbed& testbed, const Trial& trial);

// The figures that the model has of those asked for; the trial is possible.
Figures observe(Testbed& testbed, const Trial& trial, const std::set<Figure>& asked);
// Of a step: time, kernel_time, energy, power and clock.
Figures observe(Testbed& testbed, const StepTrial& trial);
// These two answer for requests that a machine serves, which remembers the steps of all that it is asked.
std::string why_impossible(ServeMachine& machine, const ServeTrial& trial);
Figures observe(ServeMachine& machine, const ServeTrial& trial);
// Of the first `count` GEMMs that follow each other from rest, by one run: what trials with `nth` have.
std::vector<Figures> observe_series(Testbed& testbed, const GemmTrial& trial, std::size_t count);

// Sums over the operations of a step at peak rates of matrix units, HBM and links, of those that compute and those that
// communicate.
struct StepRoofline {
  sim::Seconds compute;
  sim::Seconds communication;
};
StepRoofline roofline(const StepTrial& trial, const models::PlatformSpec& platform);

}  // namespace c3sim::study
