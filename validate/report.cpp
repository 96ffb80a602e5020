#include "validate/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/config/config_text.h"
#include "study/report/statistics.h"
#include "study/report/table_of.h"
#include "validate/cost.h"
#include "validate/evaluation.h"
#include "validate/metrics.h"

namespace c3sim::validate {

namespace {

using study::Cell;
using study::ResultTable;
using study::Shown;
using study::table_of;

Cell cell(std::optional<double> value, double scale = 1.0) {
  if (!value) return {};
  return *value * scale;
}

struct NamedRule {
  const char* name;
  const char* key;
  std::optional<double> Baselines::*value;
};
constexpr std::array rules{NamedRule{"perfect overlap", "perfect", &Baselines::perfect},
                           NamedRule{"one after the other", "serial", &Baselines::serial},
                           NamedRule{"constant factor", "constant", &Baselines::constant},
                           NamedRule{"whole waves", "waves", &Baselines::waves}};

template <class KeyOf>
std::vector<Group> groups_of(const std::vector<const Case*>& cases, const KeyOf& key_of) {
  std::vector<Group> groups;
  for (auto& [key, members] : grouped(cases, key_of)) {
    groups.push_back({key, metrics_of(members), std::move(members)});
  }
  return groups;
}

// Returns the cases that have an error if they are predicted.
std::vector<const Case*> compared(const Validation& validation) {
  return cases_that(validation.cases, [](const Case& one) { return one.why_not_scored.empty(); });
}

}  // namespace

std::vector<Group> groups_by(By what, const Validation& validation) {
  return groups_of(compared(validation), [what](const Case& one) {
    const bool by_figure = what == By::figure;
    return GroupKey{.suite = suite_title(one.suite),
                    .name = by_figure ? one.group : "",
                    .figure = by_figure ? std::string(one.form().heading) : "",
                    .role = one.role};
  });
}

std::vector<Contest> contests_on(const Group& group) {
  std::vector<Contest> contests;
  for (const NamedRule& rule : rules) {
    std::vector<const Case*> both;
    std::ranges::copy_if(group.members, std::back_inserter(both), [&](const Case* one) {
      return one->predicted.has_value() && (one->baselines.*rule.value).has_value();
    });
    if (both.empty()) continue;
    const Metrics theirs = metrics_of(both, [&rule](const Case& one) { return one.baselines.*rule.value; });
    contests.push_back({group, rule.name, both.size(), metrics_of(both).median, theirs.median});
  }
  return contests;
}

namespace {

// Returns a metric in percent, or an empty cell for a group without a prediction.
auto of_predicted(double Metrics::*member) {
  return [member](const Metrics& metrics) { return metrics.predicted > 0 ? Cell(metrics.*member * percent) : Cell(); };
}

// Returns the errors by suite and role, or also by group and figure.
ResultTable table_of_groups(const Validation& validation, By what) {
  using M = const Group&;
  std::vector<Shown<Group>> shown{{{"suite", "suite", ""}, &Group::suite}};
  if (what == By::figure) {
    shown.push_back({{"group", "group", ""}, &Group::name});
    shown.push_back({{"figure", "figure", ""}, &Group::figure});
  }
  const std::vector<Shown<Group>> metrics{
      {{"role", "role", ""}, &Group::role},
      {{"cases", "cases", ""}, &Metrics::cases},
      {{"not_predicted", "no prediction", ""}, [](M m) { return m.cases - m.predicted; }},
      {{"median_error_pct", "median", "%", 1}, of_predicted(&Metrics::median)},
      {{"p90_error_pct", "p90", "%", 1}, of_predicted(&Metrics::p90)},
      {{"worst_error_pct", "worst", "%", 1}, of_predicted(&Metrics::worst)},
      {{"bias_pct", "bias", "%", 1}, of_predicted(&Metrics::bias)},
      {{"wmape_pct", "wMAPE", "%", 1}, [](M m) { return cell(m.wmape, percent); }},
      {{"within_5_pct", "within 5", "%", 0}, of_predicted(&Metrics::within_5)},
      {{"within_10_pct", "10", "%", 0}, of_predicted(&Metrics::within_10)},
      {{"within_15_pct", "15", "%", 0}, of_predicted(&Metrics::within_15)},
      {{"rank_correlation", "rank corr.", "", 2}, &Metrics::rank_correlation},
      {{"within_noise", "within noise", ""}, &Metrics::within_noise},
      {{"outside_band", "outside band", ""}, [](M m) { return m.predicted - m.within_band; }}};
  shown.insert(shown.end(), metrics.begin(), metrics.end());
  if (validation.uncertainty) {
    shown.push_back({{"with_interval", "with interval", ""}, &Metrics::with_interval});
    shown.push_back({{"within_interval", "within it", ""}, &Metrics::within_interval});
    shown.push_back({{"within_interval_pct", "within it", "%", 1}, [](M m) {
                       const auto within = static_cast<double>(m.within_interval);
                       return m.with_interval > 0 ? Cell(percent * (within / static_cast<double>(m.with_interval)))
                                                  : Cell();
                     }});
  }
  return table_of(groups_by(what, validation), shown);
}

// Returns the verdict on a case, or why it has none.
std::string verdict_of(const Case& one) {
  if (!one.predicted) return one.why_not_predicted;
  if (!one.is_scored()) return "not scored: " + one.why_not_scored;
  if (one.is_within_noise()) return one.is_within_band() ? "within noise" : "within noise, outside band";
  return one.is_within_band() ? "within band" : "outside band";
}

// Returns the columns of tables of cases; programs also get the predictions of rules and a command. Intervals are
// included if they were requested.
std::vector<Shown<Case>> shown_of_cases(const Validation& validation, bool for_programs) {
  const auto in_unit = [](auto of) {
    return [of](const Case& one) { return cell(std::invoke(of, one), 1.0 / one.form().per_unit); };
  };
  std::vector<Shown<Case>> shown{
      {{"case", "case", ""}, &Case::id},
      {{"suite", "suite", "", 2, false}, [](const Case& one) { return suite_title(one.suite); }},
      {{"group", "group", ""}, &Case::group},
      {{"role", "role", ""}, &Case::role},
      {{"trial", "trial", ""}, &Case::trial},
      {{"figure", "figure", ""}, [](const Case& one) { return one.form().heading; }},
      {{"unit", "unit", ""}, [](const Case& one) { return one.form().unit; }},
      {{"measured", "measured", "", 2}, in_unit(&Case::measured)},
      {{"predicted", "predicted", "", 2}, in_unit(&Case::predicted)},
      {{"error_pct", "error", "%", 1},
       [](const Case& one) { return one.is_scored() ? Cell(one.error() * percent) : Cell(); }},
      {{"noise_pct", "noise", "%", 1}, [](const Case& one) { return cell(one.noise(), percent); }},
      {{"band_pct", "band", "%", 1}, [](const Case& one) { return one.band * percent; }},
      {{"verdict", "verdict", ""}, verdict_of}};
  if (for_programs) {
    const auto add = [&shown](const char* key, const auto& of) { shown.push_back({{key, key, "", 2, false}, of}); };
    add("measured_low", in_unit(&Case::low));
    add("measured_high", in_unit(&Case::high));
    for (const NamedRule& rule : rules) {
      add(rule.key, in_unit([&rule](const Case& one) { return one.baselines.*rule.value; }));
    }
    add("command", command_of);
  }
  if (validation.uncertainty) {
    const auto end = [&](double study::Interval::*member) {
      return in_unit(
          [member](const Case& one) { return one.interval ? std::optional((*one.interval).*member) : std::nullopt; });
    };
    shown.push_back({{"interval_low", "from", ""}, end(&study::Interval::low)});
    shown.push_back({{"interval_high", "to", ""}, end(&study::Interval::high)});
  }
  return shown;
}

std::string deviation_of(const Validation& validation, const Claim& claim) {
  for (const Gap& gap : validation.gaps) {
    if (std::ranges::find(gap.deviation.claims, claim.id) != gap.deviation.claims.end()) {
      return std::to_string(gap.deviation.number);
    }
  }
  return "";
}

ResultTable claim_table(const Validation& validation) {
  const auto verdict = [](const Claim& claim) -> std::string {
    return claim.predicted.empty() ? "not predicted" : claim.holds() ? "holds" : "outside band";
  };
  const auto deviation = [&](const Claim& claim) { return deviation_of(validation, claim); };
  const auto verdict_and_deviation = [=](const Claim& claim) {
    return verdict(claim) + (deviation(claim).empty() ? "" : ", deviation " + deviation(claim));
  };
  const auto band = [](const Claim& claim) { return fmt::format("{:g} to {:g}", claim.low, claim.high); };
  return table_of<Claim>(validation.claims,
                         {{{"claim", "claim", ""}, &Claim::id},
                          {{"text", "of", ""}, &Claim::text},
                          {{"role", "role", "", 2, false}, &Claim::role},
                          {{"predicted", "predicted", ""}, predicted_words},
                          {{"published", "published", ""}, &Claim::published},
                          {{"low", "low", "", 3, false}, &Claim::low},
                          {{"high", "high", "", 3, false}, &Claim::high},
                          {{"band", "band", "", 2, true, false}, band},
                          {{"verdict", "verdict", "", 2, false}, verdict},
                          {{"deviation", "deviation", "", 2, false}, deviation},
                          {{"told", "verdict", "", 2, true, false}, verdict_and_deviation},
                          {{"interval", "90 % interval", "", 2, validation.uncertainty.has_value()}, interval_words}});
}

ResultTable choice_table(const Validation& validation) {
  using C = const Choices&;
  return table_of<Choices>(
      validation.choices,
      {{{"suite", "suite", ""}, [](C c) { return suite_title(c.suite); }},
       {{"table", "table", ""}, &Choices::group},
       {{"decisions", "decisions", ""}, &Choices::decisions},
       {{"incomplete", "incomplete", ""}, &Choices::incomplete},
       {{"right", "right", ""}, [](C c) { return c.predicted.right; }},
       {{"mean_regret_pct", "mean regret", "%", 1}, [](C c) { return c.predicted.mean_regret * percent; }},
       {{"worst_regret_pct", "worst", "%", 1}, [](C c) { return c.predicted.worst_regret * percent; }},
       {{"always", "trivial rule: always", ""}, &Choices::always},
       {{"always_right", "right", ""}, [](C c) { return c.trivial.right; }},
       {{"always_mean_regret_pct", "mean regret", "%", 1}, [](C c) { return c.trivial.mean_regret * percent; }},
       {{"always_worst_regret_pct", "worst", "%", 1}, [](C c) { return c.trivial.worst_regret * percent; }}});
}

ResultTable gap_table(const Validation& validation) {
  using G = const Gap&;
  return table_of<Gap>(validation.gaps,
                       {{{"number", "number", ""}, [](G gap) { return gap.deviation.number; }},
                        {{"title", "deviation", ""}, [](G gap) { return gap.deviation.title; }},
                        {{"open", "still there", ""}, [](G gap) { return gap.open ? "yes" : "closed"; }},
                        {{"size", "size", ""}, &Gap::size},
                        {{"cause", "cause", "", 2, false}, [](G gap) { return gap.deviation.cause; }},
                        {{"decides", "what would decide", "", 2, false}, [](G gap) { return gap.deviation.decides; }}});
}

// Returns half the range of repetitions: its median over the cases that were measured more than once.
std::optional<double> noise_of(std::span<const Case* const> cases) {
  std::vector<double> widths;
  for (const Case* const one : cases) {
    if (one->noise().value_or(0.0) > 0.0) widths.push_back(*one->noise());
  }
  return widths.empty() ? std::nullopt : std::optional(study::median(std::move(widths)));
}

ResultTable described_table(const Validation& validation) {
  using G = const Group&;
  std::vector<const Case*> cases = compared(validation);
  std::erase_if(cases, [](const Case* one) { return one->table < 0; });
  std::vector<Group> groups = groups_of(cases, [](const Case& one) {
    return GroupKey{.suite = one.suite, .name = "", .table = one.table, .role = one.role};
  });
  std::ranges::sort(groups, {}, [](G group) { return std::pair(group.table, group.role); });
  const auto of = [&validation](G g) -> const DescribedTable& {
    return validation.tables[static_cast<std::size_t>(g.table)];
  };
  const auto about = [of](std::string TableAbout::*member) { return [=](G g) { return of(g).about.*member; }; };
  return table_of<Group>(
      groups, {{{"suite", "suite", "", 2, false}, [](G g) { return suite_title(g.suite); }},
               {{"what", "what was measured", ""}, about(&TableAbout::what)},
               {{"machine", "machine", ""}, about(&TableAbout::machine)},
               {{"protocol", "protocol", "", 2, false}, about(&TableAbout::protocol)},
               {{"role", "role", ""}, &Group::role},
               {{"cases", "values", ""}, &Group::cases},
               {{"noise_pct", "repetitions differ by", "%", 1}, [](G g) { return cell(noise_of(g.members), percent); }},
               {{"median_error_pct", "median", "%", 1}, of_predicted(&Metrics::median)},
               {{"p90_error_pct", "p90", "%", 1}, of_predicted(&Metrics::p90)},
               {{"bias_pct", "bias", "%", 1}, of_predicted(&Metrics::bias)},
               {{"others", "others publish", ""}, about(&TableAbout::others)},
               {{"fitted", "fitted to it", "", 2, false},
                [of](G g) { return g.role == calibrate::Role::calibrate ? of(g).about.fitted : std::string(); }},
               {{"command", "command", "", 2, false},
                [of](G g) { return fmt::format("c3sim validate {} --case {}", g.suite, of(g).file); }}});
}

// Returns median errors of c3sim and other simulators in percent, for each figure that others predicted: over all
// cases, by model and by load. c3sim's is over all cases of a row; another simulator's is over the cases that it
// predicts, whose number the next column gives.
ResultTable simulators_table(const Validation& validation) {
  // The key of a row is its kind of figure, a rank that puts "all" first, and its model or load.
  using Row = std::pair<const std::tuple<std::string, int, std::string>, std::vector<const Case*>>;
  std::map<Row::first_type, Row::second_type> rows;
  std::set<std::string> names;
  for (const Case& one : validation.cases) {
    if (one.others.empty() || !one.is_scored()) continue;
    // The kind of time is "first token" for "first token, p90": its means and quantiles form one row.
    const std::string kind(one.form().heading.substr(0, one.form().heading.find(',')));
    const auto* const serving = std::get_if<study::ServeTrial>(&one.trial);
    rows[{kind, 0, "all"}].push_back(&one);
    rows[{kind, 1, serving == nullptr ? one.group : serving->question.step.model_name}].push_back(&one);
    rows[{kind, 2, one.group}].push_back(&one);
    for (const auto& [name, value] : one.others) names.insert(name);
  }
  // Returns the magnitudes of the errors of a simulator, of c3sim for no name, over the cases that it predicts.
  const auto errors_of = [](const std::string& name, const Row& row) {
    std::vector<double> errors;
    for (const Case* const one : row.second) {
      const auto said = one->others.find(name);
      if (name.empty() || said != one->others.end()) {
        errors.push_back(std::abs(name.empty() ? one->error() : one->error_of(said->second)));
      }
    }
    return errors;
  };
  const auto median_of = [errors_of](const std::string& name) {
    return [=](const Row& row) {
      const std::vector<double> errors = errors_of(name, row);
      return errors.empty() ? Cell() : Cell(percent * study::median(errors));
    };
  };
  std::vector<Shown<Row>> shown{{{"figure", "figure", ""}, [](const Row& row) { return std::get<0>(row.first); }},
                                {{"of", "of", ""}, [](const Row& row) { return std::get<2>(row.first); }},
                                {{"cases", "values", ""}, [](const Row& row) { return row.second.size(); }},
                                {{"c3sim_pct", "c3sim", "%", 1}, median_of("")}};
  for (const std::string& name : names) {
    shown.push_back({{name + "_pct", name, "%", 1}, median_of(name)});
    shown.push_back({{name + "_cases", "of", ""}, [=](const Row& row) {
                       const std::size_t known = errors_of(name, row).size();
                       return known == 0 ? Cell() : study::cell_of(known);
                     }});
  }
  return table_of<Row>(rows, shown);
}

ResultTable unfitted_table(const Validation& validation) {
  return table_of<UnfittedError>(unfitted_errors(validation.cases),
                                 {{{"platform", "platform", ""}, &UnfittedError::platform},
                                  {{"work", "work", ""}, &UnfittedError::work},
                                  {{"cases", "cases", ""}, &UnfittedError::cases},
                                  {{"of_all", "of all work", ""}, &UnfittedError::of_all},
                                  {{"median", "median", "", 3}, &UnfittedError::median},
                                  {{"nine_in_ten", "nine in ten", "", 3}, &UnfittedError::nine_in_ten}});
}

Cell took(double seconds) { return seconds > 0.0 ? Cell(seconds * 1e6) : Cell(); }

ResultTable left_out_table(const Validation& validation) {
  using L = const LeftOut&;
  return table_of<LeftOut>(
      validation.left_out,
      {{{"suite", "suite", ""}, [](L left) { return suite_title(left.suite); }},
       {{"file", "file", ""}, &LeftOut::file},
       {{"rows", "rows", ""}, [](L l) { return l.rows > 0 ? Cell(std::int64_t{l.rows}) : Cell(); }},
       {{"time_us", "which took", "us", 0}, [](L left) { return took(left.seconds); }},
       {{"why", "why", ""}, &LeftOut::why}});
}

// Returns the rows of files of the user that are left out, which belong to no suite.
ResultTable left_out_row_table(const Validation& validation) {
  using O = const calibrate::Omission&;
  std::vector<calibrate::Omission> rows;
  for (const LeftOut& left : validation.left_out) rows.insert(rows.end(), left.each.begin(), left.each.end());
  return table_of<calibrate::Omission>(rows,
                                       {{{"suite", "suite", ""}, [](O) { return suite_title(""); }},
                                        {{"where", "where", ""}, &calibrate::Omission::where},
                                        {{"what", "what", ""}, &calibrate::Omission::what},
                                        {{"time_us", "which took", "us", 1}, [](O row) { return took(row.seconds); }},
                                        {{"why", "why", ""}, &calibrate::Omission::why}});
}

ResultTable baseline_table(const Validation& validation) {
  constexpr double rounding = 1e-9;  // tolerance for rounding of errors
  using C = const Contest&;
  std::vector<Group> groups = groups_of(compared(validation), alike_to_rules);
  std::ranges::sort(groups, {}, [](const Group& group) -> const GroupKey& { return group; });
  std::vector<Contest> contests;
  for (const Group& group : groups) std::ranges::move(contests_on(group), std::back_inserter(contests));
  return table_of<Contest>(contests,
                           {{{"suite", "suite", ""}, &Contest::suite},
                            {{"operation", "operation", ""}, &Contest::name},
                            {{"strategy", "strategy", ""}, &Contest::strategy},
                            {{"figure", "figure", ""}, &Contest::figure},
                            {{"rule", "rule", ""}, &Contest::rule},
                            {{"cases", "cases", ""}, &Contest::cases},
                            {{"median_error_pct", "c3sim, median", "%", 1}, [](C c) { return c.ours * percent; }},
                            {{"rule_median_error_pct", "rule, median", "%", 1}, [](C c) { return c.theirs * percent; }},
                            {{"factor", "c3sim's error is smaller by", "x", 2},
                             [](C c) { return c.ours > rounding ? Cell(c.theirs / c.ours) : Cell(); }},
                            {{"better", "better", ""}, [](C c) { return c.ours < c.theirs ? "yes" : "no"; }}});
}

// Tells how many intervals hold the measured value, and how wide they are; empty if none were requested.
std::string coverage_words(const Validation& validation) {
  if (!validation.uncertainty) return {};
  const std::vector<const Case*> cases =
      cases_that(validation.cases, [](const Case& one) { return one.is_scored() && one.interval.has_value(); });
  const std::size_t with = cases.size();
  if (with == 0) return " No prediction has an interval.";
  const std::size_t within = metrics_of(cases).within_interval;
  double widths = 0.0;
  for (const Case* const one : cases) widths += (one->interval->high - one->interval->low) / *one->predicted;
  return fmt::format(
      " {} of {} measured values lie within the 90 % intervals of their predictions ({:.1f} %), which are {:.0f} % of "
      "these wide in the mean.",
      within, with, percent * static_cast<double>(within) / static_cast<double>(with),
      percent * widths / static_cast<double>(with));
}

// Tells how many cases have no prediction, and the first reasons why.
std::string unpredicted_words(const Validation& validation) {
  constexpr std::size_t most_reasons = 3;
  std::size_t count = 0;
  std::vector<std::string> reasons;
  for (const Case& one : validation.cases) {
    if (one.predicted) continue;
    ++count;
    const std::string& why = one.why_not_predicted;
    if (!why.empty() && std::ranges::count(reasons, why) == 0) reasons.push_back(why);
  }
  if (reasons.size() > most_reasons) {
    const std::size_t more = reasons.size() - most_reasons;
    reasons.resize(most_reasons);
    reasons.push_back(fmt::format("and {} more reasons, which the table of all cases has", more));
  }
  return fmt::format(", {} {} no prediction{}", count, count == 1 ? "has" : "have",
                     reasons.empty() ? "" : fmt::format(" ({})", fmt::join(reasons, "; ")));
}

// Tells how many rows and files were not compared.
std::string left_out_words(const Validation& validation) {
  int rows = 0;
  int files = 0;
  for (const LeftOut& left : validation.left_out) {
    rows += left.rows;
    if (left.rows == 0) ++files;
  }
  std::vector<std::string> parts;
  if (rows > 0) parts.push_back(fmt::format("{} {}", rows, rows == 1 ? "row" : "rows"));
  if (files > 0) parts.push_back(fmt::format("{} {}", files, files == 1 ? "file" : "files"));
  return parts.empty() ? "" : fmt::format(" Left out: {}.", fmt::join(parts, " and "));
}

}  // namespace

ResultTable move_table(std::span<const Move> moves) {
  using M = const Move&;
  return table_of<Move>(moves, {{{"change", "change", ""}, &Move::change},
                                {{"subject", "subject", ""}, &Move::subject},
                                {{"value", "value", ""}, &Move::value},
                                {{"unit", "unit", ""}, &Move::unit},
                                {{"before", "before", "", 4}, &Move::before},
                                {{"after", "after", "", 4}, &Move::after},
                                {{"moved_pct", "moved", "%", 2},
                                 [](M m) { return m.before && m.after ? Cell(m.size() * percent) : Cell(); }},
                                {{"error_before_pct", "error before", "%", 1}, &Move::error_before},
                                {{"error_after_pct", "after", "%", 1}, &Move::error_after}});
}

std::string verdict(const Validation& validation) {
  std::size_t scored = 0;
  std::size_t inside = 0;
  std::size_t shown = 0;
  for (const Case& one : validation.cases) {
    if (one.is_scored()) ++scored;
    if (one.is_within_band()) ++inside;
    if (one.predicted && !one.is_scored()) ++shown;
  }
  std::string text = fmt::format("{} of {} cases lie within their bands", inside, scored);
  if (shown > 0) text += fmt::format(", {} hold waits and {} not scored", shown, shown == 1 ? "is" : "are");
  if (scored + shown < validation.cases.size()) text += unpredicted_words(validation);
  if (validation.claims.empty()) return text + "." + coverage_words(validation) + left_out_words(validation);
  const auto held = std::ranges::count_if(validation.claims, &Claim::holds);
  const auto asked =
      std::ranges::count_if(validation.claims, [](const Claim& claim) { return !claim.predicted.empty(); });
  return text + fmt::format("; {} of {} claims hold.", held, asked) + coverage_words(validation) +
         left_out_words(validation);
}

study::Results report(const Validation& validation) {
  study::Results results{.title = "c3sim beside measurements"};
  std::vector<std::string> platforms;
  for (const Heading& heading : validation.suites) {
    if (std::ranges::find(platforms, heading.platform) == platforms.end()) platforms.push_back(heading.platform);
  }
  results.platform = fmt::format("{}", fmt::join(platforms, ", "));
  results.about = fmt::format(
      "Predictions for {} beside measurements. An error is predicted over measured, less one; of shares it is a "
      "difference in points. Rows of role calibrate may have been fitted to, rows of role predict never were.",
      results.platform);
  const auto add = [&](const char* key, const char* title, ResultTable table, bool in_text = true) {
    // Programs get every table; people get those that have rows.
    const bool has_rows = !table.rows().empty();
    results.tables.push_back({key, title, std::move(table), in_text && has_rows});
  };
  add("cases", "Cases", table_of(validation.cases, shown_of_cases(validation, true)), false);
  // A page holds thousands of rows, so the predictions of rules are only in the files.
  results.tables.back().on_page = {"case",      "trial",    "figure",  "measured", "predicted", "unit", "error_pct",
                                   "noise_pct", "band_pct", "verdict", "suite",    "group",     "role", "command"};
  add("suites", "Errors by suite", table_of_groups(validation, By::suite));
  add("tables", "Tables of others", described_table(validation));
  add("simulators", "Beside other simulators, median errors (c3sim knows part of the load from these runs)",
      simulators_table(validation));
  add("costs", "What running at once costs", cost_table(validation.cases));
  add("cost_parts", "What makes the predicted cost", cost_part_table(validation.cases));
  add("cost_runs", "What running at once costs, run by run", cost_run_table(validation.cases), false);
  add("groups", "Errors by group", table_of_groups(validation, By::figure), false);
  add("baselines", "Beside simple rules", baseline_table(validation), false);
  add("choices", "Choices among measured alternatives", choice_table(validation));
  add("claims", "Claims of papers", claim_table(validation));
  add("deviations", "Known deviations", gap_table(validation));
  results.tables.back().on_page = {"number", "title", "open", "size", "cause", "decides"};
  const std::vector<Shown<Case>> shown = shown_of_cases(validation, false);
  add("worst", "Worst cases", table_of(worst_of(validation.cases, 10), shown));
  add("unfitted", "How far off times were that nothing was fitted to, by platform", unfitted_table(validation), false);
  const auto is_unscored = [](const Case& one) { return !one.why_not_scored.empty(); };
  add("unscored", "Shown, not scored", table_of(cases_that(validation.cases, is_unscored), shown));
  // Rows that are left out come after the results, since there may be many.
  const bool of_user = !validation.suites.empty() && validation.suites.front().name.empty();
  add("left_out", "Rows that are not compared", left_out_table(validation), of_user);
  add("left_out_rows", "Rows that are not compared, one by one", left_out_row_table(validation), false);
  return results;
}

namespace {

// Returns the cases of a suite that logarithmic axes can show, by the unit of their figures.
std::map<std::string, std::vector<const Case*>> by_unit(const std::vector<Case>& cases, const std::string& suite) {
  std::map<std::string, std::vector<const Case*>> units;
  for (const Case& one : cases) {
    if (one.suite != suite || !one.is_scored() || one.measured <= 0.0 || *one.predicted <= 0.0) continue;
    units[std::string(one.form().unit)].push_back(&one);
  }
  return units;
}

// Gives each of the groups with most cases a series, and all other groups the last one.
template <class PointOf>
std::vector<study::ScatterSeries> scatter(const std::vector<const Case*>& cases, const PointOf& point_of) {
  constexpr std::size_t most_series = 8;  // limit of what people can tell apart
  auto groups = grouped(cases, &Case::group);
  std::ranges::sort(groups, {}, [](const auto& group) { return std::pair(-std::ssize(group.second), group.first); });
  if (groups.size() > most_series) groups.resize(most_series - 1);
  std::vector<study::ScatterSeries> series;
  for (const auto& [name, members] : grouped(cases, [&](const Case& one) {
         return std::ranges::count(groups, one.group, &decltype(groups)::value_type::first) > 0 ? one.group
                                                                                                : "other groups";
       })) {
    study::ScatterSeries& one = series.emplace_back(study::ScatterSeries{name, {}});
    for (const Case* const member : members) one.points.push_back(point_of(*member));
  }
  return series;
}

study::Chart predicted_over_measured(const Heading& heading, const std::string& unit,
                                     const std::vector<const Case*>& cases) {
  const double per_unit = cases.front()->form().per_unit;
  study::ScatterChart chart;
  chart.id = sim::underscored(fmt::format("{}_{}", suite_title(heading.name), unit.empty() ? "ratio" : unit));
  chart.title = fmt::format("{}: predicted over measured, {}", heading.title, unit.empty() ? "ratios" : unit);
  chart.caption = heading.question;
  chart.x = {.label = "measured", .unit = unit, .logarithmic = true};
  chart.y = {.label = "predicted", .unit = unit, .logarithmic = true};
  chart.series = scatter(cases, [per_unit](const Case& one) {
    study::ScatterPoint point{.x = one.measured / per_unit, .y = *one.predicted / per_unit, .label = one.id};
    if (one.low && one.high && *one.low > 0.0) {
      point.x_low = *one.low / per_unit;
      point.x_high = *one.high / per_unit;
    }
    return point;
  });
  std::vector<double> values;
  for (const Case* const one : cases)
    values.insert(values.end(), {one->measured / per_unit, *one->predicted / per_unit});
  const auto [from, to] = std::ranges::minmax(values);
  if (to > from) chart.guides.push_back({"as measured", from, from, to, to});
  return chart;
}

study::Chart error_by_size(const Heading& heading, const std::vector<const Case*>& cases, const std::string& of,
                           const std::string& unit) {
  study::ScatterChart chart;
  chart.id = sim::underscored(fmt::format("{}_error_by_{}", suite_title(heading.name), unit));
  chart.title = fmt::format("{}: error by {}", heading.title, of);
  chart.x = {.label = of, .unit = unit, .logarithmic = true};
  chart.y = {.label = "error", .unit = "%"};
  chart.series = scatter(cases, [](const Case& one) {
    study::ScatterPoint point{.x = study::size_of(one.trial), .y = one.error() * percent, .label = one.id};
    if (const auto noise = one.noise()) {
      point.y_low = point.y - *noise * percent;
      point.y_high = point.y + *noise * percent;
    }
    return point;
  });
  const auto [least, most] = std::ranges::minmax(cases, {}, [](const Case* one) { return study::size_of(one->trial); });
  // This line keeps an error of zero in view, whatever is measured.
  chart.guides.push_back({"no error", study::size_of(least->trial), 0.0, study::size_of(most->trial), 0.0});
  chart.caption =
      "An error is predicted over measured less one; of shares it is a difference in points. Bars show how far "
      "repetitions of the measurement lie apart, where that is known.";
  return chart;
}

void add_charts_of(const std::vector<Case>& all, const Heading& heading, std::vector<study::Chart>& charts) {
  std::vector<const Case*> by_bytes;
  std::vector<const Case*> by_operations;
  for (const auto& [unit, cases] : by_unit(all, heading.name)) {
    charts.push_back(predicted_over_measured(heading, unit, cases));
    for (const Case* const one : cases) {
      if (study::size_of(one->trial) <= 0.0) continue;
      (std::holds_alternative<study::GemmTrial>(one->trial) ? by_operations : by_bytes).push_back(one);
    }
  }
  if (!by_bytes.empty()) charts.push_back(error_by_size(heading, by_bytes, "size", "B"));
  if (!by_operations.empty()) charts.push_back(error_by_size(heading, by_operations, "size", "flop"));
}

// Returns a chart of the cost of running at once, run by run, with a series for each suite.
study::Chart cost_chart(const Validation& validation) {
  constexpr double milliseconds = 1e3;
  study::ScatterChart chart;
  chart.id = "cost_over_cost";
  chart.title = "What running at once costs, predicted over measured";
  chart.x = {.label = "cost, measured", .unit = "ms"};
  chart.y = {.label = "cost, predicted", .unit = "ms"};
  double most = 0.0;
  for (const Cost& cost : costs_of(validation.cases)) {
    if (cost.of != Cost::Of::suite || !cost.wall) continue;
    study::ScatterSeries series{fmt::format("{}, {}", suite_title(cost.suite), to_string(cost.role)), {}};
    for (const Cost& run : cost.runs) {
      if (!run.wall) continue;
      const double measured = milliseconds * run.wall->measured;
      const double predicted = milliseconds * run.wall->predicted;
      series.points.push_back({.x = measured, .y = predicted, .label = run.where});
      most = std::max({most, measured, predicted});
    }
    chart.series.push_back(std::move(series));
  }
  chart.guides.push_back({"as measured", 0.0, 0.0, most, most});
  chart.caption = "The cost of a run is what it takes beyond the longer of its two operations alone.";
  return chart;
}

}  // namespace

void add_charts(const Validation& validation, study::Results& results) {
  const auto charts_of = [&results](std::string_view key) -> std::vector<study::Chart>& {
    return std::ranges::find(results.tables, key, &study::NamedTable::key)->charts;
  };
  if (!results.table("costs")->table.rows().empty()) charts_of("costs").push_back(cost_chart(validation));
  std::set<std::string> told;
  for (Heading heading : validation.suites) {
    if (!told.insert(heading.name).second) continue;
    if (heading.name.empty()) heading = {.title = "Your files"};
    if (!heading.question.empty()) heading.question += " On the platform " + heading.platform + ".";
    add_charts_of(validation.cases, heading, charts_of("groups"));
  }
}

}  // namespace c3sim::validate
