// Which CUs of every XCD a stream may use: the range [begin, end) of CU indices, the same on each XCD.
#pragma once

#include <compare>

namespace c3sim::models {

struct CuMask {
  int begin = 0;
  int end = 0;  // begin == end: every CU

  bool all() const { return begin == end; }
  // Of an XCD that has so many.
  int cus(int cus_per_xcd) const { return all() ? cus_per_xcd : end - begin; }
  auto operator<=>(const CuMask&) const = default;
};

}  // namespace c3sim::models
