#include "study/program/operation_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>
#include <variant>

namespace c3sim::study {

namespace {

constexpr std::size_t most_dependencies = 1'000'000;

// Returns the node's indices that the other node has, too, as changed by `shift` and `only`.
Indices common(const Indices& indices, const Indices& others, const Wait& wait) {
  Indices shared;
  for (const auto& [name, value] : indices) {
    if (others.contains(name)) shared[name] = value + (name == wait.index ? wait.shift : 0);
  }
  if (wait.only && others.contains(wait.index)) shared[wait.index] = *wait.only;
  return shared;
}

// Returns why a range will never be stored; empty if it will.
std::string why_unwritten(const GraphNode& waits, const GraphNode& kernel, const StoredRange& range) {
  const std::string ever = fmt::format(", for which {} would wait for ever", waits.operation.name);
  const std::string& name = kernel.operation.name;
  const sim::Bytes all = stored_by(kernel.operation.work);
  if (all == sim::Bytes(0.0)) {
    return fmt::format("{} tells nobody what it has stored{}: a gemm, attention or kernel is accepted", name, ever);
  }
  if (range.begin >= range.end || range.end > all) {
    return fmt::format("{} stores {}: nobody writes {} to {}{}", name, sim::to_string(all), sim::to_string(range.begin),
                       sim::to_string(range.end), ever);
  }
  if (waits.operation.stream == kernel.operation.stream) {
    return fmt::format("{} is queued on the stream of {}, which lets it begin at its end: another stream is accepted",
                       waits.operation.name, name);
  }
  const bool meets = std::ranges::any_of(waits.gpus, [&](int gpu) { return std::ranges::count(kernel.gpus, gpu) > 0; });
  return meets ? std::string()
               : fmt::format("{} runs on other GPUs: nobody writes {} to {} on gpu{}{}", name,
                             sim::to_string(range.begin), sim::to_string(range.end), waits.gpus.front(), ever);
}

sim::Fault too_many_dependencies(const GraphNode& node) {
  return {node.listed, "after", fmt::format("more than {} dependencies", most_dependencies)};
}

}  // namespace

void OperationGraph::add(GraphNode node, const std::vector<Wait>& waits) {
  const std::size_t place = nodes_.size();
  node.operation.after.clear();
  for (const int gpu : node.gpus) {
    std::vector<std::size_t>& last = ends_[{node.operation.stream, gpu}];
    node.operation.after.insert(node.operation.after.end(), last.begin(), last.end());
    last = {place};
  }
  for (const auto& [name, value] : node.never) node.indices.erase(name);
  std::vector<Repetitions>& all = node.is_left_out() ? left_out_ : repetitions_;
  if (node.handle >= all.size()) all.resize(node.handle + 1);
  all[node.handle][node.indices].push_back(place);
  if (node.is_left_out()) node.inner = std::exchange(node.operation.after, {});
  nodes_.push_back(std::move(node));
  waits_.push_back(waits);
}

void OperationGraph::join(const std::string& stream, const std::vector<int>& gpus, std::size_t first) {
  std::set<std::size_t> last;  // nodes that no later one waits for
  for (std::size_t place = first; place < nodes_.size(); ++place) {
    last.insert(place);
    for (const std::size_t earlier : nodes_[place].inner) last.erase(earlier);
  }
  for (const int gpu : gpus) ends_[{stream, gpu}].assign(last.begin(), last.end());
}

const std::string& OperationGraph::name_of(Handle handle) const {
  const bool is_there = handle < repetitions_.size() && !repetitions_[handle].empty();
  return nodes_[(is_there ? repetitions_ : left_out_).at(handle).begin()->second.front()].listed;
}

std::vector<std::size_t> OperationGraph::meant(const std::vector<Repetitions>& all, const Indices& indices,
                                               const Wait& wait) {
  if (wait.on >= all.size() || all[wait.on].empty()) return {};
  const Repetitions& repetitions = all[wait.on];
  const Indices& names = repetitions.begin()->first;
  if (wait.only && !names.contains(wait.index)) return {};
  const Indices shared = common(indices, names, wait);
  if (shared.size() == names.size()) {
    const auto found = repetitions.find(shared);
    return found == repetitions.end() ? std::vector<std::size_t>() : found->second;
  }
  std::vector<std::size_t> places;
  for (const auto& repetition : repetitions) {
    const bool same =
        std::ranges::all_of(shared, [&](const auto& one) { return repetition.first.at(one.first) == one.second; });
    if (same) places.insert(places.end(), repetition.second.begin(), repetition.second.end());
  }
  return places;
}

void OperationGraph::add_waits_of(std::size_t place, std::vector<sim::Fault>& faults) {
  GraphNode& node = nodes_[place];
  std::vector<std::size_t>& after = node.operation.after;
  after.insert(after.end(), node.inner.begin(), node.inner.end());
  // Behind the node's own waits come those of all that is left out on the way. What is left out has the node's values
  // of indices of which it has none itself.
  struct Way {
    Indices indices;
    Piece piece;
    Wait wait;
  };
  std::vector<Way> ways;
  for (const Wait& wait : waits_[place]) ways.push_back({node.indices, node.piece, wait});
  const std::size_t own = node.is_left_out() ? 0 : ways.size();
  std::set<std::pair<std::size_t, Indices>> passed;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const auto [indices, piece, wait] = ways[i];
    const std::vector<std::size_t> places = meant(repetitions_, indices, wait);
    const std::vector<std::size_t> left_out = meant(left_out_, indices, wait);
    if (i < own && wait.range && places.size() > 1) {
      faults.push_back(
          {node.listed, "stored",
           fmt::format("{} is {} operations: a range of one is accepted", name_of(wait.on), places.size())});
      continue;
    }
    for (const std::size_t earlier : places) {
      if (i < own && wait.range) {
        node.operation.stored = wait.range;
        node.operation.stored->by = earlier;
        std::string why = why_unwritten(node, nodes_[earlier], *wait.range);
        if (!why.empty()) faults.push_back({node.listed, "stored", std::move(why)});
      }
      if (needs(piece, nodes_[earlier].piece, nodes_[earlier].operation.work)) after.push_back(earlier);
    }
    for (const std::size_t earlier : left_out) {
      const GraphNode& absent = nodes_[earlier];
      Indices chosen = common(indices, absent.never, wait);
      const auto is_value = [](const auto& one) { return one.second >= 0 && one.second <= most_repetitions; };
      const bool is_repetition = std::ranges::all_of(chosen, is_value);
      chosen.insert(absent.indices.begin(), absent.indices.end());
      if (!is_repetition || !needs(piece, absent.piece, absent.operation.work)) continue;
      if (!passed.emplace(earlier, chosen).second) continue;
      after.insert(after.end(), absent.inner.begin(), absent.inner.end());
      for (const Wait& next : waits_[earlier]) ways.push_back({chosen, absent.piece, next});
    }
    if (i < own && places.empty() && left_out.empty() && wait.shift == 0) {
      faults.push_back(
          {node.listed, "after",
           fmt::format("no repetition of '{}' has the indices of {}", name_of(wait.on), node.operation.name)});
    }
  }
  std::ranges::sort(after);
  after.erase(std::unique(after.begin(), after.end()), after.end());
}

