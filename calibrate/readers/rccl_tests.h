// A test that rccl-tests or nccl-tests ran, whatever form it was written in: which collective by how many GPUs, how it
// was launched, and what came out size by size.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "calibrate/readers/log_reading.h"
#include "models/collectives/collective.h"

namespace c3sim::calibrate {

// What a test runs; without a kind it has no model.
struct TestedCollective {
  std::string_view name;  // as plain_name spells it: "allreduce"
  std::optional<models::CollectiveKind> kind;
};
// Of "all_reduce_perf", "AllReduce" and the like; null for other words.
const TestedCollective* collective_called(std::string_view word);

struct RcclTest {
  const TestedCollective* collective = nullptr;    // null: not said
  int processes = 0, threads = 0, gpus_each = 0;   // 0: not said
  int aggregated = 1;                              // operations in one group
  int graph = 0;                                   // more than 0: launched as a graph
  int blocking = 0;                                // more than 0: the host waits for each before the next (-z 1)
  std::optional<models::RcclAlgorithm> algorithm;  // that NCCL_DEBUG tells to have been taken: NVLS, or a ring or tree
  std::set<int> ranks;
  std::set<std::string, std::less<>> hosts;
  int hosts_said = 0;       // where they are counted but not named
  bool has_groups = false;  // several communicators at once

  // How many take part; 0: not said.
  int gpus() const;
  // Why none of its rows can be compared; empty if they can.
  std::string why_not() const;
  // Takes what a command line says of it: its collective, `mpirun -np`, -t, -g, -G, -m, -z. False where none of the
  // words is a test's program.
  bool read_command(std::span<const std::string_view> words);
  // Whether the log, or else the name of its file ("all_reduce_8gpus.log"), says which collective was run; where
  // neither does, a fault.
  bool knows_collective(const LogCell& at, LogReading& log);
};

// One size: the whole array of one GPU. Both tools print the larger of what a GPU sends and what it receives
// (common.cu: max(sendBytes, expectedBytes)) and divide it by the time for `algbw` (doc/PERFORMANCE.md): all that is
// gathered, scattered from or exchanged, its own share included. That is what models::CollectiveSpec::bytes means.
struct RcclRow {
  int line = 0;
  std::optional<sim::Bytes> bytes{};                 // none: 0
  std::optional<double> out_of_place{}, in_place{};  // seconds
  double wrong = 0.0;                                // elements with another value than they should have
  models::ElementType dtype = models::ElementType::fp32;
  bool of_host_time = false;  // its times are those of the calls alone
};

// The time out of place, with that in place as its spread; or why the row is left out. These tests launch operations
// back to back in a stream, unless they are told to wait for each or to replay a graph.
void record(const RcclRow& row, const RcclTest& test, LogReading& log);

// What a type of elements ("half", "bfloat16", "uint8") is to those who add it.
models::ElementType element_type_called(std::string_view type);

// Elements that came out wrong; "N/A" or -1 where nobody looked. 0 and a fault for other words.
double wrong_elements(const LogCell& cell, std::string_view path, LogReading& log);

}  // namespace c3sim::calibrate
