// A FaultList collects the faults of a question, one rule after the other.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/config/config_error.h"

namespace c3sim::study {

class FaultList {
 public:
  // Adds a fault if a rule is broken: `where` is the word that breaks it, `what` with `values` says what is accepted.
  template <class... Values>
  void add_if(bool is_broken, std::string where, fmt::format_string<const Values&...> what, const Values&... values) {
    if (is_broken) faults_.push_back({std::move(where), "", fmt::format(what, values...)});
  }
  void add(sim::Fault fault) { faults_.push_back(std::move(fault)); }
  bool is_empty() const { return faults_.empty(); }
  std::vector<sim::Fault> take() { return std::move(faults_); }

 private:
  std::vector<sim::Fault> faults_;
};

}  // namespace c3sim::study
