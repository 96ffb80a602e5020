// Declares the collectives that rccl-tests and nccl-tests measure.
#pragma once

#include <optional>
#include <string_view>

#include "models/collectives/collective.h"

namespace c3sim::calibrate {

// A TestedCollective is an operation that these tests measure. Without a kind it has no model.
struct TestedCollective {
  std::string_view name;  // as plain_name spells it: "allreduce"
  std::optional<models::CollectiveKind> kind;
};
// Finds the collective of "all_reduce_perf", "AllReduce" and the like. Returns null for other words.
const TestedCollective* collective_called(std::string_view word);

}  // namespace c3sim::calibrate
