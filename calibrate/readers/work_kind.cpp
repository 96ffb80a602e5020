#include "calibrate/readers/work_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>

#include "sim/config/config.h"
#include "study/work/config_folders.h"

namespace c3sim::calibrate {

namespace {

constexpr auto names_file = "communication.yaml";

std::filesystem::path file_of_names() {
  for (const std::filesystem::path& folder : study::config_folders()) {
    std::error_code absent;
    if (std::filesystem::is_regular_file(folder / names_file, absent)) return folder / names_file;
  }
  throw sim::ConfigError({{names_file, "", "is in no folder of configurations: $C3SIM_CONFIGS may name one"}});
}

// Of a list of regular expressions, the one that holds where any of them does, whatever the case.
LogPattern any_of(sim::Section& section, std::string_view key) {
  const std::vector<std::string> patterns = section.texts(key);
  const std::string all = fmt::format("(?i)(?:{})", fmt::join(patterns, ")|(?:"));
  LogPattern any(all.c_str());
  if (patterns.empty() || !any.is_valid()) {
    section.fault(key, "regular expressions as RE2 has them are accepted, at least one");
    return LogPattern("$.");
  }
  return any;
}

WorkKind kind_of_copy(std::string_view name) {
  static const LogPattern within("DtoD|DeviceToDevice|Device -> Device|DEVICE_TO_DEVICE");
  return within.is_in(name) ? WorkKind::memory : WorkKind::host_copy;
}

// Libraries and compilers put what a kernel does into its name; cuBLAS's newer ones are called nvjet, Tensile's Cijk.
bool is_product(std::string_view name) {
  static const LogPattern products(
      "(?i)gemm|nvjet|cutlass|cijk|xmma|wgrad|dgrad|fmha|flash|attn|attention|winograd|implicit_con|_conv_");
  return products.is_in(name);
}

}  // namespace

WorkKinds::WorkKinds() {
  sim::Config config = sim::Config::from_file(file_of_names());
  sim::Section root = config.root();
  never_ = any_of(root, "never");
  for (sim::Section& one : root.list("classes")) {
    std::string name = one.text("name");
    classes_.push_back({std::move(name), any_of(one, "kernels")});
  }
  config.finish();
}

// Arguments of templates name types that a kernel uses, not what it does.
WorkKinds::Known WorkKinds::of_kernel(std::string_view name) const {
  const std::string_view own = name.substr(0, name.find('<'));
  if (!never_->is_in(own)) {
    for (const Class& one : classes_) {
      if (one.kernels.is_in(own)) return {WorkKind::collective, one.name};
    }
  }
  return {is_product(name) ? WorkKind::matrix : WorkKind::memory};
}

const WorkKinds::Known& WorkKinds::of(std::string_view category, const std::string& name) {
  static constexpr Known fill{WorkKind::memory};
  if (category == "gpu_memset") return fill;
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  return known_.emplace(name, category == "gpu_memcpy" ? Known{kind_of_copy(name)} : of_kernel(name)).first->second;
}

std::optional<HostCallKind> kind_of_call(std::string_view name) {
  static const LogPattern waits("(?:Device|Stream|Event|Ctx)Synchronize$");
  if (name.ends_with("StreamWaitEvent")) return HostCallKind::wait_for_event;
  return waits.is_in(name) ? std::optional(HostCallKind::synchronise) : std::nullopt;
}

}  // namespace c3sim::calibrate
