// A GpuSpec describes the parts of one GPU.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/platform/cu_resources.h"
#include "models/platform/gemm_shape.h"
#include "models/platform/memory_spec.h"
#include "models/platform/power_spec.h"
#include "models/platform/sdma_spec.h"
#include "sim/config/choice.h"
#include "sim/config/config.h"
#include "sim/config/csv_file.h"
#include "sim/units.h"

namespace c3sim::models {

// Dealing decides how the pieces of a kernel's work reach the CUs.
enum class Dealing {
  per_xcd,   // each piece is a workgroup; workgroups are dealt to the XCDs in turn when the kernel is queued
  resident,  // workgroups stay on the CUs that were free at the start and take one piece after another
  stealing   // like resident, but more workgroups join when CUs become free later
};

// A GemmKernelSpec is a kernel of a library's table kernels/LIBRARY.csv, with the shape that it was tuned for.
struct GemmKernelSpec {
  GemmShape tuned_for;
  int tile_m = 0;
  int tile_n = 0;
  int depth = 64;         // elements of k per step
  int split_k = 1;        // number of workgroups that split the contraction of a tile and add up their results
  int cluster_m = 1;      // number of neighbours along m that load their rows of B once, together
  int cluster_n = 1;      // number of neighbours along n that load their rows of A once, together
  CuResources workgroup;  // resources that one workgroup needs on its CU
  std::optional<sim::Time> start_up;  // the kernel's own start-up time, instead of the library's
  double tuned_efficiency = 0.0;      // share of the matrix peak measured at that shape; 0: unknown
};

// A table has the columns m, n, k, tile_m, tile_n, depth, threads, lds_bytes, split; dtype unless all are for bf16;
// cluster_m and cluster_n if workgroups load together; and measured start_up_us and efficiency_pct, if known. Registers
// are derived: an accumulator per element of the tile, the operands of a step, and 64 per lane for addresses.
class GemmKernelTable {
 public:
  // `name` stands for the file in positions. Throws sim::ConfigError with all faults that do not depend on the GPU.
  GemmKernelTable(std::string_view text, std::string name);

  // Returns the kernels for such a CU, grouped by format, in the order of the table. Throws sim::ConfigError if a
  // workgroup does not fit on the CU.
  std::vector<GemmKernelSpec> on(const CuResources& cu) const;

 private:
  struct Row {
    GemmKernelSpec kernel;  // what does not depend on the CU
    int threads = 0;
    std::int64_t lds = 0;
  };

  sim::CsvFile cells_;
  std::vector<Row> rows_;
};

// Holds the tables of all libraries that a platform names. Each file is read once: platforms that differ only in
// assignments share the tables, and later changes of the files have no effect.
class GemmKernelTables {
 public:
  // Reads each table from the first folder kernels/ that has it: next to the files of the configuration, one folder up,
  // or in one of the given folders. find() reports faults of a table.
  static GemmKernelTables read(sim::Config config, std::span<const std::filesystem::path> config_folders);

  // Returns the table of a library, or null if there is none. Throws sim::ConfigError if the file is not a valid table.
  const GemmKernelTable* find(std::string_view library) const;
  // Returns the text of the file, or an empty text if there is none.
  std::string_view text(std::string_view library) const;

 private:
  struct One {
    std::string text;
    std::variant<std::monostate, GemmKernelTable, sim::ConfigError> table;
  };

