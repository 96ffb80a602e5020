// Names the figures that a benchmark measures and the simulator predicts. Each has a unit, and its predictions have one
// kind of error.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "sim/units.h"

namespace c3sim::study {

enum class Figure {
  time,                // from the first launch until the host knows that the last operation ended
  kernel_time,         // of one kernel (in a C3 run the GEMM), without launch and completion notice; from traces, loops
  gemm_time,           // of the GEMM in a C3 run, from its launch to its end, as events around it measure
  collective_time,     // of its collective, as events measure; of a fused collective, the time left after the GEMM
  over_longer,         // time over the isolated time of the longer operation
  gemm_stretch,        // gemm_time over the isolated time of the GEMM
  collective_stretch,  // collective_time over the isolated time of the collective
  latency,             // of one dependent load
  control_share,       // share of the control phase in the time of a copy
  schedule_share,      // share of the schedule phase
  copy_share,          // share of the copy phase
  completion_share,    // share of the completion phase
  over_parallel_copies,  // speed of a collective over its speed by parallel copies without prelaunch
  rate,                  // bytes that one GPU moves to or from all others, or in its own memory, over time
  link_rate,             // bytes that one link carries one way, over time
  bus_bandwidth,         // as RCCL's tests define it
  flop_rate,             // of one GPU
  efficiency,       // of a kernel, without its launch: flop rate over the matrix peak of its CUs at the clock they had
  power,            // mean of one board over the run
  clock,            // mean of one GPU's engines over the run
  l2_hit_bytes,     // bytes that the L2 caches of one GPU serve
  l2_miss_bytes,    // bytes that pass on to the Infinity Cache and HBM
  cache_hit_share,  // share of l2_miss_bytes that the Infinity Cache serves
  energy,           // of one board, over the run
  // The next figures divide by times of the operations one after the other in the same loop, where clocks settle alike:
  over_longer_in_turn,         // time over that of the longer operation
  gemm_stretch_in_turn,        // gemm_time over that of the GEMM
  collective_stretch_in_turn,  // collective_time over that of the collective
  // The next figures are of served requests, as means or quantiles over requests: the time from arrival to the first
  // token, the time per token after it, and the time from arrival to the last token.
  first_token,
  first_token_median,
  first_token_p90,
  first_token_p99,
  per_token,
  per_token_median,
  per_token_p99,
  end_to_end,
  end_to_end_median,
  end_to_end_p90,
  end_to_end_p99,
  request_rate,  // requests that end, over the time from the first arrival to the last token
  token_rate     // tokens of these requests over the same time
};

// ErrorKind tells how errors of predictions are expressed: relative, or for shares in percentage points.
enum class ErrorKind { relative, points };

struct FigureForm {
  Figure figure;
  std::string_view key;      // name in files: "gemm_time"
  std::string_view heading;  // name for people: "GEMM time"
  sim::Dimension dimension;  // of the values in files
  std::string_view unit;     // shown to people: "us"; empty for a ratio
  double per_unit;           // base units per `unit`: 1e-6 for us
  double low, high;          // in base units; a measurement beyond them is a mistake
  ErrorKind error = ErrorKind::relative;
};

std::span<const FigureForm> all_figures();
const FigureForm& form_of(Figure figure);
// Returns the form of the figure with this key, or null if there is none.
const FigureForm* figure_named(std::string_view key);

// `Figures` holds the observed figures of one run, in base units (seconds, bytes per second, watts, hertz, flops per
// second; shares from 0 to 1).
using Figures = std::map<Figure, double>;

}  // namespace c3sim::study
