// A CollectiveSpec describes a collective as requested: what it delivers, to which GPUs, and what executes it.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <vector>

#include "models/platform/host_spec.h"
#include "sim/config/choice.h"
#include "sim/units.h"

namespace c3sim::models {

struct SdmaSpec;

enum class CollectiveKind { all_gather, all_to_all, all_reduce, reduce_scatter, broadcast };
// A Backend is what moves the data.
enum class Backend { rccl, sdma, one_shot, two_shot };
enum class SdmaVariant { pcpy, bcst, swap, b2b };
// all_names() gives the names that the command line and results use.
constexpr auto all_names(CollectiveKind) {
  return sim::names("all_gather", "all_to_all", "all_reduce", "reduce_scatter", "broadcast");
}
constexpr auto all_names(Backend) { return sim::names("rccl", "sdma", "one_shot", "two_shot"); }
constexpr auto all_names(SdmaVariant) { return sim::names("pcpy", "bcst", "swap", "b2b"); }
// The library's kernels go around rings, along a tree, or by multicast and reduction in the switch (NVLS).
enum class RcclAlgorithm { ring, tree, nvls };
constexpr auto all_names(RcclAlgorithm) { return sim::names("ring", "tree", "nvls"); }
// An ElementType is the type of the elements of the array.
enum class ElementType { bf16, fp16, fp32, fp8, int8, int32 };
constexpr auto all_names(ElementType) { return sim::names("bf16", "fp16", "fp32", "fp8", "int8", "int32"); }
using sim::to_string;

// Returns whether the backend runs collectives as kernels rather than on copy engines.
constexpr bool by_kernels(Backend backend) { return backend != Backend::sdma; }
struct BackendAbilities {
  Backend backend;
  std::vector<CollectiveKind> kinds;  // collectives that the backend supports
};
std::span<const BackendAbilities> backends();
const BackendAbilities& abilities_of(Backend backend);

// An SdmaPlan tells how copy engines do collectives; models/collectives/sdma_collective.h has the commands that it
// queues.
struct SdmaPlan {
  SdmaVariant variant;
  std::vector<CollectiveKind> kinds;  // collectives that the plan supports
  bool in_place = false;              // buffers are exchanged: received data replace the data sent
  bool many_engines = false;          // CollectiveSpec::engines applies
  bool gpus_alike = true;             // all GPUs do the same, except in a broadcast
};
std::span<const SdmaPlan> sdma_plans();
const SdmaPlan& plan_of(SdmaVariant variant);

struct CollectiveSpec {
  CollectiveKind kind = CollectiveKind::all_gather;
  Backend backend = Backend::rccl;
  sim::Bytes bytes;  // size of the whole array of one GPU, which is gathered, exchanged or reduced
  int gpus = 8;      // number of GPUs that take part, which are consecutive ones of the node
  int first = 0;     // first of these GPUs; 0 if one GPU stands for all
  SdmaVariant variant = SdmaVariant::pcpy;
  bool prelaunch = false;       // SDMA: commands are queued in advance after a POLL; the run is timed from its release
  int engines = 1;              // SDMA b2b: number of engines per GPU that share the copies
  std::optional<int> cus;       // CUs of each GPU that the kernels may use; none: all
  std::optional<int> channels;  // number of workgroups, instead of the library's choice
  std::optional<HostThreads> host_threads;  // instead of the platform's
  bool graph = false;                       // kernels are launched from a captured graph
  std::optional<RcclAlgorithm> algorithm;   // algorithm of the library's kernels, instead of its choice
  ElementType dtype = ElementType::bf16;    // decides which algorithms a reduction may use
  sim::Time lateness{0};  // how much later the last GPU's kernels start; the other GPUs' channels wait on their CUs

  auto operator<=>(const CollectiveSpec&) const = default;
};

// Return the part of a collective that runs as kernels, which comes first, and the part that runs on copy engines. An
// SDMA collective runs on engines only, except that RCCL does the reduce-scatter of an all-reduce if engines cannot
// reduce. Other collectives run as kernels only.
std::optional<CollectiveSpec> kernel_part(const CollectiveSpec& spec, const SdmaSpec& sdma);
std::optional<CollectiveSpec> engine_part(const CollectiveSpec& spec, const SdmaSpec& sdma);

// Bounds the number of channels that may be requested for a collective by kernels.
inline constexpr int most_channels = 4096;

// Returns whether all GPUs of a node of `gpus` do the same at the same time, so that one can stand for all.
bool is_symmetric(const CollectiveSpec& spec, int gpus, HostThreads platform_threads);

// Returns the bus bandwidth of RCCL's tests, payload per GPU and link direction over time: on 8 GPUs 7/8 * bytes / time
// for all-gather, all-to-all and reduce-scatter, twice that for all-reduce, bytes / time for broadcast.
sim::BytesPerSecond bus_bandwidth(const CollectiveSpec& spec, sim::Time time);

}  // namespace c3sim::models
