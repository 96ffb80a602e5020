// Gives the values of the names that expressions of layer files may use (docs/layers.md): the extents of a model as its
// file has them, and those of a step as its options have them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sim/config/expression.h"
#include "study/network/routing.h"
#include "study/network/step_question.h"

namespace c3sim::study {

inline constexpr sim::Powers powers_of_bytes{1, 0, 0, 0};

class LayerNames {
 public:
  explicit LayerNames(const StepQuestion& question) : question_(question) {}  // which must outlive it

  static std::set<std::string, std::less<>> all();
  sim::Amount at(std::string_view name) const;  // of all()

  const StepQuestion& question() const { return question_; }
  const RoutedLoad& load() const;  // of experts, which is computed once

 private:
  const StepQuestion& question_;
  mutable std::optional<RoutedLoad> load_;
};

}  // namespace c3sim::study