  std::map<std::string, One, std::less<>> by_library_;
};

// A GemmLibrary describes what the kernels of a library have in common.
struct GemmLibrary {
  std::string name;
  // Gives a shape outside the table the kernel with the fewest modelled `cycles`, not that of the nearest shape.
  bool by_modelled_time = false;
  int tuned_cus = 0;          // CUs of the GPU that the table is of; 0: it is of this GPU
  bool told_cus = false;      // chooses for the CUs that its stream is confined to, not for all
  bool splits = false;        // splits the contraction of such a shape if the tiles leave CUs idle
  double least_busy = 0.0;    // least share of the CUs that such a split must keep busy, however little it gains
  int undivided_columns = 0;  // such a shape of at most that many columns is not cut along them
  Dealing schedule = Dealing::per_xcd;   // how tiles reach the CUs
  bool shares_last = false;              // the tiles of a last, partial wave are shared out (Stream-K)
  double efficiency = 0.0;               // share of the matrix peak at the current clock that the loop along k reaches
  std::optional<double> fp8_efficiency;  // efficiency of fp8 kernels, relative to `efficiency`; none: see PrecisionSpec
  double packed_efficiency = 1.0;        // factor on `efficiency` for kernels that unpack weights for the matrix pipes
  double tile_overhead = 0.0;            // cycles per element of a tile without multiplication: first loads, output
  double least_step = 0.0;               // least cycles of a workgroup per step along k: latency
  double cold_operands = 0.0;            // relative slowdown of a step whose operands are not in the Infinity Cache
  double knee = 0.0;                     // bend of the roofline: see models::Bend
  sim::Time start_up{0};    // time before the first workgroup, to reset state, and again before partial sums are added
  int steps_in_flight = 1;  // steps along k whose operands a workgroup keeps in flight
  bool loads_ahead = true;  // a workgroup loads while it multiplies; otherwise it alternates
  // The L2 takes `row_conflicts` times as long for operands whose rows lie a multiple of `conflicting_rows` apart,
  // because the rows of a tile then share a few of its channels.
  double row_conflicts = 1.0;
  sim::Bytes conflicting_rows{0};
  double time_spread = 0.0;   // standard deviation over mean of a workgroup's times on different CUs
  int grouped_rows = 0;       // rows of tiles that an XCD's workgroups cover before the next column; 0: a square block
  std::int64_t l2_drift = 0;  // elements of k between the first and the last workgroup of an XCD
  std::int64_t cache_drift = 0;  // the same distance over the whole GPU; unused without an Infinity Cache
  std::vector<GemmKernelSpec> kernels;
};

// A GemmProfile holds what a profiler measured of a GEMM that had the GPU to itself. It replaces the estimate.
struct GemmProfile {
  GemmShape shape;
  double efficiency = 0.0;  // replaces the kernel's efficiency so that the modelled time is the measured one
  // These are the bytes that the whole GEMM reads and writes at each level.
  sim::Bytes l2;
  sim::Bytes cache;
  sim::Bytes hbm;
};

// A PrecisionSpec describes matrix products of one number format, relative to bf16.
struct PrecisionSpec {
  double flops_per_cycle_per_cu = 0.0;
  double efficiency = 1.0;       // efficiency of the library's kernels, relative to those for bf16
  double input_gradient = 1.0;   // factor on `efficiency` for gradients of the inputs
  double weight_gradient = 1.0;  // factor on `efficiency` for gradients of the weights
  double energy = 1.0;           // energy of an operation, relative to bf16

  double efficiency_of(Layout layout) const;
};

struct GemmSpec {
  double flops_per_cycle_per_cu = 0.0;                                   // rate of bf16
  std::array<std::optional<PrecisionSpec>, all_dtypes.size()> others{};  // indexed by Dtype; fp16 defaults to bf16
  GemmLibrary library;                                                   // the library in use
  std::optional<GemmLibrary> experts_library;  // computes products of experts in served models
  std::vector<std::string> libraries;          // names of all libraries
  std::vector<GemmProfile> profiles;           // shapes that were profiled

  // Returns the precision of a format, or nothing if the platform has no rate for it.
  std::optional<PrecisionSpec> precision(Dtype dtype) const;
  // Returns the library that computes the product: the one for experts if the shape asks for it and there is one.
  const GemmLibrary& library_of(const GemmShape& shape) const {
    return shape.of_experts && experts_library ? *experts_library : library;
  }
  static GemmSpec read(sim::Section section, const CuResources& cu, const GemmKernelTables& tables);
};

// A StreamSpec describes how kernels that stream through arrays keep memory busy, by Little's law.
struct StreamSpec {
  static constexpr double piece_of_row = 1024.0;  // elements

