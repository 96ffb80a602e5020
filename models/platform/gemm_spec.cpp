#include "models/platform/gemm_spec.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "models/platform/limits.h"
#include "sim/config/csv_file.h"
#include "sim/config/nearest_name.h"

namespace c3sim::models {

namespace {

constexpr std::array<std::pair<std::string_view, Dealing>, 3> schedules{{{"tile_per_workgroup", Dealing::per_xcd},
                                                                         {"persistent", Dealing::resident},
                                                                         {"work_stealing", Dealing::stealing}}};
constexpr int lanes_of_a_wave = 64;
constexpr int bytes_of_a_register = 4;  // of one lane
constexpr int address_registers = 64;   // of each lane: addresses, counters, what else is not data

std::int32_t registers_of(const GemmKernelSpec& kernel, int threads, const CuResources& cu) {
  const int accumulators = kernel.tile_m * kernel.tile_n;
  const int operands = (kernel.tile_m + kernel.tile_n) * kernel.depth / 2;  // two of them to a register
  const int all = accumulators + operands + address_registers * threads;
  return std::min(cu.registers, bytes_of_a_register * all);
}

GemmLibrary read_library(sim::Section& section) {
  GemmLibrary library;
  library.name = section.name("name");
  library.by_modelled_time = section.flag("by_modelled_time", false);
  library.splits = section.flag("splits", false);
  library.schedule = section.choice<Dealing>("schedule", schedules);
  library.efficiency = section.number("efficiency", 0.01, 1.0);
  library.tile_overhead = section.number("tile_overhead", 0.0, 100.0);
  library.least_step = section.number("least_step", 0.0, 1e6);
  library.cold_operands = section.number("cold_operands", 0.0, 10.0);
  library.start_up = section.time("start_up", limits::latency);
  library.steps_in_flight = static_cast<int>(section.integer("steps_in_flight", 1, 16));
  library.time_spread = section.number("time_spread", 0.0, 1.0);
  library.l2_drift = section.integer("l2_drift", 1, 1 << 24);
  library.cache_drift = section.integer("cache_drift", 1, 1 << 24, 1);
  return library;
}

}  // namespace

std::optional<std::filesystem::path> gemm_kernel_table(const std::string& library,
                                                       std::span<const std::filesystem::path> config_folders) {
  for (const std::filesystem::path& folder : config_folders) {
    std::error_code absent;
    std::filesystem::path file = folder / "kernels" / (library + ".csv");
    if (std::filesystem::is_regular_file(file, absent)) return file;
  }
  return {};
}

GemmSpec GemmSpec::read(sim::Section section, const CuResources& cu,
                        std::span<const std::filesystem::path> config_folders) {
  GemmSpec spec;
  spec.flops_per_cycle_per_cu = section.number("flops_per_cycle_per_cu", 1.0, 1e6);
  const std::string wanted = section.name("library");
  bool found = false;
  for (sim::Section row : section.list("libraries")) {
    GemmLibrary library = read_library(row);
    spec.libraries.push_back(library.name);
    if (library.name != wanted) continue;
    found = true;
    spec.library = std::move(library);
  }
  if (!found) {
    section.fault("library", "no library is named '" + wanted + "'" + sim::name_hint(wanted, spec.libraries));
    return spec;
  }
  const std::optional<std::filesystem::path> table = gemm_kernel_table(wanted, config_folders);
  if (!table) {
    section.fault("library", "there is no table kernels/" + wanted + ".csv in a folder of configurations");
    return spec;
  }
  spec.library.kernels = read_gemm_kernels(*table, cu);
  return spec;
}

std::vector<GemmKernelSpec> read_gemm_kernels(const std::filesystem::path& file, const CuResources& cu) {
  sim::CsvFile table = sim::CsvFile::from_file(file);
  table.require({"m", "n", "k", "tile_m", "tile_n", "depth", "threads", "lds_bytes", "split"});
  table.check();
  std::vector<GemmKernelSpec> kernels;
  const auto whole = [&table](std::size_t row, std::string_view column, std::int64_t low, std::int64_t high) {
    return static_cast<int>(table.integer(row, column, low, high));
  };
  for (std::size_t row = 0; row < table.rows(); ++row) {
    GemmKernelSpec kernel;
    kernel.tuned_for = {table.integer(row, "m", 1, GemmShape::largest_extent),
                        table.integer(row, "n", 1, GemmShape::largest_extent),
                        table.integer(row, "k", 1, GemmShape::largest_extent)};
    kernel.tile_m = whole(row, "tile_m", 16, 1024);
    kernel.tile_n = whole(row, "tile_n", 16, 1024);
    kernel.depth = whole(row, "depth", 1, 4096);
    kernel.split_k = whole(row, "split", 1, 1024);
    const int threads = whole(row, "threads", lanes_of_a_wave, 1024);
    kernel.workgroup.lds = whole(row, "lds_bytes", 0, cu.lds);
    kernel.workgroup.waves = (threads + lanes_of_a_wave - 1) / lanes_of_a_wave;
    kernel.workgroup.registers = registers_of(kernel, threads, cu);
    if (kernel.workgroup.waves > cu.waves) table.fault(row, "threads", "are more waves than a CU has room for");
    if (table.has("efficiency_pct")) kernel.tuned_efficiency = table.number(row, "efficiency_pct", 1e-4, 100.0) / 100.0;
    kernels.push_back(kernel);
  }
  if (kernels.empty()) table.fault("a library has at least one kernel");
  table.check();
  return kernels;
}

}  // namespace c3sim::models
