// The whole of a trace of PyTorch's profiler (export_chrome_trace: kineto's JSON, times in microseconds): all work on
// GPUs and all calls of the host that it follows from; matrix products whose operators recorded the shapes of their
// operands (record_shapes=True), and collectives of RCCL or NCCL, which record their sizes themselves.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/profile.h"
#include "calibrate/readers/roles.h"

namespace c3sim::calibrate {

// Linear in the size of the text. What cannot be used is counted in `misunderstood`; nothing is made up for it. A text
// that is cut off is read as far as it goes, and `cut_off` says so. Throws sim::ConfigError where there is no work on a
// GPU, or a GPU's name, dates or numbers are none.
// Of kernels of which the trace says no size `labels` may say what they are.
Profile read_kineto(std::string_view text, const std::string& name, const Labels& labels = {});
// The same of a text that comes piece by piece: the first one, and what hands over the others.
Profile read_kineto_pieces(std::string_view first, const MoreText& more, const std::string& name, const Labels& labels);

bool is_kineto(std::string_view text);

}  // namespace c3sim::calibrate
