// An OperationGraph is what any experiment expands to: its operations repeated and cut into pieces, with the resulting
// dependencies, in topological order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/config_error.h"
#include "study/program/operation.h"

namespace c3sim::study {

// Indices tell repetitions of an operation apart: {layer: 3, step: 0}.
using Indices = std::map<std::string, std::int64_t>;

// A Handle stands for one operation of a program or a file, with all its repetitions. Handles count from 0.
using Handle = std::uint32_t;

// A GraphNode is one operation of the expanded graph.
struct GraphNode {
  Operation operation;  // the graph fills in `after`
  Handle handle = 0;
  std::string listed;  // its name without indices, for results and messages
  Indices indices;
  Piece piece;
  std::vector<int> gpus;             // GPUs on whose streams it is queued
  std::size_t whole = 0;             // index of the uncut operation in Experiment::wholes
  std::vector<std::size_t> inner{};  // nodes of the same file operation that it waits for, in order of adding
  // Indices of which it has no values: it is left out, and what waits for it waits for what it would have waited for.
  Indices never{};

  bool is_left_out() const { return !never.empty(); }
};

// A Wait says what an operation waits for: all repetitions of operation `on` that agree in the indices both
// have. `shift` selects the repetition at this distance in `index` (negative: earlier), `only` those whose `index` has
// this value. Of pieces it waits for those that it needs.
struct Wait {
  Handle on = 0;
  std::string index{};
  std::int64_t shift = 0;
  std::optional<std::int64_t> only{};
  std::optional<StoredRange> range{};  // a range that the other stores, rather than its end
};

// Limits the operations of a file; each list of repeated operations counts as one more.
inline constexpr std::size_t most_operations = 100'000;
inline constexpr int most_repetitions = 10'000;  // the largest value of an index, too

class OperationGraph {
 public:
  // Adds a node. Nodes are added in the order in which streams queue them: each waits for the last node of its stream
  // on every GPU that both use.
  void add(GraphNode node, const std::vector<Wait>& waits);
  // Makes the next node on the stream of these GPUs wait for all nodes from index `first` on, whatever their streams.
  void join(const std::string& stream, const std::vector<int>& gpus, std::size_t first);
  std::size_t size() const { return nodes_.size(); }

  // Resolves all waits. Returns faults with the operation of the file and its key: a wait for a repetition that does
  // not exist, too many dependencies, or a cycle with all its members.
  std::vector<sim::Fault> resolve();

  // nodes() and schedule() need a successful resolve(). They are sorted topologically, if possible in order of adding.
  const std::vector<GraphNode>& nodes() const { return nodes_; }
  Schedule schedule() const;

 private:
  using Repetitions = std::map<Indices, std::vector<std::size_t>>;

  std::vector<sim::Fault> add_waits();
  void add_waits_of(std::size_t place, std::vector<sim::Fault>& faults);
  // Returns those of all repetitions that a node with these indices waits for.
  static std::vector<std::size_t> meant(const std::vector<Repetitions>& all, const Indices& indices, const Wait& wait);
  const std::string& name_of(Handle handle) const;
  std::optional<sim::Fault> sort();  // returns the cycle if there is one
  // Finds a cycle among nodes with missing dependencies.
  sim::Fault circle(const std::vector<std::size_t>& missing) const;

  std::vector<GraphNode> nodes_;
  std::vector<std::vector<Wait>> waits_;  // by node
  // Nodes by handle and indices, apart those that are left out; all nodes of one map have the same index names.
  std::vector<Repetitions> repetitions_;
  std::vector<Repetitions> left_out_;
  std::map<std::pair<std::string, int>, std::vector<std::size_t>> ends_;  // last nodes of each stream on each GPU
};

// Returns for each operation whether the host launches it before its dependencies have ended (see Operation::launch).
// Unless operations say so themselves, kernels wait on their GPUs, except several that wait for exactly the same
// operations; copies wait on their engines for other copies that the host has launched.
std::vector<bool> queued(const Schedule& schedule);

// Returns the reference that an experiment is compared with: its uncut operations on one stream, one after another on
// all CUs of every GPU, with collectives by RCCL. Operations are queued, so that the comparison includes all effects of
// cutting, engines and overlap but no launch cost of single kernels. They are in the order in which the first piece of
// each may begin; `wholes` is Experiment::wholes.
Schedule on_one_stream(const OperationGraph& graph, const std::vector<Schedule>& wholes);

// Returns whether each operation waits for the end of the one before it and none is fused, so that nothing overlaps.
bool is_chain(const Schedule& schedule);

}  // namespace c3sim::study
