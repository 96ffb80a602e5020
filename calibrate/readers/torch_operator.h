// What an event of PyTorch's profiler says of the work behind it: which trial it is, or why it is none.
#pragma once

#include <optional>
#include <string>

#include "calibrate/readers/json_records.h"
#include "study/ask/trial.h"

namespace c3sim::calibrate {

struct TorchWork {
  std::optional<study::Trial> trial{};
  std::string why_not{};  // where there is none
};

// Of an operator that multiplies matrices (aten::mm, addmm, bmm, baddbmm); nothing of others.
std::optional<TorchWork> matrix_product_of(const JsonRecord& event);
// Of a kernel or operator that records a collective's arguments; nothing of others.
std::optional<TorchWork> collective_of(const JsonRecord& event);

}  // namespace c3sim::calibrate
