// Finds what each piece of a profiled run waited for: the previous work of its stream, its launch by a host whose own
// time stays what it was, events, and synchronisation of the host. Data that streams pass on without an event in the
// trace are not guessed. But if a stream was free and its work launched, and the work still began only when work
// elsewhere had ended or might have left it room on the GPU, that is taken as the reason, and counted.
#pragma once

#include <cstddef>
#include <vector>

#include "calibrate/readers/profile.h"
#include "study/play/known_work.h"

namespace c3sim::calibrate {

using study::After;

// A Node is work on a GPU or, with no length, the return of a host call that waited. Node 0 is the begin of the trace.
struct Node {
  Place work{};                // in Profile::work
  sim::Time begin{0}, end{0};  // as traced; a kernel that overlaps the one before it counts from that one's end
};

struct Dependencies {
  std::vector<Node> nodes;  // sorted by begin
  study::WaitLists after;   // what each node waits for: nodes before it in the list
  // `by_time` counts work that began when other work ended, without an event that says so. `for_room` counts work that
  // began while other kernels ran, which may have left it no room before: it keeps its distance from their begin.
  // `unexplained` counts work that began later than all that it could have waited for: it keeps that distance.
  std::size_t by_time = 0;
  std::size_t for_room = 0;
  std::size_t unexplained = 0;
};

Dependencies dependencies_of(const Profile& profile);

}  // namespace c3sim::calibrate
