// What a profiler's trace says first of all: how busy each step kept each GPU, what of its communication nothing hid,
// and what ended its idle gaps.
#pragma once

#include <vector>

#include "calibrate/readers/profile.h"
#include "study/report/results.h"

namespace c3sim::calibrate {

// Tables "steps", "communication" (kernels by class), "idle_gaps" (the longest) and "not_understood".
std::vector<study::NamedTable> profile_tables(const Profile& profile);
// What to beware of in it, in sentences.
std::vector<std::string> profile_warnings(const Profile& profile);

}  // namespace c3sim::calibrate
