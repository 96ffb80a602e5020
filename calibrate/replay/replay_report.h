// Presents a replay as an answer: the trace itself, the model's replay of it unchanged, and the prediction with other
// collectives or on another machine.
#pragma once

#include <map>
#include <vector>

#include "calibrate/readers/profile.h"
#include "calibrate/replay/replay.h"
#include "study/report/results.h"

namespace c3sim::calibrate {

// replay_results() answers with `before`, the traced machine, and `after`, the machine in question. Its tables are
// "results" (the whole, from the first to the last work on a GPU), "steps", and "parts" (the time of a GPU traced,
// replayed and predicted); a chart shows the timelines one above the other.
struct ReplayOptions {
  bool without_communication = false;
  int split = 1;  // see split()
};
study::Results replay_results(const Profile& profile, Contention& before, Contention& after,
                              const ReplayOptions& options = {});
// Returns only the predicted time.
sim::Time predicted_time(const Profile& profile, Contention& before, Contention& after, const ReplayOptions& options);

// Met holds the time of the whole run as traced, as replayed, and as simulated without waits for other GPUs and times
// that the model does not know. `collectives` is by kind the median simulated time of collectives beside computation.
struct Met {
  sim::Time measured{0}, replayed{0}, simulated{0};
  std::map<models::CollectiveKind, sim::Time> collectives{};
};
Met play_unchanged(const Profile& profile, Contention& contention);

// Returns tables that say how busy each step of a trace kept each GPU, which communication nothing hid, and what ended
// idle gaps: "steps", "communication" (kernels by class), "idle_gaps" (the longest) and "not_understood".
std::vector<study::NamedTable> profile_tables(const Profile& profile);
// Returns warnings about the profile, as sentences.
std::vector<std::string> profile_warnings(const Profile& profile);

}  // namespace c3sim::calibrate
