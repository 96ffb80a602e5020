// A CuMask says which CUs a stream may use: those with an index in [begin, end), the same on each XCD.
#pragma once

#include <compare>

namespace c3sim::models {

struct CuMask {
  int begin = 0;
  int end = 0;  // begin == end: every CU

  bool all() const { return begin == end; }
  // Returns how many of the `cus_per_xcd` CUs of an XCD the mask allows.
  int cus(int cus_per_xcd) const { return all() ? cus_per_xcd : end - begin; }
  auto operator<=>(const CuMask&) const = default;
};

}  // namespace c3sim::models
