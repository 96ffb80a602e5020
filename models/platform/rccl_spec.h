// An RcclSpec describes the library's kernels for collectives.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/platform/collective_spec.h"
#include "models/platform/cu_resources.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

// Bounds the `gpus` of rings_of_mesh().
inline constexpr int most_gpus_of_mesh = 64;

// Returns the number of rings that the library uses over `gpus` GPUs, at least 2, of a mesh for which it has no
// predefined rings, from 1 to gpus - 1: it searches and gives up after a number of steps (NCCL and RCCL,
// src/graph/search.cc, ncclTopoCompute). No two rings share a link. Rings cannot cover a mesh of six (Tillson 1980):
// the search finds four of five there.
int rings_of_mesh(int gpus);

// The values are in the order of RcclSpec::protocols.
enum class RcclProtocol { ll, ll128, simple };
constexpr auto all_names(RcclProtocol) { return sim::names("ll", "ll128", "simple"); }
using sim::to_string;
inline constexpr auto rccl_protocols = sim::all_of<RcclProtocol>();

struct RcclProtocolSpec {
  sim::Time step_latency{0};
  double link_efficiency = 0.0;  // payload over bytes on the link
  sim::Time start{0};            // time taken once, before the first step, for any number of GPUs
};

// Describes the time that the library's tuner expects of a protocol around a ring or along a tree: base + hops * hop +
// payload of a GPU / rate.
struct RcclTunedProtocol {
  sim::Time base{0};
  sim::Time hop{0};
  sim::BytesPerSecond rate;
};

// Describes the workgroups of a kernel of the library, in the generation in use.
struct RcclChannels {
  int channels = 0;     // the library's choice, which is also its maximum
  CuResources channel;  // resources that a channel needs on its CU
};

// Describes multicast and reduction in the switch: a GPU loads the sum over all GPUs and stores to all of them.
struct NvlsSpec : RcclChannels {
  bool enabled = true;           // whether the library may choose NVLS by itself
  sim::Bytes chunk;              // most bytes that a channel handles at once, of all parts together
  sim::Time start{0};            // time taken once per collective
  sim::Time round_latency{0};    // time per round in addition to its bytes: flags from stage to stage
  double link_efficiency = 0.0;  // payload over bytes on the link
  // The tuner expects the time tuned_base + bytes of the array / tuned_rate.
  sim::Time tuned_base{0};
  sim::BytesPerSecond tuned_rate;
};

using RcclTuner = std::array<RcclTunedProtocol, rccl_protocols.size()>;

// Describes one collective of the library.
struct RcclCollectiveSpec : RcclChannels {
  double steps_per_peer = 0.0;  // dependent steps per other GPU before data flow at full rate
  // The copy loop of a channel handles this many bytes per byte of an arriving part and, in a ring, of its own part.
  double loop_bytes = 0.0;
  // These count memory traffic per byte of payload over a link, at the sender and at the receiver. receiver_writes
  // excludes the write that comes over the link.
  double sender_reads = 0.0;
  double sender_writes = 0.0;
  double receiver_reads = 0.0;
  double receiver_writes = 0.0;
  double buffer_share = 0.0;  // share of that traffic that stays in the Infinity Cache, as buffers are reused at once

  // By Simple, a channel handles at most `chunk` of a part at once; without a value, arbitrarily small pieces.
  std::optional<sim::Bytes> chunk{};
  double last_loop_bytes = 0.0;  // bytes that the copy loop handles per byte of the last part, which is not sent on

  double crowding = 0.0;  // RcclSpec::workgroup_latency grows by the factor 1 + crowding * channels^2
  // All-to-all: a peer gets one channel per this many bytes, rounded up, at most its share of all; 0: its share.
  sim::Bytes least_part{0.0};
  // Override the start time and the payload over link bytes of the protocol Simple for this collective.
  std::optional<sim::Time> start{};
  std::optional<double> link_efficiency{};

  double memory_bytes() const { return sender_reads + sender_writes + receiver_reads + receiver_writes + 1.0; }
};

enum class RcclAccess { store, load };  // whether channels push into their peers' memory or pull from it
constexpr auto all_names(RcclAccess) { return sim::names("store", "load"); }

struct RcclSpec {
  std::string generation;                // the generation of the software in use
  std::vector<std::string> generations;  // names of all generations
  RcclAccess access = RcclAccess::store;
  std::array<RcclProtocolSpec, rccl_protocols.size()> protocols;
  std::optional<NvlsSpec> nvls;                   // none: the switch cannot reduce
  std::optional<RcclTuner> tuner;                 // used around rings; none: the fastest protocol is taken
  std::optional<RcclTuner> tree_tuner;            // used along trees; none: there are no trees
  std::array<RcclCollectiveSpec, 5> collectives;  // indexed by CollectiveKind
  // The library has predefined rings for a mesh of `known_mesh` GPUs; 0: for any mesh. Over fewer GPUs it has the
  // channels that channels_of_subsets gives, or one per ring that its search finds.
  int known_mesh = 0;
  int known_rings_of_link = 1;  // predefined rings that use a link of such a mesh
  std::map<int, int> channels_of_subsets;
  sim::Bytes workgroup_in_flight;  // memory traffic that one workgroup keeps in flight
  sim::Time workgroup_latency{0};  // latency of a step of the copy loop beyond the memories: issue, fabric, flags
  sim::Time stream_gap{0};         // protocol stream: time from the end of the previous collective to its kernels
  sim::Time graph_gap{0};          // captured graph: time from the end of the previous kernels to its own
  double loop_cycles = 0.0;        // share of the unloaded time of a channel's loop that follows the engine clock
  // Channels placed as CUs of a GEMM become free reach this share of the link rate, as their CUs are not in order as on
  // an idle GPU.
  double late_placement = 1.0;

  const RcclCollectiveSpec& collective(CollectiveKind kind) const {
    return collectives[static_cast<std::size_t>(kind)];
  }
  // Returns the time that the tuner, which must exist, expects around a ring or along a tree if each GPU sends
  // `payload`.
  sim::Seconds tuned_time(RcclAlgorithm algorithm, RcclProtocol protocol, double hops, sim::Bytes payload) const;
  // Returns the time that the tuner expects of an all-reduce by its fastest protocol.
  sim::Seconds expected(RcclAlgorithm algorithm, const CollectiveSpec& all_reduce) const;
  // Returns the number of rings that use a link in one direction. Channels are dealt to the rings in turn.
  int rings_of_link(int gpus) const { return gpus == known_mesh ? known_rings_of_link : 1; }
  // Returns the channels of a collective: the library's choice, or `asked` if that is fewer.
  int channels(CollectiveKind kind, std::optional<int> asked) const {
    const int most = collective(kind).channels;
    return std::min(asked.value_or(most), most);
  }

  // Returns the channels of a send to one peer: the share that an all-to-all, which sends to all peers, gives each.
  int channels_to_peer(int gpus) const { return std::max(1, channels(CollectiveKind::all_to_all, {}) / gpus); }

  // Returns the channels of a collective, which depend on its size and on the GPUs that take part, or those asked for
  // if these are fewer.
  int channels(const CollectiveSpec& spec) const;

  static RcclSpec read(sim::Section section, const CuResources& cu);
};

}  // namespace c3sim::models
