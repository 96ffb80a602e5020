// Offers the node that files of experiments and studies are read for.
#pragma once

#include "study/play/platform_file.h"
#include "study/play/testbed.h"

inline const c3sim::study::Testbed& mi300x_testbed() {
  static const c3sim::study::Testbed mi300x(
      c3sim::study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {}).spec);
  return mi300x;
}
