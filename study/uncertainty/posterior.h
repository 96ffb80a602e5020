// What a platform may be, given what its file tells of the errors of its parameters: the posterior of a fit, as far as
// standard errors and correlations describe it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "study/run/platform_file.h"

namespace c3sim::study {

// Each parameter with an error is normal about its value, cut off at the ends of its range; those of a group correlate
// (models/platform/correlation_group.h). One with alternatives has its value or one of them, all equally likely. One of
// kind `probed` without an error, as nobody has probed it, lies anywhere within its range. All others are taken to be
// known.
class Posterior {
 public:
  explicit Posterior(const Platform& platform);

  // Whether all parameters are known.
  bool empty() const { return parameters_.empty() && assumed_.empty(); }

  // Assignments of every parameter that is not known ("fabric.link_rate=48.1 GB/s" in base units), by draw: a Latin
  // hypercube sample (study/uncertainty/latin_hypercube.h), the same for the same seed.
  std::vector<std::vector<std::string>> draws(std::size_t count, std::uint64_t seed) const;

 private:
  // In base units.
  struct Uncertain {
    std::string path;
    std::string unit;
    double value;
    double error;
    double low;
    double high;
  };
  static std::string assignment(const Uncertain& parameter, double share);

  struct Assumed {
    std::string path;
    std::vector<std::string> values;
  };

  std::vector<Uncertain> parameters_;
  std::vector<Assumed> assumed_;
  std::vector<models::CorrelationGroup> correlations_;
};

}  // namespace c3sim::study
