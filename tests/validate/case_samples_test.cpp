// Tests what reports say of cases, by tests/data/samples/reports.samples. The first input has a line for each case,
// with what is unusual about it; "claims of papers" has a line for each claim, and "before" one for each earlier
// prediction. Each further input names a table of the report and the columns of it that the output shows, or another
// part of a report. For "cases with baselines" the predictions of simple rules are computed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <sstream>

#include "calibrate/readers/trial_fields.h"
#include "tests/samples.h"
#include "tests/testing.h"
#include "tests/validate/cases.h"
#include "tests/validate/libraries.h"
#include "validate/evaluation.h"
#include "validate/report.h"

namespace c3sim::validate {
namespace {

// Returns each name of "measured=4, figure=time" with its value.
calibrate::Fields fields_of_line(const std::string& line) {
  calibrate::Fields fields;
  std::istringstream words(line);
  for (std::string word; std::getline(words >> std::ws, word, ',');) {
    const std::size_t equals = word.find('=');
    fields[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return fields;
}

calibrate::Role role_named(const std::string& name) {
  constexpr std::array roles{calibrate::Role::calibrate, calibrate::Role::predict, calibrate::Role::probe};
  const auto* const found = std::ranges::find_if(roles, [&](calibrate::Role one) { return to_string(one) == name; });
  return found == roles.end() ? calibrate::Role::unlisted : *found;
}

// A name that is no member of a case is a field of its trial.
Case case_of_line(const std::string& line) {
  Case one = measured(1.0, {});
  one.suite = "s";
  one.id = "s/t.csv:2/time";
  one.group = "g";
  one.where = "t.csv:2";
  one.machine.platform = "mi300x";
  std::optional<double> interval_low;
  std::optional<double> interval_high;
  const std::map<std::string, std::optional<double>*> numbers{
      {"predicted", &one.predicted},
      {"low", &one.low},
      {"high", &one.high},
      {"interval_low", &interval_low},
      {"interval_high", &interval_high},
      {"perfect", &one.baselines.perfect},
      {"serial", &one.baselines.serial},
      {"tiles", &one.alone.tiles},
      {"gemm_alone", &one.alone.gemm},
      {"collective_alone", &one.alone.collective},
      {"gemm_in_turn", &one.alone.gemm_in_turn},
      {"collective_in_turn", &one.alone.collective_in_turn},
      {"predicted_gemm_alone", &one.alone_predicted.gemm},
      {"predicted_collective_alone", &one.alone_predicted.collective},
      {"predicted_gemm_in_turn", &one.alone_predicted.gemm_in_turn},
      {"predicted_collective_in_turn", &one.alone_predicted.collective_in_turn}};
  const std::map<std::string, std::string*> texts{{"suite", &one.suite},
                                                  {"group", &one.group},
                                                  {"where", &one.where},
                                                  {"platform", &one.machine.platform},
                                                  {"decision", &one.decision},
                                                  {"alternative", &one.alternative},
                                                  {"why_not", &one.why_not_predicted}};
  std::string kind;
  calibrate::Fields of_trial;
  for (const auto& [name, value] : fields_of_line(line)) {
    if (const auto number = numbers.find(name); number != numbers.end()) {
      *number->second = std::stod(value);
    } else if (const auto text = texts.find(name); text != texts.end()) {
      *text->second = value;
    } else if (name == "measured") {
      one.measured = std::stod(value);
    } else if (name == "band") {
      one.band = std::stod(value);
    } else if (name == "figure") {
      one.figure = study::figure_named(value)->figure;
    } else if (name == "role") {
      one.role = role_named(value);
    } else if (name == "trial") {
      kind = value;
    } else {
      of_trial[name] = value;
    }
  }
  if (interval_low && interval_high) one.interval = study::Interval{*interval_low, *interval_high};
  std::vector<sim::Fault> faults;
  if (!kind.empty()) one.trial = calibrate::read_trial(kind, of_trial, faults);
  for (const sim::Fault& fault : faults) ADD_FAILURE() << line << ": " << fault.where << ": " << fault.what;
  return one;
}

// The lowest value of a range is "predicted", and the highest is "to".
Claim claim_of_line(const std::string& line) {
  Claim one;
  for (const auto& [name, value] : fields_of_line(line)) {
    if (name == "id") one.id = value;
    if (name == "low") one.low = std::stod(value);
    if (name == "high") one.high = std::stod(value);
    if (name == "predicted" || name == "to") one.predicted.push_back(std::stod(value));
  }
  return one;
}

// Returns the lines of the first input with that name.
std::vector<std::string> lines_of(const Sample& sample, const std::string& name) {
  const auto input = std::ranges::find(sample.inputs, name, &std::pair<std::string, std::string>::first);
  std::istringstream text(input == sample.inputs.end() ? "" : input->second);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

Validation validation_of(const Sample& sample) {
  const std::string& cases = sample.inputs.front().first;
  Validation validation;
  for (const std::string& line : lines_of(sample, cases)) validation.cases.push_back(case_of_line(line));
  for (const std::string& line : lines_of(sample, "claims of papers")) validation.claims.push_back(claim_of_line(line));
  for (const Case& one : validation.cases) {
    if (std::ranges::find(validation.suites, one.suite, &Heading::name) == validation.suites.end()) {
      validation.suites.push_back({one.suite, "Suite " + one.suite, "", one.machine.platform});
    }
    if (one.interval) validation.uncertainty = study::Sampling{};
  }
  if (cases == "cases with baselines") add_baselines(validation.cases, shipped_platform);
  validation.choices = choices_of(validation.cases);
  return validation;
}

Predictions earlier_predictions(const Sample& sample) {
  Predictions predictions;
  for (const std::string& line : lines_of(sample, "before")) {
    const std::size_t equals = line.rfind('=');
    predictions.by_subject[line.substr(0, equals)]["predicted"] = std::stod(line.substr(equals + 1));
  }
  return predictions;
}

std::string text_of(const study::Cell& cell) {
  if (const auto* const text = std::get_if<std::string>(&cell)) return *text;
  if (const std::optional<double> number = study::number_of(cell)) return fmt::format("{:.6g}", *number);
  return "";
}

std::string words_of_table(const study::ResultTable& table, const std::string& columns) {
  std::istringstream keys(columns);
  std::vector<std::string> shown;
  for (std::string column; keys >> column;) shown.push_back(column);
  std::string words = fmt::format("{}\n", fmt::join(shown, ","));
  for (const std::vector<study::Cell>& row : table.rows()) {
    std::vector<std::string> cells;
    for (const std::string& column : shown) cells.push_back(text_of(row.at(place_of(table.columns(), column))));
    words += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return words;
}

TEST(CaseSamples, OfReports) {
  expect_samples("reports.samples", [](const Sample& sample) {
    const Validation validation = validation_of(sample);
    const study::Results results = report(validation);
    std::string words;
    for (const auto& [part, columns] : std::span(sample.inputs).subspan(1)) {
      if (part == "verdict") {
        words += fmt::format("{} {} outside\n", verdict(validation), validation.outside());
      } else if (part == "table of accuracy") {
        words += accuracy_table(validation);
      } else if (part == "moves" || part == "moves of some") {
        const Compared compared = part == "moves" ? Compared::all : Compared::some;
        words += words_of_table(move_table(moves_between(earlier_predictions(sample), validation, compared)), columns);
      } else if (part != "claims of papers" && part != "before") {
        words += words_of_table(results.table(part)->table, columns);
      }
    }
    return words;
  });
}

}  // namespace
}  // namespace c3sim::validate
