// Collective operations over the GPUs of a node, by kernels (RCCL, one and two shots) or by copy engines (SDMA): one
// call, whatever runs it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/machine/stream.h"
#include "models/platform/collective_spec.h"
#include "sim/task.h"

namespace c3sim::models {

class Node;
class SdmaCollective;
struct PlatformSpec;

// Why `spec` cannot run on `node`'s platform (a variant the collective has not, too many GPUs ...), in one sentence
// that says what would be accepted; empty if it can.
std::string why_impossible(const CollectiveSpec& spec, const Node& node);
// The same of a number of channels that its kernels are asked to have.
std::string why_no_channels(const CollectiveSpec& spec, int channels, const PlatformSpec& platform);
// Workgroups of its kernels on each GPU; `spec` is by kernels.
int channels_of(const CollectiveSpec& spec, const PlatformSpec& platform);

// A collective about to run, with CUs of the mask if it has kernels. Must be possible, and outlive its run.
class CollectiveRun {
 public:
  CollectiveRun(Node& node, const CollectiveSpec& spec, const Stream& stream = {});
  ~CollectiveRun();
  CollectiveRun(const CollectiveRun&) = delete;
  CollectiveRun& operator=(const CollectiveRun&) = delete;

  // What is not timed: with prelaunch, queues the commands and ends when all engines wait at their POLLs.
  sim::Task<> prepare();
  // From the host's first instruction to its knowledge that all GPUs have finished.
  sim::Task<> run();

 private:
  Node& node_;
  std::optional<CollectiveSpec> kernels_;
  Stream stream_;
  std::unique_ptr<SdmaCollective> engines_;  // may be null
};

}  // namespace c3sim::models
