// Measures how a GPU spends its time: busy, computing, communicating, both at once or idle, and what ends idle gaps.
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

// An Occupancy holds lengths of unions: time in which two things run at once counts once.
struct Occupancy {
  sim::Time span{0};  // from the first begin to the last end
  sim::Time busy{0};  // within `span`
  sim::Time compute{0}, communication{0};
  sim::Time overlapped{0};  // communication beside compute
  sim::Time exposed() const { return communication - overlapped; }
  sim::Time idle() const { return span - busy; }
};
Occupancy occupancy_of(std::span<const Stretch> stretches);
// Returns the occupancy of each of `steps` steps, several of which may overlap on a GPU. Computation and communication
// are those of the step itself; work of any step keeps its GPU busy and hides its communication.
using StretchesByGpu = std::map<std::int64_t, std::vector<Stretch>>;
std::vector<Occupancy> occupancies_of(const StretchesByGpu& stretches, std::size_t steps);
// Returns when there was communication without concurrent computation.
std::vector<Stretch> exposed_communication(std::span<const Stretch> stretches);

// StepWork is the work of a step on one GPU, or all work on the GPU if the trace has no steps.
struct StepWork {
  std::string name;
  std::int64_t device = 0;
  std::vector<std::size_t> work;  // places in Profile::work, sorted by begin
};
// Returns the work of each step. Work belongs to the step within which it was launched; if the trace lacks the launch,
// to the step marked on the GPU ("gpu_user_annotation"), or else to the step of the work launched before it on its
// stream. Work launched before all steps makes a row "before the first step". Work outside of all steps is left out.
std::vector<StepWork> steps_of(const Profile& profile);
// Returns for each work its place in `steps`.
std::vector<Place> places_in(const std::vector<StepWork>& steps, const Profile& profile);

struct IdleGap {
  std::size_t step = 0;  // of the work that ended the gap; the step began before the gap
  sim::Time begin{0}, end{0};
  std::size_t ended_by = 0;  // place in Profile::work
  bool by_host = false;      // the work that ended the gap was launched only after the gap began
};
// Returns the gaps in which nothing ran on a GPU, sorted by end.
std::vector<IdleGap> idle_gaps(const Profile& profile, const std::vector<StepWork>& steps);

}  // namespace c3sim::calibrate
