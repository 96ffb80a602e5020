// The machines that a platform may be, each as likely as the others: draws of the posterior of its parameters, and of
// the model's own error, which no parameter explains.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/config/choice.h"
#include "study/play/parallel.h"
#include "study/play/platform_file.h"
#include "study/play/testbed.h"
#include "study/report/statistics.h"
#include "study/uncertainty/latin_hypercube.h"

namespace c3sim::study {

// Work that a platform was not fitted to, by how its predictions are held against measurements.
enum class Unfitted {
  alone,   // kernels, collectives and copies that have the node to themselves
  beside,  // computation and communication at once
  steps,   // whole steps of models
  none     // work that the platform was fitted to
};
constexpr auto all_names(Unfitted) { return sim::names("alone", "beside", "steps", "none"); }
using sim::to_string;

// How an ensemble is drawn.
struct Sampling {
  std::size_t draws = 100;
  std::uint64_t seed = 1;
};

// What an interval over an ensemble covers: errors of parameters that the platform file states, with their
// correlations, how far times of isolated work were off in the fit, by kind of work and size (`spread` of fitted_to),
// and how much farther off times were of what ran at once with others (`concurrent_spread`). What it does not: values
// without an error.
class Ensemble {
 public:
  // Read on so many threads; one per core where that is 0. `progress` is told of draws. `assigned` are assignments as
  // reassign() takes them, which are the same on every machine.
  Ensemble(const Platform& platform, const Sampling& sampling, int jobs = 0, const Progress& progress = {},
           const std::vector<std::string>& assigned = {});

  // Whether the file tells of no error: then there is nothing to draw, and no member.
  bool is_certain() const { return members_.empty() && impossible_.empty(); }
  // How far off predictions of such work were where it was measured (`unfitted_errors` of the file), as a
  // logarithm; 0 where the file does not say. at_least() makes intervals no narrower.
  double error_of(Unfitted work) const { return unfitted_[static_cast<std::size_t>(work)]; }
  // Draws that are platforms; those that the rest of the file rules out are none.
  std::size_t size() const { return members_.size(); }
  // A machine at rest, which the ensemble must outlive. The duration of each operation is that of the drawn parameters
  // times a factor, log-normal about 1, that is the same for all operations of one kind and size: how far the model is
  // off of that.
  std::unique_ptr<Testbed> member(std::size_t index) const;
  // What `ask` says of each member, in their order, on `jobs` threads as for_each_index() has them.
  template <class Ask>
  auto ask_each(const Ask& ask, int jobs, const Progress& progress = {}) const {
    std::vector<std::invoke_result_t<Ask, Testbed&>> answers(size());
    for_each_index(
        size(), [&](std::size_t index) { answers[index] = ask(*member(index)); }, progress, jobs);
    return answers;
  }

  // Why there is no interval, or fewer draws than asked for; empty where all is well.
  std::vector<std::string> warnings() const;

 private:
  struct Member {
    models::PlatformSpec platform;
    std::size_t draw;
  };

  double error_alone(const Member& member, const Work& work) const;
  double error_beside(const Member& member, const Work& work, const Company& company) const;

  std::string name_;
  std::size_t draws_;
  LatinHypercube hypercube_;
  std::vector<Member> members_;
  std::vector<std::string> impossible_;  // why, by draw that is no platform
  std::array<double, sim::all_of<Unfitted>().size()> unfitted_{};
};

// What a platform may be, given what its file tells of the errors of its parameters: the posterior of a fit, as far as
// standard errors and correlations describe it.

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
