#include "calibrate/readers/work_kind.h"

#include "calibrate/readers/log_text.h"

namespace c3sim::calibrate {

namespace {

WorkKind kind_of_copy(std::string_view name) {
  static const LogPattern within("DtoD|DeviceToDevice|Device -> Device");
  return within.is_in(name) ? WorkKind::memory : WorkKind::host_copy;
}

// Libraries and compilers put what a kernel does into its name; cuBLAS's newer ones are called nvjet, Tensile's Cijk.
WorkKind kind_of_kernel(std::string_view name) {
  static const LogPattern collectives("(?i)nccldevkernel|ncclkernel|cross_device_reduce");
  static const LogPattern products(
      "(?i)gemm|nvjet|cutlass|cijk|xmma|wgrad|dgrad|fmha|flash|attn|attention|winograd|implicit_con|_conv_");
  if (collectives.is_in(name)) return WorkKind::collective;
  return products.is_in(name) ? WorkKind::matrix : WorkKind::memory;
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
  static const LogPattern waits("(?:Device|Stream|Event|Ctx)Synchronize$");
  if (name.ends_with("StreamWaitEvent")) return HostCallKind::wait_for_event;
  return waits.is_in(name) ? std::optional(HostCallKind::synchronise) : std::nullopt;
}

}  // namespace c3sim::calibrate
