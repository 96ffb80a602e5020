// A validation: suites of measurements, or files of the user's, beside what the simulator says of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/readers/screen.h"
#include "study/play/parallel.h"
#include "validate/claim.h"
#include "validate/metrics.h"
#include "validate/suite.h"

namespace c3sim::validate {

struct Options {
  // Instead of that of the suites; without it files of the user are of the GPU that each names, or of mi300x.
  std::optional<std::string> platform;
  std::vector<std::string> changes;              // to every platform: "gpu.power.cap=700 W"
  std::optional<double> tolerance;               // instead of every band
  std::optional<study::Sampling> uncertainty{};  // intervals are asked for
  bool mechanisms = false;                       // what running at once costs is split over mechanisms
  bool unprobed = false;                         // it is predicted without probes as well
  std::string only;                              // cases whose names hold this text, and no claims
  int jobs = 0;                                  // threads; 0: as many as the machine has cores
  study::Progress progress;
};

// Rows of a file that are not compared, and why.
struct LeftOut {
  std::string suite;
  std::string file;
  std::string why;
  int rows = 0;                             // 0: the whole file
  double seconds = 0.0;                     // that they took altogether; 0: nobody knows
  std::vector<calibrate::Omission> each{};  // of the user's files
};

// A table that its suite says something about.
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
  std::vector<sim::Fault> faults;                // rows of the user's files that could not be read
  std::vector<std::string> remarks;              // what else the user should know, in sentences
  std::vector<Gap> gaps;                         // known deviations, as they stand
  std::optional<study::Sampling> uncertainty{};  // what intervals are of, where they were asked for

  // Cases and claims outside their bands, those without a prediction or a score aside.
  std::size_t outside() const;
};

// The suites of these names, all where there are none. Throws sim::ConfigError for an unknown name, with the nearest,
// for data or suites that are at fault, and where Options::only leaves nothing.
Validation validate_suites(const Library& library, std::span<const std::string> names, const Options& options);

// Measurements of the user's, in any format that is known. Rows and files that cannot be read are told as faults, the
// others are compared. Throws sim::ConfigError where a file is not there, and where nothing is left to compare.
Validation validate_files(const Library& library, std::span<const std::filesystem::path> files, const Options& options);

// The cases of a file whose figures need not have been measured yet, predicted. Throws sim::ConfigError for rows at
// fault, and where nothing can be predicted.
Validation predict_file(const Library& library, const std::filesystem::path& file, const Options& options);

// The machine that a file of the user is for: that of `platform`, or, without it, that of the GPU which the file names,
// or mi300x.
calibrate::ScreenedFor screened_for(const calibrate::Reading& reading, const Library& library,
                                    const std::optional<std::string>& platform,
                                    const std::vector<std::string>& changes);

// The files as cases with nothing predicted.
Validation read_files(const Library& library, std::span<const std::filesystem::path> files, const Options& options);

// Throws sim::ConfigError, with every case's reason, where no case has a prediction: nothing is compared then.
void require_predictions(const Validation& validation);

}  // namespace c3sim::validate
