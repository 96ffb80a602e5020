// What ranks tell one another, as MessagePack: numbers arrive to the last bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/sweep/point.h"

namespace c3sim::study {

// From rank 0: points to answer; or none any more, which is answered by a farewell; or how to leave after that; or
// nothing, which says that it is there.
struct Orders {
  std::vector<std::uint64_t> points{};
  bool leave = false;
  bool go = false;        // everybody's farewell has come, or will not
  bool everyone = false;  // it has
};
// To rank 0: answers, first none with the digest of what it would answer; the last one says farewell. Or nothing but
// the question whether rank 0 is there.
struct Report {
  std::string digest{};
  std::vector<PointAnswer> answers{};
  double seconds = 0.0;   // that they took
  std::string failure{};  // why it gave up
  bool users_fault = false;
  bool farewell = false;
  bool asks_for_life = false;
};

std::string packed(const Orders& orders);
std::string packed(const Report& report);
Orders unpacked_orders(const std::string& bytes);
Report unpacked_report(const std::string& bytes);

}  // namespace c3sim::study
