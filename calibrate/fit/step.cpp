#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>

#include "calibrate/fit/task.h"

namespace c3sim::calibrate {

namespace {

using sim::operator""_B;
using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_GiB;

using models::Backend;
using study::Figure;
using Pattern = study::RemoteTrial::Pattern;

// Sizes is the range from `from` up to but excluding `below`.
struct Sizes {
  sim::Bytes from{1.0};
  sim::Bytes below{1e18};

  bool have(sim::Bytes bytes) const { return bytes >= from && bytes < below; }
};
// Up to 1 MiB an engine's own steps decide the time of a copy, above it links do.
constexpr Sizes small{.below = 1_MiB + 1_B};
constexpr Sizes large{.from = 1_MiB + 1_B};

using Figures = std::initializer_list<Figure>;
constexpr Figures durations{Figure::time,      Figure::kernel_time,   Figure::rate,
                            Figure::link_rate, Figure::bus_bandwidth, Figure::flop_rate};
constexpr Figures phases{Figure::control_share, Figure::schedule_share, Figure::copy_share, Figure::completion_share};

bool saw(const Measurement& m, Figures figures) {
  return std::ranges::any_of(
      m.seen, [figures](const Seen& seen) { return std::ranges::find(figures, seen.figure) != figures.end(); });
}

// Returns the trial of a measurement if it is a T and one of these figures was seen; else null.
template <class T>
const T* seen(const Measurement& m, Figures figures = durations) {
  return saw(m, figures) ? std::get_if<T>(&m.trial) : nullptr;
}

bool is_gemm_after(const Measurement& m, study::Before before) {
  const auto* const gemm = std::get_if<study::GemmTrial>(&m.trial);
  return gemm != nullptr && gemm->before == before;
}

// Returns whether a measurement is the kernel time of a named library's product, or of a layer's experts, which are
// such products: the times of tuners and profilers, without a launch and with operands as these tools leave them.
bool is_product_of_library(const Measurement& m) {
  if (!m.names_library() || !saw(m, {Figure::kernel_time})) return false;
  const auto* const step = std::get_if<study::StepTrial>(&m.trial);
  return std::holds_alternative<study::GemmTrial>(m.trial) || (step != nullptr && step->question.model.experts_alone);
}

// A plain stream has no set number of workgroups, a cached one reuses its arrays, a computing one does arithmetic.
const study::StreamTrial* plain_stream(const Measurement& m, Figures figures = durations) {
  const auto* const stream = seen<study::StreamTrial>(m, figures);
  return stream != nullptr && !stream->workgroups ? stream : nullptr;
}
bool is_cached_stream(const Measurement& m) {
  const auto* const stream = plain_stream(m);
  return stream != nullptr && stream->set > 0_B;
}
bool is_computing_stream(const Measurement& m) {
  const auto* const stream = plain_stream(m, {Figure::rate, Figure::clock});
  return stream != nullptr && stream->flops_per_byte > 0.0;
}

// Returns whether a measurement is of a copy between two GPUs by a copy engine.
bool is_copy(const Measurement& m, Sizes sizes) {
  const auto* const copy = seen<study::CopyTrial>(m);
  return copy != nullptr && copy->spec.from != models::host_device && copy->spec.to != models::host_device &&
         sizes.have(copy->spec.bytes);
}

bool is_fan_out(const Measurement& m, Sizes sizes) {
  const auto* const copies = seen<study::FanOutTrial>(m);
  return copies != nullptr && sizes.have(copies->bytes);
}

bool is_remote(const Measurement& m, Pattern pattern, bool loads, sim::Bytes from) {
  const auto* const trial = seen<study::RemoteTrial>(m);
  return trial != nullptr && trial->pattern == pattern && trial->bytes >= from &&
         (trial->access == models::RemoteAccess::load) == loads;
}

bool is_remote_store(const Measurement& m, Pattern pattern) {
  if (!is_remote(m, pattern, false, 16_MiB)) return false;
  const std::optional<int>& cus = std::get<study::RemoteTrial>(m.trial).cus;
  return !cus || *cus >= 32;
}

// Returns the collective of a measurement that saw one of these figures at such a size; else null.
const models::CollectiveSpec* collective(const Measurement& m, Figures figures, Sizes sizes) {
  const auto* const trial = seen<study::CollectiveTrial>(m, figures);
  return trial != nullptr && sizes.have(trial->spec.bytes) ? &trial->spec : nullptr;
}

// Returns whether a measurement compares a copy-engine variant with parallel copies.
bool is_engine_gain(const Measurement& m, Sizes sizes) {
  return collective(m, {Figure::over_parallel_copies}, sizes) != nullptr;
}
bool is_powered_collective(const Measurement& m, Sizes sizes) {
  return collective(m, {Figure::power}, sizes) != nullptr;
}

bool is_engine_collective(const Measurement& m, Sizes sizes) {
  const auto* const spec = collective(m, durations, sizes);
  return spec != nullptr && spec->backend == Backend::sdma;
}

// Returns whether a collective is by kernels, on channels of the library's choice or a set number up to
// `most_channels`.
bool is_kernel_collective(const Measurement& m, Sizes sizes, std::optional<int> most_channels = {}) {
  const auto* const spec = collective(m, durations, sizes);
  if (spec == nullptr || spec->backend != Backend::rccl) return false;
  return most_channels ? spec->channels && *spec->channels <= *most_channels : !spec->channels;
}
// Returns whether a collective has so many bytes on so few channels that only these limit its rate.
bool is_bound_by_channels(const Measurement& m) { return is_kernel_collective(m, {.from = 512_MiB}, 8); }

// Returns whether a collective follows others in a stream, which hides its launch: its time is the library's own.
bool is_in_stream(const Measurement& m, models::CollectiveKind kind, Sizes sizes) {
  return is_kernel_collective(m, sizes) && std::get<study::CollectiveTrial>(m.trial).spec.kind == kind &&
         m.is_in_stream();
}

}  // namespace

std::span<const Step> steps() {
  static const std::vector<Step> all{
      {"an empty kernel",
       {{"host.kernel_launch", "an empty kernel"}},
       [](const Measurement& m) { return seen<study::EmptyKernelTrial>(m) != nullptr; }},
      {"one pair of GPUs, one way",
       {{"fabric.link_rate", "copies above 1 MiB, or kernels that store"},
        {"gpu.sdma.payload_rate", "copies above 1 MiB beside kernels that store"}},
       [](const Measurement& m) { return is_copy(m, large) || is_remote_store(m, Pattern::one_way); }},
      {"copies to several peers above 1 MiB", {}, [](const Measurement& m) { return is_fan_out(m, large); }},
      // The times of smaller collectives scatter by up to a factor of two from one size to the next.
      {"both ways at once: pairs, and copy-engine collectives from 2 GiB",
       {{"fabric.reverse_share", "one pair both ways, or a large collective by copy engines"}},
       [](const Measurement& m) {
         return is_engine_collective(m, {.from = 2_GiB}) || is_remote_store(m, Pattern::both_ways);
       }},
      {"one pair of GPUs, loads",
       {{"fabric.read_cost", "a kernel that loads from one peer, beside one that stores"}},
       [](const Measurement& m) { return is_remote(m, Pattern::one_way, true, 16_MiB); }},
      {"all GPUs load",
       {{"fabric.reads_in_flight", "kernels that load from all peers, 1 GiB and more"}},
       [](const Measurement& m) { return is_remote(m, Pattern::all, true, 1_GiB); }},
      {"all GPUs store",
       {{"gpu.memory.l2.writeback_rate", "kernels that store to all peers, 16 MiB and more"}},
       [](const Measurement& m) { return is_remote_store(m, Pattern::all); }},
      {"copies up to 1 MiB and phases of copies",
       {{"host.doorbell", "phases of a copy"},
        {"fabric.latency", "phases of a small copy beside kernels' loads from a peer"},
        {"gpu.sdma.doorbell_latency", "phases of a copy"},
        {"gpu.sdma.transfer_latency", "small copies, or their copy phase"},
        {"gpu.sdma.atomic_latency", "phases of a copy"}},
       [](const Measurement& m) { return is_copy(m, small) || saw(m, phases); }},
      // From this size on nothing but the time of the engines decides.
      {"gains of copy-engine variants from 128 MiB",
       {{"gpu.sdma.broadcast_cost", "a large all-gather by broadcasts beside parallel copies"},
        {"gpu.sdma.affinity_penalty", "a large all-gather by back-to-back copies beside parallel ones"}},
       [](const Measurement& m) { return is_engine_gain(m, {.from = 128_MiB}); }},
      {"copies to several peers, copy-engine collectives and gains of their variants up to 1 MiB",
       {{"host.command_write", "copies to several peers beside copies to one"},
        {"host.doorbell_interval", "an all-gather by parallel copies, prelaunched and not"},
        {"host.word_check", "prelaunched variants that check different numbers of words"},
        {"gpu.sdma.transfer_setup", "back-to-back copies beside parallel ones"},
        {"gpu.sdma.poll_interval", "prelaunched variants beside the others"}},
       [](const Measurement& m) {
         return is_fan_out(m, small) || is_engine_collective(m, small) || is_engine_gain(m, small);
       }},
      {"gains of copy-engine variants between 1 and 128 MiB",
       {},
       [](const Measurement& m) {
         return is_engine_gain(m, {large.from, 128_MiB});
       }},
      {"copy-engine collectives between 1 MiB and 2 GiB",
       {},
       [](const Measurement& m) {
         return is_engine_collective(m, {large.from, 2_GiB});
       }},
      {"a streaming kernel",
       {{"gpu.memory.hbm.read_efficiency", "a kernel that streams through arrays beyond every cache"},
        {"gpu.memory.hbm.write_efficiency", "a kernel that writes arrays beyond every cache"},
        {"gpu.memory.hbm.turnaround", "a kernel that reads and writes such arrays"}},
       [](const Measurement& m) {
         return plain_stream(m) != nullptr && !is_cached_stream(m) && !is_computing_stream(m);
       }},
      {"loads in a chain",
       {{"gpu.memory.l2.latency", "a chain of loads within an L2"},
        {"gpu.memory.infinity_cache.latency", "a chain of loads within the Infinity Cache"},
        {"gpu.memory.hbm.latency", "a chain of loads beyond every cache"}},
       [](const Measurement& m) {
         const auto* const load = seen<study::LoadTrial>(m, {Figure::latency});
         return load != nullptr && load->beside.value() == 0.0;
       }},
      {"streams that caches serve",
       {{"gpu.memory.l2.far_latency", "streams on few threads through sets that all L2s together hold"},
        {"gpu.memory.infinity_cache.rate", "streams through sets that the Infinity Cache holds"},
        {"gpu.memory.infinity_cache.turnaround", "streams that read and write such sets"},
        {"gpu.memory.infinity_cache.overflow", "streams through sets somewhat larger than that"},
        {"gpu.streams.latency", "streams on few threads"},
        {"gpu.streams.pass_cycles", "streams out of the L2s on all threads"},
        {"gpu.streams.queue_knee", "streams on numbers of threads between"}},
       is_cached_stream},
      {"arithmetic on streams",
       {{"gpu.streams.efficiency", "streams with many operations on each byte"},
        {"gpu.streams.knee", "streams whose arithmetic takes about as long as their bytes"},
        {"gpu.power.vector_energy", "clocks of streams that compute, under the cap"},
        {"gpu.power.streaming_cu", "clocks of streams with few operations, under the cap"}},
       is_computing_stream},
      {"attention",
       {{"gpu.attention.libraries.*.start", "prompts of few tokens"},
        {"gpu.attention.libraries.*.append_share", "prompts of few tokens and many heads"},
        {"gpu.attention.libraries.*.exposed", "prompts of up to some thousand tokens"},
        {"gpu.attention.libraries.*.tile_cycles", "prompts of up to some thousand tokens"},
        {"gpu.attention.libraries.*.decode_start", "single queries against short caches"},
        {"gpu.attention.libraries.*.decode_tile", "single queries of many sequences"}},
       [](const Measurement& m) { return std::holds_alternative<models::AttentionShape>(m.trial); }},
      {"all-reduces of 8 MiB and more in a stream",
       {{"rccl.nvls.start", "all-reduces in a stream that a switch adds, of 8 to 32 MiB"},
        {"rccl.nvls.round_latency", "all-reduces in a stream that a switch adds, of 8 MiB and more"},
        {"rccl.nvls.link_efficiency", "all-reduces in a stream that a switch adds, of 256 MiB and more"}},
       [](const Measurement& m) { return is_in_stream(m, models::CollectiveKind::all_reduce, {.from = 8_MiB}); }},
      {"exchanges in a stream",
       {{"rccl.collectives.all_to_all.start", "all-to-alls in a stream, of 128 KiB to 2 MiB"},
        {"rccl.collectives.all_to_all.steps_per_peer", "the same over different numbers of GPUs"}},
       [](const Measurement& m) { return is_in_stream(m, models::CollectiveKind::all_to_all, {}); }},
      {"kernel collectives from 512 MiB on 1 to 8 workgroups",
       {{"rccl.workgroup_in_flight", "a large collective on 1 to 8 channels"}},
       is_bound_by_channels},
      // Runs of rccl-tests begin with these sizes, and their first rows include what a process does only once.
      {"kernel collectives below 1 KiB",
       {},
       [](const Measurement& m) { return is_kernel_collective(m, {.below = 1_KiB}); }},
      {"kernel collectives of 1 to 64 KiB",
       {{"rccl.protocols.ll.step_latency", "collectives of 8 B to 64 KiB"},
        {"rccl.protocols.ll.start", "collectives of 8 B to 64 KiB over different numbers of GPUs, in a stream"},
        {"host.kernel_launch", "an empty kernel"},
        {"host.graph_launch", "small collectives from a graph"}},
       [](const Measurement& m) {
         return is_kernel_collective(m, {1_KiB, 64_KiB + 1_B});
       }},
      // All protocols are fitted at once: the fastest one runs, so that there is a valley for every order of them.
      {"kernel collectives above 64 KiB",
       {{"rccl.protocols.ll.link_efficiency", "collectives of 64 KiB to 1 MiB"},
        {"rccl.protocols.ll128.start", "collectives of 256 KiB to 16 MiB over different numbers of GPUs"},
        {"rccl.protocols.ll128.step_latency", "collectives of 256 KiB to 16 MiB"},
        {"rccl.protocols.ll128.link_efficiency", "collectives of 256 KiB to 16 MiB"},
        {"rccl.protocols.simple.start", "collectives of 8 MiB to 256 MiB over different numbers of GPUs"},
        {"rccl.protocols.simple.step_latency", "collectives of 8 MiB to 256 MiB"},
        {"rccl.protocols.simple.link_efficiency", "collectives of 256 MiB and more"}},
       [](const Measurement& m) { return is_kernel_collective(m, {.from = 64_KiB + 1_B}); },
       12},
      {"other kernel collectives on few workgroups",
       {{"fabric.queueing", "an all-reduce on every number of channels"},
        {"rccl.collectives.all_to_all.loop_bytes", "an all-to-all on few channels"}},
       [](const Measurement& m) {
         return is_kernel_collective(m, {}, std::numeric_limits<int>::max()) && !is_bound_by_channels(m);
       }},
      // From this size on the collective fills most of the time in which the board's power is averaged.
      {"board power at rest, streaming, in collectives from 1 GiB",
       {{"gpu.power.idle", "board power at rest"},
        {"gpu.power.hbm_energy", "board power while a kernel streams"},
        {"gpu.power.busy_workgroup", "board power of a collective by kernels beside one by copy engines"},
        {"gpu.power.link_energy", "board power of a collective by copy engines"}},
       [](const Measurement& m) {
         return seen<study::RestTrial>(m, {Figure::power}) != nullptr ||
                seen<study::StreamTrial>(m, {Figure::power}) != nullptr || is_powered_collective(m, {.from = 1_GiB});
       }},
      {"board power in collectives below 1 GiB",
       {},
       [](const Measurement& m) { return is_powered_collective(m, {.below = 1_GiB}); }},
      {"GEMM kernels at the clock of their tuning",
       {{"gpu.gemm.libraries.*.efficiency", "large products"},
        {"gpu.gemm.libraries.*.tile_overhead", "products of one size by contractions of several lengths"},
        {"gpu.gemm.libraries.*.least_step", "small tiles"},
        {"gpu.gemm.libraries.*.start_up", "small products"}},
       [](const Measurement& m) { return seen<study::GemmTrial>(m, {Figure::efficiency}) != nullptr; }},
      // Both are fitted at once: power sets the time of a GEMM on all CUs, the kernel alone that on few.
      {"GEMMs on all and on fewer CUs, their board power and clock",
       {{"gpu.power.matrix_energy", "board power, or the clock under the cap, of large GEMMs"},
        {"gpu.power.voltage_exponent", "GEMMs on many numbers of CUs, or their clock under the cap"},
        {"gpu.power.matrix_clock", "GEMMs on few CUs"},
        {"gpu.gemm.libraries.*.efficiency", "large GEMMs on few CUs"},
        {"gpu.gemm.libraries.*.tile_overhead", "GEMMs of one size by contractions of several lengths"},
        {"gpu.gemm.libraries.*.cold_operands", "GEMMs whose operands fit into the Infinity Cache and larger ones"},
        {"gpu.gemm.libraries.*.start_up", "small GEMMs"}},
       [](const Measurement& m) {
         return is_gemm_after(m, study::Before::loop) && !saw(m, {Figure::efficiency}) && !is_product_of_library(m);
       }},
      {"products as tuners and profilers time them",
       {{"gpu.gemm.libraries.*.efficiency", "large products"},
        {"gpu.gemm.libraries.*.tile_overhead", "products of one size by contractions of several lengths"},
        {"gpu.gemm.libraries.*.least_step", "products of few tokens by contractions of several lengths"},
        {"gpu.gemm.libraries.*.cold_operands", "products of operands by turns"},
        {"gpu.gemm.libraries.*.start_up", "small products"},
        {"gpu.gemm.libraries.*.knee", "products whose operands take about as long as their operations"},
        {"gpu.gemm.libraries.*.row_conflicts", "products whose rows lie powers of two apart, and others"}},
       is_product_of_library,
       1},
      {"GEMMs on awake links",
       {{"gpu.power.links_awake", "GEMMs in a process that has communicated, and in one that has not"}},
       [](const Measurement& m) { return is_gemm_after(m, study::Before::traffic); }},
      // The last step fits how much longer concurrent runs take than each alone.
      {"what running at once costs", {}, [](const Measurement& m) { return study::is_concurrent(m.trial); }, 2, true},
  };
  return all;
}

}  // namespace c3sim::calibrate