std::vector<sim::Fault> OperationGraph::add_waits() {
  std::vector<sim::Fault> faults;
  std::size_t dependencies = 0;
  for (std::size_t place = 0; place < nodes_.size() && dependencies <= most_dependencies; ++place) {
    add_waits_of(place, faults);
    dependencies += nodes_[place].operation.after.size();
    if (dependencies > most_dependencies) faults.push_back(too_many_dependencies(nodes_[place]));
  }
  return faults;
}

// Sorts topologically; among nodes without missing dependencies the one added first goes first. Nodes of a cycle always
// miss one, so that a walk from one missing dependency to the next ends in the cycle. Nodes that are left out go: what
// waits for one then waits for what that waits for.
std::optional<sim::Fault> OperationGraph::sort() {
  std::vector<std::size_t> missing(nodes_.size());
  std::vector<std::vector<std::size_t>> waiting(nodes_.size());
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free;
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    missing[place] = nodes_[place].operation.after.size();
    for (const std::size_t earlier : nodes_[place].operation.after) waiting[earlier].push_back(place);
    if (missing[place] == 0) free.push(place);
  }
  std::vector<std::size_t> order;
  while (!free.empty()) {
    const std::size_t place = free.top();
    free.pop();
    order.push_back(place);
    for (const std::size_t later : waiting[place]) {
      if (--missing[later] == 0) free.push(later);
    }
  }
  if (order.size() < nodes_.size()) return circle(missing);
  std::vector<GraphNode> sorted;
  sorted.reserve(nodes_.size());
  std::vector<std::vector<std::size_t>> ends(nodes_.size());  // what waits for a node waits for these of `sorted`
  std::size_t dependencies = 0;
  for (const std::size_t place : order) {
    GraphNode& node = nodes_[place];
    std::vector<std::size_t>& after = ends[place];
    for (const std::size_t earlier : node.operation.after) {
      after.insert(after.end(), ends[earlier].begin(), ends[earlier].end());
    }
    std::ranges::sort(after);
    after.erase(std::unique(after.begin(), after.end()), after.end());
    dependencies += after.size();
    if (dependencies > most_dependencies) return too_many_dependencies(node);
    if (node.is_left_out()) continue;
    node.operation.after = std::exchange(after, {sorted.size()});
    if (node.operation.stored) node.operation.stored->by = ends[node.operation.stored->by].front();
    sorted.push_back(std::move(node));
  }
  nodes_ = std::move(sorted);
  return {};
}

