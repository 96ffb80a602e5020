// What must hold whatever the bytes are; a run that finds otherwise is a finding.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void require(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: this must hold for any input\n", file, line);
  std::abort();
}
