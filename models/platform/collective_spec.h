// A CollectiveSpec describes a collective as requested: what it delivers, to which GPUs, and what executes it.
#pragma once

#include <compare>
#include <optional>
#include <string_view>
#include <vector>

#include "models/platform/host_spec.h"
#include "sim/config/choice.h"
#include "sim/units.h"

namespace c3sim::models {

struct SdmaSpec;

enum class CollectiveKind { all_gather, all_to_all, all_reduce, reduce_scatter, broadcast };
// A Backend is what moves the data: copy engines (sdma), or an algorithm by kernels. An SdmaVariant is an algorithm for
// copy engines. Both are names of files of models/collectives/algorithms; there are more than code names here.
struct Backend {
  std::string_view name = "rccl";
  static const Backend rccl, sdma, one_shot, two_shot;
  auto operator<=>(const Backend&) const = default;
};
inline constexpr Backend Backend::rccl{"rccl"}, Backend::sdma{"sdma"}, Backend::one_shot{"one_shot"},
    Backend::two_shot{"two_shot"};
struct SdmaVariant {
  std::string_view name = "pcpy";
  static const SdmaVariant pcpy, bcst, swap, b2b;
  auto operator<=>(const SdmaVariant&) const = default;
};
inline constexpr SdmaVariant SdmaVariant::pcpy{"pcpy"}, SdmaVariant::bcst{"bcst"}, SdmaVariant::swap{"swap"},
    SdmaVariant::b2b{"b2b"};
constexpr std::string_view to_string(Backend backend) { return backend.name; }
constexpr std::string_view to_string(SdmaVariant variant) { return variant.name; }
// Return all of them with their names; models/collectives/algorithm.cpp, which knows them, defines these functions.
std::vector<sim::Choice<Backend>> all_choices(Backend);
std::vector<sim::Choice<SdmaVariant>> all_choices(SdmaVariant);
// all_names() gives the names that the command line and results use.
constexpr auto all_names(CollectiveKind) {
  return sim::names("all_gather", "all_to_all", "all_reduce", "reduce_scatter", "broadcast");
}
// The library's kernels go around rings, along a tree, or by multicast and reduction in the switch (NVLS).
enum class RcclAlgorithm { ring, tree, nvls };
constexpr auto all_names(RcclAlgorithm) { return sim::names("ring", "tree", "nvls"); }
// An ElementType is the type of the elements of the array.
enum class ElementType { bf16, fp16, fp32, fp8, int8, int32 };
constexpr auto all_names(ElementType) { return sim::names("bf16", "fp16", "fp32", "fp8", "int8", "int32"); }
using sim::to_string;

// Returns whether the backend runs collectives as kernels rather than on copy engines.
constexpr bool by_kernels(Backend backend) { return backend != Backend::sdma; }

struct CollectiveSpec {
  CollectiveKind kind = CollectiveKind::all_gather;
  Backend backend = Backend::rccl;
  sim::Bytes bytes{};  // size of the whole array of one GPU, which is gathered, exchanged or reduced
  int gpus = 8;        // number of GPUs that take part, which are consecutive ones of the node
  int first = 0;       // first of these GPUs; 0 if one GPU stands for all
  SdmaVariant variant = SdmaVariant::pcpy;
  bool prelaunch = false;    // SDMA: commands are queued in advance after a POLL; the run is timed from its release
  int engines = 1;           // SDMA b2b: number of engines per GPU that share the copies
  std::optional<int> cus{};  // CUs of each GPU that the kernels may use; none: all
  std::optional<int> channels{};              // number of workgroups, instead of the library's choice
  std::optional<HostThreads> host_threads{};  // instead of the platform's
  bool graph = false;                         // kernels are launched from a captured graph
  std::optional<RcclAlgorithm> algorithm{};   // algorithm of the library's kernels, instead of its choice
  ElementType dtype = ElementType::bf16;      // decides which algorithms a reduction may use
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

// Returns the bus bandwidth of RCCL's tests, payload per GPU and link direction over time: on 8 GPUs 7/8 * bytes / time
// for all-gather, all-to-all and reduce-scatter, twice that for all-reduce, bytes / time for broadcast.
sim::BytesPerSecond bus_bandwidth(const CollectiveSpec& spec, sim::Time time);

}  // namespace c3sim::models
