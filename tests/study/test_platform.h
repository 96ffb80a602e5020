// The platform that tests of studies run on: the one of the repository.
#pragma once

#include "study/platform_file.h"

namespace study {

inline Platform mi300x(std::vector<std::string> assignments = {}) {
  return read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", assignments);
}

}  // namespace study
