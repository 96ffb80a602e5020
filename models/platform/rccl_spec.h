// The library's kernels for collectives.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/collective_spec.h"
#include "models/platform/cu_resources.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

// In the order of RcclSpec::protocols.
enum class RcclProtocol { ll, ll128, simple };
constexpr auto all_names(RcclProtocol) { return sim::names("ll", "ll128", "simple"); }
using sim::to_string;
inline constexpr auto rccl_protocols = sim::all_of<RcclProtocol>();

struct RcclProtocolSpec {
  sim::Time step_latency{0};
  double link_efficiency = 0.0;  // payload over bytes on the link
  sim::Time start{0};            // once, before the first step, however many GPUs there are
};

// What the library's tuner takes a protocol's time around a ring, or along a tree, to be: base + hops x hop + a GPU's
// payload / rate.
struct RcclTunedProtocol {
  sim::Time base{0};
  sim::Time hop{0};
  sim::BytesPerSecond rate;
};

// The workgroups of a kernel of the library, in the generation in use.
struct RcclChannels {
  int channels = 0;     // the library's choice, and the most that it makes
  CuResources channel;  // what each needs of its CU
};

// Multicast and reduction in the switch: what a GPU loads comes as the sum over all, what it stores goes to all.
struct NvlsSpec : RcclChannels {
  bool enabled = true;           // whether the library may take it by itself
  sim::Bytes chunk;              // the most that a channel handles at once, of all parts together
  sim::Time start{0};            // once
  sim::Time round_latency{0};    // of a round beside its bytes: flags from stage to stage
  double link_efficiency = 0.0;  // payload over bytes on the link
  // What the tuner takes its time to be: base + bytes of the array / rate.
  sim::Time tuned_base{0};
  sim::BytesPerSecond tuned_rate;
};

using RcclTuner = std::array<RcclTunedProtocol, rccl_protocols.size()>;

// One collective of the library.
struct RcclCollectiveSpec : RcclChannels {
  double steps_per_peer = 0.0;  // dependent steps before data flows at full rate, for each other GPU
  // That the copy loop of a channel handles per byte of a part: of what arrives and, around a ring, of the GPU's own.
  double loop_bytes = 0.0;
  // In the memories, per byte of payload over a link: where it is sent from, and where it arrives, the latter without
  // the write that comes over the link.
  double sender_reads = 0.0;
  double sender_writes = 0.0;
  double receiver_reads = 0.0;
  double receiver_writes = 0.0;
  double buffer_share = 0.0;  // of all that traffic, what stays in the Infinity Cache: buffers in use again at once

  // By Simple: the most of a part that a channel handles at once; none: as fine as one likes.
  std::optional<sim::Bytes> chunk{};
  double last_loop_bytes = 0.0;  // that the copy loop handles per byte of the last part, which goes to nobody else

  double crowding = 0.0;  // of RcclSpec::workgroup_latency: what it grows by for the square of the channels
  // Of an exchange: a peer gets as many channels as have so much each, or all that are its; 0: all.
  sim::Bytes least_part{0.0};
  // What Simple takes here until data flows at full rate, however many GPUs take part, and its payload over the bytes
  // on a link. Where there is none, these are as around a ring.
  std::optional<sim::Time> start{};
  std::optional<double> link_efficiency{};

  double memory_bytes() const { return sender_reads + sender_writes + receiver_reads + receiver_writes + 1.0; }
};

enum class RcclAccess { store, load };  // whether channels push into the memory of their peers or pull out of it
constexpr auto all_names(RcclAccess) { return sim::names("store", "load"); }

struct RcclSpec {
  std::string generation;                // of the software: the one in use
  std::vector<std::string> generations;  // the names of all
  RcclAccess access = RcclAccess::store;
  std::array<RcclProtocolSpec, rccl_protocols.size()> protocols;
  std::optional<NvlsSpec> nvls;                   // none: the switch cannot
  std::optional<RcclTuner> tuner;                 // around rings; none: it takes the protocol that takes least
  std::optional<RcclTuner> tree_tuner;            // none: there are no trees
  std::array<RcclCollectiveSpec, 5> collectives;  // by CollectiveKind
  // A mesh of so many GPUs is one whose rings the library knows; 0: any is. Over fewer it has as many channels as it is
  // told by their number, or one for each ring that its search finds.
  int known_mesh = 0;
  std::map<int, int> channels_of_subsets;
  sim::Bytes workgroup_in_flight;  // memory traffic that one workgroup keeps in flight
  sim::Time workgroup_latency{0};  // a step of its copy loop beyond the memories: issue, fabric, flags
  sim::Time stream_gap{
      0};  // by the protocol stream: from the end of the collective before it to the start of its kernels
  sim::Time graph_gap{0};    // from the end of the kernels before it in a captured graph to the start of its own
  double loop_cycles = 0.0;  // of the unloaded time of a channel's loop, the share that follows the engine clock
  // Of the rate of links, what channels get through that are placed as CUs of a GEMM fall free: they lie wherever these
  // are, and not in order as on an idle GPU.
  double late_placement = 1.0;

  const RcclCollectiveSpec& collective(CollectiveKind kind) const {
    return collectives[static_cast<std::size_t>(kind)];
  }
  // The time that its tuner, which there must be, expects around a ring or along a tree, where each GPU sends
  // `payload`.
  sim::Seconds tuned_time(RcclAlgorithm algorithm, RcclProtocol protocol, double hops, sim::Bytes payload) const;
  // The same of an all-reduce, by the protocol of which it expects least.
  sim::Seconds expected(RcclAlgorithm algorithm, const CollectiveSpec& all_reduce) const;
  // The channels of rings over some of the GPUs of a mesh; none: as over all of them.
  std::optional<int> ring_channels(int gpus) const;
  // Those that a collective gets: what it is asked to have bounds the library's choice.
  int channels(CollectiveKind kind, std::optional<int> asked) const {
    const int most = collective(kind).channels;
    return std::min(asked.value_or(most), most);
  }

  // Of a send to one peer: as many as an all-to-all, which sends to all of them at once, has for each.
  int channels_to_peer(int gpus) const { return std::max(1, channels(CollectiveKind::all_to_all, {}) / gpus); }

  int channels(const CollectiveSpec& spec) const {
    const int most = spec.kind == CollectiveKind::all_to_all
                         ? channels_of_exchange(spec)
                         : ring_channels(spec.gpus).value_or(channels(spec.kind, {}));
    return std::min(spec.channels.value_or(most), most);
  }
  int channels_of_exchange(const CollectiveSpec& spec) const;

  static RcclSpec read(sim::Section section, const CuResources& cu);
};

}  // namespace c3sim::models
