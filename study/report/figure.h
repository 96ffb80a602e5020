// What can be seen of a run: figures that a benchmark prints and the simulator predicts, each with its unit and the way
// in which a prediction of it is wrong.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "sim/unit.h"

namespace c3sim::study {

enum class Figure {
  time,             // from the first launch until the host knows of the last end
  kernel_time,      // of one kernel (of C3 the GEMM), without its launch and the notice of its end: of traces and loops
  gemm_time,        // of the GEMM of a C3 run, from its launch to its end, as events around it measure
  collective_time,  // of its collective, as events around it measure; of a fused one, what is left after the GEMM
  over_longer,      // time over that of the longer operation alone
  gemm_stretch,     // gemm_time over that of the GEMM alone
  collective_stretch,    // collective_time over that of the collective alone
  latency,               // of one dependent load
  control_share,         // of the time of a copy, by phase
  schedule_share,        //
  copy_share,            //
  completion_share,      //
  over_parallel_copies,  // speed of a collective relative to that by parallel copies without prelaunch
  rate,                  // bytes that one GPU moves to or from all others, or in its own memory, over time
  link_rate,             // bytes that one link carries one way, over time
  bus_bandwidth,         // as RCCL's tests define it
  flop_rate,             // of one GPU
  efficiency,            // of a kernel, without its launch: over the matrix peak of its CUs at the clock they had
  power,                 // of one board, mean over the run
  clock,                 // of one GPU's engines, mean over the run
  l2_hit_bytes,          // that the L2s of one GPU serve
  l2_miss_bytes,         // that pass on to the Infinity Cache and HBM
  cache_hit_share,       // of those, what the Infinity Cache serves
  energy,                // of one board, over the run
  // Over what they take in the same loop one after the other, where clocks have settled as they do in the run:
  over_longer_in_turn,         // time, over that of the longer operation
  gemm_stretch_in_turn,        // gemm_time
  collective_stretch_in_turn,  // collective_time
  // Of requests that are served: from their arrival to the first token; from there to the last, over the tokens
  // between; and from their arrival to the last. Means, and quantiles over requests.
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
  token_rate     // their tokens
};

// How far a prediction is off: relative to what was measured, or, of shares, in percentage points.
enum class ErrorKind { relative, points };

struct FigureForm {
  Figure figure;
  std::string_view key;      // in files: "gemm_time"
  std::string_view heading;  // for people: "GEMM time"
  sim::Dimension dimension;  // of what files say of it
  std::string_view unit;     // in which people read it: "us"; empty for a ratio
  double per_unit;           // base units to one of these: 1e-6 for us
  double low, high;          // in base units: a measurement beyond them is a slip of the pen
  ErrorKind error = ErrorKind::relative;
};

std::span<const FigureForm> all_figures();
const FigureForm& form_of(Figure figure);
// The one of that key; null where there is none.
const FigureForm* figure_named(std::string_view key);

// What was seen of one run, in base units (seconds, bytes per second, watts, hertz, flops per second; shares from 0 to
// 1).
using Figures = std::map<Figure, double>;

}  // namespace c3sim::study
