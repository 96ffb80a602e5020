// Suites of measurements: which tables, how their rows become trials, which figures are compared and how far off a
// prediction may be. One YAML file each, so that a new measurement is data and ten lines.
//
//   title: RCCL's kernels
//   question: How long does a collective by kernels take, by size and by number of channels?
//   platform: mi300x
//   claims: [latte]                 # claims of papers whose names begin so, see validate/claims.yaml
//   tables:
//     - file: mi300x_overlap/rccl_allreduce_by_channels.csv   # in the folder of reference data
//       band: 0.08                                             # relative, or in points; of figures without their own
//       golden: statistics            # kept of a table of many rows in place of every prediction, see Golden
//       rows: ...                     # calibrate/readers/table_format.h; or of another: `format: NAME`
//       description: {what: RCCL by channels, machine: 8 MI300X, protocol: rounds}   # for people, see TableAbout
//     - file: h100x2/gemms.csv
//       band: 0.15
//       format: gemms
//       set: gpu.memory.hbm.capacity=80 GB   # of the platform, beside what the form sets: another machine like it
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/readers/reader.h"
#include "sim/config/config.h"
#include "validate/evaluation.h"

namespace c3sim::validate {

// Where what validations are made of is found.
struct Library {
  std::filesystem::path reference;    // tables of measurements, and claims.csv
  std::filesystem::path suites;       // one file each
  std::filesystem::path claims;       // what claims are predicted by
  std::filesystem::path deviations;   // the list of known gaps
  std::filesystem::path formats;      // of tables, one file each
  std::filesystem::path experiments;  // of claims
  Platforms platforms;
  std::vector<std::string> platform_names{};  // of all there are: a file is compared with that of the GPU it names
};

// What people should know of a table that its rows do not say.
struct TableAbout {
  std::string what;      // was measured: "collectives of NCCL"
  std::string machine;   // on which
  std::string protocol;  // how, which is how it is predicted
  std::string fitted;    // what was fitted to its rows of role calibrate; empty: nothing
  std::string others;    // how far off others say they are on such rows; empty: none does
};

struct SuiteTable {
  std::filesystem::path file;  // within the folder of reference data
  std::optional<TableAbout> about{};
  double band = 0.0;
  Golden golden = Golden::predictions;
  std::string platform = {};  // that was measured, where it is not that of the suite
  calibrate::TableFormat format;
};

// A suite, or a file of the user, as far as it is told to people.
struct Heading {
  std::string name;
  std::string title;
  std::string question;
  std::string platform;
};

struct Suite : Heading {
  std::vector<std::string> claims;
  std::vector<SuiteTable> tables;

  // The platform that a table of it was measured on.
  const std::string& platform_of(const SuiteTable& table) const {
    return table.platform.empty() ? platform : table.platform;
  }
};

// Reads the suite in a configuration; `reader` has the forms that it may name, `papers` those of which claims are
// predicted. Throws sim::ConfigError with all its faults.
Suite read_suite(sim::Config config, std::string name, const calibrate::Reader& reader,
                 std::span<const std::string> papers);

// The files of the suites in a folder, in alphabetical order; none where there is no such folder.
std::vector<std::filesystem::path> suite_files(const std::filesystem::path& folder);

// The suites of the library, in alphabetical order.
std::vector<Suite> read_suites(const Library& library, const calibrate::Reader& reader);

// The suites of these names, all where there are none. Throws sim::ConfigError for an unknown name, with the nearest.
std::vector<Suite> suites_named(const Library& library, std::span<const std::string> names,
                                const calibrate::Reader& reader);

// All rows of a table, with their roles; traces that it names lie beside it. Throws sim::ConfigError for rows at fault.
calibrate::Reading reading_of(const SuiteTable& table, const Library& library, const calibrate::Reader& reader);

// Those tables of these suites that were measured on the platform, in their order, as read. A table that two suites
// compare with is read once for each, by the form of each. Throws sim::ConfigError for an unknown name, a suite without
// such a table, and for data or suites that are at fault.
std::vector<calibrate::Reading> readings_of_suites(const Library& library, std::span<const std::string> names,
                                                   const std::string& platform);

// Reads logs, and tables in the forms of the folder of formats; lookups find the tables of reference data.
calibrate::Reader reader_of_forms(const Library& library);
// The same, and behind these forms those of the suites.
calibrate::Reader reader_of_everything(const Library& library);

}  // namespace c3sim::validate
