#include "models/machine/cu_room.h"

#include <algorithm>
#include <cstddef>

namespace c3sim::models {

std::size_t CuRoom::split(int cu) {
  std::size_t place = 0;
  while (place < stretches_.size() && stretches_[place].end <= cu) ++place;
  if (place == stretches_.size() || stretches_[place].begin == cu) return place;
  Stretch before = stretches_[place];
  before.end = stretches_[place].begin = cu;
  stretches_.insert(stretches_.begin() + static_cast<std::ptrdiff_t>(place), before);
  return place + 1;
}

// Only at the two ends of what changed can neighbours have become alike.
template <typename Change>
void CuRoom::change(int begin, int end, const Change& change_room) {
  const std::size_t first = split(begin);
  const std::size_t last = split(end);
  for (std::size_t place = first; place < last; ++place) change_room(stretches_[place].room);
  for (const std::size_t place : {last, first}) {
    if (place == 0 || place >= stretches_.size()) continue;
    if (!(stretches_[place - 1].room == stretches_[place].room)) continue;
    stretches_[place - 1].end = stretches_[place].end;
    stretches_.erase(stretches_.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

void CuRoom::take(int begin, int end, const CuResources& workgroup) {
  change(begin, end, [&](CuResources& room) { room -= workgroup; });
}

void CuRoom::give_back(int begin, int end, const CuResources& workgroup) {
  change(begin, end, [&](CuResources& room) { room += workgroup; });
}

}  // namespace c3sim::models
