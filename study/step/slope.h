// How much longer something takes for each moment that others are beside it: of those that are alike otherwise, by the
// line through what was seen that is nearest to it. Lengths are relative to the mean, others to the length.
#pragma once

#include <vector>

namespace c3sim::study {

class Slope {
 public:
  struct Sample {
    double length = 0.0;  // seconds, as is the time that others were beside it
    double beside = 0.0;
  };
  void add(const std::vector<Sample>& alike);
  // From 0 to 1; 0 where nothing was seen that differs.
  double value() const;

 private:
  double above_ = 0.0;
  double below_ = 0.0;
};

}  // namespace c3sim::study
