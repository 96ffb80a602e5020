// Names what the repository ships for fits: a platform, forms of tables, measurements.
#pragma once

#include <filesystem>
#include <string>

#include "calibrate/calibration.h"
#include "calibrate/readers/reader.h"
#include "tests/config_folders.h"

namespace c3sim::calibrate {

inline const std::filesystem::path h200_file = C3SIM_SOURCE_DIR "/configs/platforms/h200.yaml";
inline const std::filesystem::path reference = C3SIM_SOURCE_DIR "/validate/reference";

inline const Reader& shipped() {
  static const Reader reader(C3SIM_SOURCE_DIR "/configs/formats");
  return reader;
}

inline CalibrationOptions with_folders() {
  CalibrationOptions options;
  options.config_folders = folders;
  return options;
}

}  // namespace c3sim::calibrate
