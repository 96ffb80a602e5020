// An Ensemble draws the machines that a platform may be, each as likely as the others: from the posterior of its
// parameters, and from the model's own error, which no parameter explains.
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
#include "study/uncertainty/latin_hypercube.h"

namespace c3sim::study {

// `Unfitted` is work that a platform was not fitted to, by how its predictions are compared with measurements.
enum class Unfitted {
  alone,   // kernels, collectives and copies that have the node to themselves
  beside,  // computation and communication at once
  steps,   // whole steps of models
  none     // work that the platform was fitted to
};
constexpr auto all_names(Unfitted) { return sim::names("alone", "beside", "steps", "none"); }
using sim::to_string;

struct Sampling {
  std::size_t draws = 100;
  std::uint64_t seed = 1;
};

// An interval over an ensemble covers the errors of parameters that the platform file states, with their correlations;
// how far times of isolated work were off in the fit, by kind of work and size (`spread` of fitted_to); and how much
// farther times of concurrent work were off (`concurrent_spread`). It does not cover values without an error.
class Ensemble {
 public:
  // Reads the machines on `jobs` threads, or one per core if `jobs` is 0. `progress` counts draws. `assigned` holds
  // further assignments, as for reassign(), that are the same on every machine.
  Ensemble(const Platform& platform, const Sampling& sampling, int jobs = 0, const Progress& progress = {},
           const std::vector<std::string>& assigned = {});

  // Returns whether the file states no error, so that there is nothing to draw and the ensemble has no member.
  bool is_certain() const { return members_.empty() && impossible_.empty(); }
  // Returns how far predictions of such work were off in validation (`unfitted_errors` of the file), as a logarithm; 0
  // if the file does not say. at_least() widens intervals to it.
  double error_of(Unfitted work) const { return unfitted_[static_cast<std::size_t>(work)]; }
  // Returns the number of draws that are platforms; the rest of the file rules out the others.
  std::size_t size() const { return members_.size(); }
  // Returns a machine at rest, which the ensemble must outlive. A drawn factor, log-normal about 1, multiplies the
  // duration that each operation has with the drawn parameters. The factor is the same for all operations of one kind
  // and size, and stands for the model's own error.
  std::unique_ptr<Testbed> member(std::size_t index) const;
  // Returns what `ask` answers for each member, in order, on `jobs` threads as in for_each_index().
  template <class Ask>
  auto ask_each(const Ask& ask, int jobs, const Progress& progress = {}) const {
    std::vector<std::invoke_result_t<Ask, Testbed&>> answers(size());
    for_each_index(
        size(), [&](std::size_t index) { answers[index] = ask(*member(index)); }, progress, jobs);
    return answers;
  }

  // Returns why there is no interval, or fewer draws than asked for; empty if neither is so.
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
  std::vector<std::string> impossible_;  // reasons why draws are no platform
  std::array<double, sim::all_of<Unfitted>().size()> unfitted_{};
};

// Draws the parameters of a platform from the distribution that follows from a fit, as far as the standard errors and
// correlations in the platform file describe it. Returns assignments of all parameters that are not known, by draw, in
// base units ("fabric.link_rate=4.81e10 B/s"): a Latin hypercube sample (study/uncertainty/latin_hypercube.h), the same
// for the same seed. Draws are empty if all parameters are known.

// Each parameter with an error is normal about its value, cut off at the ends of its range, and correlates with others
// of its group (models/platform/platform_spec.h). A parameter with alternatives has its value or one of them, all
// equally likely. A parameter of kind `probed` without an error has not been probed and lies anywhere within its range.
// All others are taken to be known.
std::vector<std::vector<std::string>> posterior_draws(const Platform& platform, std::size_t count, std::uint64_t seed);

}  // namespace c3sim::study
