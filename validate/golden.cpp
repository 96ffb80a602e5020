#include "validate/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/check.h"
#include "sim/config/config_error.h"
#include "sim/config/csv_file.h"
#include "sim/config/measurement_text.h"
#include "study/play/digest.h"
#include "study/report/table_of.h"
#include "validate/evaluation.h"
#include "validate/metrics.h"

namespace c3sim::validate {

namespace {

constexpr double least_move = 1e-3;
constexpr double least_difference = 1e-2;  // between errors, to count as better or worse
constexpr std::string_view first_words = "# predictions of all suites; sha256 of what follows: ";

[[noreturn]] void fail(const std::filesystem::path& file, std::string what) {
  throw sim::ConfigError({{file.string(), "", std::move(what)}});
}

// Returns the figure at the end of a subject of a case, after ": ", or null if there is none.
const study::FigureForm* figure_of(const std::string& subject) {
  const std::size_t colon = subject.rfind(": ");
  return colon == std::string::npos ? nullptr : study::figure_named(std::string_view(subject).substr(colon + 2));
}

std::optional<double> value_of(const Predictions& predictions, const std::string& subject) {
  const auto found = predictions.find(subject);
  return found == predictions.end() ? std::nullopt : std::optional(found->second);
}

Change change_of(const Move& move) {
  if (!move.before) return Change::appeared;
  if (!move.after) return Change::vanished;
  if (!move.error_before || !move.error_after) return Change::drift;
  const double worse = std::abs(*move.error_after) - std::abs(*move.error_before);
  if (worse > least_difference) return Change::regression;
  return worse < -least_difference ? Change::gain : Change::drift;
}

}  // namespace

double Move::size() const {
  if (!before || !after) return 0.0;
  constexpr double least = 1e-9;  // a smaller denominator would turn rounding into a move
  return std::abs(*after - *before) / std::max({std::abs(*before), std::abs(*after), least});
}

Predictions predictions_of(std::span<const Case> cases, std::span<const Claim> claims) {
  Predictions predictions;
  for (const Case& one : cases) {
    if (!one.predicted || one.golden == Golden::statistics) continue;
    const auto [known, is_new] = predictions.emplace(subject_of(one), *one.predicted);
    SIM_CHECK(is_new || known->second == *one.predicted);
  }
  const auto is_told_by_group = [](const Case& one) { return one.golden == Golden::statistics && one.is_scored(); };
  const auto group_of = [](const Case& one) { return fmt::format("{}: {}", one.suite, one.group); };
  for (const auto& [group, of_group] : grouped(cases_that(cases, is_told_by_group), group_of)) {
    const Metrics metrics = metrics_of(of_group);
    predictions.emplace(group + ", median error", metrics.median);
    predictions.emplace(group + ", nine in ten within", metrics.p90);
    predictions.emplace(group + ", bias", metrics.bias);
  }
  for (const Claim& claim : claims) {
    if (claim.predicted.size() == 1) predictions.emplace(claim.id, claim.predicted.front());
    if (claim.predicted.size() != 2) continue;
    predictions.emplace(claim.id + " low", claim.predicted.front());
    predictions.emplace(claim.id + " high", claim.predicted.back());
  }
  return predictions;
}

std::string to_golden(const Predictions& predictions) {
  using Entry = Predictions::value_type;
  std::ostringstream body;
  study::table_of<Entry>(predictions,
                         {{{"subject", "", ""}, &Entry::first},
                          {{"predicted", "", ""}, [](const Entry& e) { return fmt::format("{:.6g}", e.second); }}})
      .write_csv(body);
  return std::string(first_words) + study::sha256(body.str()) + "\n" + body.str();
}

Predictions read_golden(const std::filesystem::path& file) {
  const std::string text = sim::read_measurement_text(file);
  const std::size_t end = text.find('\n');
  if (!text.starts_with(first_words) || end == std::string::npos) {
    fail(file, "no file of predictions: c3sim validate --update-goldens and --out write them");
  }
  const std::string digest = text.substr(first_words.size(), end - first_words.size());
  if (digest != study::sha256(std::string_view(text).substr(end + 1)))
    fail(file, "was changed by hand: its digest is another");
  sim::CsvFile table = sim::CsvFile::from_text(text, file.string());
  table.require({"subject", "predicted"});
  table.check();
  Predictions predictions;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    predictions[std::string(table.text(row, "subject"))] = table.number(row, "predicted", -1e30, 1e30);
  }
  table.check();
  return predictions;
}

