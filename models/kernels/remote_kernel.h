// A remote kernel stores into, or loads from, the memory of other GPUs, as benchmarks of links do (TransferBench's GFX
// executor, Iris). It serves all peers at once with the copy loop of RCCL's channels, without steps or buffers.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "models/node.h"
#include "sim/config/choice.h"
#include "sim/task.h"
#include "sim/units.h"

namespace c3sim::models {

enum class RemoteAccess {
  store,           // lines stay in the L2s until they are evicted, or written back at the end of the kernel
  uncached_store,  // into fine-grained memory, which an L2 does not keep
  load
};
constexpr auto all_names(RemoteAccess) { return sim::names("store", "uncached_store", "load"); }
using sim::to_string;

struct RemoteKernelSpec {
  int gpu = 0;               // the GPU that runs it
  std::vector<int> peers{};  // other GPUs, each once
  RemoteAccess access = RemoteAccess::store;
  sim::Bytes bytes{};  // per peer
  int workgroups = 0;  // one per CU, each of which serves all peers

  auto operator<=>(const RemoteKernelSpec&) const = default;
};

std::string to_string(const RemoteKernelSpec& spec);  // "store of 64MiB by gpu0, 16 workgroups, to gpu1"

// Returns why a node of `gpus` GPUs cannot run it, in one sentence that says what would be accepted; empty if it can.
std::string why_impossible(const RemoteKernelSpec& spec, int gpus, const GpuSpec& gpu);

// Runs the kernel from the host's launch to its knowledge of the end.
sim::Task<> run_remote_kernel(Node& node, RemoteKernelSpec spec, Stream stream = {});

}  // namespace c3sim::models
