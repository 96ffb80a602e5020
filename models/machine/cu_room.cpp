#include "models/machine/cu_room.h"

#include <cstddef>

namespace c3sim::models {

std::size_t CuRoom::split(int cu, std::size_t place) {
  while (place < stretches_.size() && stretches_[place].end <= cu) ++place;
  if (place == stretches_.size() || stretches_[place].begin == cu) return place;
  Stretch before = stretches_[place];
  before.end = stretches_[place].begin = cu;
  stretches_.insert(stretches_.begin() + static_cast<std::ptrdiff_t>(place), before);
  return place + 1;
}

// Neighbouring stretches can become equal only at the two ends of the changed range.
void CuRoom::add(int begin, int end, const CuResources& each) {
  const std::size_t first = split(begin, 0);
  const std::size_t last = split(end, first);
  for (std::size_t place = first; place < last; ++place) stretches_[place].room += each;
  for (const std::size_t place : {last, first}) {
    if (place == 0 || place >= stretches_.size()) continue;
    if (!(stretches_[place - 1].room == stretches_[place].room)) continue;
    stretches_[place - 1].end = stretches_[place].end;
    stretches_.erase(stretches_.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

}  // namespace c3sim::models
