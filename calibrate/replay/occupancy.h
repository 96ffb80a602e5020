// How a GPU spends its time: busy, computing, communicating, both at once, or idle, and what ends its idle gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "calibrate/readers/profile.h"

namespace c3sim::calibrate {

struct Stretch {
  sim::Time begin{0}, end{0};
  bool communicates = false;
  Place step{};
};

// All lengths of unions: what runs twice at once counts once.
struct Occupancy {
  sim::Time span{0};  // from the first begin to the last end
  sim::Time busy{0};  // within that
  sim::Time compute{0}, communication{0};
  sim::Time overlapped{0};  // communication beside compute
  sim::Time exposed() const { return communication - overlapped; }
  sim::Time idle() const { return span - busy; }
};
Occupancy occupancy_of(std::span<const Stretch> stretches);
// Of each of so many steps, of which a GPU may have several under way at once: its own computation and communication,
// and what kept its GPU busy and hid communication meanwhile, whosever it was.
using StretchesByGpu = std::map<std::int64_t, std::vector<Stretch>>;
std::vector<Occupancy> occupancies_of(const StretchesByGpu& stretches, std::size_t steps);
// When there was communication, and no compute beside it.
std::vector<Stretch> exposed_communication(std::span<const Stretch> stretches);

// Work of a step on one GPU; of a trace without steps all of it.
struct StepWork {
  std::string name;
  std::int64_t device = 0;
  std::vector<std::size_t> work;  // places in Profile::work, by begin
};
// Work belongs to the step within which it was launched; where the trace does not hold the launch, to the one that it
// marks on the GPU ("gpu_user_annotation"), or to that of the work launched before it on its stream. What was launched
// before all of them is a row of its own, "before the first step". What is in none is left out.
std::vector<StepWork> steps_of(const Profile& profile);
// By work, its place in them.
std::vector<Place> places_in(const std::vector<StepWork>& steps, const Profile& profile);

struct IdleGap {
  std::size_t step = 0;  // to which that belongs which ended it, and which had begun before
  sim::Time begin{0}, end{0};
  std::size_t ended_by = 0;  // place in Profile::work
  bool by_host = false;      // what ended it was launched only after the gap had begun
};
// While nothing ran on a GPU, by their ends.
std::vector<IdleGap> idle_gaps(const Profile& profile, const std::vector<StepWork>& steps);

}  // namespace c3sim::calibrate
