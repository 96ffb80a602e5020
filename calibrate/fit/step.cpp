#include "calibrate/fit/step.h"

#include <algorithm>
#include <array>

namespace c3sim::calibrate {

namespace {

using sim::operator""_B;
using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_GiB;

using study::Figure;

constexpr sim::Bytes nothing(0.0);
constexpr sim::Bytes anything(1e18);

bool saw_any(const Measurement& m, std::span<const Figure> figures) {
  return std::ranges::any_of(
      m.seen, [figures](const Seen& seen) { return std::ranges::find(figures, seen.figure) != figures.end(); });
}

bool saw(const Measurement& m, Figure figure) { return saw_any(m, std::array{figure}); }

// Whether its duration was seen, as such or as a rate.
bool timed(const Measurement& m) {
  static constexpr std::array figures{Figure::time,      Figure::kernel_time,   Figure::rate,
                                      Figure::link_rate, Figure::bus_bandwidth, Figure::flop_rate};
  return saw_any(m, figures);
}

// The trial of a measurement that timed one of this kind, or null.
template <class T>
const T* timed(const Measurement& m) {
  return timed(m) ? std::get_if<T>(&m.trial) : nullptr;
}

bool is_gemm_after(const Measurement& m, study::Before before) {
  const auto* const gemm = std::get_if<study::GemmTrial>(&m.trial);
  return gemm != nullptr && gemm->before == before;
}

bool is_within(sim::Bytes bytes, sim::Bytes above, sim::Bytes up_to) { return bytes > above && bytes <= up_to; }

// Copies between two GPUs by the engine that serves them.
bool is_copy(const Measurement& m, sim::Bytes above, sim::Bytes up_to) {
  const auto* const copy = timed<study::CopyTrial>(m);
  return copy != nullptr && copy->spec.from != models::host_device && copy->spec.to != models::host_device &&
         is_within(copy->spec.bytes, above, up_to);
}

bool is_fan_out(const Measurement& m, sim::Bytes above, sim::Bytes up_to) {
  const auto* const copies = timed<study::FanOutTrial>(m);
  return copies != nullptr && is_within(copies->bytes, above, up_to);
}

const study::RemoteTrial* remote(const Measurement& m, study::RemoteTrial::Pattern pattern) {
  const auto* const trial = timed<study::RemoteTrial>(m);
  return trial != nullptr && trial->pattern == pattern ? trial : nullptr;
}

bool is_remote_store(const Measurement& m, study::RemoteTrial::Pattern pattern) {
  const auto* const trial = remote(m, pattern);
  return trial != nullptr && trial->access != models::RemoteAccess::load && trial->bytes >= 16_MiB &&
         (!trial->cus || *trial->cus >= 32);
}

bool is_remote_load(const Measurement& m, study::RemoteTrial::Pattern pattern, sim::Bytes from) {
  const auto* const trial = remote(m, pattern);
  return trial != nullptr && trial->access == models::RemoteAccess::load && trial->bytes >= from;
}

bool is_phase_share(const Measurement& m) {
  static constexpr std::array figures{Figure::control_share, Figure::schedule_share, Figure::copy_share,
                                      Figure::completion_share};
  return saw_any(m, figures);
}

// Of a variant over parallel copies, of sizes in [from, below).
bool is_engine_gain(const Measurement& m, sim::Bytes from, sim::Bytes below) {
  const auto* const trial = std::get_if<study::CollectiveTrial>(&m.trial);
  return trial != nullptr && saw(m, Figure::over_parallel_copies) && trial->spec.bytes >= from &&
         trial->spec.bytes < below;
}

const models::CollectiveSpec* timed_collective(const Measurement& m, models::Backend backend) {
  const auto* const trial = timed<study::CollectiveTrial>(m);
  return trial != nullptr && trial->spec.backend == backend ? &trial->spec : nullptr;
}

// Of sizes in [from, below).
bool is_engine_collective(const Measurement& m, sim::Bytes from, sim::Bytes below) {
  const auto* const spec = timed_collective(m, models::Backend::sdma);
  return spec != nullptr && spec->bytes >= from && spec->bytes < below;
}

// On as many channels as the library likes.
bool is_kernel_collective(const Measurement& m, sim::Bytes above, sim::Bytes up_to) {
  const auto* const spec = timed_collective(m, models::Backend::rccl);
  return spec != nullptr && !spec->channels && is_within(spec->bytes, above, up_to);
}

// Enough bytes on so few channels that nothing but these holds the data up.
bool is_bound_by_channels(const Measurement& m) {
  const auto* const spec = timed_collective(m, models::Backend::rccl);
  return spec != nullptr && spec->channels && *spec->channels <= 8 && spec->bytes >= 512_MiB;
}

bool is_limited_collective(const Measurement& m) {
  const auto* const spec = timed_collective(m, models::Backend::rccl);
  return spec != nullptr && spec->channels.has_value();
}

bool is_powered_collective(const Measurement& m, sim::Bytes from, sim::Bytes below) {
  const auto* const trial = std::get_if<study::CollectiveTrial>(&m.trial);
  return trial != nullptr && saw(m, Figure::power) && trial->spec.bytes >= from && trial->spec.bytes < below;
}

bool is_powered_stream_or_rest(const Measurement& m) {
  const bool is_one =
      std::holds_alternative<study::RestTrial>(m.trial) || std::holds_alternative<study::StreamTrial>(m.trial);
  return is_one && saw(m, Figure::power);
}

std::vector<Step> launches() {
  return {{"an empty kernel", {{"host.kernel_launch", "an empty kernel"}}, [](const Measurement& m) {
             return timed<study::EmptyKernelTrial>(m) != nullptr;
           }}};
}

std::vector<Step> links() {
  return {
      {"one pair of GPUs, one way",
       {{"fabric.link_rate", "copies above 1 MiB, or kernels that store"},
        {"gpu.sdma.payload_rate", "copies above 1 MiB beside kernels that store"}},
       [](const Measurement& m) {
         return is_copy(m, 1_MiB, anything) || is_remote_store(m, study::RemoteTrial::Pattern::one_way);
       }},
      {"copies to several peers above 1 MiB", {}, [](const Measurement& m) { return is_fan_out(m, 1_MiB, anything); }},
      // Collectives below lie up to a factor of two off from one size to the next.
      {"both ways at once: pairs, and copy-engine collectives from 2 GiB",
       {{"fabric.reverse_share", "one pair both ways, or a large collective by copy engines"}},
       [](const Measurement& m) {
         return is_engine_collective(m, 2_GiB, anything) || is_remote_store(m, study::RemoteTrial::Pattern::both_ways);
       }},
      {"one pair of GPUs, loads",
       {{"fabric.read_cost", "a kernel that loads from one peer, beside one that stores"}},
       [](const Measurement& m) { return is_remote_load(m, study::RemoteTrial::Pattern::one_way, 16_MiB); }},
      {"all GPUs load",
       {{"fabric.reads_in_flight", "kernels that load from all peers, 1 GiB and more"}},
       [](const Measurement& m) { return is_remote_load(m, study::RemoteTrial::Pattern::all, 1_GiB); }},
      {"all GPUs store",
       {{"gpu.memory.l2.writeback_rate", "kernels that store to all peers, 16 MiB and more"}},
       [](const Measurement& m) { return is_remote_store(m, study::RemoteTrial::Pattern::all); }},
      {"copies up to 1 MiB and phases of copies",
       {{"host.doorbell", "phases of a copy"},
        {"fabric.latency", "phases of a small copy beside kernels' loads from a peer"},
        {"gpu.sdma.doorbell_latency", "phases of a copy"},
        {"gpu.sdma.transfer_latency", "small copies, or their copy phase"},
        {"gpu.sdma.atomic_latency", "phases of a copy"}},
       [](const Measurement& m) { return is_copy(m, nothing, 1_MiB) || is_phase_share(m); }},
      // Nothing but the time of the engines decides there.
      {"gains of copy-engine variants from 128 MiB",
       {{"gpu.sdma.broadcast_cost", "a large all-gather by broadcasts beside parallel copies"},
        {"gpu.sdma.affinity_penalty", "a large all-gather by back-to-back copies beside parallel ones"}},
       [](const Measurement& m) { return is_engine_gain(m, 128_MiB, anything); }},
      {"copies to several peers, copy-engine collectives and gains of their variants up to 1 MiB",
       {{"host.command_write", "copies to several peers beside copies to one"},
        {"host.doorbell_interval", "an all-gather by parallel copies, prelaunched and not"},
        {"host.word_check", "prelaunched variants that check different numbers of words"},
        {"gpu.sdma.transfer_setup", "back-to-back copies beside parallel ones"},
        {"gpu.sdma.poll_interval", "prelaunched variants beside the others"}},
       [](const Measurement& m) {
         return is_fan_out(m, nothing, 1_MiB) || is_engine_collective(m, nothing, 1_MiB + 1_B) ||
                is_engine_gain(m, nothing, 1_MiB + 1_B);
       }},
      {"gains of copy-engine variants between 1 and 128 MiB",
       {},
       [](const Measurement& m) { return is_engine_gain(m, 1_MiB + 1_B, 128_MiB); }},
      {"copy-engine collectives between 1 MiB and 2 GiB",
       {},
       [](const Measurement& m) { return is_engine_collective(m, 1_MiB + 1_B, 2_GiB); }},
  };
}

std::vector<Step> collectives() {
  return {
      {"a streaming kernel",
       {{"gpu.memory.hbm.read_efficiency", "a kernel that streams through arrays beyond every cache"}},
       [](const Measurement& m) {
         const auto* const stream = timed<study::StreamTrial>(m);
         return stream != nullptr && !stream->workgroups;
       }},
      {"kernel collectives from 512 MiB on 1 to 8 workgroups",
       {{"rccl.workgroup_in_flight", "a large collective on 1 to 8 channels"}},
       [](const Measurement& m) { return is_bound_by_channels(m); }},
      // Runs of rccl-tests begin with the smallest ones, and their first rows hold what a process does once.
      {"kernel collectives below 1 KiB",
       {},
       [](const Measurement& m) { return is_kernel_collective(m, nothing, 1_KiB - 1_B); }},
      {"kernel collectives of 1 to 64 KiB",
       {{"rccl.protocols.ll.step_latency", "collectives of 8 B to 64 KiB"},
        {"host.kernel_launch", "an empty kernel"},
        {"host.graph_launch", "small collectives from a graph"}},
       [](const Measurement& m) { return is_kernel_collective(m, 1_KiB - 1_B, 64_KiB); }},
      // Together: a protocol runs where it takes less time than the others, so that there is a valley for every order.
      {"kernel collectives above 64 KiB",
       {{"rccl.protocols.ll.link_efficiency", "collectives of 64 KiB to 1 MiB"},
        {"rccl.protocols.ll128.step_latency", "collectives of 256 KiB to 16 MiB"},
        {"rccl.protocols.ll128.link_efficiency", "collectives of 256 KiB to 16 MiB"},
        {"rccl.protocols.simple.step_latency", "collectives of 8 MiB to 256 MiB"},
        {"rccl.protocols.simple.link_efficiency", "collectives of 256 MiB and more"}},
       [](const Measurement& m) { return is_kernel_collective(m, 64_KiB, anything); },
       12},
      {"other kernel collectives on few workgroups",
       {{"fabric.queueing", "an all-reduce on every number of channels"},
        {"rccl.collectives.all_to_all.loop_bytes", "an all-to-all on few channels"}},
       [](const Measurement& m) { return is_limited_collective(m) && !is_bound_by_channels(m); }},
  };
}

std::vector<Step> power_and_gemms() {
  return {
      // From this size on the board does nothing else for most of the time.
      {"board power at rest, streaming, in collectives from 1 GiB",
       {{"gpu.power.idle", "board power at rest"},
        {"gpu.power.hbm_energy", "board power while a kernel streams"},
        {"gpu.power.busy_workgroup", "board power of a collective by kernels beside one by copy engines"},
        {"gpu.power.link_energy", "board power of a collective by copy engines"}},
       [](const Measurement& m) { return is_powered_stream_or_rest(m) || is_powered_collective(m, 1_GiB, anything); }},
      {"board power in collectives below 1 GiB",
       {},
       [](const Measurement& m) { return is_powered_collective(m, nothing, 1_GiB); }},
      {"GEMM kernels at the clock of their tuning",
       {{"gpu.gemm.libraries.*.efficiency", "large products"},
        {"gpu.gemm.libraries.*.tile_overhead", "products of one size by contractions of several lengths"},
        {"gpu.gemm.libraries.*.least_step", "small tiles"},
        {"gpu.gemm.libraries.*.start_up", "small products"}},
       [](const Measurement& m) {
         return std::holds_alternative<study::GemmTrial>(m.trial) && saw(m, Figure::efficiency);
       }},
      // Together: the time of a GEMM on all CUs is set by what its operations draw, on few by the kernel alone.
      {"GEMMs on all and on fewer CUs, their board power and clock",
       {{"gpu.power.matrix_energy", "board power, or the clock under the cap, of large GEMMs"},
        {"gpu.power.voltage_exponent", "GEMMs on many numbers of CUs, or their clock under the cap"},
        {"gpu.power.matrix_clock", "GEMMs on few CUs"},
        {"gpu.gemm.libraries.*.efficiency", "large GEMMs on few CUs"},
        {"gpu.gemm.libraries.*.tile_overhead", "GEMMs of one size by contractions of several lengths"},
        {"gpu.gemm.libraries.*.cold_operands", "GEMMs whose operands fit into the Infinity Cache and larger ones"},
        {"gpu.gemm.libraries.*.start_up", "small GEMMs"}},
       [](const Measurement& m) { return is_gemm_after(m, study::Before::loop) && !saw(m, Figure::efficiency); }},
      {"GEMMs on awake links",
       {{"gpu.power.links_awake", "GEMMs in a process that has communicated, and in one that has not"}},
       [](const Measurement& m) { return is_gemm_after(m, study::Before::traffic); }},
  };
}

}  // namespace

std::span<const Step> steps() {
  static const std::vector<Step> all = [] {
    std::vector<Step> joined;
    for (std::vector<Step>& part : std::vector{launches(), links(), collectives(), power_and_gemms()}) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace c3sim::calibrate
