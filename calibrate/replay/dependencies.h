// What each piece of a profiled run waited for, as the trace shows it: the order of its stream, its launch by a host
// whose own time stays what it was, waits for events, and synchronisation of the host. Data that streams hand to each
// other without an event in the trace are not guessed; where a stream was free, its work launched, and still nothing
// began before work elsewhere had ended, or had come so far that it left room, that is taken for the reason, and
// counted.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "calibrate/readers/profile.h"

namespace c3sim::calibrate {

// Not before so long behind the end, or the begin, of another node.
struct After {
  std::size_t node = 0;
  sim::Time lag{0};
  bool of_begin = false;
};

// Work on a GPU, or, of no length, the return of a call by which the host waited. Node 0 is the begin of the trace.
struct Node {
  std::optional<std::size_t> work{};  // place in Profile::work
  sim::Time begin{0}, end{0};         // as traced; kernels that overlap the one before them count from its end
  std::vector<After> after{};         // nodes before it in the list
};

struct Dependencies {
  std::vector<Node> nodes;  // by begin
  // How many pieces of work began when others ended, without an event that says so; how many while others ran, that may
  // have left them no room on the GPU until then, and keep their distance from when those began; and how many behind
  // all that they could have waited for, which keep their distance from that.
  std::size_t by_time = 0;
  std::size_t for_room = 0;
  std::size_t unexplained = 0;
};

Dependencies dependencies_of(const Profile& profile);

}  // namespace c3sim::calibrate
