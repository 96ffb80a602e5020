#include "validate/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "validate/baseline.h"

namespace c3sim::validate {

namespace {

using study::Cell;
using study::Column;
using study::ResultTable;

Cell cell(std::optional<double> value, double scale = 1.0) {
  if (!value) return {};
  return *value * scale;
}
Cell count(std::size_t number) { return static_cast<std::int64_t>(number); }
double share(std::size_t part, std::size_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

Cell in_unit(const Case& one, std::optional<double> value) { return cell(value, 1.0 / one.form().per_unit); }

Column for_programs(std::string key) { return {key, key, "", 2, false}; }

template <class Key>
std::vector<Group> grouped(const Validation& validation, const Key& key_of) {
  std::vector<Group> groups;
  std::map<std::tuple<std::string, std::string, std::string, calibrate::Role>, std::size_t> places;
  for (const Case& one : validation.cases) {
    if (!one.why_not_scored.empty()) continue;
    Group group = key_of(one);
    group.suite = suite_title(one.suite);
    group.role = one.role;
    const auto [place, is_new] =
        places.emplace(std::tuple{group.suite, group.name, group.figure, group.role}, groups.size());
    if (is_new) groups.push_back(std::move(group));
    groups[place->second].cases.push_back(&one);
  }
  return groups;
}

struct Metric {
  Column column;
  Cell (*of)(const Metrics& metrics);
};

Cell of_predicted(const Metrics& metrics, double value) { return metrics.predicted > 0 ? Cell(value) : Cell(); }

std::vector<Metric> metrics_shown(bool with_intervals) {
  using M = const Metrics&;
  std::vector<Metric> shown{
      {{"cases", "cases", ""}, [](M m) { return count(m.cases); }},
      {{"not_predicted", "no prediction", ""}, [](M m) { return count(m.cases - m.predicted); }},
      {{"median_error_pct", "median", "%", 1}, [](M m) { return of_predicted(m, m.median * percent); }},
      {{"p90_error_pct", "p90", "%", 1}, [](M m) { return of_predicted(m, m.p90 * percent); }},
      {{"worst_error_pct", "worst", "%", 1}, [](M m) { return of_predicted(m, m.worst * percent); }},
      {{"bias_pct", "bias", "%", 1}, [](M m) { return of_predicted(m, m.bias * percent); }},
      {{"wmape_pct", "wMAPE", "%", 1}, [](M m) { return cell(m.wmape, percent); }},
      {{"within_5_pct", "within 5", "%", 0}, [](M m) { return of_predicted(m, m.within_5 * percent); }},
      {{"within_10_pct", "10", "%", 0}, [](M m) { return of_predicted(m, m.within_10 * percent); }},
      {{"within_15_pct", "15", "%", 0}, [](M m) { return of_predicted(m, m.within_15 * percent); }},
      {{"rank_correlation", "rank corr.", "", 2}, [](M m) { return cell(m.rank_correlation); }},
      {{"within_noise", "within noise", ""}, [](M m) { return count(m.within_noise); }},
      {{"outside_band", "outside band", ""}, [](M m) { return count(m.predicted - m.within_band); }}};
  if (!with_intervals) return shown;
  shown.push_back({{"with_interval", "with interval", ""}, [](M m) { return count(m.with_interval); }});
  shown.push_back({{"within_interval", "within it", ""}, [](M m) { return count(m.within_interval); }});
  shown.push_back({{"within_interval_pct", "within it", "%", 1}, [](M m) {
                     return m.with_interval > 0 ? Cell(percent * share(m.within_interval, m.with_interval)) : Cell();
                   }});
  return shown;
}

// By suite and role, or also by group and figure.
ResultTable table_of_groups(const Validation& validation, const std::vector<Group>& groups, bool by_figure) {
  const std::vector<Metric> metrics = metrics_shown(validation.uncertainty.has_value());
  std::vector<Column> columns{{"suite", "suite", ""}};
  if (by_figure) columns.insert(columns.end(), {{"group", "group", ""}, {"figure", "figure", ""}});
  columns.push_back({"role", "role", ""});
  for (const Metric& metric : metrics) columns.push_back(metric.column);
  ResultTable table(columns);
  for (const Group& group : groups) {
    std::vector<Cell> cells{group.suite};
    if (by_figure) cells.insert(cells.end(), {group.name, group.figure});
    cells.emplace_back(std::string(to_string(group.role)));
    const Metrics all = metrics_of(group.cases);
    for (const Metric& metric : metrics) cells.push_back(metric.of(all));
    table.add_row(std::move(cells));
  }
  return table;
}

// Why a case has no verdict, or what it is.
std::string verdict_of(const Case& one) {
  if (!one.predicted) return one.why_not_predicted;
  if (!one.is_scored()) return "not scored: " + one.why_not_scored;
  if (one.is_within_noise()) return one.is_within_band() ? "within noise" : "within noise, outside band";
  return one.is_within_band() ? "within band" : "outside band";
}

ResultTable case_table(const std::vector<const Case*>& cases, bool for_people, bool with_intervals) {
  std::vector<Column> columns{{"case", "case", ""},
                              {"suite", "suite", "", 2, !for_people},
                              {"group", "group", ""},
                              {"role", "role", ""},
                              {"trial", "trial", ""},
                              {"figure", "figure", ""},
                              {"unit", "unit", ""},
                              {"measured", "measured", "", 2},
                              {"predicted", "predicted", "", 2},
                              {"error_pct", "error", "%", 1},
                              {"noise_pct", "noise", "%", 1},
                              {"band_pct", "band", "%", 1},
                              {"verdict", "verdict", ""}};
  if (!for_people) {
    for (const char* const key :
         {"measured_low", "measured_high", "perfect", "serial", "constant", "waves", "command"}) {
      columns.push_back(for_programs(key));
    }
  }
  if (with_intervals) {
    columns.push_back({"interval_low", "from", ""});
    columns.push_back({"interval_high", "to", ""});
  }
  ResultTable table(columns);
  for (const Case* const one : cases) {
    std::vector<Cell> cells{one->id,
                            suite_title(one->suite),
                            one->group,
                            std::string(to_string(one->role)),
                            study::to_string(one->trial),
                            std::string(one->form().heading),
                            std::string(one->form().unit),
                            in_unit(*one, one->measured),
                            in_unit(*one, one->predicted),
                            one->is_scored() ? Cell(one->error() * percent) : Cell(),
                            cell(one->noise(), percent),
                            one->band * percent,
                            verdict_of(*one)};
    if (!for_people) {
      for (const auto& value : {one->low, one->high, one->baselines.perfect, one->baselines.serial,
                                one->baselines.constant, one->baselines.waves}) {
        cells.push_back(in_unit(*one, value));
      }
      cells.emplace_back(command_of(*one));
    }
    if (with_intervals) {
      cells.push_back(one->interval ? in_unit(*one, one->interval->low) : Cell());
      cells.push_back(one->interval ? in_unit(*one, one->interval->high) : Cell());
    }
    table.add_row(std::move(cells));
  }
  return table;
}

ResultTable worst_table(const Validation& validation) {
  constexpr std::size_t most = 10;
  std::vector<const Case*> cases;
  for (const Case& one : validation.cases) {
    if (one.is_scored()) cases.push_back(&one);
  }
  std::ranges::stable_sort(cases, std::ranges::greater{}, [](const Case* one) { return std::abs(one->error()); });
  if (cases.size() > most) cases.resize(most);
  return case_table(cases, true, validation.uncertainty.has_value());
}

// Shown beside what is predicted, without an error.
ResultTable unscored_table(const Validation& validation) {
  std::vector<const Case*> cases;
  for (const Case& one : validation.cases) {
    if (!one.why_not_scored.empty()) cases.push_back(&one);
  }
  return case_table(cases, true, validation.uncertainty.has_value());
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
  ResultTable table({{"claim", "claim", ""},
                     {"text", "of", ""},
                     {"role", "role", ""},
                     {"predicted", "predicted", ""},
                     {"published", "published", ""},
                     {"low", "band from", "", 3},
                     {"high", "to", "", 3},
                     {"verdict", "verdict", ""},
                     {"deviation", "deviation", ""},
                     {"interval", "90 % interval", ""}});
  for (const Claim& claim : validation.claims) {
    const char* const word = claim.predicted.empty() ? "not predicted" : claim.holds() ? "holds" : "outside band";
    table.add_row({claim.id, claim.text, std::string(to_string(claim.role)), predicted_words(claim), claim.published,
                   claim.low, claim.high, std::string(word), deviation_of(validation, claim), interval_words(claim)});
  }
  return table;
}

ResultTable baseline_table(const Validation& validation) {
  ResultTable table({{"suite", "suite", ""},
                     {"operation", "operation", ""},
                     {"strategy", "strategy", ""},
                     {"figure", "figure", ""},
                     {"rule", "rule", ""},
                     {"cases", "cases", ""},
                     {"median_error_pct", "c3sim, median", "%", 1},
                     {"rule_median_error_pct", "rule, median", "%", 1},
                     {"factor", "c3sim's error is smaller by", "x", 2},
                     {"better", "better", ""}});
  for (const Contest& contest : contests_of(validation)) {
    table.add_row({contest.suite, contest.operation, contest.strategy, contest.figure, contest.rule,
                   count(contest.cases), contest.ours * percent, contest.theirs * percent,
                   contest.ours > 0.0 ? Cell(contest.theirs / contest.ours) : Cell(),
                   std::string(contest.won() ? "yes" : "no")});
  }
  return table;
}

ResultTable choice_table(const Validation& validation) {
  ResultTable table({{"suite", "suite", ""},
                     {"table", "table", ""},
                     {"decisions", "decisions", ""},
                     {"incomplete", "incomplete", ""},
                     {"right", "right", ""},
                     {"mean_regret_pct", "mean regret", "%", 1},
                     {"worst_regret_pct", "worst", "%", 1},
                     {"always", "trivial rule: always", ""},
                     {"always_right", "right", ""},
                     {"always_mean_regret_pct", "mean regret", "%", 1},
                     {"always_worst_regret_pct", "worst", "%", 1}});
  for (const Choices& choices : validation.choices) {
    table.add_row({suite_title(choices.suite), choices.group, std::int64_t{choices.decisions},
                   std::int64_t{choices.incomplete}, std::int64_t{choices.predicted.right},
                   choices.predicted.mean_regret * percent, choices.predicted.worst_regret * percent, choices.always,
                   std::int64_t{choices.trivial.right}, choices.trivial.mean_regret * percent,
                   choices.trivial.worst_regret * percent});
  }
  return table;
}

ResultTable gap_table(const Validation& validation) {
  ResultTable table({{"number", "number", ""},
                     {"title", "deviation", ""},
                     {"open", "still there", ""},
                     {"size", "size", ""},
                     {"cause", "cause", "", 2, false},
                     {"decides", "what would decide", "", 2, false}});
  for (const Gap& gap : validation.gaps) {
    table.add_row({std::int64_t{gap.deviation.number}, gap.deviation.title, std::string(gap.open ? "yes" : "closed"),
                   gap.size, gap.deviation.cause, gap.deviation.decides});
  }
  return table;
}

Cell took(double seconds) { return seconds > 0.0 ? Cell(seconds * 1e6) : Cell(); }

ResultTable left_out_table(const Validation& validation) {
  ResultTable table({{"suite", "suite", ""},
                     {"file", "file", ""},
                     {"rows", "rows", ""},
                     {"time_us", "which took", "us", 0},
                     {"why", "why", ""}});
  for (const LeftOut& left : validation.left_out) {
    table.add_row({suite_title(left.suite), left.file, left.rows == 0 ? Cell() : Cell(std::int64_t{left.rows}),
                   took(left.seconds), left.why});
  }
  return table;
}

ResultTable left_out_row_table(const Validation& validation) {
  ResultTable table({{"suite", "suite", ""},
                     {"where", "where", ""},
                     {"what", "what", ""},
                     {"time_us", "which took", "us", 1},
                     {"why", "why", ""}});
  for (const LeftOut& left : validation.left_out) {
    for (const calibrate::Omission& one : left.each) {
      table.add_row({suite_title(left.suite), one.where, one.what, took(one.seconds), one.why});
    }
  }
  return table;
}

struct NamedRule {
  const char* name;
  std::optional<double> Baselines::*value;
};
constexpr std::array rules{
    NamedRule{"perfect overlap", &Baselines::perfect}, NamedRule{"one after the other", &Baselines::serial},
    NamedRule{"constant factor", &Baselines::constant}, NamedRule{"whole waves", &Baselines::waves}};

void add_contest(std::vector<Contest>& contests, Contest contest, const std::vector<const Case*>& cases,
                 const NamedRule& rule) {
  std::vector<const Case*> both;
  std::ranges::copy_if(cases, std::back_inserter(both), [&](const Case* one) {
    return one->predicted.has_value() && (one->baselines.*rule.value).has_value();
  });
  if (both.empty()) return;
  contest.rule = rule.name;
  contest.cases = both.size();
  contest.ours = metrics_of(both).median;
  contest.theirs = metrics_of(both, [&rule](const Case& one) { return one.baselines.*rule.value; }).median;
  contests.push_back(std::move(contest));
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

std::vector<Group> groups_by_suite(const Validation& validation) {
  return grouped(validation, [](const Case&) { return Group{}; });
}

std::vector<Group> groups_by_figure(const Validation& validation) {
  return grouped(validation, [](const Case& one) {
    Group group;
    group.name = one.group;
    group.figure = one.form().heading;
    return group;
  });
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
    for (const NamedRule& rule : rules) add_contest(contests, contest, cases, rule);
  }
  return contests;
}

std::optional<Contest> hardest_contest(const Group& group) {
  std::vector<Contest> contests;
  for (const NamedRule& rule : rules) add_contest(contests, {}, group.cases, rule);
  const auto hardest = std::ranges::min_element(contests, {}, &Contest::theirs);
  return hardest == contests.end() ? std::nullopt : std::optional(*hardest);
}

ResultTable move_table(std::span<const Move> moves) {
  ResultTable table({{"change", "change", ""},
                     {"subject", "subject", ""},
                     {"unit", "unit", ""},
                     {"before", "before", "", 4},
                     {"after", "after", "", 4},
                     {"moved_pct", "moved", "%", 2},
                     {"error_before_pct", "error before", "%", 1},
                     {"error_after_pct", "after", "%", 1}});
  for (const Move& move : moves) {
    const double scale = move.figure == nullptr ? 1.0 : 1.0 / move.figure->per_unit;
    table.add_row({std::string(to_string(move.change)), move.subject,
                   std::string(move.figure == nullptr ? "" : move.figure->unit), cell(move.before, scale),
                   cell(move.after, scale), move.before && move.after ? Cell(move.size() * percent) : Cell(),
                   cell(move.error_before, percent), cell(move.error_after, percent)});
  }
  return table;
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
  std::vector<const Case*> all;
  all.reserve(validation.cases.size());
  for (const Case& one : validation.cases) all.push_back(&one);
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
  add("cases", "Cases", case_table(all, false, validation.uncertainty.has_value()), false);
  add("suites", "Errors by suite", table_of_groups(validation, groups_by_suite(validation), false));
  add("groups", "Errors by group", table_of_groups(validation, groups_by_figure(validation), true), false);
  add("baselines", "Beside simple rules", baseline_table(validation), false);
  add("choices", "Choices among measured alternatives", choice_table(validation));
  add("claims", "Claims of papers", claim_table(validation));
  add("deviations", "Known deviations", gap_table(validation));
  add("worst", "Worst cases", worst_table(validation));
  add("unscored", "Shown, not scored", unscored_table(validation));
  // Behind the results, which it would drown.
  const bool of_user = !validation.suites.empty() && validation.suites.front().name.empty();
  add("left_out", "Rows that are not compared", left_out_table(validation), of_user);
  add("left_out_rows", "Rows that are not compared, one by one", left_out_row_table(validation), false);
  return results;
}

}  // namespace c3sim::validate
