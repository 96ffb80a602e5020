// Stores predictions in a file, so that later versions and measurements can be held against them. The file is JSON with
// a digest that can be published. It has every prediction, or the summary that is kept with the source, the goldens:
// statistics by suite and table, the worst rows, and the claims.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/choice.h"
#include "validate/validation.h"

namespace c3sim::validate {

// Returns {"cases", "claims"}. A case has "subject", "unit", "predicted", "command" and, if it is scored, "measured",
// "error_pct" and "within_band". Of cases with the same subject it is the one with the largest error. A claim has
// "predicted", or "low" and "high", and "within_band", which says whether it holds. Numbers have six digits.
nlohmann::ordered_json all_predictions(const Validation& validation);
// Returns {"groups", "worst", "claims"}. A group is a suite or a table of it, for one role, with "cases",
// "within_band", "median_pct", "p90_pct", "worst_pct" and "bias_pct"; the worst are twenty cases.
nlohmann::ordered_json summary_of(const Validation& validation);

// Returns the text of a file, with one line for each element of an array. `about` comes before the predictions; the
// members that are read are "platform", by its name or file, and "set", what the user changed of it. The last member is
// "sha256", the digest of the JSON without it and without blanks.
std::string to_text(nlohmann::ordered_json about, const nlohmann::ordered_json& predictions);

struct Predictions {
  using Values = std::map<std::string, double, std::less<>>;  // by name, such as "error_pct", in the units of the file

  std::string platform{};  // of all predictions; empty if each has that of its suite or file
  std::vector<std::string> changes{};
  std::string digest{};
  bool is_summary = false;
  std::map<std::string, Values> by_subject{};
};

// Reads a file of predictions. Throws sim::ConfigError for another kind of file, or if its digest shows a later change.
Predictions read_predictions(const std::filesystem::path& file);
// Returns the predictions under the subjects that their cases have on another platform, to be held against its own.
Predictions of_platform(Predictions predictions, const std::string& platform);
// Returns the first eight digits of the digest of a file, as the change log quotes them.
std::string short_digest(const std::filesystem::path& file);

enum class Change {
  regression,  // the error is larger by a point or more, or fewer values lie within their bands
  drift,       // moved, but neither clearly better nor worse
  gain,        // the opposite of a regression
  appeared,
  vanished
};
constexpr auto all_names(Change) { return sim::names("regression", "drift", "gain", "new", "gone"); }
using sim::to_string;

struct Move {
  std::string subject;
  std::string value;  // which of its values: "predicted", "median_pct"
  Change change = Change::drift;
  std::string_view unit{};
  std::optional<double> before{}, after{};
  std::optional<double> error_before{}, error_after{};  // of a case, in percent or points

  double size() const;  // relative; 0 if the subject appeared or vanished
};

// Compared says whether the cases and claims are all that exist; only then is it known what vanished.
enum class Compared { some, all };

// Returns what moved by more than 0.1 %: regressions, then drifts, then gains, then the rest, each by size.
std::vector<Move> moves_between(const Predictions& before, const Validation& validation,
                                Compared compared = Compared::all);

// Returns the case without what its table says although its platform, with the changes of the user, has it by itself:
// parameters of these values, and counts of all its GPUs and CUs.
Case plainly(Case one, const study::Platform& platform);

// Gives the cases of measured files their predictions from a file, and baselines, without simulation. Cases that the
// file does not predict get no prediction, and a remark counts predictions that were not measured. Throws
// sim::ConfigError if no case is predicted.
void apply_predictions(Validation& validation, const Predictions& predictions, const Library& library,
                       const Options& options);

}  // namespace c3sim::validate
