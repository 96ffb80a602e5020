#include "validate/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "models/platform/interference.h"
#include "study/report/statistics.h"
#include "validate/cost.h"
#include "validate/evaluation.h"
#include "validate/metrics.h"
#include "validate/simulators.h"

namespace c3sim::validate {

namespace {

using study::Cell;
using study::Column;
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

std::vector<Group> grouped(const Validation& validation, bool by_figure) {
  std::vector<Group> groups;
  std::map<std::tuple<std::string, std::string, std::string, calibrate::Role>, std::size_t> places;
  for (const Case& one : validation.cases) {
    if (!one.why_not_scored.empty()) continue;
    Group group{suite_title(one.suite), "", "", one.role, {}};
    if (by_figure) {
      group.name = one.group;
      group.figure = one.form().heading;
    }
    const auto [place, is_new] =
        places.emplace(std::tuple{group.suite, group.name, group.figure, group.role}, groups.size());
    if (is_new) groups.push_back(std::move(group));
    groups[place->second].cases.push_back(&one);
  }
  return groups;
}

// What a group amounts to.
struct Judged : Metrics {
  const Group& group;
};

// In percent, of a group of which anything is predicted.
auto of_predicted(double Metrics::*member) {
  return [member](const Metrics& metrics) { return metrics.predicted > 0 ? Cell(metrics.*member * percent) : Cell(); };
}

// By suite and role, or also by group and figure.
ResultTable table_of_groups(const Validation& validation, const std::vector<Group>& groups, bool by_figure) {
  using M = const Judged&;
  std::vector<Shown<Judged>> shown{{{"suite", "suite", ""}, [](M m) { return m.group.suite; }}};
  if (by_figure) {
    shown.push_back({{"group", "group", ""}, [](M m) { return m.group.name; }});
    shown.push_back({{"figure", "figure", ""}, [](M m) { return m.group.figure; }});
  }
  const std::vector<Shown<Judged>> metrics{
      {{"role", "role", ""}, [](M m) { return m.group.role; }},
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
  std::vector<Judged> rows;
  for (const Group& group : groups) rows.push_back({metrics_of(group.cases), group});
  return table_of(rows, shown);
}

// Why a case has no verdict, or what it is.
std::string verdict_of(const Case& one) {
  if (!one.predicted) return one.why_not_predicted;
  if (!one.is_scored()) return "not scored: " + one.why_not_scored;
  if (one.is_within_noise()) return one.is_within_band() ? "within noise" : "within noise, outside band";
  return one.is_within_band() ? "within band" : "outside band";
}

ResultTable worst_table(const Validation& validation) {
  constexpr std::size_t most = 10;
  std::vector<const Case*> cases;
  for (const Case& one : validation.cases) {
    if (one.is_scored()) cases.push_back(&one);
  }
  std::ranges::stable_sort(cases, std::ranges::greater{}, [](const Case* one) { return std::abs(one->error()); });
  if (cases.size() > most) cases.resize(most);
  return table_of(cases, shown_of_cases(validation, Readers::people));
}

// Shown beside what is predicted, without an error.
ResultTable unscored_table(const Validation& validation) {
  std::vector<const Case*> cases;
  for (const Case& one : validation.cases) {
    if (!one.why_not_scored.empty()) cases.push_back(&one);
  }
  return table_of(cases, shown_of_cases(validation, Readers::people));
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
  const auto verdict = [](const Claim& claim) {
    return claim.predicted.empty() ? "not predicted" : claim.holds() ? "holds" : "outside band";
  };
  const auto deviation = [&](const Claim& claim) { return deviation_of(validation, claim); };
  return table_of<Claim>(validation.claims, {{{"claim", "claim", ""}, &Claim::id},
                                             {{"text", "of", ""}, &Claim::text},
                                             {{"role", "role", ""}, &Claim::role},
                                             {{"predicted", "predicted", ""}, predicted_words},
                                             {{"published", "published", ""}, &Claim::published},
                                             {{"low", "band from", "", 3}, &Claim::low},
                                             {{"high", "to", "", 3}, &Claim::high},
                                             {{"verdict", "verdict", ""}, verdict},
                                             {{"deviation", "deviation", ""}, deviation},
                                             {{"interval", "90 % interval", ""}, interval_words}});
}

ResultTable baseline_table(const Validation& validation) {
  constexpr double rounding = 1e-9;  // of an error
  using C = const Contest&;
  return table_of<Contest>(contests_of(validation),
                           {{{"suite", "suite", ""}, &Contest::suite},
                            {{"operation", "operation", ""}, &Contest::operation},
                            {{"strategy", "strategy", ""}, &Contest::strategy},
                            {{"figure", "figure", ""}, &Contest::figure},
                            {{"rule", "rule", ""}, &Contest::rule},
                            {{"cases", "cases", ""}, &Contest::cases},
                            {{"median_error_pct", "c3sim, median", "%", 1}, [](C c) { return c.ours * percent; }},
                            {{"rule_median_error_pct", "rule, median", "%", 1}, [](C c) { return c.theirs * percent; }},
                            {{"factor", "c3sim's error is smaller by", "x", 2},
                             [](C c) { return c.ours > rounding ? Cell(c.theirs / c.ours) : Cell(); }},
                            {{"better", "better", ""}, [](C c) { return c.won() ? "yes" : "no"; }}});
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

ResultTable cost_table(const Validation& validation) {
  using C = const Cost&;
  constexpr double microseconds = 1e6;
  // Either side of a pair of measured and predicted, as a share.
  const auto stretch = [](std::optional<Beside> CostOfRun::*operation, double Beside::*side) {
    return [operation, side](C cost) {
      const std::optional<Beside> mean = cost.mean_stretch(operation);
      return mean ? Cell((*mean).*side * percent) : Cell();
    };
  };
  const auto wall = [](double Beside::*side) {
    return [side](C cost) { return cost.walls() > 0 ? Cell(cost.wall().*side * microseconds) : Cell(); };
  };
  const auto end = [](double study::Interval::*side) {
    return [side](C cost) {
      const std::optional<study::Interval> interval = cost.ratio_interval();
      return interval ? Cell((*interval).*side) : Cell();
    };
  };
  std::vector<Shown<Cost>> shown{
      {{"suite", "suite", ""}, [](C cost) { return suite_title(cost.suite); }},
      {{"group", "group", ""}, &Cost::name},
      {{"role", "role", ""}, &Cost::role},
      {{"walls", "walls", ""}, &Cost::walls},
      {{"cost_us", "cost, measured", "us", 0}, wall(&Beside::measured)},
      {{"predicted_cost_us", "predicted", "us", 0}, wall(&Beside::predicted)},
      {{"ratio", "ratio", "", 2}, &Cost::ratio},
      {{"ratio_low", "90 % from", "", 2}, end(&study::Interval::low)},
      {{"ratio_high", "to", "", 2}, end(&study::Interval::high)},
      {{"gemm_longer_pct", "GEMM longer, measured", "%", 1}, stretch(&CostOfRun::gemm, &Beside::measured)},
      {{"predicted_gemm_longer_pct", "predicted", "%", 1}, stretch(&CostOfRun::gemm, &Beside::predicted)},
      {{"collective_longer_pct", "collective longer, measured", "%", 1},
       stretch(&CostOfRun::collective, &Beside::measured)},
      {{"predicted_collective_longer_pct", "predicted", "%", 1}, stretch(&CostOfRun::collective, &Beside::predicted)}};
  if (std::ranges::any_of(validation.cases, [](const Case& one) { return one.cost_unprobed.has_value(); })) {
    const auto behind =
        std::ranges::find(shown, std::string("ratio_high"), [](const auto& one) { return one.column.key; });
    shown.insert(std::next(behind), {{"ratio_without_probes", "ratio without probes", "", 2}, &Cost::ratio_unprobed});
  }
  return table_of<Cost>(costs_of(validation.cases), shown);
}

// Run by run.
ResultTable cost_run_table(const Validation& validation) {
  struct Row {
    const Cost* cost;
    const CostOfRun* run;
  };
  constexpr double microseconds = 1e6;
  const std::vector<Cost> costs = costs_of(validation.cases);
  std::vector<Row> rows;
  for (const Cost& cost : costs) {
    if (!cost.is_of_a_group()) continue;
    for (const CostOfRun& run : cost.runs) rows.push_back({&cost, &run});
  }
  using R = const Row&;
  const auto either = [](std::optional<Beside> CostOfRun::*of, double Beside::*side, double scale) {
    return [=](R row) {
      const std::optional<Beside>& both = row.run->*of;
      return both ? Cell((*both).*side * scale) : Cell();
    };
  };
  return table_of<Row>(
      rows,
      {{{"suite", "suite", ""}, [](R row) { return suite_title(row.cost->suite); }},
       {{"group", "group", ""}, [](R row) { return row.cost->group; }},
       {{"role", "role", ""}, [](R row) { return row.cost->role; }},
       {{"where", "where", ""}, [](R row) { return row.run->where; }},
       {{"run", "run", ""}, [](R row) { return row.run->what; }},
       {{"cost_us", "cost, measured", "us", 1}, either(&CostOfRun::wall, &Beside::measured, microseconds)},
       {{"predicted_cost_us", "predicted", "us", 1}, either(&CostOfRun::wall, &Beside::predicted, microseconds)},
       {{"gemm_longer_pct", "GEMM longer, measured", "%", 1}, either(&CostOfRun::gemm, &Beside::measured, percent)},
       {{"predicted_gemm_longer_pct", "predicted", "%", 1}, either(&CostOfRun::gemm, &Beside::predicted, percent)},
       {{"collective_longer_pct", "collective longer, measured", "%", 1},
        either(&CostOfRun::collective, &Beside::measured, percent)},
       {{"predicted_collective_longer_pct", "predicted", "%", 1},
        either(&CostOfRun::collective, &Beside::predicted, percent)}});
}

// Of the predicted cost of groups, what each mechanism makes; empty where nobody asked.
ResultTable cost_part_table(const Validation& validation) {
  using C = const Cost&;
  constexpr double microseconds = 1e6;
  std::vector<Cost> costs = costs_of(validation.cases);
  std::erase_if(costs, [](C cost) { return cost.parts().empty() || cost.wall().predicted <= 0.0; });
  const auto share = [](C cost, double part) { return Cell(part / cost.wall().predicted * percent); };
  std::vector<Shown<Cost>> shown{
      {{"suite", "suite", ""}, [](C cost) { return suite_title(cost.suite); }},
      {{"group", "group", ""}, &Cost::name},
      {{"role", "role", ""}, &Cost::role},
      {{"predicted_cost_us", "cost, predicted", "us", 0}, [](C cost) { return cost.wall().predicted * microseconds; }}};
  for (std::size_t i = 0; i < models::sharing_mechanisms.size(); ++i) {
    const std::string name(to_string(models::sharing_mechanisms[i]));
    shown.push_back({{name + "_pct", name, "%", 1}, [i, share](C cost) { return share(cost, cost.parts()[i]); }});
  }
  shown.push_back({{"rest_pct", "rest", "%", 1}, [share](C cost) {
                     double rest = cost.wall().predicted;
                     for (const double part : cost.parts()) rest -= part;
                     return share(cost, rest);
                   }});
  return table_of<Cost>(costs, shown);
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

// The cases of one role of a table that its suite says something about, and what they amount to.
struct JudgedTable : Metrics {
  const DescribedTable& table;
  calibrate::Role role;
  std::vector<const Case*> cases;
};

std::vector<JudgedTable> judged_tables(const Validation& validation) {
  std::vector<JudgedTable> judged;
  for (std::size_t i = 0; i < validation.tables.size(); ++i) {
    std::map<calibrate::Role, std::vector<const Case*>> by_role;
    for (const Case& one : validation.cases) {
      if (one.table == static_cast<int>(i) && one.why_not_scored.empty()) by_role[one.role].push_back(&one);
    }
    for (auto& [role, cases] : by_role) {
      judged.push_back({metrics_of(cases), validation.tables[i], role, std::move(cases)});
    }
  }
  return judged;
}

// The median, over the cases measured more than once, of half the width of what repetitions gave.
std::optional<double> noise_of(std::span<const Case* const> cases) {
  std::vector<double> widths;
  for (const Case* const one : cases) {
    if (one->noise().value_or(0.0) > 0.0) widths.push_back(*one->noise());
  }
  return widths.empty() ? std::nullopt : std::optional(study::median(std::move(widths)));
}

ResultTable described_table(const Validation& validation) {
  using J = const JudgedTable&;
  const auto about = [](std::string TableAbout::*member) { return [member](J j) { return j.table.about.*member; }; };
  return table_of<JudgedTable>(
      judged_tables(validation),
      {{{"suite", "suite", "", 2, false}, [](J j) { return suite_title(j.table.suite); }},
       {{"what", "what was measured", ""}, about(&TableAbout::what)},
       {{"machine", "machine", ""}, about(&TableAbout::machine)},
       {{"protocol", "protocol", "", 2, false}, about(&TableAbout::protocol)},
       {{"role", "role", ""}, &JudgedTable::role},
       {{"cases", "values", ""}, [](J j) { return j.cases.size(); }},
       {{"noise_pct", "repetitions differ by", "%", 1}, [](J j) { return cell(noise_of(j.cases), percent); }},
       {{"median_error_pct", "median", "%", 1}, of_predicted(&Metrics::median)},
       {{"p90_error_pct", "p90", "%", 1}, of_predicted(&Metrics::p90)},
       {{"bias_pct", "bias", "%", 1}, of_predicted(&Metrics::bias)},
       {{"others", "others publish", ""}, about(&TableAbout::others)},
       {{"fitted", "fitted to it", "", 2, false},
        [](J j) { return j.role == calibrate::Role::calibrate ? j.table.about.fitted : std::string(); }},
       {{"command", "command", "", 2, false},
        [](J j) { return fmt::format("c3sim validate {} --case {}", j.table.suite, j.table.file); }}});
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

ResultTable left_out_row_table(const Validation& validation) {
  using Omitted = std::pair<std::string, calibrate::Omission>;  // and its suite
  std::vector<Omitted> rows;
  for (const LeftOut& left : validation.left_out) {
    for (const calibrate::Omission& one : left.each) rows.emplace_back(suite_title(left.suite), one);
  }
  return table_of<Omitted>(
      rows, {{{"suite", "suite", ""}, &Omitted::first},
             {{"where", "where", ""}, [](const Omitted& row) { return row.second.where; }},
             {{"what", "what", ""}, [](const Omitted& row) { return row.second.what; }},
             {{"time_us", "which took", "us", 1}, [](const Omitted& r) { return took(r.second.seconds); }},
             {{"why", "why", ""}, [](const Omitted& row) { return row.second.why; }}});
}

// With every rule that predicts any of the cases.
std::vector<Contest> contests_on(const std::vector<const Case*>& cases, const Contest& named = {}) {
  std::vector<Contest> contests;
  for (const NamedRule& rule : rules) {
    std::vector<const Case*> both;
    std::ranges::copy_if(cases, std::back_inserter(both), [&](const Case* one) {
      return one->predicted.has_value() && (one->baselines.*rule.value).has_value();
    });
    if (both.empty()) continue;
    Contest& contest = contests.emplace_back(named);
    contest.rule = rule.name;
    contest.cases = both.size();
    contest.ours = metrics_of(both).median;
    contest.theirs = metrics_of(both, [&rule](const Case& one) { return one.baselines.*rule.value; }).median;
  }
  return contests;
}

// How often intervals hold what was measured, and how wide they are; empty where none were asked for.
std::string coverage_words(const Validation& validation) {
  if (!validation.uncertainty) return {};
  const auto with = std::ranges::count_if(validation.cases, [](const Case& one) { return one.interval.has_value(); });
  const auto within = std::ranges::count_if(validation.cases, &Case::is_within_interval);
  if (with == 0) return " No prediction has an interval.";
  double widths = 0.0;  // over predictions
  for (const Case& one : validation.cases) {
    if (one.interval && one.predicted) widths += (one.interval->high - one.interval->low) / *one.predicted;
  }
  return fmt::format(
      " {} of {} measured values lie within the 90 % intervals of their predictions ({:.1f} %), which are {:.0f} % of "
      "these wide in the mean.",
      within, with, percent * static_cast<double>(within) / static_cast<double>(with),
      percent * widths / static_cast<double>(with));
}

// How much there was besides what is compared.
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

std::string suite_title(const std::string& suite) { return suite.empty() ? "your files" : suite; }

std::vector<Group> groups_by_suite(const Validation& validation) { return grouped(validation, false); }
std::vector<Group> groups_by_figure(const Validation& validation) { return grouped(validation, true); }

std::vector<Shown<Case>> shown_of_cases(const Validation& validation, Readers readers) {
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
  if (readers == Readers::programs) {
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

std::vector<Contest> contests_of(const Validation& validation) {
  std::vector<Contest> contests;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::vector<const Case*>> groups;
  for (const Case& one : validation.cases) {
    if (!one.why_not_scored.empty()) continue;
    groups[{suite_title(one.suite), operation_of(one), strategy_of(one), std::string(one.form().heading)}].push_back(
        &one);
  }
  for (const auto& [key, cases] : groups) {
    Contest contest;
    std::tie(contest.suite, contest.operation, contest.strategy, contest.figure) = key;
    std::ranges::move(contests_on(cases, contest), std::back_inserter(contests));
  }
  return contests;
}

std::optional<Contest> hardest_contest(const Group& group) {
  const std::vector<Contest> contests = contests_on(group.cases);
  const auto hardest = std::ranges::min_element(contests, {}, &Contest::theirs);
  return hardest == contests.end() ? std::nullopt : std::optional(*hardest);
}

ResultTable move_table(std::span<const Move> moves) {
  using M = const Move&;
  const auto in_unit = [](std::optional<double> Move::*member) {
    return [member](M move) { return cell(move.*member, move.figure == nullptr ? 1.0 : 1.0 / move.figure->per_unit); };
  };
  return table_of<Move>(
      moves,
      {{{"change", "change", ""}, &Move::change},
       {{"subject", "subject", ""}, &Move::subject},
       {{"unit", "unit", ""}, [](M m) { return m.figure == nullptr ? std::string_view() : m.figure->unit; }},
       {{"before", "before", "", 4}, in_unit(&Move::before)},
       {{"after", "after", "", 4}, in_unit(&Move::after)},
       {{"moved_pct", "moved", "%", 2}, [](M m) { return m.before && m.after ? Cell(m.size() * percent) : Cell(); }},
       {{"error_before_pct", "error before", "%", 1}, [](M m) { return cell(m.error_before, percent); }},
       {{"error_after_pct", "after", "%", 1}, [](M m) { return cell(m.error_after, percent); }}});
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
  if (scored + shown < validation.cases.size()) {
    text += fmt::format(", {} have no prediction", validation.cases.size() - scored - shown);
  }
  if (validation.claims.empty()) return text + "." + coverage_words(validation) + left_out_words(validation);
  const auto held = std::ranges::count_if(validation.claims, &Claim::holds);
  const auto asked =
      std::ranges::count_if(validation.claims, [](const Claim& claim) { return !claim.predicted.empty(); });
  return text + fmt::format("; {} of {} claims hold.", held, asked) + coverage_words(validation) +
         left_out_words(validation);
}

study::Results report(const Validation& validation) {
  study::Results results;
  std::vector<std::string> platforms;
  for (const Heading& heading : validation.suites) {
    if (std::ranges::find(platforms, heading.platform) == platforms.end()) platforms.push_back(heading.platform);
  }
  results.platform = fmt::format("{}", fmt::join(platforms, ", "));
  const auto add = [&](const char* key, const char* title, ResultTable table, bool in_text = true) {
    // Programs find every table; people those with something in it.
    const bool has_rows = !table.rows().empty();
    results.tables.push_back({key, title, std::move(table), in_text && has_rows});
  };
  add("cases", "Cases", table_of(validation.cases, shown_of_cases(validation, Readers::programs)), false);
  add("suites", "Errors by suite", table_of_groups(validation, groups_by_suite(validation), false));
  add("tables", "Tables of others", described_table(validation));
  add("simulators", "Beside other simulators, median errors (c3sim knows part of the load from these runs)",
      simulators_table(validation));
  add("costs", "What running at once costs", cost_table(validation));
  add("cost_parts", "What makes the predicted cost", cost_part_table(validation));
  add("cost_runs", "What running at once costs, run by run", cost_run_table(validation), false);
  add("groups", "Errors by group", table_of_groups(validation, groups_by_figure(validation), true), false);
  add("baselines", "Beside simple rules", baseline_table(validation), false);
  add("choices", "Choices among measured alternatives", choice_table(validation));
  add("claims", "Claims of papers", claim_table(validation));
  add("deviations", "Known deviations", gap_table(validation));
  add("worst", "Worst cases", worst_table(validation));
  add("unfitted", "How far off times were that nothing was fitted to, by platform",
      table_of(unfitted_errors(validation.cases)), false);
  add("unscored", "Shown, not scored", unscored_table(validation));
  // Behind the results, which it would drown.
  const bool of_user = !validation.suites.empty() && validation.suites.front().name.empty();
  add("left_out", "Rows that are not compared", left_out_table(validation), of_user);
  add("left_out_rows", "Rows that are not compared, one by one", left_out_row_table(validation), false);
  return results;
}

}  // namespace c3sim::validate
