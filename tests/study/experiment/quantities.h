// This file measures one run of an experiment and returns its quantities by name.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "study/experiment/experiment.h"

namespace c3sim::study {

// A quantity without a number is empty.
using Quantities = std::map<std::string, std::optional<double>>;
inline Quantities measure(Testbed& testbed, const Experiment& experiment) {
  const ResultTable table = measured(testbed, experiment).tables.front().table;
  Quantities quantities;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    quantities[table.columns()[c].key] = number_of(table.rows().front()[c]);
  }
  return quantities;
}

}  // namespace c3sim::study
