#include "models/platform/gemm_spec.h"

#include <array>
#include <string_view>
#include <utility>

#include "models/platform/knee.h"
#include "models/platform/limits.h"
#include "sim/config/nearest_name.h"

namespace c3sim::models {

namespace {

constexpr std::array<std::pair<std::string_view, Dealing>, 3> schedules{{{"tile_per_workgroup", Dealing::per_xcd},
                                                                         {"persistent", Dealing::resident},
                                                                         {"work_stealing", Dealing::stealing}}};
GemmLibrary read_library(sim::Section& section) {
  GemmLibrary library;
  library.name = section.name("name");
  library.by_modelled_time = section.flag("by_modelled_time", false);
  library.splits = section.flag("splits", false);
  library.least_busy = section.number("least_busy", 0.0, 1.0, 0.0);
  library.undivided_columns = static_cast<int>(section.integer("undivided_columns", 0, 1024, 0));
  library.schedule = section.choice<Dealing>("schedule", schedules);
  library.shares_last = section.flag("shares_last", false);
  if (library.shares_last && section.is_sound("schedule") && library.schedule != Dealing::resident) {
    section.fault("shares_last", "asks for workgroups that stay on their CUs: schedule persistent");
  }
  library.efficiency = section.number("efficiency", 0.01, 1.0);
  if (section.has("fp8_efficiency")) library.fp8_efficiency = section.number("fp8_efficiency", 0.01, 2.0);
  library.packed_efficiency = section.number("packed_efficiency", 0.01, 1.0, 1.0);
  library.tile_overhead = section.number("tile_overhead", 0.0, 100.0);
  library.least_step = section.number("least_step", 0.0, 1e6);
  library.cold_operands = section.number("cold_operands", 0.0, 10.0);
  library.knee = read_knee(section, "knee");
  library.start_up = section.time("start_up", limits::latency);
  library.steps_in_flight = static_cast<int>(section.integer("steps_in_flight", 1, 16));
  library.loads_ahead = section.flag("loads_ahead", true);
  library.row_conflicts = section.number("row_conflicts", 1.0, 16.0, 1.0);
  if (section.has("conflicting_rows"))
    library.conflicting_rows = section.quantity("conflicting_rows", limits::capacity);
  library.time_spread = section.number("time_spread", 0.0, 1.0);
  library.grouped_rows = static_cast<int>(section.integer("grouped_rows", 0, 1 << 16, 0));
  library.l2_drift = section.integer("l2_drift", 1, 1 << 24);
  library.cache_drift = section.integer("cache_drift", 1, 1 << 24, 1);
  return library;
}

PrecisionSpec read_precision(sim::Section& section) {
  PrecisionSpec spec;
  spec.flops_per_cycle_per_cu = section.number("flops_per_cycle_per_cu", 1.0, 1e6);
  spec.efficiency = section.number("efficiency", 0.01, 2.0);
  spec.input_gradient = section.number("input_gradient", 0.01, 2.0, 1.0);
  spec.weight_gradient = section.number("weight_gradient", 0.01, 2.0, 1.0);
  spec.energy = section.number("energy", 0.01, 100.0);
  return spec;
}

}  // namespace

double PrecisionSpec::efficiency_of(Layout layout) const {
  if (layout == Layout::forward) return efficiency;
  return efficiency * (layout == Layout::input_gradient ? input_gradient : weight_gradient);
}

std::optional<PrecisionSpec> GemmSpec::precision(Dtype dtype) const {
  const std::optional<PrecisionSpec>& other = others[static_cast<std::size_t>(dtype)];
  if (other) return other;
  if (dtype == Dtype::bf16 || dtype == Dtype::fp16) return PrecisionSpec{flops_per_cycle_per_cu};
  return {};
}

const GemmLibrary& GemmSpec::library_of(const GemmShape& shape) const {
  return shape.of_experts && experts_library ? *experts_library : library;
}

GemmSpec GemmSpec::read(sim::Section section, const CuResources& cu, const GemmKernelTables& tables) {
  GemmSpec spec;
  spec.flops_per_cycle_per_cu = section.number("flops_per_cycle_per_cu", 1.0, 1e6);
  if (section.has("precisions")) {
    sim::Section precisions = section.section("precisions");
    for (const Dtype dtype : all_dtypes) {
      if (dtype == Dtype::bf16 || !precisions.has(to_string(dtype))) continue;  // bf16 is what all others are beside
      sim::Section row = precisions.section(to_string(dtype));
      spec.others[static_cast<std::size_t>(dtype)] = read_precision(row);
    }
  }
  std::vector<GemmLibrary> libraries;
  for (sim::Section row : section.list("libraries")) {
    libraries.push_back(read_library(row));
    spec.libraries.push_back(libraries.back().name);
  }
  // The library that `key` names, with its table of kernels; nothing, and a fault, where there is none.
  const auto named_by = [&](std::string_view key) -> std::optional<GemmLibrary> {
    const std::string wanted = section.name(key);
    const auto found = std::ranges::find(libraries, wanted, &GemmLibrary::name);
    if (found == libraries.end()) {
      section.fault(key, "no library is named '" + wanted + "'" + sim::name_hint(wanted, spec.libraries));
      return {};
    }
    const GemmKernelTable* const table = tables.find(wanted);
    if (table == nullptr) {
      section.fault(key, "there is no table kernels/" + wanted + ".csv in a folder of configurations");
      return {};
    }
    GemmLibrary named = *found;
    named.kernels = table->on(cu);
    return named;
  };
  if (std::optional<GemmLibrary> in_use = named_by("library")) spec.library = *std::move(in_use);
  if (section.has("experts_library")) spec.experts_library = named_by("experts_library");
  if (spec.experts_library) {
    for (GemmKernelSpec& kernel : spec.experts_library->kernels) kernel.tuned_for.of_experts = true;
  }
  return spec;
}

}  // namespace c3sim::models
