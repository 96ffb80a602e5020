// A trace played again, as an answer: what was traced, what the model makes of it unchanged, and what of it with other
// collectives or on another machine.
#pragma once

#include <map>
#include <vector>

#include "calibrate/readers/profile.h"
#include "calibrate/replay/replay.h"
#include "study/report/results.h"

namespace c3sim::calibrate {

// `before`: the machine of the trace; `after`: what is asked about. Tables "results" (the whole, from the first work on
// a GPU to the last), "steps", and "parts" (of the time of a GPU, traced, replayed and predicted); a chart has the
// timelines one above the other.
struct ReplayOptions {
  bool without_communication = false;
  int split = 1;  // see split()
};
study::Results replay_results(const Profile& profile, Contention& before, Contention& after,
                              const ReplayOptions& options = {});
// Of these its predicted time alone.
sim::Time predicted_time(const Profile& profile, Contention& before, Contention& after, const ReplayOptions& options);

// The time of the whole as traced, as the model plays it, and so without waits for other GPUs and what the model does
// not know; the median of its collectives beside others, by kind, as simulated.
struct Met {
  sim::Time measured{0}, replayed{0}, simulated{0};
  std::map<models::CollectiveKind, sim::Time> collectives{};
};
Met play_unchanged(const Profile& profile, Contention& contention);

// These tables say how busy each step of a trace kept each GPU, what of its communication nothing hid, and what ended
// its idle gaps: "steps", "communication" (kernels by class), "idle_gaps" (the longest) and "not_understood".
std::vector<study::NamedTable> profile_tables(const Profile& profile);
// What to beware of in it, in sentences.
std::vector<std::string> profile_warnings(const Profile& profile);

}  // namespace c3sim::calibrate
