// The GEMMs that a file of a study lists, each by its name: `gemms: {NAME: MxNxK}`.
#pragma once

#include <string>
#include <vector>

#include "models/platform/gemm_shape.h"
#include "sim/config/config_section.h"

namespace c3sim::study {

struct NamedGemm {
  std::string name;
  models::GemmShape shape;  // of one GPU

  bool operator==(const NamedGemm&) const = default;
};

inline constexpr std::size_t most_gemms = 1000;

// In the order of the file; what is wrong is recorded with the section.
std::vector<NamedGemm> read_gemms(sim::Section section);

}  // namespace c3sim::study
