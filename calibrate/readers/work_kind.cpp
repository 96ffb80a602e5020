#include "calibrate/readers/work_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

namespace c3sim::calibrate {

namespace {

using Names = std::span<const std::string_view>;

bool holds_any(std::string_view text, Names words) {
  return std::ranges::any_of(words,
                             [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

WorkKind kind_of_copy(std::string_view name) {
  constexpr std::array<std::string_view, 3> within{"DtoD", "DeviceToDevice", "Device -> Device"};
  return holds_any(name, within) ? WorkKind::memory : WorkKind::host_copy;
}

// Libraries and compilers put what a kernel does into its name; cuBLAS's newer ones are called nvjet, Tensile's Cijk.
WorkKind kind_of_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 3> collectives{"nccldevkernel", "ncclkernel", "cross_device_reduce"};
  constexpr std::array<std::string_view, 14> products{"gemm",      "nvjet",    "cutlass",      "cijk",  "xmma",
                                                      "wgrad",     "dgrad",    "fmha",         "flash", "attn",
                                                      "attention", "winograd", "implicit_con", "_conv_"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (holds_any(lower, collectives)) return WorkKind::collective;
  return holds_any(lower, products) ? WorkKind::matrix : WorkKind::memory;
}

}  // namespace

WorkKind WorkKinds::of(std::string_view category, const std::string& name) {
  if (category == "gpu_memset") return WorkKind::memory;
  if (category == "gpu_memcpy") return kind_of_copy(name);
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  return known_.emplace(name, kind_of_kernel(name)).first->second;
}

std::optional<HostCallKind> kind_of_call(std::string_view name) {
  constexpr std::array<std::string_view, 4> waits{"DeviceSynchronize", "StreamSynchronize", "EventSynchronize",
                                                  "CtxSynchronize"};
  if (name.ends_with("StreamWaitEvent")) return HostCallKind::wait_for_event;
  const bool synchronises = std::ranges::any_of(waits, [name](std::string_view word) { return name.ends_with(word); });
  if (synchronises) return HostCallKind::synchronise;
  return {};
}

}  // namespace c3sim::calibrate
