// The rows that TransferBench writes with OUTPUT_TO_CSV=1, one per transfer (Test#, NumBytes, Src, Exe, Dst, CUs,
// BW(GB/s) and others), beneath the settings of the run.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

bool is_transfer_bench_csv(std::string_view text);
Reading read_transfer_bench_csv(std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
