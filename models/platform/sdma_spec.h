// An SdmaSpec has the parameters of the SDMA engines of a GPU: each is a latency, a rate or a choice that a future
// engine could make differently.
#pragma once

#include <vector>

#include "models/platform/device.h"
#include "models/platform/host_spec.h"
#include "sim/config/choice.h"
#include "sim/config/config_section.h"

namespace c3sim::models {

// Holds the sizes of packets in a ring, and how much one packet can transfer.
struct PacketFormat {
  sim::Bytes transfer_limit;
  sim::Bytes copy, swap;
  sim::Bytes broadcast_destination;  // growth of a copy packet per destination after the first
  sim::Bytes poll, atomic, fence, timestamp, trap;

  static PacketFormat read(sim::Section section);
};

enum class Initiator { host, gpu };  // who submits commands or waits for their completion
constexpr auto all_names(Initiator) { return sim::names("host", "gpu"); }
enum class SdmaCompletion { atomic, fence };
constexpr auto all_names(SdmaCompletion) { return sim::names("atomic", "fence"); }

struct SdmaSpec {
  int engines = 0;
  int host_engines = 0;  // the first engines, which serve PCIe; the others serve the links between GPUs
  int queues_per_engine = 0;
  sim::Bytes ring;  // size per queue
  PacketFormat packets;

  // These times lead from a doorbell to data.
  sim::Time doorbell_latency{0};   // time from the host's store to an engine that knows the new write pointer
  sim::Time host_read_latency{0};  // latency of a read of host memory by an engine: packets, polled words
  sim::Bytes fetch_granule;        // bytes of the ring per such read
  sim::Time packet_decode{0};      // time of any packet except a transfer
  sim::Time transfer_setup{0};     // time of a transfer, which overlaps the data of the previous transfer
  sim::Time transfer_latency{0};   // latency of a transfer beyond its set-up and the latencies of memories and fabric
  sim::Time poll_interval{0};      // time from the result of a read of a polled word to the next read
  sim::Time atomic_latency{0};     // time from an ATOMIC to the new value in host memory
  sim::Time fence_latency{0};      // time from a FENCE or TRAP to the new value in host memory

  // These parameters bound the movement of data.
  sim::BytesPerSecond payload_rate;       // rate at which one link engine writes
  sim::BytesPerSecond host_payload_rate;  // rate at which one host engine writes
  sim::BytesPerSecond pull_rate{1e16};    // rate that a GPU's reads from other GPUs share if several are concurrent
  sim::Time pull_turn{0};                 // extra time that each such copy takes of pull_rate
  double broadcast_cost = 1.0;            // engine time per byte written, relative to a copy
  double swap_cost = 1.0;
  double reduce_cost = 1.0;
  int broadcast_width = 1;     // most destinations of one broadcast packet
  sim::Bytes bytes_in_flight;  // bytes read and not yet written, per engine
  double cache_hits = 0.0;     // share of an engine's memory traffic that the Infinity Cache serves
  bool l2_writeback = false;   // dirty lines are written back first, since engines read below the L2s
  sim::Time l2_writeback_time{0};

  // These parameters describe the affinity of engines to links.
  int gpus = 2;                              // number of GPUs of the node
  std::vector<std::vector<int>> engine_map;  // recommended engine by source and destination GPU; empty: in turn
  int highest_in_map = -1;
  double affinity_penalty = 1.0;  // engine time per byte on any other engine, relative to the recommended one
  int to_host_engine = 0;
  int from_host_engine = 0;
  double host_direction_penalty = 1.0;  // the same penalty for copies to and from the host

  // A future engine could have these.
  SdmaCompletion completion = SdmaCompletion::atomic;
  bool batched_doorbell = false;  // one doorbell announces all commands written for a GPU
  Initiator submitted_by = Initiator::host;
  Initiator completion_seen_by = Initiator::host;
  bool reduction = false;
  SubmissionCosts gpu_submission;
  sim::Time gpu_doorbell_latency{0};
  sim::Time gpu_read_latency{0};        // latency of a read of a ring or word in the GPU's own memory
  sim::Time gpu_completion_latency{0};  // time from an ATOMIC or FENCE to the new value in the GPU's own memory

  // `gpus` is the size of the node. Of an engine_map for a larger node, the first rows and columns are used; one for a
  // smaller node is ignored with a warning.
  static SdmaSpec read(sim::Section section, int gpus);

  // Returns the recommended engine for transfers between two GPUs, or with the host if `from` or `to` is host_device.
  // Without a map, or with fewer engines than in the map, peers take the link engines in turn as on the MI300X: as far
  // apart as there are engines per peer (2, 4, ... 14 for its seven), and shared if there are more peers than engines.
  int recommended_engine(int from, int to) const;
};

}  // namespace c3sim::models
