#include "calibrate/step.h"

#include <algorithm>

namespace c3sim::calibrate {

namespace {

using sim::operator""_B;
using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_GiB;

using study::Figure;

bool saw(const Measurement& m, Figure figure) {
  return std::ranges::any_of(m.seen, [figure](const Seen& seen) { return seen.figure == figure; });
}

// The trial of a measurement that timed one of this kind, or null.
template <class T>
const T* timed(const Measurement& m) {
  return saw(m, Figure::time) ? std::get_if<T>(&m.trial) : nullptr;
}

// The collective of a measurement that timed one by this backend, or null.
const models::CollectiveSpec* timed_collective(const Measurement& m, models::Backend backend) {
  const auto* const trial = timed<study::CollectiveTrial>(m);
  return trial != nullptr && trial->spec.backend == backend ? &trial->spec : nullptr;
}

bool is_copy(const Measurement& m, sim::Bytes low, sim::Bytes high) {
  const auto* const copy = timed<study::CopyTrial>(m);
  return copy != nullptr && copy->spec.bytes > low && copy->spec.bytes <= high;
}

bool is_fan_out(const Measurement& m, sim::Bytes low, sim::Bytes high) {
  const auto* const copies = timed<study::FanOutTrial>(m);
  return copies != nullptr && copies->bytes > low && copies->bytes <= high;
}

// Of sizes in [low, high).
bool is_engine_collective(const Measurement& m, sim::Bytes low, sim::Bytes high) {
  const auto* const spec = timed_collective(m, models::Backend::sdma);
  return spec != nullptr && spec->bytes >= low && spec->bytes < high;
}

// On as many channels as the library likes, of sizes in (low, high].
bool is_kernel_collective(const Measurement& m, sim::Bytes low, sim::Bytes high) {
  const auto* const spec = timed_collective(m, models::Backend::rccl);
  return spec != nullptr && !spec->channels && spec->bytes > low && spec->bytes <= high;
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

bool is_powered_collective(const Measurement& m, sim::Bytes low, sim::Bytes high) {
  const auto* const trial = std::get_if<study::CollectiveTrial>(&m.trial);
  return trial != nullptr && saw(m, Figure::power) && trial->spec.bytes >= low && trial->spec.bytes < high;
}

bool is_powered_stream_or_rest(const Measurement& m) {
  const bool is_one =
      std::holds_alternative<study::RestTrial>(m.trial) || std::holds_alternative<study::StreamTrial>(m.trial);
  return is_one && saw(m, Figure::power);
}

constexpr sim::Bytes nothing(0.0);
constexpr sim::Bytes anything(1e18);

std::vector<Step> launches_and_copies() {
  return {
      {"an empty kernel",
       {"host.kernel_launch"},
       [](const Measurement& m) { return timed<study::EmptyKernelTrial>(m) != nullptr; }},
      {"copies to one and several peers and copy-engine collectives up to 1 MiB",
       {"gpu.sdma.transfer_latency", "host.command_write"},
       [](const Measurement& m) {
         return is_copy(m, nothing, 1_MiB) || is_fan_out(m, nothing, 1_MiB) ||
                is_engine_collective(m, nothing, 1_MiB + 1_B);
       }},
      {"copies to one peer above 1 MiB",
       {"fabric.link_rate"},
       [](const Measurement& m) { return is_copy(m, 1_MiB, anything); }},
      {"copies to several peers above 1 MiB", {}, [](const Measurement& m) { return is_fan_out(m, 1_MiB, anything); }},
      // Below, rates scatter by a factor of two from one size to the next.
      {"copy-engine collectives from 2 GiB",
       {"fabric.reverse_share"},
       [](const Measurement& m) { return is_engine_collective(m, 2_GiB, anything); }},
      {"copy-engine collectives between 1 MiB and 2 GiB",
       {},
       [](const Measurement& m) { return is_engine_collective(m, 1_MiB + 1_B, 2_GiB); }},
  };
}

std::vector<Step> kernels() {
  return {
      {"a streaming kernel",
       {"gpu.memory.hbm.read_efficiency"},
       [](const Measurement& m) { return timed<study::StreamTrial>(m) != nullptr; }},
      {"kernel collectives from 512 MiB on 1 to 8 workgroups",
       {"rccl.workgroup_in_flight"},
       [](const Measurement& m) { return is_bound_by_channels(m); }},
      {"kernel collectives up to 64 KiB",
       {"rccl.protocols.ll.step_latency"},
       [](const Measurement& m) { return is_kernel_collective(m, nothing, 64_KiB); }},
      // Together: a protocol runs where it takes less time than the others.
      {"kernel collectives above 64 KiB",
       {"rccl.protocols.ll128.step_latency", "rccl.protocols.ll128.link_efficiency",
        "rccl.protocols.simple.step_latency", "rccl.protocols.simple.link_efficiency"},
       [](const Measurement& m) { return is_kernel_collective(m, 64_KiB, anything); }},
      {"other kernel collectives on few workgroups",
       {},
       [](const Measurement& m) { return is_limited_collective(m) && !is_bound_by_channels(m); }},
  };
}

std::vector<Step> power_and_gemms() {
  return {
      // From this size on the board does nothing else for most of the time.
      {"board power at rest, streaming, in collectives from 1 GiB",
       {"gpu.power.idle", "gpu.power.hbm_energy", "gpu.power.busy_workgroup", "gpu.power.link_energy"},
       [](const Measurement& m) { return is_powered_stream_or_rest(m) || is_powered_collective(m, 1_GiB, anything); }},
      {"board power in collectives below 1 GiB",
       {},
       [](const Measurement& m) { return is_powered_collective(m, nothing, 1_GiB); }},
      {"GEMMs on all and on fewer CUs, their board power and clock",
       {"gpu.gemm.libraries[0].efficiency", "gpu.power.matrix_energy", "gpu.power.voltage_exponent"},
       [](const Measurement& m) { return std::holds_alternative<study::GemmTrial>(m.trial); }},
  };
}

}  // namespace

std::span<const Step> steps() {
  static const std::vector<Step> all = [] {
    std::vector<Step> joined = launches_and_copies();
    for (std::vector<Step>& part : std::vector{kernels(), power_and_gemms()}) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace c3sim::calibrate
