// Finds what each piece of a profiled run waited for: the previous work of its stream, its launch by a host whose own
// time stays what it was, events, and synchronisation of the host. Data that streams pass on without an event in the
// trace are not guessed. But if a stream was free and its work launched, and the work still began only when work
// elsewhere had ended or might have left it room on the GPU, that is taken as the reason, and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/readers/profile.h"

namespace c3sim::calibrate {

// A node with an After begins no earlier than `lag` after the end, or the begin, of another node.
struct After {
  After(std::size_t after, sim::Time by, bool begin = false)
      : node(static_cast<std::uint32_t>(after)), of_begin(begin), lag(by) {}

  std::uint32_t node;
  bool of_begin;
  sim::Time lag;
};

// Waits holds what each of many nodes waits for. All lists share one piece of memory, as there may be millions.
class Waits {
 public:
  std::size_t size() const { return ends_.size(); }
  std::span<const After> operator[](std::size_t node) const {
    return std::span(all_).subspan(begin_of(node), ends_[node] - begin_of(node));
  }
  std::span<After> operator[](std::size_t node) {
    return std::span(all_).subspan(begin_of(node), ends_[node] - begin_of(node));
  }
  // Reserves room for a number of nodes and for the sum of their waits, so that memory is not doubled while lists grow.
  void reserve(std::size_t nodes, std::size_t waits) {
    ends_.reserve(nodes);
    all_.reserve(waits);
  }
  std::size_t waits() const { return all_.size(); }
  // Adds to the list of the next node, which end_list() ends.
  void add(After one) { all_.push_back(one); }
  void end_list() { ends_.push_back(static_cast<std::uint32_t>(all_.size())); }

 private:
  std::size_t begin_of(std::size_t node) const { return node == 0 ? 0 : ends_[node - 1]; }

  std::vector<After> all_;
  std::vector<std::uint32_t> ends_;
};

// A Node is work on a GPU or, with no length, the return of a host call that waited. Node 0 is the begin of the trace.
struct Node {
  Place work{};                // in Profile::work
  sim::Time begin{0}, end{0};  // as traced; a kernel that overlaps the one before it counts from that one's end
};

struct Dependencies {
  std::vector<Node> nodes;  // sorted by begin
  Waits after;              // what each node waits for: nodes before it in the list
  // `by_time` counts work that began when other work ended, without an event that says so. `for_room` counts work that
  // began while other kernels ran, which may have left it no room before: it keeps its distance from their begin.
  // `unexplained` counts work that began later than all that it could have waited for: it keeps that distance.
  std::size_t by_time = 0;
  std::size_t for_room = 0;
  std::size_t unexplained = 0;
};

Dependencies dependencies_of(const Profile& profile);

}  // namespace c3sim::calibrate
