// Reads files of measurements and reports how they were understood: which rows were read, which were not, and why.
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
  std::vector<Reading> readings;       // one for each file that could be read
  std::vector<sim::Fault> unreadable;  // why other files could not be read, or were given twice
  std::size_t files = 0;               // each counted once, readable or not

  // Returns whether any measurement is left.
  bool is_usable() const;
};

// Throws sim::ConfigError that names every missing or unreadable file: a typo in one of several names must not pass for
// a measurement that was compared.
void require_files(std::span<const std::filesystem::path> files);

// Returns each file once, whatever names lead to it. Adds a fault to `twice` for each repetition.
std::vector<std::filesystem::path> each_once(std::span<const std::filesystem::path> files,
                                             std::vector<sim::Fault>& twice);

// Reads and screens all files, each once. Measurements of another machine, rows out of order and, unless they count,
// files that repeat others become faults of their readings. `target_of` returns the machine that a reading is for.
using TargetOf = std::function<ScreenedFor(const Reading& reading)>;
enum class Repeats { refused, counted };
MeasurementFiles read_measurement_files(const Reader& reader, std::span<const std::filesystem::path> files,
                                        const TargetOf& target_of, Repeats repeats = Repeats::refused);

// Returns tables of the contents of files, by file and kind of run, of rows left out, by reason, and of faults; warns
// of remarks and the first faults. With `rows` the text also shows every measurement and every row left out.
study::Results report(const MeasurementFiles& files, bool rows);

}  // namespace c3sim::calibrate
