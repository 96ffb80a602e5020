// What each piece of a profiled run waited for, as the trace shows it: the order of its stream, its launch by a host
// whose own time stays what it was, waits for events, and synchronisation of the host. Data that streams hand to each
// other without an event in the trace are not guessed; where a stream was free, its work launched, and still nothing
// began before work elsewhere had ended, or had come so far that it left room, that is taken for the reason, and
// counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/readers/profile.h"

namespace c3sim::calibrate {

// Not before so long behind the end, or the begin, of another node.
struct After {
  After(std::size_t after, sim::Time by, bool begin = false)
      : node(static_cast<std::uint32_t>(after)), of_begin(begin), lag(by) {}

  std::uint32_t node;
  bool of_begin;
  sim::Time lag;
};

// What each of many nodes waits for, the lists one behind the other: millions of them are one piece of memory.
class Waits {
 public:
  std::size_t size() const { return ends_.size(); }
  std::span<const After> operator[](std::size_t node) const {
    return std::span(all_).subspan(begin_of(node), ends_[node] - begin_of(node));
  }
  std::span<After> operator[](std::size_t node) {
    return std::span(all_).subspan(begin_of(node), ends_[node] - begin_of(node));
  }
  // Room for so many nodes and for what they wait for in all, lest memory is doubled on the way.
  void reserve(std::size_t nodes, std::size_t waits) {
    ends_.reserve(nodes);
    all_.reserve(waits);
  }
  std::size_t waits() const { return all_.size(); }
  // To the list of the next node, which end_list() ends.
  void add(After one) { all_.push_back(one); }
  void end_list() { ends_.push_back(static_cast<std::uint32_t>(all_.size())); }

 private:
  std::size_t begin_of(std::size_t node) const { return node == 0 ? 0 : ends_[node - 1]; }

  std::vector<After> all_;
  std::vector<std::uint32_t> ends_;
};

// Work on a GPU, or, of no length, the return of a call by which the host waited. Node 0 is the begin of the trace.
struct Node {
  Place work{};                // in Profile::work
  sim::Time begin{0}, end{0};  // as traced; kernels that overlap the one before them count from its end
};

struct Dependencies {
  std::vector<Node> nodes;  // by begin
  Waits after;              // of each, nodes before it in the list
  // How many pieces of work began when others ended, without an event that says so; how many while others ran, that may
  // have left them no room on the GPU until then, and keep their distance from when those began; and how many behind
  // all that they could have waited for, which keep their distance from that.
  std::size_t by_time = 0;
  std::size_t for_room = 0;
  std::size_t unexplained = 0;
};

Dependencies dependencies_of(const Profile& profile);

}  // namespace c3sim::calibrate
