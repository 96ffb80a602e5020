// Files of measurements as they are understood: what was read as what, what was not, and why.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "calibrate/readers/reader.h"
#include "calibrate/readers/screen.h"
#include "study/report/results.h"

namespace c3sim::calibrate {

struct MeasurementFiles {
  std::vector<Reading> readings;       // of the files that could be read at all
  std::vector<sim::Fault> unreadable;  // why others could not
  std::vector<std::string> remarks;    // what else to beware of, in sentences

  // Whether any measurement is left.
  bool is_usable() const;
};

// All files, screened: measurements of another machine, those out of order, and files that say the same as others are
// faults of their readings. A file that is given twice is read once.
MeasurementFiles read_measurement_files(const Reader& reader, std::span<const std::filesystem::path> files,
                                        const ScreenedFor& target);

// Tables of what the files hold, by file and kind of run, of what was left out and of faults; warnings tell of the
// first faults. With `rows` also a table of every measurement.
study::Results report(const MeasurementFiles& files, bool rows);

}  // namespace c3sim::calibrate
