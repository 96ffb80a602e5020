// Predictions of an earlier version, kept in a small file: what a change of the code moves is seen, and has to be told.
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

// By subject: the words of subject_of(), or the id of a claim with " low" or " high" behind it where it has two values.
using Predictions = std::map<std::string, double>;

Predictions predictions_of(std::span<const Case> cases, std::span<const Claim> claims);

// "subject,predicted" lines in alphabetical order, six significant digits, behind a first line that holds the digest of
// all that follows.
std::string to_golden(const Predictions& predictions);
// Throws sim::ConfigError for a file that cannot be read or whose digest is another.
Predictions read_golden(const std::filesystem::path& file);
// The first eight digits of the digest of a golden file's content: what a line of the change log names.
std::string short_digest(const std::filesystem::path& file);

enum class Change {
  regression,  // further from what was measured than before, by over a point
  drift,       // moved, but neither clearly better nor worse
  gain,        // closer
  appeared,
  vanished
};
constexpr auto all_names(Change) { return sim::names("regression", "drift", "gain", "new", "gone"); }
using sim::to_string;

struct Move {
  std::string subject;
  Change change = Change::drift;
  const study::FigureForm* figure = nullptr;            // none: of a claim
  std::optional<double> before{}, after{};              // base units
  std::optional<double> error_before{}, error_after{};  // of the case, where the subject is one

  double size() const;  // relative; 0 of what appeared or vanished
};

// Whether the cases and claims are all there are: only then is it known what vanished.
enum class Compared { some, all };

// What moved by more than 0.1 %, the largest first, regressions before drifts before gains before the rest.
std::vector<Move> moves_between(const Predictions& before, std::span<const Case> cases, std::span<const Claim> claims,
                                Compared compared = Compared::all);

// Predictions before measurements: a file of what was predicted, by a version, of a machine, with a digest that can be
// published; later the same file is held against what was then measured.
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
