#include "calibrate/step.h"

namespace calibrate {

namespace {

using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_GiB;

bool is_timed(const Measurement& m, Subject subject) { return m.subject == subject && m.time.has_value(); }

bool is_engine_collective(const Measurement& m) { return is_timed(m, Subject::engine_collective); }

// On as many workgroups as the library likes.
bool is_kernel_collective(const Measurement& m) { return is_timed(m, Subject::kernel_collective) && m.limit == 0; }

bool is_limited_collective(const Measurement& m) { return is_timed(m, Subject::kernel_collective) && m.limit > 0; }

bool is_powered_collective(const Measurement& m) {
  return m.power && (m.subject == Subject::kernel_collective || m.subject == Subject::engine_collective);
}

std::vector<Step> launches_and_copies() {
  return {
      {"an empty kernel",
       {"host.kernel_launch"},
       [](const Measurement& m) { return is_timed(m, Subject::empty_kernel); }},
      {"copies to one and several peers and copy-engine collectives up to 1 MiB",
       {"gpu.sdma.transfer_latency", "host.command_write"},
       [](const Measurement& m) {
         return (is_timed(m, Subject::copy) || is_timed(m, Subject::fan_out) || is_engine_collective(m)) &&
                m.bytes <= 1_MiB;
       }},
      {"copies to one peer above 1 MiB",
       {"fabric.link_rate"},
       [](const Measurement& m) { return is_timed(m, Subject::copy) && m.bytes > 1_MiB; }},
      {"copies to several peers above 1 MiB",
       {},
       [](const Measurement& m) { return is_timed(m, Subject::fan_out) && m.bytes > 1_MiB; }},
      // Below, rates scatter by a factor of two from one size to the next.
      {"copy-engine collectives from 2 GiB",
       {"fabric.reverse_share"},
       [](const Measurement& m) { return is_engine_collective(m) && m.bytes >= 2_GiB; }},
      {"copy-engine collectives between 1 MiB and 2 GiB",
       {},
       [](const Measurement& m) { return is_engine_collective(m) && m.bytes > 1_MiB && m.bytes < 2_GiB; }},
  };
}

std::vector<Step> kernels() {
  return {
      {"a streaming kernel",
       {"gpu.memory.hbm.read_efficiency"},
       [](const Measurement& m) { return is_timed(m, Subject::stream); }},
      {"kernel collectives from 512 MiB on 1 to 8 workgroups",
       {"rccl.workgroup_in_flight"},
       [](const Measurement& m) { return is_limited_collective(m) && m.limit <= 8 && m.bytes >= 512_MiB; }},
      {"kernel collectives up to 64 KiB",
       {"rccl.protocols.ll.step_latency"},
       [](const Measurement& m) { return is_kernel_collective(m) && m.bytes <= 64_KiB; }},
      {"kernel collectives between 64 KiB and 8 MiB",
       {"rccl.protocols.ll128.step_latency", "rccl.protocols.ll128.link_efficiency"},
       [](const Measurement& m) { return is_kernel_collective(m) && m.bytes > 64_KiB && m.bytes <= 8_MiB; }},
      {"kernel collectives above 8 MiB",
       {"rccl.protocols.simple.step_latency", "rccl.protocols.simple.link_efficiency"},
       [](const Measurement& m) { return is_kernel_collective(m) && m.bytes > 8_MiB; }},
      {"other kernel collectives on few workgroups",
       {},
       [](const Measurement& m) { return is_limited_collective(m) && (m.limit > 8 || m.bytes < 512_MiB); }},
  };
}

std::vector<Step> power_and_gemms() {
  return {
      // From this size on the board does nothing else for most of the time.
      {"board power at rest, streaming, in collectives from 1 GiB",
       {"gpu.power.idle", "gpu.power.hbm_energy", "gpu.power.busy_workgroup"},
       [](const Measurement& m) {
         return (m.power && (m.subject == Subject::idle || m.subject == Subject::stream)) ||
                (is_powered_collective(m) && m.bytes >= 1_GiB);
       }},
      {"board power in collectives below 1 GiB",
       {},
       [](const Measurement& m) { return is_powered_collective(m) && m.bytes < 1_GiB; }},
      {"GEMMs on all and on fewer CUs, their board power and clock",
       {"gpu.gemm.kernels[0].efficiency", "gpu.power.matrix_energy", "gpu.power.voltage_exponent"},
       [](const Measurement& m) { return m.subject == Subject::gemm; }},
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

}  // namespace calibrate
