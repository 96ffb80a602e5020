// An Operation is one piece of work of a node and when it may start: a GEMM, attention or element-wise kernel on GPUs,
// a collective, an SDMA copy or packets, a kernel that accesses other GPUs, a GEMM fused with a collective, host work,
// or a delay. Work can be cut into pieces: a GEMM by tokens or along its contraction, communication by bytes.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/collectives/collective.h"
#include "models/collectives/fused_gemm.h"
#include "models/kernels/attention.h"
#include "models/kernels/elementwise.h"
#include "models/kernels/remote_kernel.h"
#include "models/platform/cu_resources.h"
#include "models/platform/gemm_shape.h"
#include "models/platform/platform_spec.h"
#include "models/sdma/sdma_copy.h"
#include "models/sdma/sdma_packet_list.h"
#include "sim/config/choice.h"
#include "sim/config/config_text.h"
#include "sim/units.h"

namespace c3sim::study {

// No GPU holds more, so that a larger size must be a mistake.
inline constexpr sim::Bytes largest_array = sim::Bytes(1099511627776.0);  // 1 TiB
inline constexpr sim::Limits<sim::Bytes> array_sizes{sim::Bytes(1.0), largest_array};
inline constexpr sim::Limits<sim::Time> pause_lengths{sim::Time(0), sim::Time(3'600'000'000'000'000)};  // an hour

// A DelaySpec is time in which nothing runs.
struct DelaySpec {
  sim::Time time{0};
  auto operator<=>(const DelaySpec&) const = default;
};

// During HostWorkSpec::time the threads that launch kernels of the operation's GPUs are busy; further launches wait.
struct HostWorkSpec {
  sim::Time time{0};
  auto operator<=>(const HostWorkSpec&) const = default;
};

using Work = std::variant<models::GemmShape, models::CollectiveSpec, models::SdmaCopySpec, models::SdmaPacketList,
                          models::ElementwiseSpec, models::RemoteKernelSpec, DelaySpec, HostWorkSpec,
                          models::AttentionShape, models::FusedSpec>;

// A Doer is what does the work: a GEMM, a collective's channels, copy engines, another kernel, or the host. A fused
// GEMM counts as a GEMM.
enum class Doer { gemm, channels, engines, kernel, host };

// A KindOfWork describes all work of one alternative of Work.
struct KindOfWork {
  const char* key;   // key under which an operation of an experiment file has the work
  Doer doer;         // of a collective: its doer if kernels carry it
  bool uses_links;   // it moves data between GPUs
  bool on_any_gpus;  // it names no GPUs itself, so that its operation may
};
std::span<const KindOfWork> kinds_of_work();  // in the order of Work
const KindOfWork& kind_of(const Work& work);

Doer doer_of(const Work& work);
bool uses_links(const Work& work);

// Returns whether the work is or begins with a kernel, which a host may queue on a GPU long before it begins.
bool is_kernel(const Work& work);
// Returns whether is_kernel(), or the work is a collective by engines that begins with a kernel.
bool may_be_queued(const Work& work, const models::SdmaSpec& engines);

// Returns whether the work may wait for ever by itself: packets written by hand poll words that other operations write.
bool waits_for_others(const Work& work);

// Describes the work: "gemm 8192x8192x8192", "rccl all_gather of 896MiB", "copy gpu0 to gpu1 of 1MiB".
std::string to_string(const Work& work);
std::string name_of(models::Backend backend);  // "RCCL", "one_shot"

using models::device_name;

// Work is cut along tokens (n of a GEMM, and bytes of communication) or along the contraction (k).
enum class CutAxis { tokens, contraction };
constexpr auto all_names(CutAxis) { return sim::names("tokens", "contraction"); }

// A Piece is piece `index` of `count`.
struct Piece {
  std::int64_t count = 1;
  std::int64_t index = 0;
  CutAxis axis = CutAxis::tokens;
};

// Returns the size of piece `index` of `count` pieces that add up to the whole and differ by at most one.
std::int64_t piece_of(std::int64_t whole, std::int64_t count, std::int64_t index);

// Returns why the work cannot be cut into this many pieces, and what would be accepted; empty if it can.
std::string why_uncut(const Work& work, const Piece& piece);

// Returns the piece of work that can be cut in this way.
Work piece_of(Work work, const Piece& piece);

// Returns whether a piece depends on a piece of an earlier operation. If both operations are cut along the same axis,
// piece i of n needs those that overlap [i/n, (i+1)/n). Otherwise, and if the earlier one is a GEMM cut along its
// contraction, whose pieces add up, it needs all.
bool needs(const Piece& piece, const Piece& earlier, const Work& earlier_work);

// Returns the bytes of its result that a kernel stores on each of its GPUs; 0 for work that does not report progress.
sim::Bytes stored_by(const Work& work);

// A StoredRange is a range of an earlier kernel's result to wait for, and how its completion is detected. Kernels store
// in the order of their workgroups, so that a range is complete when its end is.
struct StoredRange {
  std::size_t by = 0;  // index of the kernel in the schedule, one of `after`
  sim::Bytes begin;
  sim::Bytes end;
  models::TriggerChoice trigger{};
  auto operator<=>(const StoredRange&) const = default;
};

// Files have these names for priorities of kernels.
inline constexpr std::array<std::pair<std::string_view, int>, 3> priorities{{{"low", -1}, {"normal", 0}, {"high", 1}}};

// A Launch says how an operation that begins with a kernel reaches its GPUs: the host launches it in advance, and each
// GPU begins it when those before it have ended there; or the host launches it when it learns of their ends.
enum class Launch { queued, host };
constexpr auto all_names(Launch) { return sim::names("queued", "host"); }
using sim::to_string;

// An Operation begins `delay` after everything in `after` has ended; operations that may start at the same instant are
// launched in the order of the schedule. Unless `launch` says otherwise, a kernel without a delay is queued, except
// where several kernels wait for exactly the same operations: the host starts these, like all work that is no kernel,
// when it learns of those ends, and their order decides who gets the CUs.
struct Operation {
  std::string name;
  Work work;
  std::vector<int> gpus{};         // GPUs that run work that names none itself; empty: all
  models::CuMask mask;             // CUs that its kernels may use
  int priority = 0;                // of its kernels, see models/machine/stream.h
  std::string stream;              // where it is queued, for display only; `after` contains the order of the stream
  std::vector<std::size_t> after;  // indices in the schedule, all before its own
  std::optional<StoredRange> stored{};  // part of the result of one in `after` to wait for, not its end
  sim::Time delay{0};                   // from the last end in `after`, or the start of the run, to the launch
  std::optional<Launch> launch{};       // only if may_be_queued()
  auto operator<=>(const Operation&) const = default;
};

using Schedule = std::vector<Operation>;

// Between says what a node does between runs beyond the schedule: nothing; work on other data, so that caches do not
// hold the operands; or communication, after which links are awake as well.
enum class Between { nothing, other_data, communication };

// Operands says what a kernel in a loop gets: the same operands every time, so that caches hold what fits (warm);
// others every time, after work that filled the caches (cold); or, by turns, sets that together exceed the caches, as
// tuners rotate them (rotating).
enum class Operands { warm, cold, rotating };
constexpr auto all_names(Operands) { return sim::names("warm", "cold", "rotating"); }

// Returns what happens between the runs of a loop of one kernel; unless said, its operands are the same every time.
inline Between between_of(std::optional<Operands> operands) {
  return operands.value_or(Operands::warm) == Operands::warm ? Between::nothing : Between::other_data;
}

// Returns an operation with the work alone, named after it.
Operation operation_of(Work work, models::CuMask mask = {}, std::string stream = {});

// Returns the collective with 0 GPUs replaced by all GPUs of the platform.
models::CollectiveSpec on_gpus_of(const models::PlatformSpec& platform, models::CollectiveSpec collective);

// Adds a warning for a collective that asks for more channels than its library has: the number asked for and the number
// simulated. Each sentence is added once.
void warn_of_channels(std::vector<std::string>& warnings, const Work& work, const models::PlatformSpec& platform);

}  // namespace c3sim::study
