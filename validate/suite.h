// Suites of measurements: which tables, how their rows become trials, which figures are compared and how far off a
// prediction may be. One YAML file each, so that a new measurement is data and ten lines.
//
//   title: RCCL's kernels
//   question: How long does a collective by kernels take, by size and by number of channels?
//   platform: mi300x
//   claims: [latte]                 # claims of papers whose names begin so, see validate/claims.yaml
//   tables:
//     - file: mi300x_overlap/rccl_allreduce_by_channels.csv       # in the folder of reference data
//       band: 0.08                                                # relative, or in points; of figures without their
//       own rows: ...                                                 # calibrate/readers/table_format.h; or `format:
//       NAME` of one
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "calibrate/readers/reader.h"
#include "sim/config/config.h"
#include "validate/library.h"

namespace c3sim::validate {

struct SuiteTable {
  std::filesystem::path file;  // within the folder of reference data
  double band = 0.0;
  std::string platform = {};  // that was measured, where it is not that of the suite
  calibrate::TableFormat format;
};

struct Suite {
  std::string name;
  std::string title;
  std::string question;
  std::string platform;
  std::vector<std::string> claims;
  std::vector<SuiteTable> tables;
};

// Reads the suite in a configuration; `reader` has the forms that it may name, `papers` those of which claims are
// predicted. Throws sim::ConfigError with all its faults.
Suite read_suite(sim::Config config, std::string name, const calibrate::Reader& reader,
                 std::span<const std::string> papers);

// The suites of the library, in alphabetical order.
std::vector<Suite> read_suites(const Library& library, const calibrate::Reader& reader);

}  // namespace c3sim::validate
