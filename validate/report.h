// A validation as people and programs see it: as tables, which the terminal, JSON and CSV have; as a page; and as the
// Markdown that docs/accuracy.md, docs/deviations.md and the README's table of accuracy are made of.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/report/page.h"
#include "study/report/results.h"
#include "study/report/table_of.h"
#include "validate/golden.h"
#include "validate/metrics.h"
#include "validate/validation.h"

namespace c3sim::validate {

// Cases that are told as one, and what they amount to: of a suite, of a group and figure within one, or of a table that
// the suite says something about; calibrate and predict apart.
struct Group : GroupKey, Metrics {
  std::vector<const Case*> members;
};
std::vector<Group> groups_by_suite(const Validation& validation);
std::vector<Group> groups_by_figure(const Validation& validation);

// How the simulator and a rule fare on the cases that both predict.
struct Contest : GroupKey {
  std::string rule;  // "perfect overlap", "one after the other", "constant factor", "whole waves"
  std::size_t cases = 0;
  double ours = 0.0;  // median errors
  double theirs = 0.0;
};
// With every rule that predicts any of the group's cases.
std::vector<Contest> contests_on(const Group& group);

// What tables of cases show, in their order: for people, or for programs, which get what rules predict and a command,
// too; intervals where they were asked for.
enum class Readers { people, programs };
std::vector<study::Shown<Case>> shown_of_cases(const Validation& validation, Readers readers);

// Tables by key: "cases" (every case), "suites", "tables" (that their suites say something about), "costs" (of running
// at once), "groups", "baselines", "choices", "claims", "deviations", "worst", "unscored", "left_out" by reason,
// "left_out_rows" of the user's files. Numbers are in the units of their headings; errors in percent, or in points
// where the figure is a share.
study::Results report(const Validation& validation);

// What moved against an earlier version.
study::ResultTable move_table(std::span<const Move> moves);

// In sentences: how many cases lie within their bands, how many claims hold, and how much is left out.
std::string verdict(const Validation& validation);

// The page: every suite in a chart, every case in a table. `version` is that of c3sim; `results` is the report of the
// validation.
study::Page page_of(const Validation& validation, const study::Results& results, const std::string& version);

// In Markdown, everything but the cases: errors by suite and group, simple rules, choices, claims, what is not
// compared.
std::string accuracy_page(const Validation& validation);
// One table of it: a row per suite and role.
std::string accuracy_table(const Validation& validation);
// The known deviations, each with its size of today, its cause and what would decide.
std::string deviations_page(const Validation& validation);

}  // namespace c3sim::validate
