// A CuRoom holds what the CUs of one XCD have free, as stretches of neighbours with equal room, which are few.
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
  std::span<const Stretch> stretches() const { return stretches_; }  // ordered by CU

  // Adds `each` to the room on each CU in [begin, end); it is negative when workgroups are placed.
  void add(int begin, int end, const CuResources& each);

 private:
  // Returns the index, from `place` on, of the stretch that begins with `cu`; splits one if needed.
  std::size_t split(int cu, std::size_t place);

  std::vector<Stretch> stretches_;
};

}  // namespace c3sim::models
