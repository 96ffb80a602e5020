#include "study/work/one_stream.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

namespace c3sim::study {

namespace {

// By whole: those that any of its pieces waits for.
std::vector<std::set<std::size_t>> waits_of_wholes(const OperationGraph& graph, std::size_t wholes) {
  const std::vector<GraphNode>& nodes = graph.nodes();
  std::vector<std::set<std::size_t>> waits(wholes);
  for (const GraphNode& node : nodes) {
    for (const std::size_t earlier : node.operation.after) {
      if (nodes[earlier].whole != node.whole) waits[node.whole].insert(nodes[earlier].whole);
    }
  }
  return waits;
}

std::set<int> all_gpus(const OperationGraph& graph) {
  std::set<int> all;
  for (const GraphNode& node : graph.nodes()) all.insert(node.gpus.begin(), node.gpus.end());
  return all;
}

}  // namespace

// A piece waits for a piece at least of all that its whole waits for: wholes in the order of their first pieces wait
// for none that is later.
Schedule on_one_stream(const OperationGraph& graph, const std::vector<Schedule>& wholes) {
  const std::vector<std::set<std::size_t>> waits = waits_of_wholes(graph, wholes.size());
  const std::set<int> everyone = all_gpus(graph);
  Schedule schedule;
  std::vector<std::optional<std::size_t>> ends(wholes.size());  // by whole: its last place
  std::map<int, std::size_t> last_on;                           // by GPU: the last place of its stream
  for (const GraphNode& node : graph.nodes()) {
    if (ends[node.whole]) continue;
    std::set<std::size_t> after;
    for (const std::size_t earlier : waits[node.whole]) {
      if (ends[earlier]) after.insert(*ends[earlier]);
    }
    // What packets wait for they do not tell, so that they run after whatever is listed before them.
    const bool is_packets = std::holds_alternative<models::SdmaPacketList>(node.operation.work);
    const std::set<int> gpus = is_packets ? everyone : std::set<int>(node.gpus.begin(), node.gpus.end());
    for (const int gpu : gpus) {
      if (const auto last = last_on.find(gpu); last != last_on.end()) after.insert(last->second);
    }
    for (Operation operation : wholes[node.whole]) {
      operation.stream = "all";
      operation.after.assign(after.begin(), after.end());
      after = {schedule.size()};
      schedule.push_back(std::move(operation));
    }
    ends[node.whole] = schedule.size() - 1;
    for (const int gpu : gpus) last_on[gpu] = schedule.size() - 1;
  }
  return schedule;
}

bool is_chain(const Schedule& schedule) {
  const auto is_fused = [](const Operation& one) { return std::holds_alternative<models::FusedSpec>(one.work); };
  if (std::ranges::any_of(schedule, is_fused)) return false;
  for (std::size_t place = 1; place < schedule.size(); ++place) {
    const bool begins_within = schedule[place].stored && schedule[place].stored->by == place - 1;
    if (begins_within || !std::ranges::binary_search(schedule[place].after, place - 1)) return false;
  }
  return true;
}

}  // namespace c3sim::study
