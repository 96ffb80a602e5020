// A collective as asked for: what it delivers, to whom, and what is to run it.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/platform/host_spec.h"
#include "sim/config/choice.h"
#include "sim/units.h"

namespace c3sim::models {

struct SdmaSpec;

enum class CollectiveKind { all_gather, all_to_all, all_reduce, reduce_scatter, broadcast };
// What moves the data.
enum class Backend { rccl, sdma, one_shot, two_shot };
enum class SdmaVariant { pcpy, bcst, swap, b2b };
// The names used on the command line and in results.
constexpr auto all_names(CollectiveKind) {
  return sim::names("all_gather", "all_to_all", "all_reduce", "reduce_scatter", "broadcast");
}
constexpr auto all_names(Backend) { return sim::names("rccl", "sdma", "one_shot", "two_shot"); }
constexpr auto all_names(SdmaVariant) { return sim::names("pcpy", "bcst", "swap", "b2b"); }
// How the library's kernels go about a collective: around rings, along a tree, or by multicast and reduction in the
// switch (NVLS).
enum class RcclAlgorithm { ring, tree, nvls };
constexpr auto all_names(RcclAlgorithm) { return sim::names("ring", "tree", "nvls"); }
// Of the elements of an array.
enum class ElementType { bf16, fp16, fp32, fp8, int8, int32 };
constexpr auto all_names(ElementType) { return sim::names("bf16", "fp16", "fp32", "fp8", "int8", "int32"); }
using sim::to_string;

// By kernels, rather than on copy engines.
constexpr bool by_kernels(Backend backend) { return backend != Backend::sdma; }
struct BackendAbilities {
  Backend backend;
  std::vector<CollectiveKind> kinds;  // that it can do
};
std::span<const BackendAbilities> backends();
const BackendAbilities& abilities_of(Backend backend);

// A plan by which engines do collectives; what it queues on them is in models/collectives/algorithm.h.
struct SdmaPlan {
  SdmaVariant variant;
  std::vector<CollectiveKind> kinds;  // that it can do
  bool in_place = false;              // buffers are exchanged: what arrives lies where what was sent lay
  bool many_engines = false;          // CollectiveSpec::engines is its choice
  bool gpus_alike = true;             // each GPU does the same, but in a broadcast
};
std::span<const SdmaPlan> sdma_plans();
const SdmaPlan& plan_of(SdmaVariant variant);

struct CollectiveSpec {
  CollectiveKind kind = CollectiveKind::all_gather;
  Backend backend = Backend::rccl;
  sim::Bytes bytes;  // the whole array of one GPU, gathered, exchanged or reduced
  int gpus = 8;      // that take part: as many of the node's, one after the other
  int first = 0;     // from this one on; 0 where one stands for all
  SdmaVariant variant = SdmaVariant::pcpy;
  bool prelaunch = false;       // SDMA: commands queued beforehand behind a POLL; the run is timed from its release
  int engines = 1;              // SDMA b2b: engines per GPU that share the copies
  std::optional<int> cus;       // of each GPU that its kernels are confined to
  std::optional<int> channels;  // workgroups of its kernels, instead of the library's choice
  std::optional<HostThreads> host_threads;  // instead of the platform's
  bool graph = false;                       // kernels are launched from a captured graph
  std::optional<RcclAlgorithm> algorithm;   // of the library's kernels, instead of its choice
  ElementType dtype = ElementType::bf16;    // which algorithms a reduction has
  sim::Time lateness{0};  // of the last GPU's kernels behind the others', whose channels wait for it on their CUs

  auto operator<=>(const CollectiveSpec&) const = default;
};

// What of a collective runs as kernels and what on copy engines, the kernels first. SDMA runs all of it on engines, but
// for the reduce-scatter of an all-reduce on engines that cannot reduce, which is RCCL's; the others all of it as
// kernels.
std::optional<CollectiveSpec> kernel_part(const CollectiveSpec& spec, const SdmaSpec& sdma);
std::optional<CollectiveSpec> engine_part(const CollectiveSpec& spec, const SdmaSpec& sdma);

// How many channels a collective by kernels may be given.
inline constexpr int most_channels = 4096;

// Whether all GPUs of a node of `gpus` do the same at the same time, so that one can stand for all.
bool is_symmetric(const CollectiveSpec& spec, int gpus, HostThreads platform_threads);

// Bus bandwidth as RCCL's tests define it: the payload per GPU and link direction over the time. 7/8 * bytes / time for
// all-gather, all-to-all and reduce-scatter on 8 GPUs, twice that for all-reduce, bytes / time for broadcast.
sim::BytesPerSecond bus_bandwidth(const CollectiveSpec& spec, sim::Time time);

}  // namespace c3sim::models
