// A HostSpec describes the time that the host's threads and its runtime take.
#pragma once

#include "sim/config/choice.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

struct SubmissionCosts {
  sim::Time command_write{0};      // build a command
  sim::Time packet_write{0};       // write one of its packets into a ring
  sim::Time doorbell{0};           // write pointer and doorbell store
  sim::Time doorbell_interval{0};  // least time between two doorbells of a thread: an uncached store must drain first
  sim::Time word_write{0};         // write a word that an engine polls
  sim::Time word_check{0};         // notice that a device changed a word: a miss in the thread's cache

  static SubmissionCosts read(sim::Section section);
};

// A CopyCallsSpec describes runtime calls that copy scattered blocks between GPUs or to and from pinned host memory.
struct CopyCallsSpec {
  sim::Time call{0};   // thread time of one call
  sim::Time start{0};  // time from the start of a call, which it includes, to the first data
  // These are the times from the end of a copy to the data of a dependent next copy, by the end that is the host.
  sim::Time order_from_host{0};
  sim::Time order_to_host{0};
  sim::Time order_of_peers{0};
  bool batch_packs = false;            // a call for many blocks writes their packets consecutively; otherwise it loops
  sim::BytesPerSecond host_rate;       // rate of one block to or from the host
  sim::BytesPerSecond both_ways_rate;  // rate of one engine that copies to and from the host concurrently
  sim::Bytes kernels_up_to;            // largest block that the runtime copies by a kernel instead
  sim::Time kernel_order{0};           // time from one of these kernels to the next
  sim::Time kernel_batch_order{0};     // the same within one call for many blocks
  sim::Bytes workgroup_in_flight;      // bytes per workgroup of a gathering kernel, which has one per block

  static CopyCallsSpec read(sim::Section section);
};

enum class HostThreads { one, per_gpu };     // one thread loops over all GPUs, or each GPU has its own
enum class HostWait { polling, interrupt };  // how a thread learns that an engine has finished
constexpr auto all_names(HostThreads) { return sim::names("one", "per_gpu"); }
constexpr auto all_names(HostWait) { return sim::names("polling", "interrupt"); }

// A Protocol tells how runs are measured. The host times three of them, from its launch until it knows of the end: one
// of many runs after warm-up, as papers do (steady); one run from rest (shot); repeated runs, each launched once the
// host knows that the previous one ended (rounds). Two hide the launches and time the distance of consecutive
// operations in one stream, as nccl-tests and rccl-tests do (stream), or in one captured graph (graph).
enum class Protocol { steady, shot, rounds, stream, graph };
// A LaunchMode tells how kernels and collectives reach a busy GPU: a framework's thread launches them one by one, or
// one captured graph has all of them.
enum class LaunchMode { op_by_op, graph };
constexpr auto all_names(LaunchMode) { return sim::names("op_by_op", "graph"); }
constexpr auto all_names(Protocol) { return sim::names("steady", "shot", "rounds", "stream", "graph"); }
constexpr bool hides_launches(Protocol protocol) { return protocol == Protocol::stream || protocol == Protocol::graph; }
using sim::to_string;

struct HostSpec {
  HostThreads threads = HostThreads::one;
  HostWait wait = HostWait::polling;
  Protocol protocol = Protocol::steady;
  bool kernel_time = false;  // results are what a profiler shows: kernels alone, without launch, gap and notice
  SubmissionCosts submission;
  sim::Time interrupt_latency{0};     // time from the interrupt message to the running thread
  sim::Time kernel_launch{0};         // thread time of launching one kernel
  sim::Time collective_launch{0};     // additional thread time of launching a collective's kernel
  sim::Time graph_launch{0};          // thread time of launching either from a captured graph
  sim::Time framework_call{0};        // thread time of an operation that a framework launches, including kernel_launch
  sim::Time framework_collective{0};  // thread time of a collective that a framework launches
  sim::Time framework_gap{0};         // kernel_gap of kernels that a framework launches one by one
  sim::Time graph_kernel_gap{0};      // kernel_gap of the kernels of a captured graph
  sim::Time kernel_gap{0};            // time from the end of a kernel to the start of the next, launched long before
  sim::Time wake_up{0};               // additional start latency of a kernel whose GPU is at rest
  sim::Time kernel_notice{0};         // time from the end of a kernel to a thread that knows of it
  sim::Time launch_interval{0};       // time between launches of a thread that does nothing else
  sim::Time collective_interval{0};   // time between calls of the collectives library
  sim::Time collective_skew{0};       // lateness that each further GPU adds to the last launch after a barrier
  CopyCallsSpec copies;

  // Returns the time from launch to notice in addition to the kernel's own.
  sim::Time around_kernel() const { return kernel_launch + kernel_notice; }

  // Returns the host without the costs that its protocol, or a profiler, hides: launches before and after the timed
  // part take no time. Applying it twice changes nothing more.
  HostSpec as_timed() const;
  // Returns whether the time of each operation includes the gap after the previous one.
  bool times_gaps() const { return hides_launches(protocol) && !kernel_time; }

  // Returns the host with the launch costs of the mode. The launches of a graph, its own included, are free.
  HostSpec launched(LaunchMode mode) const;

  static HostSpec read(sim::Section section);
};

}  // namespace c3sim::models
