// One copy by an SDMA engine, phase by phase, from the host's first instruction to its knowledge of the completion.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "models/machine/host.h"
#include "models/sdma/sdma_complex.h"
#include "sim/config/choice.h"

namespace c3sim::models {

// How a runtime is asked for copies of blocks: a call for each, in one stream; one call for all; a captured graph of
// them; or a kernel that gathers them, a workgroup for each.
enum class Submission { each, batch, graph, kernel };
constexpr auto all_names(Submission) { return sim::names("each", "batch", "graph", "kernel"); }
using sim::to_string;
inline constexpr std::int64_t most_blocks = 1 << 24;

// At least one of its ends is a GPU, whose engine copies: the one that it comes from, where that is a GPU, or see
// `pull`.
struct SdmaCopySpec {
  int from = 0;  // a GPU, or host_device
  int to = 1;    // a GPU, or host_device
  sim::Bytes bytes;
  std::optional<int> engine{};  // instead of the recommended one
  bool pull = false;            // by an engine of the GPU that it goes to, instead of the one that it comes from
  bool everywhere = false;      // from and to are those of GPU 0, and every GPU does the same with the peer as far on
  std::optional<HostThreads> host_threads{};  // of a schedule with it, instead of the platform's
  std::optional<Submission> submit{};         // through a runtime (models/sdma/block_copies.h); none: by hand
  std::int64_t copies = 1;                    // blocks of `bytes` each, of a runtime

  sim::Bytes all_bytes() const { return static_cast<double>(copies) * bytes; }

  auto operator<=>(const SdmaCopySpec&) const = default;
};

// What follows each other without a gap: their sum is the time of the copy.
struct SdmaCopyPhases {
  sim::Time control{0};     // packets written, doorbell rung
  sim::Time schedule{0};    // until the engine has fetched the command
  sim::Time copy{0};        // until the last byte is written
  sim::Time completion{0};  // until whoever waits knows

  sim::Time total() const { return control + schedule + copy + completion; }
};

// Why the copy cannot be made, in one sentence that says what would be accepted; empty if it can.
std::string why_impossible(const SdmaCopySpec& spec, const SdmaSpec& sdma, int gpus);

// Where the commands of a copy are queued that is made by hand. `engines` are those of all GPUs of the node, by index.
SdmaQueue& queue_of(std::span<SdmaComplex* const> engines, const SdmaCopySpec& spec);

// `engines` must outlive the copy, which must be possible. Its commands are queued at once; where there is a `turn`,
// the engine polls until that is 1 before it begins, or is `told`.
sim::Task<SdmaCopyPhases> run_sdma_copy(Host& host, std::span<SdmaComplex* const> engines, SdmaCopySpec spec,
                                        QueueUser user = {}, MemoryWord* turn = nullptr, bool told = false);

}  // namespace c3sim::models
