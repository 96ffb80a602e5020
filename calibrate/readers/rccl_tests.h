// Declares a test of rccl-tests or nccl-tests, as the readers of its text, JSON and CSV share it: the collective, the
// GPUs, how operations were launched, and the result for each size.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "calibrate/readers/log_reading.h"
#include "models/collectives/collective.h"

namespace c3sim::calibrate {

// A TestedCollective is an operation that these tests measure. Without a kind it has no model.
struct TestedCollective {
  std::string_view name;  // as plain_name spells it: "allreduce"
  std::optional<models::CollectiveKind> kind;
};
// Finds the collective of "all_reduce_perf", "AllReduce" and the like. Returns null for other words.
const TestedCollective* collective_called(std::string_view word);

struct RcclTest {
  const TestedCollective* collective = nullptr;   // null: not said
  int processes = 0, threads = 0, gpus_each = 0;  // 0: not said
  int aggregated = 1;                             // number of operations in one group
  int graph = 0;                                  // 1 or more: launched as a graph
  int blocking = 0;                               // 1 or more: the host waits for each operation before the next (-z 1)
  std::optional<models::RcclAlgorithm> algorithm;  // as NCCL_DEBUG prints it: NVLS, or a ring or tree
  std::set<int> ranks;
  std::set<std::string, std::less<>> hosts;
  int hosts_said = 0;       // number of hosts that are counted but not named
  bool has_groups = false;  // several communicators at once

  // Returns the number of GPUs that take part; 0 if the log does not say.
  int gpus() const;
  // Returns why no row of the test can be compared; empty if they can.
  std::string why_not() const;
  // Takes collective and options (`mpirun -np`, -t, -g, -G, -m, -z) from a command line. Returns false if no word is
  // the program of a test.
  bool read_command(std::span<const std::string_view> words);
  // Returns whether the log, or else the name of its file ("all_reduce_8gpus.log"), says which collective was run.
  // Records a fault if neither does.
  bool knows_collective(const LogCell& at, LogReading& log);
};

// An RcclRow is the result for one size, which is the whole array of one GPU. Both tools print the larger of what a GPU
// sends and what it receives (common.cu: max(sendBytes, expectedBytes)) and divide it by the time for `algbw`
// (doc/PERFORMANCE.md): all that is moved, including the GPU's own share. models::CollectiveSpec::bytes means the same.
struct RcclRow {
  int line = 0;
  std::optional<sim::Bytes> bytes{};                 // none: the size is 0
  std::optional<double> out_of_place{}, in_place{};  // seconds
  double wrong = 0.0;                                // number of elements with a wrong value
  models::ElementType dtype = models::ElementType::fp32;
  bool of_host_time = false;  // times are those of the host's calls alone
};

// Records the time out of place, with the time in place as its spread, or why the row is left out. These tests launch
// operations back to back in a stream unless told to wait for each or to replay a graph.
void record(const RcclRow& row, const RcclTest& test, LogReading& log);

// Returns the type as which a kernel adds elements of that type ("half", "bfloat16", "uint8").
models::ElementType element_type_called(std::string_view type);

// Returns the number of wrong elements: 0 for "N/A", -1 if nothing was checked. Other words cause a fault and return 0.
double wrong_elements(const LogCell& cell, std::string_view path, LogReading& log);

}  // namespace c3sim::calibrate
