// What must hold whatever the bytes are; a run that finds otherwise is a finding.
#pragma once

#include <cstdlib>

inline void require(bool holds) {
  if (!holds) std::abort();
}
