// Presents a validation: as tables for the terminal, JSON and CSV; with charts; and as the Markdown of
// docs/accuracy.md, docs/deviations.md and the README's table of accuracy.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/report/results.h"
#include "validate/metrics.h"
#include "validate/predictions.h"
#include "validate/validation.h"

namespace c3sim::validate {

// A Group is a set of cases with their metrics: of a suite, of a group and figure in a suite, or of a table that the
// suite describes. Cases with role calibrate and predict are in different groups.
struct Group : GroupKey, Metrics {
  std::vector<const Case*> members;
};
enum class By { suite, figure };
std::vector<Group> groups_by(By what, const Validation& validation);

// A Contest compares the simulator with a rule on the cases that both predict.
struct Contest : GroupKey {
  std::string rule;  // "perfect overlap", "one after the other", "constant factor", "whole waves"
  std::size_t cases = 0;
  double ours = 0.0;  // median errors
  double theirs = 0.0;
};
// Returns contests with every rule that predicts any of the cases of the group.
std::vector<Contest> contests_on(const Group& group);

// Returns tables with these keys, among others: "cases" (every case), "suites", "tables" (that suites describe),
// "costs" (of running at once), "groups", "baselines", "choices", "claims", "deviations", "worst", "unscored",
// "left_out" (by reason), "left_out_rows" (of files of the user). Values have the units of their headings. Errors are
// in percent, or in points for shares.
study::Results report(const Validation& validation);

// Returns the table of what moved against an earlier version.
study::ResultTable move_table(std::span<const Move> moves);

// Returns sentences: how many cases lie within their bands, how many claims hold, and how much is left out.
std::string verdict(const Validation& validation);

// Adds charts to tables of the report: predicted and measured costs, and for every suite predicted over measured values
// and errors by size.
void add_charts(const Validation& validation, study::Results& results);

// Returns everything except the cases as Markdown: errors by suite and group, simple rules, choices, claims, and what
// is not compared.
std::string accuracy_page(const Validation& validation);
// Returns the first tables of accuracy_page(), one for each role with a row per suite.
std::string accuracy_table(const Validation& validation);
// Returns the known deviations, each with its present size, its cause and the measurement that would decide.
std::string deviations_page(const Validation& validation);

}  // namespace c3sim::validate
