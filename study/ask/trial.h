// Declares trials. A trial is one run as benchmark programs make it, on real or simulated GPUs, and observe() returns
// what is measured of it. Fits and comparisons ask the simulator for trials only.
#pragma once

#include <compare>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "models/collectives/collective.h"
#include "models/kernels/attention.h"
#include "models/kernels/elementwise.h"
#include "models/kernels/remote_kernel.h"
#include "study/c3/strategy.h"
#include "study/network/step_question.h"
#include "study/play/testbed.h"
#include "study/program/dependent.h"
#include "study/program/step_operation.h"
#include "study/report/figure.h"
#include "study/serve/serve_question.h"

namespace c3sim::study {

// In a RestTrial, nothing runs.
struct RestTrial {
  auto operator<=>(const RestTrial&) const = default;
};

// An EmptyKernelTrial runs a kernel that does nothing on every GPU.
struct EmptyKernelTrial {
  auto operator<=>(const EmptyKernelTrial&) const = default;
};

// `Before` says what a GPU has done before each of the repeated GEMMs that are timed.
enum class Before {
  loop,       // the same GEMM on the same operands: caches hold what fits, links sleep
  traffic,    // the same GEMM on other operands; links carried data recently
  collective  // a collective, whose end the host has just noticed
};
constexpr auto all_names(Before) { return sim::names("loop", "traffic", "collective"); }
using sim::to_string;

// Returns a collective over all GPUs of any platform.
inline models::CollectiveSpec collective_of_all() {
  models::CollectiveSpec spec;
  spec.gpus = 0;
  return spec;
}

// A GemmTrial runs a GEMM on every GPU. The testbed plays schedule_of_gemm() and times its last kernels_of()
// operations.
struct GemmTrial {
  models::GemmShape shape;
  std::optional<int> cus{};  // of each GPU; none: all
  std::optional<int> nth{};  // place (from 0) of the GEMM in a series from rest; none: as the host's protocol has it
  sim::Time pause{0};        // before each group of a long series; `nth` is then a place in a group
  int group = 1;             // GEMMs between two pauses
  Before before = Before::loop;
  models::CollectiveSpec collective = collective_of_all();  // the one before, for Before::collective
  std::optional<Operands> operands{};                       // none: as `before` leaves them
  bool quantise = false;  // a kernel first rounds the second operand from bf16, and is timed with the GEMM
  auto operator<=>(const GemmTrial&) const = default;
};

// A CollectiveTrial runs a collective on `gpus` GPUs of its spec, or on all GPUs of the platform if that is 0.
struct CollectiveTrial {
  models::CollectiveSpec spec = collective_of_all();
  auto operator<=>(const CollectiveTrial&) const = default;
};

struct CopyTrial {
  models::SdmaCopySpec spec;
  bool phases = false;  // text shows them, too
  auto operator<=>(const CopyTrial&) const = default;
};

// Returns the copies that the trial asks for: a runtime copies several blocks one by one unless the trial says
// otherwise.
models::SdmaCopySpec copies_of(const CopyTrial& trial);

// A FanOutTrial copies from GPU 0 to several peers at once, by engines.
struct FanOutTrial {
  int peers = 1;
  sim::Bytes bytes;  // to each peer
  auto operator<=>(const FanOutTrial&) const = default;
};

// A RemoteTrial runs kernels that store into or load from the memory of other GPUs.
struct RemoteTrial {
  enum class Pattern {
    one_way,    // `gpu` accesses `peer`
    both_ways,  // `peer` also accesses `gpu`
    all         // every GPU accesses all others
  };
  friend constexpr auto all_names(Pattern) { return sim::names("one_way", "both_ways", "all"); }
  models::RemoteAccess access = models::RemoteAccess::store;
  Pattern pattern = Pattern::one_way;
  int gpu = 0;
  int peer = 1;
  sim::Bytes bytes;          // to or from each peer
  std::optional<int> cus{};  // with one workgroup on each; none: all
  auto operator<=>(const RemoteTrial&) const = default;
};

// A StreamTrial is a kernel on every GPU that streams through arrays in its own HBM.
struct StreamTrial {
  int arrays_read = 2;
  int arrays_written = 1;
  sim::Bytes bytes;                 // of all arrays together
  std::optional<int> workgroups{};  // of 1024 threads; none: as many as the GPU holds
  sim::Bytes under_way{0.0};        // in flight by each workgroup, up to a CU's limit; 0: as library kernels have
  std::optional<int> threads{};     // on each CU; each moves 8 B of every array per pass; none: as library kernels have
  double flops_per_byte = 0.0;      // vector operations
  sim::Bytes set{0.0};              // size of all arrays, gone through until `bytes` have passed; 0: once
  auto operator<=>(const StreamTrial&) const = default;
};

// A StreamAndCollectiveTrial launches a stream and then a collective, on all GPUs if `gpus` of the collective is 0.
struct StreamAndCollectiveTrial {
  StreamTrial stream;
  models::CollectiveSpec collective;
  auto operator<=>(const StreamAndCollectiveTrial&) const = default;
};

// A StreamAndCopiesTrial runs back-to-back copies between GPUs 0 and 1, on one engine of each GPU that sends, alone or
// while a stream runs on both GPUs. The bytes of the stream do not matter.
struct StreamAndCopiesTrial {
  std::optional<StreamTrial> stream{};
  sim::Bytes bytes;  // of one copy
  bool both_ways = false;
  int gpu = 0;  // 0 or 1: the GPU whose stream, and whose copies to the other, are observed
  auto operator<=>(const StreamAndCopiesTrial&) const = default;
};

// A Hog is a kernel that disturbs other work.
enum class Hog {
  compute,  // it multiplies and adds in registers, with hardly any memory traffic
  stream    // it goes through arrays in HBM
};
constexpr auto all_names(Hog) { return sim::names("compute", "stream"); }

// A HogTrial launches a GEMM or a collective on every GPU a moment after a hog, which lasts as long. The bytes of the
// hog's arrays do not matter. If `gpus` of the collective is 0, it runs on all GPUs.
struct HogTrial {
  Hog hog = Hog::stream;
  StreamTrial arrays{.arrays_read = 2, .arrays_written = 1, .bytes = {}, .workgroups = 1};
  Work beside{};
  auto operator<=>(const HogTrial&) const = default;
};

// A LoadTrial runs one thread that follows a random chain of pointers.
struct LoadTrial {
  sim::Bytes working_set;
  sim::BytesPerSecond beside;  // rate of a stream through HBM meanwhile
  double beside_reads = 1.0;   // share of that stream that is read
  auto operator<=>(const LoadTrial&) const = default;
};

// A DependentTrial runs a GEMM and the collective that feeds it or that it feeds (study/program/dependent.h).
struct DependentTrial {
  models::GemmShape shape;
  DependentSchedule schedule{};
  auto operator<=>(const DependentTrial&) const = default;
};

// A ReplayTrial replays a profiled run as it was, or with collectives as the simulator times them. The run is in a
// trace file: programs that read such files observe this trial (validate/evaluation.h), and no testbed does.
struct ReplayTrial {
  std::string trace;                                   // file name
  std::optional<models::CollectiveKind> collective{};  // times the median collective of this kind; none: the whole run
  bool simulated = false;
  auto operator<=>(const ReplayTrial&) const = default;
};

// A FusedTrial runs a GEMM fused with the collective that feeds it or that it feeds. gemm_time is the GEMM's time, and
// collective_time is what is left of the collective after it.
struct FusedTrial {
  models::FusedSpec spec;
  bool gathered = false;  // engines then gather what was reduced and scattered, for an all-reduce
  auto operator<=>(const FusedTrial&) const = default;
};

// A StepTrial runs a whole step of a model as programs time it.
struct StepTrial {
  StepWords question;          // its model is read
  std::optional<Kind> kind{};  // of the kernels that kernel_time covers; none: all
  auto operator<=>(const StepTrial&) const = default;
};

// A ServeTrial serves requests over time as a benchmark client measures them.
struct ServeTrial {
  ServeQuestion question;  // refers to its model by name
  auto operator<=>(const ServeTrial&) const = default;
};

// A Trial is one of these; models::AttentionShape runs attention on every GPU.
using Trial =
    std::variant<RestTrial, EmptyKernelTrial, GemmTrial, CollectiveTrial, CopyTrial, FanOutTrial, RemoteTrial,
                 StreamTrial, LoadTrial, C3Trial, DependentTrial, StreamAndCollectiveTrial, StreamAndCopiesTrial,
                 StepTrial, ReplayTrial, FusedTrial, HogTrial, models::AttentionShape, ServeTrial>;

// Returns a name for people and for grouping: "gemm", "collective by kernels", "collective by copy engines", "C3".
std::string_view kind_of(const Trial& trial);

// Returns all that distinguishes the trial, in words: "gemm 8192x8192x8192 on 240 CUs". Trials with equal words are
// equal except for fields without effect: those of engines if kernels move the data, the GPUs of a pattern over all
// GPUs, and the name of a scenario.
std::string to_string(const Trial& trial);

// Returns the arguments of c3sim that ask for it: "gemm --gemm 8192x8192x8192 --cus 240"; empty if no command does.
std::string command_of(const Trial& trial);

// A TrialSize is the bytes of a collective, copy or other transfer or of a working set, the operations of a GEMM or of
// attention, or 0 without either. `words` is what tables of measurements show: "64MiB", "8192x8192x8192".
struct TrialSize {
  double size = 0.0;
  std::string words{};
};
TrialSize extent_of(const Trial& trial);
inline double size_of(const Trial& trial) { return extent_of(trial).size; }

// Returns whether computation or a stream runs at the same time as communication. No fit may see such a trial.
bool is_concurrent(const Trial& trial);

// Returns the operations that a testbed plays, without those of `nth` and `pause`.
Schedule schedule_of_gemm(const GemmTrial& trial, const Testbed& testbed);
// Returns how many last operations of that schedule are timed: the GEMM, and any kernel that quantises its operand.
constexpr std::size_t kernels_of(const GemmTrial& trial) { return trial.quantise ? 2 : 1; }
Between between_of(const GemmTrial& trial);

// Returns why the platform cannot run it, in one sentence that says what would be accepted; empty if it can.
std::string why_impossible(const Testbed& testbed, const Trial& trial);

// Returns the figures that the model has of a possible trial; figures that cost a run of their own only if asked for.
Figures observe(Testbed& testbed, const Trial& trial, const std::set<Figure>& asked);
// Returns time, kernel_time, energy, power and clock of a step.
Figures observe(Testbed& testbed, const StepTrial& trial);
// Returns the figures of the first `count` GEMMs of a series from rest, like trials with `nth`, but from one run.
std::vector<Figures> observe_series(Testbed& testbed, const GemmTrial& trial, std::size_t count);

// A StepRoofline sums the times of a step's operations at the peak rates of matrix units, HBM and links, separately for
// operations that compute and operations that communicate.
struct StepRoofline {
  sim::Seconds compute;
  sim::Seconds communication;
};
StepRoofline roofline(const StepTrial& trial, const models::PlatformSpec& platform);

}  // namespace c3sim::study
