#include "study/step/slope.h"

#include <algorithm>

namespace c3sim::study {

void Slope::add(const std::vector<Sample>& alike) {
  const auto count = static_cast<double>(alike.size());
  double length = 0.0;
  double share = 0.0;
  for (const Sample& one : alike) {
    length += one.length / count;
    share += one.beside / one.length / count;
  }
  for (const Sample& one : alike) {
    const double off = one.beside / one.length - share;
    above_ += off * (one.length / length - 1.0);
    below_ += off * off;
  }
}

double Slope::value() const { return below_ > 0.0 ? std::clamp(above_ / below_, 0.0, 1.0) : 0.0; }

}  // namespace c3sim::study
