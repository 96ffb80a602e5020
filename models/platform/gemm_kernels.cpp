#include "models/platform/gemm_kernels.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "sim/config/files_read.h"
#include "sim/config/measurement_text.h"

namespace c3sim::models {

namespace {

constexpr int lanes_of_a_wave = 64;
constexpr int bytes_of_a_register = 4;  // of one lane
constexpr int address_registers = 64;   // of each lane: addresses, counters, what else is not data
constexpr std::int64_t largest_lds = 1 << 30;

std::int32_t registers_of(const GemmKernelSpec& kernel, int threads, const CuResources& cu) {
  const int accumulators = kernel.tile_m * kernel.tile_n;
  const int operands = (kernel.tile_m + kernel.tile_n) * kernel.depth / 2;  // two of them to a register
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
  cells.fault(row, "dtype", "is not bf16, fp16, fp8, tf32 or fp32");
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
    if (const auto file = sim::first_file(folders, "kernels/" + name + ".csv"))
      tables.by_library_.emplace(name, read(*file));
  }
  return tables;
}

GemmKernelTables::One GemmKernelTables::read(const std::filesystem::path& file) {
  One one;
  try {
    one.text = sim::read_measurement_text(file);
    one.table.emplace<GemmKernelTable>(one.text, file.string());
  } catch (const sim::ConfigError& error) {
    one.table = error;
  }
  return one;
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

}  // namespace c3sim::models
