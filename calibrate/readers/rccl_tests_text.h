// What all_reduce_perf and its siblings (rccl-tests, nccl-tests) print: comments that describe the test, a table with
// the times of every size, and in between what MPI, the library and the shell had to say.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

bool is_rccl_tests_text(std::string_view text);
Reading read_rccl_tests_text(std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
