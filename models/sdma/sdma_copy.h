// This runs one copy by an SDMA engine, phase by phase, from the host's first instruction to its knowledge of the end.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "models/machine/host.h"
#include "models/sdma/sdma_engine.h"
#include "sim/config/choice.h"

namespace c3sim::models {

// Submission says how an application asks a runtime to copy blocks: by a call for each, in one stream; by one call for
// all; by a captured graph of the copies; or by a kernel that gathers them, with a workgroup for each.
enum class Submission { each, batch, graph, kernel };
constexpr auto all_names(Submission) { return sim::names("each", "batch", "graph", "kernel"); }
using sim::to_string;
inline constexpr std::int64_t most_blocks = 1 << 24;

// At least one end of a copy is a GPU. The engine belongs to the source if that is a GPU, unless another GPU pulls.
struct SdmaCopySpec {
  int from = 0;  // a GPU, or host_device
  int to = 1;    // a GPU, or host_device
  sim::Bytes bytes{};
  std::optional<int> engine{};  // overrides the recommended engine
  bool pull = false;            // an engine of the destination copies, not one of the source
  bool everywhere = false;      // every GPU makes this copy of GPU 0 with its own peer at the same distance
  std::optional<HostThreads> host_threads{};  // overrides the platform's for a schedule with this copy
  std::optional<Submission> submit{};         // through a runtime (models/kernels/block_copies.h); none: direct packets
  std::int64_t copies = 1;                    // blocks of `bytes` each, if a runtime copies

  sim::Bytes all_bytes() const { return static_cast<double>(copies) * bytes; }

  auto operator<=>(const SdmaCopySpec&) const = default;
};

// The phases follow each other without a gap: their sum is the time of the copy.
struct SdmaCopyPhases {
  sim::Time control{0};     // packets written, doorbell rung
  sim::Time schedule{0};    // until the engine has fetched the command
  sim::Time copy{0};        // until the last byte is written
  sim::Time completion{0};  // until the waiter knows

  sim::Time total() const { return control + schedule + copy + completion; }
};

// Returns why the copy cannot be made, in one sentence that says what would be accepted; empty if it can.
std::string why_impossible(const SdmaCopySpec& spec, const SdmaSpec& sdma, int gpus);

// Returns the queue of a copy that is not made by a runtime. `engines` are those of all GPUs of the node, by index.
SdmaQueue& queue_of(std::span<SdmaComplex* const> engines, const SdmaCopySpec& spec);

// Runs the copy, which must be possible and which `engines` must outlive. Its commands are queued at once. If there is
// a `turn`, the engine begins when that word is 1: it polls the word, or is notified if `told`.
sim::Task<SdmaCopyPhases> run_sdma_copy(Host& host, std::span<SdmaComplex* const> engines, SdmaCopySpec spec,
                                        QueueUser user = {}, MemoryWord* turn = nullptr, bool told = false);

}  // namespace c3sim::models