  sim::Bytes in_flight{};        // bytes that a CU full of waves has in flight, read or written
  sim::Bytes rows{};             // bytes that kernels which work row by row have in flight per piece of a row
  sim::Time latency{0};          // latency of a step of the loop, in addition to that of the memory
  sim::Time reduction{0};        // extra time of a step per piece, if the kernel reduces a row before it writes it
  double least_row = 1.0;        // least number of pieces that a reduced row counts as
  double row_workgroups = 0.0;   // number of workgroups that a CU holds, each with a row
  double pass_cycles = 0.0;      // cycles of a CU per pass of a wave's loop, in addition to its loads and stores
  double bytes_per_cycle = 0.0;  // bytes that a CU loads and stores per cycle; 0: limited by the L2s only
  double queue_knee = 0.0;       // bend of Little's law as memory saturates: see Demand::queue_knee
  double knee = 0.0;             // bend of the roofline: see models::Bend
  double efficiency = 1.0;       // share of the vector peak that the kernels reach
  sim::Time indexing{0};         // time of a workgroup that computes the position of each element in strided arrays
};

// An AttentionSpec describes the library's kernels for attention: tiles of queries that go through the keys and values
// that they attend to (Dao et al., arXiv 2205.14135), and few queries against a long cache (flash decoding). If a
// platform file has rows of `libraries`, the row of the library in use overrides the common values.
struct AttentionSpec {
  std::string library;                 // name of the library in use; empty if the platform names none
  std::vector<std::string> libraries;  // names of all libraries
  int tile_queries = 0;                // queries of a workgroup's tile
  int tile_keys = 0;                   // keys that a tile takes per step
  double efficiency = 0.0;             // share of the matrix peak that the products reach
  double vector_efficiency = 0.0;      // share of the peak in a format that only vector units multiply
  double score_flops = 0.0;     // forward vector operations per score: scale, maximum, exponential, sum, conversion
  double backward_flops = 0.0;  // vector operations per score of the backward pass
  // Dropout adds these operations per score for random numbers and masking.
  double dropout_flops = 0.0;
  double dropout_backward_flops = 0.0;  // includes drawing the random numbers again
  double vector_dropout_flops = 0.0;    // the operations in a format that only vector units multiply
  double vector_dropout_backward_flops = 0.0;
  double tile_cycles = 0.0;  // cycles of a tile in addition to its steps: first loads, division by the sums, output
  // Lets a free CU take the longest remaining tile; otherwise tiles are dealt out in advance.
  bool next_free = false;
  sim::Time start{0};  // time of other kernels of the call, before and after the tiles
  // Keys and values of new tokens are read and appended to a cache beforehand at this share of the HBM rate; 0: the
  // call does not append.
  double append_share = 0.0;
  // The CU of a tile is idle for this share of the time that HBM takes for the tile's queries and results.
  double exposed = 0.0;
  int decode_rows = 0;          // least rows of queries in a tile against a cache: the granularity of matrix units
  sim::Time decode_start{0};    // time around the stream of the cache: dependent products, exponentials and sums
  sim::Time decode_tile{0};     // time per tile of a CU, which is the cache of one head and sequence or a part of it
  sim::Time decode_combine{0};  // time to add up the parts of a context that is split over workgroups
};

// A DispatchSpec describes how workgroups of queued kernels reach the CUs.
// The policy decides which of several queues of equal priority an XCD serves.
enum class DispatchPolicy {
  oldest_first,  // the kernel that was queued first, until its last workgroup is placed
  rotation       // like oldest_first, but a queue passes its turn on after a quantum
};
constexpr auto all_names(DispatchPolicy) { return sim::names("oldest_first", "rotation"); }

struct DispatchSpec {
  DispatchPolicy policy = DispatchPolicy::oldest_first;
  sim::Time quantum{0};           // rotation: how long a queue keeps its turn while others wait
  sim::Time workgroup_launch{0};  // time from the decision to place a cohort to its first instruction
  // An XCD has this many shader engines. Workgroups go to them in turn, to each as often as it has CUs; one that is due
  // at a full engine blocks those after it (Otterness and Anderson, RTNS 2021, section 4).
  int shader_engines = 1;
};

struct GpuSpec {
  int cus_per_xcd = 0;
  CuResources cu;
  double vector_flops_per_cycle_per_cu = 0.0;  // single-precision rate; 0: unknown
  MemorySpec memory;                           // includes the number of XCDs
  StreamSpec streams;
  // Cycles of a vector lane for each element of an operator's result, by the name of the operator.
  std::map<std::string, double, std::less<>> operator_cycles;
  DispatchSpec dispatch;
  GemmSpec gemm;
  std::optional<AttentionSpec> attention;  // none: not described
  PowerSpec power;
  SdmaSpec sdma;

  int cus() const { return memory.xcds * cus_per_xcd; }
  // Returns the lanes of a CU's vector units, each of which does a fused multiply-add, two operations, in a cycle.
  double vector_lanes() const { return 0.5 * vector_flops_per_cycle_per_cu; }
  // Returns how many workgroups of this kind fit on `on_cus` CUs.
  int slots(int on_cus, const CuResources& workgroup) const { return on_cus * workgroups_that_fit(cu, workgroup); }
  // Returns the matrix operations per second of all CUs at the highest clock. The platform has a rate for `dtype`.
  double peak_flops(Dtype dtype = Dtype::bf16) const {
    return cus() * gemm.precision(dtype).value().flops_per_cycle_per_cu * power.highest_clock.value();
  }
  // Returns the bytes that all L2s load per cycle of the rated clock. If their rate does not follow the clock, the
  // resource network limits a faster clock to their bandwidth.
  double l2_bytes_per_cycle() const { return (memory.l2_rate / power.rated_clock).value() * memory.xcds; }
};

}  // namespace c3sim::models
