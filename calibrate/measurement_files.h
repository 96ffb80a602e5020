// Files of measurements as they are understood: what was read as what, what was not, and why.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/readers/reader.h"
#include "calibrate/readers/screen.h"
#include "study/report/results.h"

namespace c3sim::calibrate {

struct MeasurementFiles {
  std::vector<Reading> readings;       // of the files that could be read at all
  std::vector<sim::Fault> unreadable;  // why others could not

  // Whether any measurement is left.
  bool is_usable() const;
};

// Throws sim::ConfigError that names every file that is not there or may not be read: a slip in one of several names
// must not pass for a measurement that was compared.
void require_files(std::span<const std::filesystem::path> files);

// The files, each once, whatever name leads to it; `twice` is told of those that are given again.
std::vector<std::filesystem::path> each_once(std::span<const std::filesystem::path> files,
                                             std::vector<sim::Fault>& twice);

// All files, screened: measurements of another machine, those out of order, and files that say the same as others are
// faults of their readings. A file that is given twice is read once. `target_of` says for which machine each is.
using TargetOf = std::function<ScreenedFor(const Reading& reading)>;
MeasurementFiles read_measurement_files(const Reader& reader, std::span<const std::filesystem::path> files,
                                        const TargetOf& target_of);

// Tables of what the files hold, by file and kind of run, of what was left out, by reason, and of faults; warnings tell
// of remarks and the first faults. With `rows` people also get tables of every measurement and of every row left out.
study::Results report(const MeasurementFiles& files, bool rows);

}  // namespace c3sim::calibrate
