#include "calibrate/measure/backends/hsa_engines.h"

#include <algorithm>
#include <array>

namespace c3sim::measure {

namespace {

// As hsa.h and hsa_ext_amd.h of ROCm 6.4 have them.
using Handle = HsaEngines::Handle;
using EngineMask = std::uint32_t;                                                        // engines are its bits
constexpr int system_timestamp = 2, system_timestamp_frequency = 3;                      // hsa_system_info_t
constexpr int agent_name = 0, agent_device = 17;                                         // hsa_agent_info_t
constexpr int agent_cus = 0xA002, agent_bus_and_device = 0xA006, agent_domain = 0xA00F;  // hsa_amd_agent_info_t
constexpr int device_gpu = 1;                                                            // hsa_device_type_t
constexpr int below = 2, actively = 1;  // hsa_signal_condition_t, hsa_wait_state_t

struct CopyTime {  // hsa_amd_profiling_async_copy_time_t
  std::uint64_t start, end;
};
constexpr const char* copy_on_engine = "hsa_amd_memory_async_copy_on_engine";
constexpr const char* engine_status = "hsa_amd_memory_copy_engine_status";

constexpr int most_engines = 32;

struct Search {
  int (*ask)(Handle, int, void*);
  std::vector<HsaEngines::Agent>& found;
};

int visit(Handle handle, void* data) {
  const auto& [ask, found] = *static_cast<Search*>(data);
  int type = 0;
  std::array<char, 64> name{};
  std::uint32_t cus = 0, bus = 0, domain = 0;
  ask(handle, agent_device, &type);
  if (type != device_gpu) return success;
  ask(handle, agent_name, name.data());
  ask(handle, agent_cus, &cus);
  ask(handle, agent_bus_and_device, &bus);
  ask(handle, agent_domain, &domain);
  found.push_back({handle, name.data(),
                   fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus >> 8 & 0xff, bus >> 3 & 0x1f, bus & 0x7),
                   static_cast<int>(cus)});
  return success;
}

GpuError hsa_fault(const Library& library, const std::string& call, int status) {
  const char* text = "an unknown error";
  library.succeeds("hsa_status_string", status, &text);
  return {GpuError::Kind::failed, "{}: {}", call, text};
}

}  // namespace

HsaEngines::HsaEngines(const std::vector<std::string>& folders)
    : library_(Library::find_newest("libhsa-runtime64.so", folders, hsa_fault)) {
  if (!library_) return;
  if (library_.result("hsa_init") != success) {  // as it is where there is no GPU
    library_ = {};
    return;
  }
  std::uint64_t frequency = 0;
  library_.call("hsa_system_get_info", system_timestamp_frequency, static_cast<void*>(&frequency));
  ticks_per_microsecond_ = static_cast<double>(frequency) * 1e-6;
  Search search{library_.need("hsa_agent_get_info"), agents_};
  library_.call("hsa_iterate_agents", &visit, static_cast<void*>(&search));
}

const HsaEngines::Agent& HsaEngines::agent(const std::string& bus_id) const {
  const auto found = std::ranges::find(agents_, bus_id, &Agent::bus_id);
  if (found != agents_.end()) return *found;
  throw GpuError(GpuError::Kind::unsupported, "HSA knows no GPU at {}", bus_id);
}

bool HsaEngines::can_choose() const { return library_.look_up(engine_status) && library_.look_up(copy_on_engine); }

std::vector<int> HsaEngines::engines(const Agent& from, const Agent& to) const {
  if (!can_choose()) return {};
  EngineMask there = 0, preferred = 0;
  library_.succeeds(engine_status, to.handle, from.handle, &there);
  library_.succeeds("hsa_amd_memory_get_preferred_copy_engine", to.handle, from.handle, &preferred);
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
  constexpr double patience = 20e6;  // us
  constexpr bool by_this_engine_in_any_case = true;
  const Library::Call<bool> profile(library_, "hsa_amd_profiling_async_copy_enable");
  const Library::Call<Handle, CopyTime*> time(library_, "hsa_amd_profiling_get_async_copy_time");
  const Library::Call<void*, Handle, const void*, Handle, std::size_t, std::uint32_t, const Handle*, Handle, EngineMask,
                      bool>
      start_copy(library_, copy_on_engine);
  std::int64_t (*const wait)(Handle, int, std::int64_t, std::uint64_t, int) =
      library_.need("hsa_signal_wait_scacquire");

  profile(true);
  Handle signal{};
  library_.call("hsa_signal_create", std::int64_t{1}, std::uint32_t{0}, static_cast<const Handle*>(nullptr), &signal);
  const double begin = now();
  const int started = start_copy.result(destination, to.handle, source, from.handle, bytes, 0, nullptr, signal,
                                        EngineMask{1} << engine, by_this_engine_in_any_case);
  std::int64_t left = 1;
  if (started == success) {
    left = wait(signal, below, 1, static_cast<std::uint64_t>(patience * ticks_per_microsecond_), actively);
  }
  const double seen = now();
  CopyTime stamps{};
  const int told = time.result(signal, &stamps);
  profile.result(false);
  if (started == success && left >= 1) {
    throw GpuError(GpuError::Kind::hang, "copy engine {} does not end its work", engine);
  }
  library_.call("hsa_signal_destroy", signal);
  start_copy.check(started);
  time.check(told);
  const double start = static_cast<double>(stamps.start) / ticks_per_microsecond_;
  const double end = static_cast<double>(stamps.end) / ticks_per_microsecond_;
  return {start - begin, end - start, seen - end};
}

double HsaEngines::now() const {
  std::uint64_t ticks = 0;
  library_.call("hsa_system_get_info", system_timestamp, static_cast<void*>(&ticks));
  return static_cast<double>(ticks) / ticks_per_microsecond_;
}

}  // namespace c3sim::measure
