// A validation as tables: what the terminal, JSON, CSV, Markdown and the page are made of.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/report/results.h"
#include "validate/golden.h"
#include "validate/metrics.h"
#include "validate/validation.h"

namespace c3sim::validate {

inline constexpr double percent = 100.0;  // as which people are told shares

// What people call a suite: the user's own files have no name.
std::string suite_title(const std::string& suite);

// Cases that are told as one: of a suite, or of a group and figure within one; calibrate and predict apart.
struct Group {
  std::string suite;
  std::string name;    // of the group; empty: the whole suite
  std::string figure;  // heading; empty: all
  calibrate::Role role = calibrate::Role::unlisted;
  std::vector<const Case*> cases;
};
std::vector<Group> groups_by_suite(const Validation& validation);
std::vector<Group> groups_by_figure(const Validation& validation);

// How the simulator and a rule fare on the cases that both predict.
struct Contest {
  std::string suite, operation, strategy, figure;
  std::string rule;  // "perfect overlap", "one after the other", "constant factor", "whole waves"
  std::size_t cases = 0;
  double ours = 0.0;  // median errors
  double theirs = 0.0;
  bool won() const { return ours < theirs; }
};
std::vector<Contest> contests_of(const Validation& validation);
// The rule that comes closest to the group's measurements, where any applies.
std::optional<Contest> hardest_contest(const Group& group);

// Tables by key: "cases" (every case), "suites", "groups", "baselines", "choices", "claims", "deviations", "worst",
// "unscored", "left_out" by reason, "left_out_rows" of the user's files. Numbers are in the units of their headings;
// errors in percent, or in points where the figure is a share.
study::Results report(const Validation& validation);

// What moved against an earlier version.
study::ResultTable move_table(std::span<const Move> moves);

// In sentences: how many cases lie within their bands, how many claims hold, and how much is left out.
std::string verdict(const Validation& validation);

}  // namespace c3sim::validate
