// What a node can be asked to do: a GEMM, attention or an element-wise kernel on GPUs, a collective over them, one copy
// by an SDMA engine, packets for one, a kernel that reaches into other GPUs, a GEMM fused with a collective, work of
// the host, or nothing for a while; how work is cut into pieces: a GEMM by its tokens or along its contraction, and
// what carries bytes by its bytes; and when each operation may start.
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
#include "models/machine/cu_mask.h"
#include "models/platform/gemm_shape.h"
#include "models/platform/platform_spec.h"
#include "models/sdma/sdma_copy.h"
#include "models/sdma/sdma_packet_list.h"
#include "sim/config/choice.h"
#include "sim/config/config_text.h"
#include "sim/units.h"

namespace c3sim::study {

// More than any GPU holds: beyond it, a size is a slip of the pen.
inline constexpr sim::Bytes largest_array = sim::Bytes(1099511627776.0);  // 1 TiB
inline constexpr sim::Limits<sim::Bytes> array_sizes{sim::Bytes(1.0), largest_array};
inline constexpr sim::Limits<sim::Time> pause_lengths{sim::Time(0), sim::Time(3'600'000'000'000'000)};  // an hour

// Nothing runs for so long.
struct DelaySpec {
  sim::Time time{0};
  auto operator<=>(const DelaySpec&) const = default;
};

// The threads that launch kernels of its GPUs do something else for so long: what they launch meanwhile waits.
struct HostWorkSpec {
  sim::Time time{0};
  auto operator<=>(const HostWorkSpec&) const = default;
};

using Work = std::variant<models::GemmShape, models::CollectiveSpec, models::SdmaCopySpec, models::SdmaPacketList,
                          models::ElementwiseSpec, models::RemoteKernelSpec, DelaySpec, HostWorkSpec,
                          models::AttentionShape, models::FusedSpec>;

// By what work is done: a GEMM, a collective's channels, copy engines, another kernel, or nothing on a GPU.
// What is fused is the GEMM's.
enum class Doer { gemm, channels, engines, kernel, host };

// What is true of all work of one alternative of Work.
struct KindOfWork {
  const char* key;   // of an operation of an experiment, which has the work under it
  Doer doer;         // of a collective, where kernels carry it
  bool uses_links;   // it moves data between GPUs
  bool on_any_gpus;  // it names no GPUs itself: an operation may
};
std::span<const KindOfWork> kinds_of_work();  // as in Work
const KindOfWork& kind_of(const Work& work);

Doer doer_of(const Work& work);
bool uses_links(const Work& work);

// Whether it is a kernel, or begins with one: what a host may queue on a GPU behind others, long before it begins.
bool is_kernel(const Work& work);
// The same of a collective by engines that begins with a kernel.
bool may_be_queued(const Work& work, const models::SdmaSpec& engines);

// Whether it may wait for ever by itself: packets written by hand poll words that other operations write.
bool waits_for_others(const Work& work);

// The work in words: "gemm 8192x8192x8192", "rccl all_gather of 896MiB", "copy gpu0 to gpu1 of 1MiB".
std::string to_string(const Work& work);
std::string name_of(models::Backend backend);  // "RCCL", "one_shot"

using models::device_name;

// Along what work is cut: tokens (n of a GEMM, and what carries them) or the contraction (k).
enum class CutAxis { tokens, contraction };
constexpr auto all_names(CutAxis) { return sim::names("tokens", "contraction"); }

// Piece `index` of `count`.
struct Piece {
  std::int64_t count = 1;
  std::int64_t index = 0;
  CutAxis axis = CutAxis::tokens;
};

// How large one of so many pieces is that together are the whole and differ by one at most.
std::int64_t piece_of(std::int64_t whole, std::int64_t count, std::int64_t index);

// Why the work cannot be cut into so many pieces, in one sentence that says what would be accepted; empty if it can.
std::string why_uncut(const Work& work, const Piece& piece);

// The piece of the work, which can be cut so.
Work piece_of(const Work& work, const Piece& piece);

// Of pieces of two operations that are cut alike, piece i of n needs those that overlap [i/n, (i+1)/n). Where they are
// cut along different axes, and of an earlier GEMM that is cut along its contraction, whose pieces add up, it needs
// all.
bool needs(const Piece& piece, const Piece& earlier, const Work& earlier_work);

// Bytes that a kernel stores of its result on each of its GPUs; of work that tells nobody how far it has come none.
sim::Bytes stored_by(const Work& work);

// A range of what an earlier kernel stores, and how it is seen that all of it is there. Kernels store in the order of
// their workgroups: a range is there when its end is.
struct StoredRange {
  std::size_t by = 0;  // place of the kernel in the schedule, one of `after`
  sim::Bytes begin;
  sim::Bytes end;
  models::TriggerChoice trigger{};
  auto operator<=>(const StoredRange&) const = default;
};

// Of kernels, by the names that files have for them.
inline constexpr std::array<std::pair<std::string_view, int>, 3> priorities{{{"low", -1}, {"normal", 0}, {"high", 1}}};

// How what begins with a kernel reaches its GPUs: the host launches it beforehand, and they begin it when those before
// it have ended there; or the host launches it when it knows of those ends.
enum class Launch { queued, host };
constexpr auto all_names(Launch) { return sim::names("queued", "host"); }
using sim::to_string;

// One piece of work within a schedule. It begins `delay` after everything in `after` has ended; what may start at the
// same instant is launched in the order of the schedule. Unless `launch` says otherwise, a kernel without a delay is
// queued, but for several kernels that wait for just the same: these, like all that is no kernel, the host starts when
// it knows of those ends, and their order decides who gets the CUs.
struct Operation {
  std::string name;
  Work work;
  std::vector<int> gpus{};         // that do it, of work that names none itself; empty: all
  models::CuMask mask;             // CUs its kernels may use
  int priority = 0;                // of its kernels: see models/machine/stream.h
  std::string stream;              // where it is queued, for people; `after` holds what the stream's order asks for
  std::vector<std::size_t> after;  // places in the schedule, all before its own
  std::optional<StoredRange> stored{};  // of one in `after`, all that is waited for
  sim::Time delay{0};                   // between the last end in `after`, or the start of the run, and its launch
  std::optional<Launch> launch{};       // of what may_be_queued()
  auto operator<=>(const Operation&) const = default;
};

using Schedule = std::vector<Operation>;

// What a node does between one run and the next beside what the schedule says: nothing; work on other data, so that
// caches hold other things than operands; or it communicates, and links are awake as well.
enum class Between { nothing, other_data, communication };

// The work by itself, named after it.
Operation operation_of(Work work, models::CuMask mask = {}, std::string stream = {});

// The collective over as many GPUs as it says, or over all where that is 0.
models::CollectiveSpec on_gpus_of(const models::PlatformSpec& platform, models::CollectiveSpec collective);

// Of collectives that are asked to have more channels than their library gives them: what was asked for and what the
// library has, each sentence once, added to those that are there.
void warn_of_channels(std::vector<std::string>& warnings, std::span<const Work> works,
                      const models::PlatformSpec& platform);

}  // namespace c3sim::study
