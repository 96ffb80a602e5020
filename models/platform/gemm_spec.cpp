#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "models/platform/gpu_spec.h"
#include "models/platform/limits.h"
#include "sim/config/files_read.h"
#include "sim/config/measurement_text.h"
#include "sim/config/nearest_name.h"

namespace c3sim::models {
namespace {

constexpr int lanes_of_a_wave = 64;
constexpr int bytes_of_a_register = 4;  // per lane
constexpr int address_registers = 64;   // per lane, for addresses, counters and everything else except data
constexpr std::int64_t largest_lds = 1 << 30;

std::int32_t registers_of(const GemmKernelSpec& kernel, int threads, const CuResources& cu) {
  const int accumulators = kernel.tile_m * kernel.tile_n;
  const int operands = (kernel.tile_m + kernel.tile_n) * kernel.depth / 2;  // two operands share a register
  const int all = accumulators + operands + address_registers * threads;
  return std::min(cu.registers, bytes_of_a_register * all);
}

std::vector<std::filesystem::path> folders_of_tables(const sim::Config& config,
                                                     std::span<const std::filesystem::path> config_folders) {
  std::vector<std::filesystem::path> folders;
  for (const std::filesystem::path file : config.files()) {
    folders.push_back(file.parent_path());
    folders.push_back(file.parent_path().parent_path());
  }
  folders.insert(folders.end(), config_folders.begin(), config_folders.end());
  return folders;
}

Dtype dtype_of(sim::CsvFile& cells, std::size_t row) {
  const std::string_view text = cells.text(row, "dtype");
  for (const Dtype dtype : all_dtypes) {
    if (text == to_string(dtype)) return dtype;
  }
  cells.fault(row, "dtype", fmt::format("is not one of {}", fmt::join(all_names(Dtype{}), ", ")));
  return Dtype::bf16;
}

}  // namespace

GemmKernelTable::GemmKernelTable(std::string_view text, std::string name)
    : cells_(sim::CsvFile::from_text(text, std::move(name))) {
  cells_.require({"m", "n", "k", "tile_m", "tile_n", "depth", "threads", "lds_bytes", "split"});
  cells_.check();
  const auto whole = [this](std::size_t row, std::string_view column, std::int64_t low, std::int64_t high) {
    return static_cast<int>(cells_.integer(row, column, low, high));
  };
  for (std::size_t place = 0; place < cells_.rows(); ++place) {
    Row& row = rows_.emplace_back();
    GemmKernelSpec& kernel = row.kernel;
    kernel.tuned_for = {cells_.integer(place, "m", 1, GemmShape::largest_extent),
                        cells_.integer(place, "n", 1, GemmShape::largest_extent),
                        cells_.integer(place, "k", 1, GemmShape::largest_extent)};
    if (cells_.has("dtype")) kernel.tuned_for.dtype = dtype_of(cells_, place);
    kernel.tile_m = whole(place, "tile_m", 16, 1024);
    kernel.tile_n = whole(place, "tile_n", 8, 1024);
    kernel.depth = whole(place, "depth", 1, 4096);
    kernel.split_k = whole(place, "split", 1, 1024);
    row.threads = whole(place, "threads", lanes_of_a_wave, 1024);
    row.lds = cells_.integer(place, "lds_bytes", 0, largest_lds);
    kernel.workgroup.waves = (row.threads + lanes_of_a_wave - 1) / lanes_of_a_wave;
    if (cells_.has("cluster_m")) kernel.cluster_m = whole(place, "cluster_m", 1, 16);
    if (cells_.has("cluster_n")) kernel.cluster_n = whole(place, "cluster_n", 1, 16);
    if (cells_.has("start_up_us")) {
      kernel.start_up = sim::to_time(sim::Seconds(cells_.number(place, "start_up_us", 0.0, 1000.0) * 1e-6));
    }
    if (!cells_.has("efficiency_pct")) continue;
    kernel.tuned_efficiency = cells_.number(place, "efficiency_pct", 1e-4, 100.0) / 100.0;
  }
  if (rows_.empty()) cells_.fault("a library has at least one kernel");
  cells_.check();
}

std::vector<GemmKernelSpec> GemmKernelTable::on(const CuResources& cu) const {
  std::vector<GemmKernelSpec> kernels;
  kernels.reserve(rows_.size());
  for (const Row& row : rows_) {
    GemmKernelSpec& kernel = kernels.emplace_back(row.kernel);
    kernel.workgroup.lds = static_cast<std::int32_t>(row.lds);
    kernel.workgroup.registers = registers_of(kernel, row.threads, cu);
  }
  const auto fits = [&cu](const GemmKernelSpec& kernel) {
    return kernel.workgroup.lds <= cu.lds && kernel.workgroup.waves <= cu.waves;
  };
  if (std::ranges::all_of(kernels, fits)) {
    std::ranges::stable_sort(kernels, {}, [](const GemmKernelSpec& kernel) { return kernel.tuned_for.dtype; });
    return kernels;
  }
  sim::CsvFile cells = cells_;
  for (std::size_t place = 0; place < kernels.size(); ++place) {
    cells.integer(place, "lds_bytes", 0, cu.lds);
    if (kernels[place].workgroup.waves > cu.waves) {
      cells.fault(place, "threads", "are more waves than a CU has room for");
    }
  }
  cells.check();
  return kernels;
}

GemmKernelTables GemmKernelTables::read(sim::Config config, std::span<const std::filesystem::path> config_folders) {
  const std::vector<std::filesystem::path> folders = folders_of_tables(config, config_folders);
  GemmKernelTables tables;
  for (sim::Section library : config.root().section("gpu").section("gemm").list("libraries")) {
    const std::string name = library.name("name");
    const auto file = sim::first_file(folders, "kernels/" + name + ".csv");
    if (!file) continue;
    One& one = tables.by_library_[name];
    try {
      one.text = sim::read_measurement_text(*file);
      one.table.emplace<GemmKernelTable>(one.text, file->string());
    } catch (const sim::ConfigError& error) {
      one.table = error;
    }
  }
  return tables;
}

const GemmKernelTable* GemmKernelTables::find(std::string_view library) const {
  const auto found = by_library_.find(library);
  if (found == by_library_.end()) return nullptr;
  if (const auto* const error = std::get_if<sim::ConfigError>(&found->second.table)) throw sim::ConfigError(*error);
  return &std::get<GemmKernelTable>(found->second.table);
}

std::string_view GemmKernelTables::text(std::string_view library) const {
  const auto found = by_library_.find(library);
  return found == by_library_.end() ? std::string_view() : found->second.text;
}

namespace {

constexpr std::array<std::pair<std::string_view, Dealing>, 3> schedules{{{"tile_per_workgroup", Dealing::per_xcd},
                                                                         {"persistent", Dealing::resident},
                                                                         {"work_stealing", Dealing::stealing}}};
GemmLibrary read_library(sim::Section& section) {
  GemmLibrary library;
  library.name = section.name("name");
  library.by_modelled_time = section.flag("by_modelled_time", false);
  library.tuned_cus = static_cast<int>(section.integer("tuned_cus", 0, 4096, 0));
  library.told_cus = section.flag("told_cus", false);
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
  return {.flops_per_cycle_per_cu = section.number("flops_per_cycle_per_cu", 1.0, 1e6),
          .efficiency = section.number("efficiency", 0.01, 2.0),
          .input_gradient = section.number("input_gradient", 0.01, 2.0, 1.0),
          .weight_gradient = section.number("weight_gradient", 0.01, 2.0, 1.0),
          .energy = section.number("energy", 0.01, 100.0)};
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

GemmSpec GemmSpec::read(sim::Section section, const CuResources& cu, const GemmKernelTables& tables) {
  GemmSpec spec;
  spec.flops_per_cycle_per_cu = section.number("flops_per_cycle_per_cu", 1.0, 1e6);
  if (section.has("precisions")) {
    sim::Section precisions = section.section("precisions");
    for (const Dtype dtype : all_dtypes) {
      if (dtype == Dtype::bf16 || !precisions.has(to_string(dtype))) continue;  // bf16 is the reference of all others
      sim::Section row = precisions.section(to_string(dtype));
      spec.others[static_cast<std::size_t>(dtype)] = read_precision(row);
    }
  }
  std::vector<GemmLibrary> libraries;
  for (sim::Section row : section.list("libraries")) {
    libraries.push_back(read_library(row));
    spec.libraries.push_back(libraries.back().name);
  }
  // Returns the library that `key` names with its kernels, or nothing after recording a fault.
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
