// What TransferBench prints for people: the transfers of every test, and the tables of its presets p2p and a2a. Also
// with OUTPUT_TO_CSV=1, where commas stand in place of the rules.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

bool is_transfer_bench_text(std::string_view text);
Reading read_transfer_bench_text(std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
