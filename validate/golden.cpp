#include "validate/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "sim/config/config_error.h"
#include "sim/config/csv_file.h"
#include "sim/config/measurement_text.h"
#include "study/report/table_of.h"
#include "study/run/digest.h"

namespace c3sim::validate {

namespace {

constexpr double least_move = 1e-3;
constexpr double least_difference = 1e-2;  // of errors, for better and worse
constexpr std::string_view first_words = "# predictions of all suites; sha256 of what follows: ";

// A small denominator would make a move of it.
double relative(double before, double after) {
  return std::abs(after - before) / std::max({std::abs(before), std::abs(after), 1e-9});
}

void sort_moves(std::vector<Move>& moves) {
  std::ranges::stable_sort(moves, [](const Move& a, const Move& b) {
    if (a.change != b.change) return a.change < b.change;
    return a.size() > b.size();
  });
}

// Subjects of cases end in ": " and a figure.
const study::FigureForm* figure_of(const std::string& subject) {
  const std::size_t colon = subject.rfind(": ");
  if (colon == std::string::npos) return nullptr;
  const auto figures = study::all_figures();
  const auto found = std::ranges::find(figures, std::string_view(subject).substr(colon + 2), &study::FigureForm::key);
  return found == figures.end() ? nullptr : &*found;
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

std::string_view to_string(Change change) {
  switch (change) {
    case Change::regression:
      return "regression";
    case Change::drift:
      return "drift";
    case Change::gain:
      return "gain";
    case Change::appeared:
      return "new";
    case Change::vanished:
      break;
  }
  return "gone";
}

double Move::size() const { return before && after ? relative(*before, *after) : 0.0; }

Predictions predictions_of(std::span<const Case> cases, std::span<const Claim> claims) {
  Predictions predictions;
  for (const Case& one : cases) {
    if (one.predicted) predictions.emplace(subject_of(one), *one.predicted);
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
  const auto fail = [&file](std::string what) { throw sim::ConfigError({{file.string(), "", std::move(what)}}); };
  const std::string text = sim::read_measurement_text(file);
  const std::size_t end = text.find('\n');
  if (!text.starts_with(first_words) || end == std::string::npos) {
    fail("no file of predictions: c3sim validate --update-goldens and --out write them");
  }
  const std::string digest = text.substr(first_words.size(), end - first_words.size());
  if (digest != study::sha256(std::string_view(text).substr(end + 1)))
    fail("was changed by hand: its digest is another");
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
  std::vector<Move> moves;
  for (const auto& [subject, value] : after) {
    const auto old = before.find(subject);
    if (old != before.end() && relative(old->second, value) <= least_move) continue;
    Move move;
    move.subject = subject;
    move.figure = figure_of(subject);
    move.after = value;
    if (old != before.end()) move.before = old->second;
    if (const auto one = by_subject.find(subject); one != by_subject.end()) {
      move.error_after = one->second->error_of(value);
      if (move.before) move.error_before = one->second->error_of(*move.before);
    }
    move.change = change_of(move);
    moves.push_back(std::move(move));
  }
  for (const auto& [subject, value] : before) {
    if (after.contains(subject) || compared == Compared::some) continue;
    Move move;
    move.subject = subject;
    move.change = Change::vanished;
    move.figure = figure_of(subject);
    move.before = value;
    moves.push_back(std::move(move));
  }
  sort_moves(moves);
  return moves;
}

}  // namespace c3sim::validate
