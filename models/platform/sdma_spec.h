// The parameters of the SDMA engines of a GPU: each one a latency, a rate or a choice that a future engine could make
// differently.
#pragma once

#include <vector>

#include "models/platform/device.h"
#include "models/platform/host_spec.h"
#include "sim/config/choice.h"
#include "sim/config/config_section.h"

namespace c3sim::models {

// The packets' sizes in a ring, and how much one of them can transfer.
struct PacketFormat {
  sim::Bytes transfer_limit;
  sim::Bytes copy, swap;
  sim::Bytes broadcast_destination;  // by which a copy grows for each destination after the first
  sim::Bytes poll, atomic, fence, timestamp, trap;

  static PacketFormat read(sim::Section section);
};

enum class Initiator { host, gpu };  // who submits commands, or waits for their completion
constexpr auto all_names(Initiator) { return sim::names("host", "gpu"); }
enum class SdmaCompletion { atomic, fence };
constexpr auto all_names(SdmaCompletion) { return sim::names("atomic", "fence"); }

struct SdmaSpec {
  int engines = 0;
  int host_engines = 0;  // the first ones, which serve PCIe; the others serve the links between GPUs
  int queues_per_engine = 0;
  sim::Bytes ring;  // of each queue
  PacketFormat packets;

  // From a doorbell to data.
  sim::Time doorbell_latency{0};   // from the host's store to an engine that knows the new write pointer
  sim::Time host_read_latency{0};  // a read of host memory by an engine: packets, polled words
  sim::Bytes fetch_granule;        // of the ring per such read
  sim::Time packet_decode{0};      // any packet but a transfer
  sim::Time transfer_setup{0};     // a transfer; the next one's set-up overlaps the data of the one before
  sim::Time transfer_latency{0};   // of a transfer beyond its set-up and the latencies of memories and fabric
  sim::Time poll_interval{0};      // from the result of one read of a polled word to the next read
  sim::Time atomic_latency{0};     // from an ATOMIC to the new value in host memory
  sim::Time fence_latency{0};      // the same for the write of a FENCE or TRAP

  // Data.
  sim::BytesPerSecond payload_rate;       // that one engine writes
  sim::BytesPerSecond host_payload_rate;  // the same for a host engine
  sim::BytesPerSecond pull_rate{1e16};    // that engines of a GPU read from others, where they get in each other's way
  sim::Time pull_turn{0};                 // that each such copy takes of that rate beside its data
  double broadcast_cost = 1.0;            // engine time per byte written, relative to a copy's
  double swap_cost = 1.0;
  double reduce_cost = 1.0;
  int broadcast_width = 1;     // destinations of one broadcast packet
  sim::Bytes bytes_in_flight;  // read and not yet written, per engine
  double cache_hits = 0.0;     // share of its memory traffic that the Infinity Cache serves
  bool l2_writeback = false;   // write dirty lines back first: engines read below the L2s
  sim::Time l2_writeback_time{0};

  // Affinity.
  int gpus = 2;                              // of the node
  std::vector<std::vector<int>> engine_map;  // recommended engine by source and destination GPU; empty: in turn
  int highest_in_map = -1;
  double affinity_penalty = 1.0;  // engine time per byte on any other engine, relative to the recommended one
  int to_host_engine = 0;
  int from_host_engine = 0;
  double host_direction_penalty = 1.0;  // the same for the other engine, to and from the host

  // What a future engine could do.
  SdmaCompletion completion = SdmaCompletion::atomic;
  bool batched_doorbell = false;  // one doorbell announces all that was written for a GPU
  Initiator submitted_by = Initiator::host;
  Initiator completion_seen_by = Initiator::host;
  bool reduction = false;
  SubmissionCosts gpu_submission;
  sim::Time gpu_doorbell_latency{0};
  sim::Time gpu_read_latency{0};        // a read of a ring or word in the GPU's own memory
  sim::Time gpu_completion_latency{0};  // from an ATOMIC or FENCE to the new value in the GPU's own memory

  // `gpus` is the size of the node. The engine_map may be that of a larger one: its first rows and columns count. One
  // of a smaller node is passed over with a warning.
  static SdmaSpec read(sim::Section section, int gpus);

  // The recommended engine for transfers between a GPU and a peer. `to` may be host_device, and so may `from`. Without
  // a map, or with fewer engines than it was made for, peers take the link engines in turn as the map of the MI300X
  // has it: as far apart as there are engines per peer (2, 4, ... 14 for its seven), shared where peers are more.
  int recommended_engine(int from, int to) const;
};

}  // namespace c3sim::models
