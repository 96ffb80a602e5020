// A suite of measurements says which tables it has, how their rows become trials, which figures are compared and how
// far off a prediction may be. Each suite is a YAML file, so that a new measurement is data and ten lines.
//
//   title: RCCL's kernels
//   question: How long does a collective by kernels take, by size and by number of channels?
//   platform: mi300x
//   claims: [latte]                 # papers whose claims are compared, see validate/claims.yaml
//   tables:
//     - file: mi300x_overlap/rccl_allreduce_by_channels.csv   # in the folder of reference data
//       band: 0.08                    # of figures without their own; relative, or in points for shares
//       rows: ...                     # see calibrate/readers/table_format.h; `format: NAME` uses another's
//       description: {what: RCCL by channels, machine: 8 MI300X, protocol: rounds}   # for people, see TableAbout
//     - file: h100x2/gemms.csv
//       band: 0.15
//       format: gemms
//       set: gpu.memory.hbm.capacity=80 GB   # assignments to the platform, in addition to those of the format
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

// A Library holds the paths and platforms that validations use.
struct Library {
  std::filesystem::path reference;    // tables of measurements, and claims.csv
  std::filesystem::path suites;       // one file per suite
  std::filesystem::path claims;       // how claims are predicted
  std::filesystem::path deviations;   // the list of known gaps
  std::filesystem::path formats;      // formats of tables, one file each
  std::filesystem::path experiments;  // experiments that claims use
  Platforms platforms;
  std::vector<std::string> platform_names{};  // all platforms; a file is compared with that of the GPU it names
};

// TableAbout tells people what the rows of a table do not say.
struct TableAbout {
  std::string what;      // what was measured: "collectives of NCCL"
  std::string machine;   // machine of the measurements
  std::string protocol;  // how it was measured, which is how it is predicted
  std::string fitted;    // what was fitted to the rows with role calibrate; empty: nothing
  std::string others;    // errors that others report for such rows; empty: none
};

struct SuiteTable {
  std::filesystem::path file;  // relative to the folder of reference data
  std::optional<TableAbout> about{};
  double band = 0.0;
  std::string platform = {};  // measured platform, if it is not that of the suite
  calibrate::TableFormat format;
};

// A Heading describes a suite, or a file of the user, to people.
struct Heading {
  std::string name;
  std::string title;
  std::string question;
  std::string platform;
};

struct Suite : Heading {
  std::vector<std::string> claims;
  std::vector<SuiteTable> tables;

  // Returns the platform on which the table was measured.
  const std::string& platform_of(const SuiteTable& table) const {
    return table.platform.empty() ? platform : table.platform;
  }
};

// Reads the suite in a configuration. `reader` has the formats that it may name, and `papers` the papers whose claims
// can be predicted. Throws sim::ConfigError with all faults.
Suite read_suite(sim::Config config, std::string name, const calibrate::Reader& reader,
                 std::span<const std::string> papers);

// Returns the files of the suites in a folder, in alphabetical order, or none if the folder does not exist.
std::vector<std::filesystem::path> suite_files(const std::filesystem::path& folder);

// Reads the suites of the library, in alphabetical order.
std::vector<Suite> read_suites(const Library& library, const calibrate::Reader& reader);

// Reads the suites with these names, or all for no names. Throws sim::ConfigError for an unknown name, with the
// nearest.
std::vector<Suite> suites_named(const Library& library, std::span<const std::string> names,
                                const calibrate::Reader& reader);

// Reads all rows of a table and the traces that it names in its folder. Throws sim::ConfigError for invalid rows.
calibrate::Reading reading_of(const SuiteTable& table, const Library& library, const calibrate::Reader& reader);

// Reads the tables of these suites that were measured on the platform, in their order. A table of two suites is read
// once for each, in the format of each. Throws sim::ConfigError for an unknown name, for a suite without such a table,
// and for invalid data or suites.
std::vector<calibrate::Reading> readings_of_suites(const Library& library, std::span<const std::string> names,
                                                   const std::string& platform);

// Returns a reader of logs and of the tables in the folder of formats; its lookups find the tables of reference data.
calibrate::Reader reader_of_forms(const Library& library);
// Returns a reader like reader_of_forms() that knows the formats of the suites as well, after the others.
calibrate::Reader reader_of_everything(const Library& library);

}  // namespace c3sim::validate