std::string short_digest(const std::filesystem::path& file) {
  const std::string text = sim::read_measurement_text(file);
  constexpr std::size_t digits = 8;
  return text.starts_with(first_words) ? text.substr(first_words.size(), digits) : std::string();
}

std::vector<Move> moves_between(const Predictions& before, std::span<const Case> cases, std::span<const Claim> claims,
                                Compared compared) {
  std::map<std::string, const Case*> by_subject;
  for (const Case& one : cases) by_subject.emplace(subject_of(one), &one);
  const Predictions after = predictions_of(cases, claims);
  Predictions either = after;
  if (compared == Compared::all) either.insert(before.begin(), before.end());
  std::vector<Move> moves;
  for (const auto& [subject, value] : either) {
    Move move{.subject = subject, .figure = figure_of(subject)};
    move.before = value_of(before, subject);
    move.after = value_of(after, subject);
    if (move.before && move.after && move.size() <= least_move) continue;
    if (const auto one = by_subject.find(subject); one != by_subject.end() && move.after) {
      move.error_after = one->second->error_of(*move.after);
      if (move.before) move.error_before = one->second->error_of(*move.before);
    }
    move.change = change_of(move);
    moves.push_back(std::move(move));
  }
  std::ranges::stable_sort(moves, {}, [](const Move& move) { return std::pair(move.change, -move.size()); });
  return moves;
}

namespace {

using Json = nlohmann::ordered_json;

std::string digest_of(Json content) {
  content.erase("sha256");
  return study::sha256(content.dump());
}

}  // namespace

std::string to_prediction_json(std::span<const Case> cases, const std::string& version, const Machine& machine,
                               const std::string& platform_text) {
  Json content{{"c3sim", version},
               {"platform", machine.platform},
               {"set", machine.changes},
               {"platform_sha256", study::sha256(platform_text)},
               {"cases", Json::array()}};
  for (const Case& one : cases) {
    Json entry{{"subject", subject_of(one)},
               {"trial", study::to_string(one.trial)},
               {"figure", one.form().key},
               {"unit", one.form().unit},
               {"predicted", one.predicted ? Json(*one.predicted / one.form().per_unit) : Json()}};
    if (!one.predicted) entry["why_not"] = one.why_not_predicted;
    entry["command"] = command_of(one);
    content["cases"].push_back(std::move(entry));
  }
  content["sha256"] = digest_of(content);
  return content.dump(1) + "\n";
}

PredictionFile read_prediction_json(const std::filesystem::path& file) {
  PredictionFile predictions;
  try {
    const Json content = Json::parse(sim::read_measurement_text(file));
    const Json& cases = content.at("cases");
    predictions.digest = content.at("sha256").get<std::string>();
    if (predictions.digest != digest_of(content)) {
      fail(file, "was changed since it was written: its digest is " + digest_of(content) +
                     ", not the one that it names, " + predictions.digest);
    }
    predictions.platform = content.at("platform").get<std::string>();
    predictions.changes = content.at("set").get<std::vector<std::string>>();
    for (const Json& entry : cases) {
      if (entry.at("predicted").is_null()) continue;
      const study::FigureForm* const form = study::figure_named(entry.at("figure").get<std::string>());
      if (form == nullptr) continue;
      predictions.predicted[entry.at("subject").get<std::string>()] =
          entry.at("predicted").get<double>() * form->per_unit;
    }
  } catch (const nlohmann::json::exception&) {
    fail(file, "no file of predictions: c3sim validate --predict writes them");
  }
  return predictions;
}

void apply_predictions(Validation& validation, const PredictionFile& predictions, const Library& library,
                       const Options& options) {
  std::set<std::string> measured;
  for (Case& one : validation.cases) {
    one.machine.platform = predictions.platform;
    one.machine.changes = predictions.changes;
    if (options.tolerance) one.band = *options.tolerance;
    const auto found = predictions.predicted.find(subject_of(one));
    measured.insert(subject_of(one));
    if (found == predictions.predicted.end()) {
      one.why_not_predicted = "the file of predictions has none of it";
    } else {
      one.predicted = found->second;
    }
  }
  const auto unmeasured = std::ranges::count_if(
      predictions.predicted, [&measured](const auto& entry) { return !measured.contains(entry.first); });
  if (unmeasured > 0) {
    validation.remarks.push_back(
        fmt::format("{} of {} predictions of the file were not measured", unmeasured, predictions.predicted.size()));
  }
  require_predictions(validation);
  add_baselines(validation.cases, library.platforms);
  validation.choices = choices_of(validation.cases);
}

}  // namespace c3sim::validate
