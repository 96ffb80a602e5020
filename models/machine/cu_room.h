// What the CUs of one XCD have free, kept by stretches of neighbours that have as much: there are few, however many
// CUs.
#pragma once

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

  // One workgroup comes to, or leaves, each of the CUs in [begin, end).
  void take(int begin, int end, const CuResources& workgroup);
  void give_back(int begin, int end, const CuResources& workgroup);

 private:
  // The place of the stretch that begins with `cu`; one is split for that where needed.
  std::size_t split(int cu);
  template <typename Change>
  void change(int begin, int end, const Change& change_room);

  std::vector<Stretch> stretches_;
};

}  // namespace c3sim::models
