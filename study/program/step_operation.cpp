#include "study/program/step_operation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/check.h"

namespace c3sim::study {

namespace {

constexpr std::array<std::pair<Kind, models::CollectiveKind>, 4> collective_kinds{
    {{Kind::all_reduce, models::CollectiveKind::all_reduce},
     {Kind::all_gather, models::CollectiveKind::all_gather},
     {Kind::reduce_scatter, models::CollectiveKind::reduce_scatter},
     {Kind::all_to_all, models::CollectiveKind::all_to_all}}};

}  // namespace

Kind kind_of(models::CollectiveKind kind) {
  for (const auto& [own, of_collective] : collective_kinds) {
    if (of_collective == kind) return own;
  }
  SIM_CHECK(false);
  return Kind::all_reduce;
}

std::optional<models::CollectiveKind> collective_of(Kind kind) {
  for (const auto& [own, of_collective] : collective_kinds) {
    if (own == kind) return of_collective;
  }
  return {};
}

}  // namespace c3sim::study
