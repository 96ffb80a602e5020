// Predictions before measurements: a file of what was predicted, by a version, of a machine, with a digest that can be
// published; later the same file is held against what was then measured.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "validate/validation.h"

namespace c3sim::validate {

struct PredictionFile {
  std::string version;                      // of c3sim
  std::string platform;                     // by its name or file
  std::vector<std::string> changes;         // to it, that the user asked for
  std::string digest;                       // of all else in the file
  std::map<std::string, double> predicted;  // by subject
};

// JSON: {"c3sim", "platform", "set", "platform_sha256", "cases": [{"subject", "trial", "figure", "unit", "predicted",
// "command"}], "sha256"}; the digest is that of the JSON without "sha256" and without blanks. `platform_text` is the
// resolved platform file.
std::string to_prediction_json(std::span<const Case> cases, const std::string& version, const Machine& machine,
                               const std::string& platform_text);

// Throws sim::ConfigError for a file that is none, or that was changed since: its digest is another.
PredictionFile read_prediction_json(const std::filesystem::path& file);

// Gives the cases of measured files the predictions of the file, and baselines; a case that it does not predict stays
// without one, and how many predictions were not measured is a remark. Nothing is simulated. Throws sim::ConfigError
// where no case is predicted.
void apply_predictions(Validation& validation, const PredictionFile& predictions, const Library& library,
                       const Options& options);

}  // namespace c3sim::validate
