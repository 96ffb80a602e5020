// A validation compares suites of measurements, or files of the user, with predictions.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/measurement_files.h"
#include "calibrate/readers/reader.h"
#include "sim/config/config.h"
#include "study/play/parallel.h"
#include "validate/claim.h"
#include "validate/evaluation.h"
#include "validate/metrics.h"

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
  std::string name{};
  std::string title{};
  std::string question{};
  std::string platform{};
};

// A Suite of measurements says which tables it has, how their rows become trials, which figures are compared and how
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

// Returns the names of the suites in a folder, in alphabetical order, or none if the folder does not exist.
std::vector<std::string> suites_in(const std::filesystem::path& folder);

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

struct Options {
  // Replaces the platforms of suites. Without it, a file of the user is for the GPU that it names, or for mi300x.
  std::optional<std::string> platform;
  std::vector<std::string> changes;              // of every platform: "gpu.power.cap=700 W"
  std::optional<double> tolerance;               // replaces every band
  std::optional<study::Sampling> uncertainty{};  // requests intervals
  bool mechanisms = false;                       // splits the cost of running at once over mechanisms
  bool unprobed = false;                         // predicts this cost without probes as well
  std::string only;                              // keeps cases whose names hold this text, and no claims
  int jobs = 0;                                  // number of threads; 0: one per core
  study::Progress progress;
};

// LeftOut counts rows of a file that are not compared for one reason.
struct LeftOut {
  std::string suite;
  std::string file;
  std::string why;
  int rows = 0;                             // 0: the whole file
  double seconds = 0.0;                     // total measured time; 0: unknown
  std::vector<calibrate::Omission> each{};  // one per row, for files of the user
};

// A DescribedTable is a table that its suite describes.
struct DescribedTable {
  std::string suite;
  std::string file;
  TableAbout about;
};

struct Validation {
  std::vector<Heading> suites;
  std::vector<DescribedTable> tables{};
  std::vector<Case> cases;
  std::vector<Claim> claims;
  std::vector<Choices> choices;
  std::vector<LeftOut> left_out;
  std::vector<sim::Fault> faults;                // in files of the user: rows that could not be read
  std::vector<std::string> remarks;              // sentences about what else the user should know
  std::vector<Gap> gaps;                         // present state of known deviations
  std::optional<study::Sampling> uncertainty{};  // how intervals were sampled, if requested

  // Returns the number of cases and claims outside their bands, without those that have no prediction or no score.
  std::size_t outside() const;
};

// Validates the suites with these names, or all if there are none. Throws sim::ConfigError for an unknown name, with
// the nearest known one, for invalid data or suites, and if Options::only leaves nothing.
Validation validate_suites(const Library& library, std::span<const std::string> names, const Options& options);

// Validates measurements of the user, in any known format. Rows and files that cannot be read become faults, and the
// rest is compared. Throws sim::ConfigError if a file does not exist or if nothing is left to compare.
Validation validate_files(const Library& library, std::span<const std::filesystem::path> files, const Options& options);

// Predicts the cases of a file whose figures need not have been measured yet. Throws sim::ConfigError for invalid rows,
// and if nothing can be predicted.
Validation predict_file(const Library& library, const std::filesystem::path& file, const Options& options);

// Returns the machine for a file of the user: `platform`, or else the platform of the GPU that the file names, or else
// mi300x.
calibrate::ScreenedFor screened_for(const calibrate::Reading& reading, const Library& library,
                                    const std::optional<std::string>& platform,
                                    const std::vector<std::string>& changes);

// Reads the files as cases without predicting them.
Validation read_files(const Library& library, std::span<const std::filesystem::path> files, const Options& options);

// Throws sim::ConfigError with the reason of every case if no case has a prediction, so that nothing is compared.
void require_predictions(const Validation& validation);

}  // namespace c3sim::validate