sim::Fault OperationGraph::circle(const std::vector<std::size_t>& missing) const {
  const auto is_left = [&](std::size_t place) { return missing[place] > 0; };
  std::vector<std::size_t> path;
  auto place = static_cast<std::size_t>(std::ranges::find_if(missing, [](auto n) { return n > 0; }) - missing.begin());
  while (std::ranges::find(path, place) == path.end()) {
    path.push_back(place);
    place = *std::ranges::find_if(nodes_[place].operation.after, is_left);
  }
  std::string names;
  for (auto step = std::ranges::find(path, place); step != path.end(); ++step)
    names += nodes_[*step].operation.name + " waits for ";
  return {nodes_[place].listed, "after",
          fmt::format("operations wait for each other in a circle: {}{} (those of one stream run in the order of the "
                      "list)",
                      names, nodes_[place].operation.name)};
}

std::vector<sim::Fault> OperationGraph::resolve() {
  std::vector<sim::Fault> faults = add_waits();
  if (!faults.empty()) return faults;
  if (std::optional<sim::Fault> found = sort()) faults.push_back(std::move(*found));
  return faults;
}

Schedule OperationGraph::schedule() const {
  Schedule schedule;
  schedule.reserve(nodes_.size());
  for (const GraphNode& node : nodes_) schedule.push_back(node.operation);
  return schedule;
}

namespace {

// Returns whether an operation is a copy whose commands a queue may hold in advance, unlike a runtime's call.
bool is_copy(const Operation& operation) {
  const auto* const copy = std::get_if<models::SdmaCopySpec>(&operation.work);
  return copy != nullptr && !copy->submit;
}

}  // namespace

std::vector<bool> queued(const Schedule& schedule) {
  std::map<std::vector<std::size_t>, int> alike;  // counts kernels without `launch` by their dependencies
  for (const Operation& operation : schedule) {
    if (is_kernel(operation.work) && !operation.launch) ++alike[operation.after];
  }
  std::vector<bool> queued;
  const auto is_launched_copy = [&](std::size_t place) {
    const Operation& operation = schedule[place];
    return is_copy(operation) && operation.delay == sim::Time::zero() && (queued[place] || operation.after.empty());
  };
  const auto is_polled_for = [&](const Operation& operation, std::size_t place) {
    return operation.stored && operation.stored->by == place;
  };
  for (const Operation& operation : schedule) {
    const bool waits = !operation.after.empty() && operation.delay == sim::Time::zero();
    const bool as_kernel = operation.launch ? operation.launch == Launch::queued
                                            : is_kernel(operation.work) && alike[operation.after] == 1;
    const bool as_copy = is_copy(operation) && std::ranges::all_of(operation.after, [&](std::size_t place) {
                           return is_polled_for(operation, place) || is_launched_copy(place);
                         });
    queued.push_back(waits && (as_kernel || as_copy));
  }
  return queued;
}

namespace {

// Returns for each whole those that any of its pieces waits for.
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

}  // namespace

// A piece waits for at least one piece of each whole that its whole waits for, so that the order of first pieces is
// topological for the wholes.
Schedule on_one_stream(const OperationGraph& graph, const std::vector<Schedule>& wholes) {
  const std::vector<std::set<std::size_t>> waits = waits_of_wholes(graph, wholes.size());
  std::set<int> everyone;
  for (const GraphNode& node : graph.nodes()) everyone.insert(node.gpus.begin(), node.gpus.end());
  Schedule schedule;
  std::vector<std::optional<std::size_t>> ends(wholes.size());  // last operation of each whole
  std::map<int, std::size_t> last_on;                           // last operation of each GPU
  for (const GraphNode& node : graph.nodes()) {
    if (ends[node.whole]) continue;
    std::set<std::size_t> after;
    for (const std::size_t earlier : waits[node.whole]) {
      if (ends[earlier]) after.insert(*ends[earlier]);
    }
    // Packets do not say what they wait for, so that they run after everything listed before them.
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
