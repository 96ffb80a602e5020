// The suites there are, and the measurements behind them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "calibrate/readers/reader.h"
#include "validate/library.h"
#include "validate/suite.h"

namespace c3sim::validate {

// The tables of these suites, in their order, as read: all rows, with their roles. A table that two suites compare
// with is read once for each, by the form of each. Throws sim::ConfigError for an unknown name, a suite of another
// platform than `platform`, and for data or suites that are at fault.
std::vector<calibrate::Reading> readings_of_suites(const Library& library, std::span<const std::string> names,
                                                   const std::string& platform);

// The suites of these names, all where there are none. Throws sim::ConfigError for an unknown name, with the nearest.
std::vector<Suite> suites_named(const Library& library, std::span<const std::string> names,
                                const calibrate::Reader& reader);

// Names the traces of trials where they are: beside the table that names them.
void locate_traces(calibrate::Reading& reading, const std::filesystem::path& table);

// Reads logs, and tables in the forms of the folder of formats; lookups find the tables of reference data.
calibrate::Reader reader_of_forms(const Library& library);
// The same, and behind these forms those of the suites.
calibrate::Reader reader_of_everything(const Library& library);

}  // namespace c3sim::validate
