// The libraries of kernels for matrix products: which kernel each was tuned to take for which size, as tables
// kernels/LIBRARY.csv tell, and what its kernels have in common.
#pragma once

#include <array>
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
#include "models/platform/dispatch_spec.h"
#include "models/platform/gemm_shape.h"
#include "sim/config/config.h"
#include "sim/config/csv_file.h"
#include "sim/units.h"

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

// What the kernels of a library have in common.
struct GemmLibrary {
  std::string name;
  bool by_modelled_time = false;  // a size that is not in the table gets the kernel that is fastest by `cycles`, rather
                                  // than that of the nearest size
  bool splits = false;            // the contraction of such a size is split where the tiles leave CUs without work
  double least_busy = 0.0;        // of the CUs, in such a split at least, however little it gains
  int undivided_columns = 0;      // such a size of no more is not cut along them
  Dealing schedule = Dealing::per_xcd;   // how tiles reach the CUs
  bool shares_last = false;              // the tiles of a last wave that is not full are shared out (Stream-K)
  double efficiency = 0.0;               // share of the matrix peak at the actual clock that the loop along k reaches
  std::optional<double> fp8_efficiency;  // over that, of its kernels for fp8; none: as PrecisionSpec has it
  double packed_efficiency = 1.0;        // over that, of kernels that unpack weights on their way to the matrix pipes
  double tile_overhead = 0.0;            // cycles per element of a tile with nothing multiplied: first loads, output
  double least_step = 0.0;               // cycles of a workgroup in a step along k, however small: latency
  double cold_operands = 0.0;            // so much longer a step takes whose operands are not in the Infinity Cache
  double knee = 0.0;                     // of its roofline: see models::Bend
  sim::Time start_up{0};    // before the first workgroup: state that it resets; again where parts are added up
  int steps_in_flight = 1;  // along k, whose operands a workgroup keeps under way
  bool loads_ahead = true;  // while it multiplies; else it does one behind the other
  // So much longer the L2 takes for operands whose rows lie a multiple of so many bytes apart: those of a tile are then
  // in a few of its channels.
  double row_conflicts = 1.0;
  sim::Bytes conflicting_rows{0};
  double time_spread = 0.0;      // of the times of a workgroup on different CUs: standard deviation over mean
  int grouped_rows = 0;          // of tiles that an XCD's workgroups go down before the next column; 0: a square block
  std::int64_t l2_drift = 0;     // elements of k between the first and the last workgroup of an XCD
  std::int64_t cache_drift = 0;  // the same over the whole GPU; nobody asks where there is no Infinity Cache
  std::vector<GemmKernelSpec> kernels;
};

// What a profiler saw of a GEMM that had the GPU to itself; it stands in for the estimate of the same.
struct GemmProfile {
  GemmShape shape;
  double efficiency = 0.0;  // in place of the kernel's: the one that gives the measured time
  // Read and written, over the whole GEMM.
  sim::Bytes l2;
  sim::Bytes cache;
  sim::Bytes hbm;
};

// What matrix products of another number format do, beside those of bf16.
struct PrecisionSpec {
  double flops_per_cycle_per_cu = 0.0;
  double efficiency = 1.0;       // of the library's kernels, over that of its kernels for bf16
  double input_gradient = 1.0;   // the same of gradients of inputs, over that
  double weight_gradient = 1.0;  // and of weights
  double energy = 1.0;           // of an operation, over that of bf16

  double efficiency_of(Layout layout) const;
};

struct GemmSpec {
  double flops_per_cycle_per_cu = 0.0;                                   // of bf16
  std::array<std::optional<PrecisionSpec>, all_dtypes.size()> others{};  // by Dtype; fp16 is as bf16 unless it is here
  GemmLibrary library;                                                   // the one in use
  std::optional<GemmLibrary> experts_library;                            // of products of experts in served models
  std::vector<std::string> libraries;                                    // the names of all
  std::vector<GemmProfile> profiles;                                     // of shapes that have one

  // None where the platform has no rate for it.
  std::optional<PrecisionSpec> precision(Dtype dtype) const;
  // Whose kernels compute this product. Those for experts where it asks for them and the platform has some.
  const GemmLibrary& library_of(const GemmShape& shape) const;
  static GemmSpec read(sim::Section section, const CuResources& cu, const GemmKernelTables& tables);
};

}  // namespace c3sim::models
