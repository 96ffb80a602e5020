// What BabelStream prints: the rates of its streams, as a table for people or, with --csv, as rows for programs. Rates
// are those of the fastest of many runs.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

bool is_babel_stream(std::string_view text);
Reading read_babel_stream(std::string_view text, const std::string& name);

bool is_babel_stream_csv(std::string_view text);
Reading read_babel_stream_csv(std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
