// What the host's threads and its runtime charge.
#pragma once

#include "sim/config/choice.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

struct SubmissionCosts {
  sim::Time command_write{0};      // build a command
  sim::Time packet_write{0};       // write one of its packets into a ring
  sim::Time doorbell{0};           // write pointer and doorbell store
  sim::Time doorbell_interval{0};  // least time between two doorbells of one thread: an uncached store must drain first
  sim::Time word_write{0};         // write a word that an engine polls
  sim::Time word_check{0};         // see that a word which a device wrote has changed: a miss in the thread's cache

  static SubmissionCosts read(sim::Section section);
};

// What the calls of a runtime charge that copy blocks, scattered in memory, to or from the host (pinned) or a peer.
struct CopyCallsSpec {
  sim::Time call{0};   // thread time of one
  sim::Time start{0};  // from a call to its first data, the call within
  // From the end of a copy to the data of the next, where each waits for the one before: by the end that is the host.
  sim::Time order_from_host{0};
  sim::Time order_to_host{0};
  sim::Time order_of_peers{0};
  bool batch_packs = false;            // a call for many writes their packets one behind the other; else it loops
  sim::BytesPerSecond host_rate;       // of one block to or from the host
  sim::BytesPerSecond both_ways_rate;  // of one engine that copies to and from the host at once
  sim::Bytes kernels_up_to;            // blocks for each of which the runtime launches a kernel of its own instead
  sim::Time kernel_order{0};           // from one of these to the next
  sim::Time kernel_batch_order{0};     // the same within one call for many
  sim::Bytes workgroup_in_flight;      // of a kernel that gathers, a workgroup for each block

  static CopyCallsSpec read(sim::Section section);
};

enum class HostThreads { one, per_gpu };     // one thread loops over all GPUs, or each GPU has its own
enum class HostWait { polling, interrupt };  // how a thread learns that an engine has finished
constexpr auto all_names(HostThreads) { return sim::names("one", "per_gpu"); }
constexpr auto all_names(HostWait) { return sim::names("polling", "interrupt"); }

// How runs are measured. Three are timed by the host, from its launch to its knowledge of the end: as one of many after
// warm-up, as papers do (steady); once, from rest (shot); again and again, each when the host knows that all of the one
// before has ended (rounds). Two hide the launches, and are timed by when one follows the other: operations that lie
// back to back in one stream, as nccl-tests and rccl-tests have them (stream), or in one captured graph (graph).
enum class Protocol { steady, shot, rounds, stream, graph };
// How kernels and collectives reach a GPU that is busy: a framework's thread launches one after the other, or all of
// them are those of one captured graph.
enum class LaunchMode { op_by_op, graph };
constexpr auto all_names(LaunchMode) { return sim::names("op_by_op", "graph"); }
constexpr auto all_names(Protocol) { return sim::names("steady", "shot", "rounds", "stream", "graph"); }
constexpr bool hides_launches(Protocol protocol) { return protocol == Protocol::stream || protocol == Protocol::graph; }
using sim::to_string;

struct HostSpec {
  HostThreads threads = HostThreads::one;
  HostWait wait = HostWait::polling;
  Protocol protocol = Protocol::steady;
  bool kernel_time = false;  // what a profiler tells is told: of kernels alone, without launch, gap and notice
  SubmissionCosts submission;
  sim::Time interrupt_latency{0};     // from the interrupt message to the woken thread
  sim::Time kernel_launch{0};         // thread time of launching one kernel
  sim::Time collective_launch{0};     // what it takes beyond that to launch a collective's
  sim::Time graph_launch{0};          // of either, from a captured graph
  sim::Time framework_call{0};        // thread time of an operation that a framework launches, kernel_launch within
  sim::Time framework_collective{0};  // the same of a collective's call
  sim::Time framework_gap{0};         // see kernel_gap, of what a framework launches one by one
  sim::Time graph_kernel_gap{0};      // see kernel_gap, of kernels of a captured graph
  sim::Time kernel_gap{0};            // from the end of a kernel to the start of the next, launched long before
  sim::Time wake_up{0};               // how much later a kernel starts that finds its GPU at rest
  sim::Time kernel_notice{0};         // from the end of a kernel to a thread that knows of it
  sim::Time launch_interval{0};       // from one launch to the next of a thread that does nothing else
  sim::Time collective_interval{0};   // the same of calls of the library for collectives
  sim::Time collective_skew{0};       // by which the launch of each further GPU's part is late, behind a barrier
  CopyCallsSpec copies;

  // What a kernel takes beside itself, from its launch until the host knows of its end.
  sim::Time around_kernel() const { return kernel_launch + kernel_notice; }

  // What is to be seen of its launches by its protocol, or by a profiler: those that lie before and behind what is
  // timed take no time. Done twice it is as done once.
  HostSpec as_timed() const;
  // Whether each operation is timed with the gap that the one before it leaves.
  bool times_gaps() const { return hides_launches(protocol) && !kernel_time; }

  // Whose launches are like that. Of a graph none is a launch by itself, and its own is not counted.
  HostSpec launched(LaunchMode mode) const;

  static HostSpec read(sim::Section section);
};

}  // namespace c3sim::models
