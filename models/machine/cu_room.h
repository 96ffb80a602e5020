// What the CUs of one XCD have free, kept by stretches of neighbours that have as much: there are few, however many
// CUs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/platform/cu_resources.h"

namespace c3sim::models {

class CuRoom {
 public:
  CuRoom(int cus, const CuResources& each) : stretches_{{0, cus, each}} {}

  struct Stretch {
    int begin;
    int end;
    CuResources room;  // on each of the CUs
  };
  std::span<const Stretch> stretches() const { return stretches_; }  // by CU

  // So much more of each of the CUs in [begin, end) is free; what is taken is less than nothing.
  void add(int begin, int end, const CuResources& each);

 private:
  // The place, from `place` on, of the stretch that begins with `cu`; one is split for that where needed.
  std::size_t split(int cu, std::size_t place);

  std::vector<Stretch> stretches_;
};

}  // namespace c3sim::models
