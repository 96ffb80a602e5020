#include "validate/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/config/config_error.h"
#include "sim/config/expression.h"
#include "sim/config/measurement_text.h"
#include "study/play/digest.h"
#include "validate/evaluation.h"
#include "validate/metrics.h"

namespace c3sim::validate {

namespace {

using Json = nlohmann::ordered_json;
using Values = Predictions::Values;

constexpr double least_move = 1e-3;
constexpr double least_difference = 1.0;  // between errors in percent, to count as better or worse
constexpr std::size_t most_worst = 20;

// Returns a number with six digits, which all machines agree on.
Json rounded(double value) { return std::isfinite(value) ? Json::parse(fmt::format("{:.6g}", value)) : Json(); }

Json rows_of(const std::vector<const Case*>& cases) {
  Json rows = Json::array();
  for (const Case* const one : cases) {
    const study::FigureForm& form = one->form();
    Json row{{"subject", subject_of(*one)}, {"unit", form.unit}, {"predicted", nullptr}};
    if (one->predicted) row["predicted"] = rounded(*one->predicted / form.per_unit);
    if (!one->predicted) row["why_not"] = one->why_not_predicted;
    if (one->is_scored()) {
      row["measured"] = rounded(one->measured / form.per_unit);
      row["error_pct"] = rounded(one->error() * percent);
      row["within_band"] = one->is_within_band();
    }
    row["command"] = command_of(*one);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json rows_of(const std::vector<Claim>& claims) {
  Json rows = Json::array();
  for (const Claim& claim : claims) {
    if (claim.predicted.empty()) continue;
    Json row{{"subject", claim.id}};
    const bool is_range = claim.predicted.size() > 1;
    row[is_range ? "low" : "predicted"] = rounded(claim.predicted.front());
    if (is_range) row["high"] = rounded(claim.predicted.back());
    row["within_band"] = claim.holds();
    rows.push_back(std::move(row));
  }
  return rows;
}

// Returns a row for each suite and role, then one for each table and role.
Json rows_of_groups(const std::vector<Case>& cases) {
  const std::vector<const Case*> scored = cases_that(cases, &Case::is_scored);
  const auto suite_of = [](const Case& one) {
    return fmt::format("{}, {}", suite_title(one.suite), to_string(one.role));
  };
  const auto table_of = [&](const Case& one) { return fmt::format("{}: {}", suite_of(one), one.file()); };
  auto groups = grouped(scored, suite_of);
  std::ranges::move(grouped(scored, table_of), std::back_inserter(groups));
  Json rows = Json::array();
  for (const auto& [name, members] : groups) {
    const Metrics metrics = metrics_of(members);
    rows.push_back({{"subject", name},
                    {"cases", metrics.cases},
                    {"within_band", metrics.within_band},
                    {"median_pct", rounded(metrics.median * percent)},
                    {"p90_pct", rounded(metrics.p90 * percent)},
                    {"worst_pct", rounded(metrics.worst * percent)},
                    {"bias_pct", rounded(metrics.bias * percent)}});
  }
  return rows;
}

// Parses a file of predictions. One whose values are nested too deep for the stack is none.
Json content_of(const std::filesystem::path& file) {
  constexpr int deepest = 16;
  const auto is_too_deep = [](int depth, Json::parse_event_t, const Json&) {
    if (depth > deepest) throw Json::other_error::create(501, "nested too deep", nullptr);
    return true;
  };
  return Json::parse(sim::read_measurement_text(file), is_too_deep);
}

[[noreturn]] void fail(const std::filesystem::path& file, std::string what) {
  throw sim::ConfigError({{file.string(), "", std::move(what)}});
}

std::string digest_of(Json content) {
  content.erase("sha256");
  return study::sha256(content.dump());
}

// Returns the numbers of all rows by subject, and truth values as 0 and 1. Rows without any are left out.
Predictions parsed(const Json& content) {
  Predictions predictions{.is_summary = content.contains("groups")};
  for (const char* const key : {"groups", "worst", "cases", "claims"}) {
    for (const Json& row : content.value(key, Json::array())) {
      Values values;
      for (const auto& [name, value] : row.items()) {
        if (value.is_number()) values[name] = value.get<double>();
        if (value.is_boolean()) values[name] = value.get<bool>() ? 1.0 : 0.0;
      }
      if (!values.empty()) predictions.by_subject[row.at("subject").get<std::string>()] = std::move(values);
    }
  }
  return predictions;
}

std::optional<double> value_of(const Values& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

// Returns the figure at the end of a subject of a case, after ": ", or null if there is none.
const study::FigureForm* figure_of(const std::string& subject) {
  const std::size_t colon = subject.rfind(": ");
  return colon == std::string::npos ? nullptr : study::figure_named(std::string_view(subject).substr(colon + 2));
}

Change change_of(const Move& move) {
  if (!move.before) return Change::appeared;
  if (!move.after) return Change::vanished;
  double worse = 0.0;
  if (move.value == "within_band") worse = *move.before - *move.after;
  if (move.error_before && move.error_after) worse = std::abs(*move.error_after) - std::abs(*move.error_before);
  if (worse >= least_difference) return Change::regression;
  return worse <= -least_difference ? Change::gain : Change::drift;
}

// Adds what moved of one subject. One that appeared or vanished counts once. Errors are against what is measured today.
void add_moves(const std::string& subject, const Values& before, const Values& after, std::vector<Move>& moves) {
  const study::FigureForm* const figure = figure_of(subject);
  const std::optional<double> measured = value_of(after, "measured");
  for (const auto& [name, value] : after.empty() ? before : after) {
    if (name == "measured" || name == "error_pct") continue;
    const bool is_error = name.ends_with("_pct");
    const bool is_of_figure = figure != nullptr && name == "predicted";
    const auto error_of = [&](std::optional<double> of) -> std::optional<double> {
      if (is_error || !of) return of;
      if (!is_of_figure || !measured) return {};
      return percent *
             (figure->error == study::ErrorKind::points ? (*of - *measured) * figure->per_unit : *of / *measured - 1.0);
    };
    Move move{.subject = subject, .value = name, .unit = is_of_figure ? figure->unit : is_error ? "%" : ""};
    move.before = value_of(before, name);
    move.after = value_of(after, name);
    const bool is_known_once = before.empty() || after.empty();
    if (!is_known_once && (!move.before || !move.after || move.size() <= least_move)) continue;
    move.error_before = error_of(move.before);
    move.error_after = error_of(move.after);
    move.change = change_of(move);
    moves.push_back(std::move(move));
    if (is_known_once) return;
  }
}

}  // namespace

Json all_predictions(const Validation& validation) {
  return {{"cases", rows_of(one_for_each_subject(validation.cases))}, {"claims", rows_of(validation.claims)}};
}

Json summary_of(const Validation& validation) {
  return {{"groups", rows_of_groups(validation.cases)},
          {"worst", rows_of(worst_of(validation.cases, most_worst))},
          {"claims", rows_of(validation.claims)}};
}

std::string to_text(Json about, const Json& predictions) {
  about.update(predictions);
  about["sha256"] = digest_of(about);
  std::string text = "{";
  for (const auto& [key, value] : about.items()) {
    text += fmt::format("{}\n{}: ", text.size() > 1 ? "," : "", Json(key).dump());
    if (value.is_array()) {
      for (const Json& row : value) text += fmt::format("{}\n {}", &row == &value.front() ? "[" : ",", row.dump());
      text += value.empty() ? "[]" : "\n]";
    } else {
      text += value.dump();
    }
  }
  return text + "\n}\n";
}

Predictions read_predictions(const std::filesystem::path& file) {
  try {
    const Json content = content_of(file);
    const std::string digest = content.at("sha256").get<std::string>();
    if (digest != digest_of(content)) {
      fail(file, fmt::format("was changed since it was written: its digest is {}, not the one that it names, {}",
                             digest_of(content), digest));
    }
    Predictions predictions = parsed(content);
    predictions.digest = digest;
    predictions.platform = content.value("platform", "");
    predictions.changes = content.value("set", std::vector<std::string>());
    if (!predictions.by_subject.empty()) return predictions;
  } catch (const nlohmann::json::exception&) {
    // What is wrong with it is said below.
  }
  fail(file, "no file of predictions: c3sim validate --out and --update-goldens write them");
}

std::string short_digest(const std::filesystem::path& file) { return read_predictions(file).digest.substr(0, 8); }

double Move::size() const {
  if (!before || !after) return 0.0;
  constexpr double least = 1e-9;  // a smaller denominator would turn rounding into a move
  return std::abs(*after - *before) / std::max({std::abs(*before), std::abs(*after), least});
}

std::vector<Move> moves_between(const Predictions& before, const Validation& validation, Compared compared) {
  Predictions after = parsed(all_predictions(validation));
  const Predictions told = before.is_summary ? parsed(summary_of(validation)) : after;
  // A row that is no longer among the worst is still predicted, so that it has not vanished.
  after.by_subject.insert(told.by_subject.begin(), told.by_subject.end());
  std::set<std::string> subjects;
  for (const auto& [subject, values] : told.by_subject) subjects.insert(subject);
  for (const auto& [subject, values] : before.by_subject) subjects.insert(subject);
  std::vector<Move> moves;
  for (const std::string& subject : subjects) {
    const auto was = before.by_subject.find(subject);
    const auto is = after.by_subject.find(subject);
    const bool is_new = was == before.by_subject.end();
    const bool is_gone = is == after.by_subject.end();
    // The worst rows of some suites need not be among the worst of all.
    if (compared == Compared::some && (is_gone || (is_new && before.is_summary))) continue;
    add_moves(subject, is_new ? Values() : was->second, is_gone ? Values() : is->second, moves);
  }
  std::ranges::stable_sort(moves, {}, [](const Move& move) { return std::pair(move.change, -move.size()); });
  return moves;
}

Case plainly(Case one, const study::Platform& platform) {
  const auto is_so = [&platform](const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    const auto own = std::ranges::find(platform.parameters, assignment.substr(0, equals), &sim::Parameter::path);
    return own != platform.parameters.end() && sim::is_same_value(assignment.substr(equals + 1), own->value);
  };
  std::erase_if(one.machine.assignments, is_so);
  const auto leave_out = [](auto& optional, auto own) {
    if (optional == own) optional.reset();
  };
  if (auto* const gemm = std::get_if<study::GemmTrial>(&one.trial)) leave_out(gemm->cus, platform.spec.gpu.cus());
  if (auto* const collective = std::get_if<study::CollectiveTrial>(&one.trial)) {
    models::CollectiveSpec& spec = collective->spec;
    if (spec.gpus == platform.spec.gpus) spec.gpus = study::collective_of_all().gpus;
    leave_out(spec.cus, platform.spec.gpu.cus());
    leave_out(spec.host_threads, platform.spec.host.threads);
  }
  return one;
}

Predictions of_platform(Predictions predictions, const std::string& platform) {
  std::map<std::string, Values> renamed;
  for (auto& [subject, values] : predictions.by_subject) {
    const bool is_known = !predictions.platform.empty() && subject.starts_with(predictions.platform);
    const std::size_t end = is_known ? predictions.platform.size() : subject.find_first_of(" :");
    renamed[figure_of(subject) == nullptr ? subject : platform + subject.substr(end)] = std::move(values);
  }
  predictions.by_subject = std::move(renamed);
  predictions.platform = platform;
  return predictions;
}

void apply_predictions(Validation& validation, const Predictions& predictions, const Library& library,
                       const Options& options) {
  std::set<std::string> measured;
  std::map<std::string, study::Platform> by_name;  // read once, since a table may have many rows
  for (Case& one : validation.cases) {
    if (!predictions.platform.empty()) one.machine.platform = predictions.platform;
    one.machine.changes = predictions.changes;
    if (options.tolerance) one.band = *options.tolerance;
    auto found = predictions.by_subject.find(subject_of(one));
    if (found == predictions.by_subject.end()) {
      auto known = by_name.find(one.machine.platform);
      if (known == by_name.end()) {
        known =
            by_name.emplace(one.machine.platform, library.platforms({one.machine.platform, {}, one.machine.changes}))
                .first;
      }
      Case plain = plainly(one, known->second);
      found = predictions.by_subject.find(subject_of(plain));
      if (found != predictions.by_subject.end()) one = std::move(plain);
    }
    measured.insert(subject_of(one));
    const auto predicted = found == predictions.by_subject.end() ? std::nullopt : value_of(found->second, "predicted");
    if (predicted) {
      one.predicted = *predicted * one.form().per_unit;
    } else {
      one.why_not_predicted = "the file of predictions has none of it";
    }
  }
  const auto is_case = [](const auto& entry) { return figure_of(entry.first) != nullptr; };
  const auto is_unmeasured = [&](const auto& entry) { return is_case(entry) && !measured.contains(entry.first); };
  if (const auto unmeasured = std::ranges::count_if(predictions.by_subject, is_unmeasured); unmeasured > 0) {
    validation.remarks.push_back(fmt::format("{} of {} predictions of the file were not measured", unmeasured,
                                             std::ranges::count_if(predictions.by_subject, is_case)));
  }
  require_predictions(validation);
  add_baselines(validation.cases, library.platforms);
  validation.choices = choices_of(validation.cases);
}

}  // namespace c3sim::validate
