#include "validate/simulators.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "study/report/statistics.h"

namespace c3sim::validate {

namespace {

using study::Cell;
using study::Figure;
using study::ResultTable;

constexpr auto all = "all";
constexpr double of_one = 100.0;  // percent

// Means and quantiles of one kind of time are told together.
std::string_view family_of(Figure figure) {
  switch (figure) {
    case Figure::first_token:
    case Figure::first_token_median:
    case Figure::first_token_p90:
    case Figure::first_token_p99:
      return study::form_of(Figure::first_token).heading;
    case Figure::per_token:
    case Figure::per_token_median:
    case Figure::per_token_p99:
      return study::form_of(Figure::per_token).heading;
    case Figure::end_to_end:
    case Figure::end_to_end_median:
    case Figure::end_to_end_p90:
    case Figure::end_to_end_p99:
      return study::form_of(Figure::end_to_end).heading;
    default:
      return study::form_of(figure).heading;
  }
}

std::string model_of(const Case& one) {
  const auto* const serving = std::get_if<study::ServeTrial>(&one.trial);
  return serving == nullptr ? one.group : serving->question.step.model_name;
}

struct Errors {
  std::vector<double> ours;
  std::map<std::string, std::vector<double>> theirs;

  void add(const Case& one) {
    ours.push_back(std::abs(one.error()));
    for (const auto& [name, value] : one.others) theirs[name].push_back(std::abs(one.error_of(value)));
  }
};

}  // namespace

ResultTable simulators_table(const Validation& validation) {
  // By figure, then what the row is of: everything first.
  std::map<std::tuple<std::string, int, std::string>, Errors> rows;
  std::set<std::string> names;
  for (const Case& one : validation.cases) {
    if (one.others.empty() || !one.is_scored()) continue;
    const std::string family(family_of(one.figure));
    rows[{family, 0, all}].add(one);
    rows[{family, 1, model_of(one)}].add(one);
    rows[{family, 2, one.group}].add(one);
    for (const auto& [name, value] : one.others) names.insert(name);
  }
  std::vector<study::Column> columns{
      {"figure", "figure", ""}, {"of", "of", ""}, {"cases", "values", ""}, {"c3sim_pct", "c3sim", "%", 1}};
  for (const std::string& name : names) {
    columns.push_back({name + "_pct", name, "%", 1});
    columns.push_back({name + "_cases", "of", ""});
  }
  ResultTable table(std::move(columns));
  for (const auto& [key, errors] : rows) {
    std::vector<Cell> cells{std::get<0>(key), std::get<2>(key), static_cast<std::int64_t>(errors.ours.size()),
                            of_one * study::median(errors.ours)};
    for (const std::string& name : names) {
      const auto known = errors.theirs.find(name);
      const bool none = known == errors.theirs.end();
      cells.push_back(none ? Cell() : Cell(of_one * study::median(known->second)));
      cells.push_back(none ? Cell() : Cell(static_cast<std::int64_t>(known->second.size())));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace c3sim::validate
