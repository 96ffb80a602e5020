// The JSON that rccl-tests and nccl-tests write: one record per size with the times of both runs (nccl-tests, -J FILE:
// size, out_of_place {time, nwrong}, in_place {...}, beside args, config and devices), or one per run (rccl-tests,
// -Z json -x FILE: name, nodes, ranks, gpusPerRank, size, inPlace, time, wrong). Times in microseconds.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

bool is_rccl_tests_json(std::string_view text);
Reading read_rccl_tests_json(std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
