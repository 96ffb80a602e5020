// What the repository ships for fits: a platform, forms of tables, measurements.
#pragma once

#include <filesystem>
#include <string>

#include "calibrate/readers/reader.h"

namespace c3sim::calibrate {

inline const std::filesystem::path h200_file = C3SIM_SOURCE_DIR "/configs/platforms/h200.yaml";
inline const std::filesystem::path reference = C3SIM_SOURCE_DIR "/validate/reference";

inline const Reader& shipped() {
  static const Reader reader(C3SIM_SOURCE_DIR "/configs/formats");
  return reader;
}

// The columns of two forms.
inline const std::string run_columns = "kind,gemm,collective,bytes,how,limit,all_us\n";
inline const std::string power_columns = "phase,mean_power_W,mean_sm_clock_MHz\n";

}  // namespace c3sim::calibrate
