#include "calibrate/measure/backends/hip_engines.h"

#include <fmt/format.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <array>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

namespace {

// Newer than the oldest header that this builds with; as hsa_ext_amd.h of ROCm 6.4 has them. Engines are bits.
using EngineMask = std::uint32_t;
using CopyOnEngine = hsa_status_t (*)(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent,
                                      std::size_t bytes, std::uint32_t dependencies, const hsa_signal_t*,
                                      hsa_signal_t completion, EngineMask engine, bool by_engine_in_any_case);
using EngineStatus = hsa_status_t (*)(hsa_agent_t to, hsa_agent_t from, EngineMask* free);
using PreferredEngine = hsa_status_t (*)(hsa_agent_t to, hsa_agent_t from, EngineMask* recommended);

constexpr int most_engines = 32;

}  // namespace

HsaEngines::HsaEngines(Library library) : library_(std::move(library)) {
  if (!library_) return;
  if (library_.need<decltype(&hsa_init)>("hsa_init")() != HSA_STATUS_SUCCESS) {  // as it is where there is no GPU
    library_ = {};
    return;
  }
  const auto system = library_.need<decltype(&hsa_system_get_info)>("hsa_system_get_info");
  std::uint64_t frequency = 0;
  check(system(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency), "hsa_system_get_info");
  ticks_per_microsecond_ = static_cast<double>(frequency) * 1e-6;

  struct Search {
    decltype(&hsa_agent_get_info) ask;
    std::vector<Agent>& found;
  } search{library_.need<decltype(&hsa_agent_get_info)>("hsa_agent_get_info"), agents_};
  const auto visit = [](hsa_agent_t handle, void* data) {
    auto& [ask, found] = *static_cast<Search*>(data);
    const auto amd = [](hsa_amd_agent_info_t info) { return static_cast<hsa_agent_info_t>(info); };
    hsa_device_type_t type{};
    std::array<char, 64> name{};
    std::uint32_t cus = 0, bus = 0, domain = 0;
    ask(handle, HSA_AGENT_INFO_DEVICE, &type);
    if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
    ask(handle, HSA_AGENT_INFO_NAME, name.data());
    ask(handle, amd(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT), &cus);
    ask(handle, amd(HSA_AMD_AGENT_INFO_BDFID), &bus);
    ask(handle, amd(HSA_AMD_AGENT_INFO_DOMAIN), &domain);
    found.push_back({handle, name.data(),
                     fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus >> 8 & 0xff, bus >> 3 & 0x1f, bus & 0x7),
                     static_cast<int>(cus)});
    return HSA_STATUS_SUCCESS;
  };
  check(library_.need<decltype(&hsa_iterate_agents)>("hsa_iterate_agents")(visit, &search), "hsa_iterate_agents");
}

const HsaEngines::Agent& HsaEngines::agent(const std::string& bus_id) const {
  const auto found = std::ranges::find(agents_, bus_id, &Agent::bus_id);
  if (found != agents_.end()) return *found;
  throw GpuError(GpuError::Kind::unsupported, fmt::format("HSA knows no GPU at {}", bus_id));
}

bool HsaEngines::can_choose() const {
  return library_.look_up<EngineStatus>("hsa_amd_memory_copy_engine_status") != nullptr &&
         library_.look_up<CopyOnEngine>("hsa_amd_memory_async_copy_on_engine") != nullptr;
}

std::vector<int> HsaEngines::engines(const Agent& from, const Agent& to) const {
  if (!can_choose()) return {};
  const auto status = library_.need<EngineStatus>("hsa_amd_memory_copy_engine_status");
  EngineMask there = 0, preferred = 0;
  status(to.handle, from.handle, &there);
  const auto prefer = library_.look_up<PreferredEngine>("hsa_amd_memory_get_preferred_copy_engine");
  if (prefer != nullptr) prefer(to.handle, from.handle, &preferred);
  std::vector<int> all;
  for (const bool first : {true, false}) {
    for (int engine = 0; engine < most_engines; ++engine) {
      const EngineMask bit = EngineMask{1} << engine;
      if ((there & bit) != 0 && ((preferred & bit) != 0) == first) all.push_back(engine);
    }
  }
  return all;
}

EngineCopy HsaEngines::copy(int engine, const Agent& from, const Agent& to, void* destination, const void* source,
                            std::size_t bytes) const {
  const auto create = library_.need<decltype(&hsa_signal_create)>("hsa_signal_create");
  const auto destroy = library_.need<decltype(&hsa_signal_destroy)>("hsa_signal_destroy");
  const auto wait = library_.need<decltype(&hsa_signal_wait_scacquire)>("hsa_signal_wait_scacquire");
  const auto profile =
      library_.need<decltype(&hsa_amd_profiling_async_copy_enable)>("hsa_amd_profiling_async_copy_enable");
  const auto time =
      library_.need<decltype(&hsa_amd_profiling_get_async_copy_time)>("hsa_amd_profiling_get_async_copy_time");
  const auto copy_on_engine = library_.need<CopyOnEngine>("hsa_amd_memory_async_copy_on_engine");
  constexpr double patience = 20e6;  // us

  check(profile(true), "hsa_amd_profiling_async_copy_enable");
  hsa_signal_t signal{};
  check(create(1, 0, nullptr, &signal), "hsa_signal_create");
  const double begin = now();
  const hsa_status_t started = copy_on_engine(destination, to.handle, source, from.handle, bytes, 0, nullptr, signal,
                                              EngineMask{1} << engine, true);
  hsa_signal_value_t left = 1;
  if (started == HSA_STATUS_SUCCESS) {
    left = wait(signal, HSA_SIGNAL_CONDITION_LT, 1, static_cast<std::uint64_t>(patience * ticks_per_microsecond_),
                HSA_WAIT_STATE_ACTIVE);
  }
  const double seen = now();
  hsa_amd_profiling_async_copy_time_t stamps{};
  const hsa_status_t told = time(signal, &stamps);
  profile(false);
  if (started == HSA_STATUS_SUCCESS && left >= 1) {
    throw GpuError(GpuError::Kind::hang, fmt::format("copy engine {} does not end its work", engine));
  }
  destroy(signal);
  check(started, "hsa_amd_memory_async_copy_on_engine");
  check(told, "hsa_amd_profiling_get_async_copy_time");
  const double start = static_cast<double>(stamps.start) / ticks_per_microsecond_;
  const double end = static_cast<double>(stamps.end) / ticks_per_microsecond_;
  return {start - begin, end - start, seen - end};
}

double HsaEngines::now() const {
  std::uint64_t ticks = 0;
  check(library_.need<decltype(&hsa_system_get_info)>("hsa_system_get_info")(HSA_SYSTEM_INFO_TIMESTAMP, &ticks),
        "hsa_system_get_info");
  return static_cast<double>(ticks) / ticks_per_microsecond_;
}

void HsaEngines::check(hsa_status_t status, const char* call) const {
  if (status == HSA_STATUS_SUCCESS) return;
  const char* text = "an unknown error";
  const auto describe = library_.look_up<decltype(&hsa_status_string)>("hsa_status_string");
  if (describe != nullptr) describe(status, &text);
  throw GpuError(GpuError::Kind::failed, fmt::format("{}: {}", call, text));
}

}  // namespace c3sim::measure
