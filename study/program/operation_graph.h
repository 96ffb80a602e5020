// The one graph of operations that any experiment expands to: repeated, cut into pieces, with the dependencies that
// follow from that, in an order in which none waits for a later one.
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

// The numbers by which repetitions of an operation are told apart: {layer: 3, step: 0}.
using Indices = std::map<std::string, std::int64_t>;

// One operation of the expanded graph.
struct GraphNode {
  Operation operation;  // `after` is filled in by the graph
  std::string listed;   // the operation of the file that it comes from
  Indices indices;
  Piece piece;
  std::vector<int> gpus;             // whose streams it is queued on
  std::size_t whole = 0;             // which of Experiment::wholes it was cut from
  std::vector<std::size_t> inner{};  // nodes of the same operation of the file that it waits for, by order of adding
};

// What an operation of the file waits for: all of another one's repetitions that have the same indices, as far as both
// have them, or one that lies `shift` before (-) or behind in `index`, or those whose `index` is `only`; and of its
// pieces those that it needs.
struct Wait {
  std::string on;
  std::string index{};
  std::int64_t shift = 0;
  std::optional<std::int64_t> only{};
  std::optional<StoredRange> range{};  // of what that one stores, rather than its end
};

// That a file may stand for, each list of them that is repeated counted as one more.
inline constexpr std::size_t most_operations = 100'000;

class OperationGraph {
 public:
  // Operations are added in the order in which streams queue them: one waits for the last before it of the same stream
  // on a GPU that both are on.
  void add(GraphNode node, const std::vector<Wait>& waits);
  // What is queued on the stream of these GPUs next waits for all nodes from `first` on, on whatever streams they are.
  void join(const std::string& stream, const std::vector<int>& gpus, std::size_t first);
  std::size_t size() const { return nodes_.size(); }

  // Resolves what waits for what. Returns what is wrong, where being the operation of the file that is to blame and
  // path its key: a wait for an instance that there is not, more dependencies than a graph may have, a circle, named
  // from end to end.
  std::vector<sim::Fault> resolve();

  // After resolve() without a fault: in an order in which none waits for a later one, that of adding where possible.
  const std::vector<GraphNode>& nodes() const { return nodes_; }
  Schedule schedule() const;

 private:
  std::vector<sim::Fault> add_waits();
  // Those of an operation of the file that have the indices that the node waits for.
  std::vector<std::size_t> meant(const GraphNode& node, const Wait& wait) const;
  std::optional<sim::Fault> sort();  // or the circle on which it fails
  // Among those for which others are missing.
  sim::Fault circle(const std::vector<std::size_t>& missing) const;

  std::vector<GraphNode> nodes_;
  std::vector<std::vector<Wait>> waits_;  // by node
  // By operation of the file and indices; all repetitions of one have indices of the same names.
  std::map<std::string, std::map<Indices, std::vector<std::size_t>>> listed_;
  std::map<std::pair<std::string, int>, std::vector<std::size_t>> ends_;  // of streams on GPUs: their last nodes
};

// By place in the schedule, whether the host launches an operation before those that it waits for have ended, as
// Operation::launch has it. Of operations that do not say it, kernels wait on their GPUs, but for several that wait for
// just the same; copies wait on their engines for other copies that the host has launched.
std::vector<bool> queued(const Schedule& schedule);

// What an experiment is held against: its operations uncut, on one stream, their collectives by RCCL. On every GPU they
// run one after another, on all CUs, queued as a stream queues them, so that what cutting, engines and overlap gain or
// lose all counts, and what a host pays for launching each kernel by itself does not. They stand in the order in which
// the first piece of each may begin; `wholes` is Experiment::wholes.
Schedule on_one_stream(const OperationGraph& graph, const std::vector<Schedule>& wholes);

// Whether each operation waits for the one before it, so that no two can run at once, nor any of what one fuses.
bool is_chain(const Schedule& schedule);

}  // namespace c3sim::study
