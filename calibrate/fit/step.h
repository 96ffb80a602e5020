// Which isolated measurements identify which parameters, on any machine.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// What a step can find. A path with `*` in place of the index of a list stands for the entry that a measurement uses:
// gpu.gemm.libraries.*.efficiency is that of the library whose GEMM was measured.
struct Target {
  std::string_view path;
  std::string_view shown_by;  // the measurements that tell it from the others of its step

  // "gpu.gemm.libraries", and what stands behind its entry, ".efficiency"; empty of what is of no list.
  std::string_view list() const { return has_entry() ? path.substr(0, path.find(entry)) : std::string_view(); }
  std::string_view of_entry() const {
    return has_entry() ? path.substr(path.find(entry) + entry.size()) : std::string_view();
  }

 private:
  static constexpr std::string_view entry = ".*";
  bool has_entry() const { return path.find(entry) != std::string_view::npos; }
};

struct Step {
  std::string_view name;  // of its group of measurements: what the `source` of its parameters will say
  std::vector<Target> targets;
  bool (*takes)(const Measurement&);
  std::size_t valleys = 2;  // starting points that are followed down: more where the machine chooses among ways
  // Whether it takes rows of role probe, which no other step does, and finds every parameter of kind `probed`.
  bool is_of_probes = false;
};

// In the order in which they are fitted: what is launched after its launch, collectives after the links they use. A
// parameter that several steps could find is found by the first that has measurements.
std::span<const Step> steps();

}  // namespace c3sim::calibrate
