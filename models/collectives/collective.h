// CollectiveRun runs a collective over the GPUs of a node, by kernels (RCCL, one and two shots) or copy engines (SDMA).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/collectives/channel_program.h"
#include "models/machine/stream.h"
#include "models/platform/collective_spec.h"
#include "models/platform/cu_resources.h"
#include "sim/task.h"

namespace c3sim::models {

class Node;
class SdmaCollective;
struct PlatformSpec;

// Returns what the kernels of a collective do on CUs of the mask. `spec` must be possible and by kernels.
ChannelProgram channel_program(Node& node, const CollectiveSpec& spec, const CuMask& mask);

// Runs a collective by kernels from the host's launch on every GPU until the host knows that all have finished: a
// kernel per GPU whose workgroups are channels. A channel moves its slice of the data once all GPUs have placed it,
// step by step as its algorithm lays it out. Each run checks that it has delivered every byte.
sim::Task<> run_kernel_collective(Node& node, CollectiveSpec spec, Stream stream = {});

// Returns why `spec` cannot run on the platform of `node` (an unknown variant, too many GPUs ...), in one sentence that
// says what would be accepted; empty if it can.
std::string why_impossible(const CollectiveSpec& spec, const Node& node);
// Returns why the collective's kernels cannot have `channels` channels, in the same form.
std::string why_no_channels(const CollectiveSpec& spec, int channels, const PlatformSpec& platform);
// Returns the number of workgroups of its kernels on each GPU; `spec` must be by kernels.
int channels_of(const CollectiveSpec& spec, const PlatformSpec& platform);

// A CollectiveRun must be possible and outlive its run. Its kernels use CUs of the stream's mask.
class CollectiveRun {
 public:
  CollectiveRun(Node& node, const CollectiveSpec& spec, const Stream& stream = {});
  ~CollectiveRun();
  CollectiveRun(const CollectiveRun&) = delete;
  CollectiveRun& operator=(const CollectiveRun&) = delete;

  // Does what is not timed: with prelaunch, queues the commands and ends when all engines wait at their POLLs.
  sim::Task<> prepare();
  // Runs the timed part, from the host's first instruction to its knowledge that all GPUs have finished.
  sim::Task<> run();

 private:
  Node& node_;
  std::optional<CollectiveSpec> kernels_;
  Stream stream_;
  std::unique_ptr<SdmaCollective> engines_;  // null if engines move nothing
};

}  // namespace c3sim::models
