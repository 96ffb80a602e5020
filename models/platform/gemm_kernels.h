// The tables of kernels that libraries for matrix products were tuned to take: kernels/LIBRARY.csv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/platform/cu_resources.h"
#include "models/platform/gemm_shape.h"
#include "sim/config/config.h"
#include "sim/config/csv_file.h"

namespace c3sim::models {

// A kernel of a library's table, with the size that it was tuned for.
struct GemmKernelSpec {
  GemmShape tuned_for;
  int tile_m = 0;
  int tile_n = 0;
  int depth = 64;                     // elements of k that it takes in a step
  int split_k = 1;                    // workgroups that share the contraction of a tile and add up their parts
  int cluster_m = 1;                  // neighbours along m that load their rows of B once, together
  int cluster_n = 1;                  // the same along n, of A
  CuResources workgroup;              // what each needs of its CU
  std::optional<sim::Time> start_up;  // of its own, instead of the library's
  double tuned_efficiency = 0.0;      // share of the matrix peak that was measured at that size; 0: not known
};

// A table: m, n, k, tile_m, tile_n, depth, threads, lds_bytes, split; dtype where some are not for bf16; cluster_m and
// cluster_n where workgroups load together; and, where they were measured, start_up_us and efficiency_pct.
// Registers follow: an accumulator for every element of the tile, the operands of a step, and 64 a lane for addresses.
class GemmKernelTable {
 public:
  // `name` stands for the file in positions. Throws sim::ConfigError with all that is wrong on any GPU.
  GemmKernelTable(std::string_view text, std::string name);

  // Those of one format together, each as the table has them. Throws sim::ConfigError where a workgroup does not fit on
  // such a CU.
  std::vector<GemmKernelSpec> on(const CuResources& cu) const;

 private:
  struct Row {
    GemmKernelSpec kernel;  // whatever CU it runs on
    int threads = 0;
    std::int64_t lds = 0;
  };

  sim::CsvFile cells_;
  std::vector<Row> rows_;
};

// The tables of all libraries that a platform names, each read once: platforms that differ in assignments share them,
// and what becomes of the files meanwhile changes none.
class GemmKernelTables {
 public:
  // Those in kernels/ beside the files of the configuration, one folder up, or in one of the folders, the first that
  // has it. What is wrong with one is for whoever asks for it.
  static GemmKernelTables read(sim::Config config, std::span<const std::filesystem::path> config_folders);

  // Null where there is none. Throws sim::ConfigError where it is no table.
  const GemmKernelTable* find(std::string_view library) const;
  // As the file has it; empty where there is none.
  std::string_view text(std::string_view library) const;

 private:
  struct One {
    std::string text;
    std::variant<std::monostate, GemmKernelTable, sim::ConfigError> table;
  };
  static One read(const std::filesystem::path& file);

  std::map<std::string, One, std::less<>> by_library_;
};

}  // namespace c3sim::models
