// Keeps the predictions of an earlier version in a small file, so that a change of the code shows what it moves.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/choice.h"
#include "validate/claim.h"
#include "validate/validation.h"

namespace c3sim::validate {

// Predictions maps a subject to its value: subject_of() of a case, a group with its statistic ("..., bias"), or the id
// of a claim, followed by " low" or " high" if it has two values.
using Predictions = std::map<std::string, double>;

Predictions predictions_of(std::span<const Case> cases, std::span<const Claim> claims);

// Returns lines "subject,predicted" in alphabetical order with six significant digits, after a first line that holds
// the digest of the rest.
std::string to_golden(const Predictions& predictions);
// Reads a golden file. Throws sim::ConfigError if the file cannot be read or its digest does not match.
Predictions read_golden(const std::filesystem::path& file);
// Returns the first eight digits of the digest of a golden file, as the change log quotes them.
std::string short_digest(const std::filesystem::path& file);

enum class Change {
  regression,  // further from the measured value than before, by over a point
  drift,       // moved, but neither clearly better nor worse
  gain,        // closer to the measured value
  appeared,
  vanished
};
constexpr auto all_names(Change) { return sim::names("regression", "drift", "gain", "new", "gone"); }
using sim::to_string;

struct Move {
  std::string subject;
  Change change = Change::drift;
  const study::FigureForm* figure = nullptr;            // null for a claim
  std::optional<double> before{}, after{};              // in base units
  std::optional<double> error_before{}, error_after{};  // of the case, if the subject is one

  double size() const;  // relative; 0 if the subject appeared or vanished
};

// Compared says whether the cases and claims are all that exist; only then is it known what vanished.
enum class Compared { some, all };

// Returns what moved by more than 0.1 %: regressions, then drifts, then gains, then the rest, each by size.
std::vector<Move> moves_between(const Predictions& before, std::span<const Case> cases, std::span<const Claim> claims,
                                Compared compared = Compared::all);

// A PredictionFile holds predictions of one version for one machine, made before measurements, with a digest that can
// be published. Later validations compare the same file with measurements.
struct PredictionFile {
  std::string platform;                     // its name or file
  std::vector<std::string> changes;         // to the platform, that the user asked for
  std::string digest;                       // of the rest of the file
  std::map<std::string, double> predicted;  // by subject
};

// Returns JSON: {"c3sim", "platform", "set", "platform_sha256", "cases": [{"subject", "trial", "figure", "unit",
// "predicted", "command"}], "sha256"}. The digest is that of the JSON without "sha256" and without blanks.
// `platform_text` is the resolved platform file.
std::string to_prediction_json(std::span<const Case> cases, const std::string& version, const Machine& machine,
                               const std::string& platform_text);

// Reads a prediction file. Throws sim::ConfigError for another kind of file, or if the digest shows a later change.
PredictionFile read_prediction_json(const std::filesystem::path& file);

// Gives the cases of measured files their predictions from the file, and baselines, without simulation. Cases that the
// file does not predict get no prediction, and a remark counts predictions that were not measured. Throws
// sim::ConfigError if no case is predicted.
void apply_predictions(Validation& validation, const PredictionFile& predictions, const Library& library,
                       const Options& options);

}  // namespace c3sim::validate
