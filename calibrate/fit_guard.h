// What a fit may read: the guard between measurements and parameters. A fit that could read what it is to predict would
// prove nothing.
#pragma once

#include <filesystem>

#include "calibrate/readers/reader.h"

namespace c3sim::calibrate {

// The isolated measurements of a file, with those that its list of roles marks as predictions left out. Throws
// sim::ConfigError with all that is at fault: rows that cannot be read; a file, or a row of a file without a list, that
// is marked predict; a concurrent run that nothing marks as a prediction.
Reading read_for_fit(const Reader& reader, const std::filesystem::path& file);
Reading admit_to_fit(Reading reading);

}  // namespace c3sim::calibrate
