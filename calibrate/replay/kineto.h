// The whole of a trace of PyTorch's profiler (kineto's JSON, times in microseconds): all work on GPUs and all calls of
// the host that it follows from, where calibrate/readers/torch_trace.h keeps what was alone.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/labels.h"
#include "calibrate/replay/profile.h"

namespace c3sim::calibrate {

// Linear in the size of the text. What cannot be used is counted in `misunderstood`; nothing is made up for it. A text
// that is cut off is read as far as it goes, and `cut_off` says so. Throws sim::ConfigError where there is no work on a
// GPU, or a GPU's name, dates or numbers are none.
// Of collectives without a size in the trace `labels` may say what they are.
Profile read_kineto(std::string_view text, const std::string& name, const Labels& labels = {});

}  // namespace c3sim::calibrate
