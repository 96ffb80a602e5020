// The collectives that rccl-tests and nccl-tests measure, by their names.
#pragma once

#include <optional>
#include <string_view>

#include "models/collectives/collective.h"

namespace c3sim::calibrate {

// What a test runs; without a kind it has no model.
struct TestedCollective {
  std::string_view name;  // as plain_name spells it: "allreduce"
  std::optional<models::CollectiveKind> kind;
};
// Of "all_reduce_perf", "AllReduce" and the like; null for other words.
const TestedCollective* collective_called(std::string_view word);

}  // namespace c3sim::calibrate
