// A validation compares suites of measurements, or files of the user, with predictions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/measurement_files.h"
#include "study/play/parallel.h"
#include "validate/claim.h"
#include "validate/metrics.h"
#include "validate/suite.h"

namespace c3sim::validate {

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
