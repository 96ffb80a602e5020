#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "study/report/result_table.h"
#include "validate/report.h"

namespace c3sim::validate {

namespace {

std::string in_percent(double share, int decimals = 1) { return fmt::format("{:.{}f}", 100.0 * share, decimals); }

// A row for each group, with these columns before what it amounts to, and those behind.
std::string table_of_groups(const std::vector<Group>& groups, std::vector<study::Shown<Group>> shown,
                            const std::vector<study::Shown<Group>>& behind = {}) {
  using G = const Group&;
  const auto if_predicted = [](auto words) {
    return [words](G group) { return group.predicted > 0 ? words(group) : std::string(); };
  };
  const auto add = [&](const char* heading, auto words) { shown.push_back({{heading, heading, ""}, words}); };
  add("cases", [](G group) {
    const std::size_t missing = group.cases - group.predicted;
    return missing == 0 ? fmt::format("{}", group.cases) : fmt::format("{} ({} not predicted)", group.cases, missing);
  });
  add("median, %", if_predicted([](G group) { return in_percent(group.median); }));
  add("p90", if_predicted([](G group) { return in_percent(group.p90); }));
  add("worst", if_predicted([](G group) { return in_percent(group.worst); }));
  add("bias", if_predicted([](G group) { return fmt::format("{:+.1f}", 100.0 * group.bias); }));
  add("within 5 / 10 / 15 %", if_predicted([](G group) {
        return fmt::format("{} / {} / {}", in_percent(group.within_5, 0), in_percent(group.within_10, 0),
                           in_percent(group.within_15, 0));
      }));
  add("outside band", if_predicted([](G group) { return fmt::format("{}", group.predicted - group.within_band); }));
  shown.insert(shown.end(), behind.begin(), behind.end());
  std::ostringstream text;
  study::table_of(groups, shown).write_markdown(text);
  return text.str();
}

// None of a user's file.
const Heading* heading_of(const Validation& validation, const std::string& suite) {
  const auto found = std::ranges::find(validation.suites, suite, &Heading::name);
  return found == validation.suites.end() ? nullptr : &*found;
}

std::string heading_text(const Validation& validation, const std::string& suite) {
  const Heading* const heading = heading_of(validation, suite);
  return heading == nullptr ? suite : heading->title;
}

// A suite's groups follow each other.
std::string groups_section(const Validation& validation) {
  std::string text;
  const std::vector<Group> groups = groups_by_figure(validation);
  for (auto begin = groups.begin(); begin != groups.end();) {
    const std::string& suite = begin->suite;
    const auto end = std::find_if(begin, groups.end(), [&suite](const Group& group) { return group.suite != suite; });
    text += fmt::format("\n### {}: {}\n\n", suite, study::markdown_text(heading_text(validation, suite)));
    text += table_of_groups({begin, end}, {{{"group", "group", ""}, &Group::name},
                                           {{"figure", "figure", ""}, &Group::figure},
                                           {{"role", "role", ""}, &Group::role}});
    begin = end;
  }
  return text;
}

// A table of the report, as the terminal has it or with all columns.
std::string section(const study::Results& results, std::string_view key, bool all = false) {
  std::ostringstream text;
  std::ranges::find(results.tables, key, &study::NamedTable::key)->table.write_markdown(text, all);
  return text.str();
}

// The section is empty where no suite has runs that other simulators predicted.
std::string beside_simulators(const study::Results& results) {
  if (std::ranges::find(results.tables, "simulators", &study::NamedTable::key)->table.rows().empty()) return {};
  return fmt::format(R"(
## Beside other simulators

What simulators of serving said of runs that were measured, run by one of their authors as they are shipped, and what c3sim
says of the same. Median errors, in percent; of each simulator over the values that it has, whose number stands beside.
Part of the load of these runs, which their source does not tell, was inferred from them (decision 273), so that c3sim's
column is no prediction, as the others' are. BLIS_trained and LLMServingSim have no value of the rows that are shown.

{})",
                     section(results, "simulators"));
}

}  // namespace

std::string accuracy_table(const Validation& validation) {
  // Predictions first, and of those and of the rest the MI300X.
  std::vector<Group> groups = groups_by_suite(validation);
  const auto rank = [&](const Group& group) {
    const Heading* const suite = heading_of(validation, group.suite);
    const bool other_machine = suite == nullptr || !suite->platform.starts_with("mi300x");
    return std::pair(group.role != calibrate::Role::predict, other_machine);
  };
  std::ranges::stable_sort(groups, {}, rank);
  const auto best_rule = [](const Group& group) {
    const std::optional<Contest> hardest = hardest_contest(group);
    if (!hardest) return std::string();
    return fmt::format("{} {} (c3sim {}) of {}", hardest->rule, in_percent(hardest->theirs), in_percent(hardest->ours),
                       hardest->cases);
  };
  const auto title = [&](const Group& group) { return heading_text(validation, group.suite); };
  const std::string table =
      table_of_groups(groups, {{{"suite", "suite", ""}, title}, {{"role", "role", ""}, &Group::role}},
                      {{{"rule", "best simple rule, median %", ""}, best_rule}});
  return table + "\n" + verdict(validation) + "\n";
}

std::string accuracy_page(const Validation& validation) {
  constexpr auto page = R"(# Accuracy

Every prediction beside its measurement, as `c3sim validate` has it; `--report DIR` writes the page with every single
case. This file is made by `scripts/update_docs.sh`. Errors are predicted over measured less one, in percent; of shares
they are points. Parameters may be fitted to rows with role calibrate; rows with role predict are never looked at by a
fit. Rows with role probe ran at once with other work: the last stage of a fit may read them, and no other.

{}
## Tables of others

Each is predicted by the protocol that it was measured by. How far off c3sim is by size or class stands by group below,
suite public. Repetitions differ by half the width of what they gave, in the median of rows that were measured more than
once.

{}{}
## What running at once costs

The cost of a run is what it takes beyond the longer of its two operations alone; an operation is longer than alone by so
many percent. Alone is by the protocol of the run, measured and predicted alike: where both were also run one after the other in the
same loop, as they were there, for in a loop of its own a GEMM may have another clock. Walls hide this cost where one operation is much the longer, so it is added up over the runs of a group, and of
a table. The ratio is predicted over measured cost; nine of ten samples drawn from the group's runs with replacement lie in the range
beside it.

{}
## By group
{}
## Beside simple rules

Perfect overlap: both operations at once take as long as the longer alone. One after the other: the sum. Constant
factor: over perfect overlap, or of isolated work over its time at peak rates, fitted to the rows with role calibrate,
or, where there are none, to all rows but the one in question. Whole waves: a GEMM takes
ceil(tiles / (CUs - channels)) / ceil(tiles / CUs) of its time alone. The rules start from what was measured alone,
c3sim from nothing. Median errors.

{}
## Choices

Would one who believed the predictions have chosen the best measured alternative? Regret is what the choice loses against it.
The trivial rule is the best of those that always choose the same, known in hindsight.

{}
## Claims of papers

{}
## Rows that are not compared

{})";
  const study::Results results = report(validation);
  return fmt::format(page, accuracy_table(validation), section(results, "tables", true), beside_simulators(results),
                     section(results, "costs"), groups_section(validation), section(results, "baselines"),
                     section(results, "choices"), section(results, "claims"), section(results, "left_out"));
}

std::string deviations_page(const Validation& validation) {
  std::string text = R"(# Deviations

Where c3sim is known to be wrong, how much, why, and what would decide. This file is made by `scripts/update_docs.sh`
from `validate/deviations.yaml` and the figures of today; a test fails when a gap closes.
)";
  for (const Gap& gap : validation.gaps) {
    const Deviation& deviation = gap.deviation;
    const std::string about = deviation.suite.empty() ? fmt::format("claims {}", fmt::join(deviation.claims, ", "))
                                                      : fmt::format("suite {}, {}", deviation.suite, deviation.group);
    text +=
        fmt::format("\n## {}. {}\n\n{}: {}.\n\nCause: {}\n\nWhat would decide: {}\n", deviation.number,
                    study::markdown_text(deviation.title), study::markdown_text(about), study::markdown_text(gap.size),
                    study::markdown_text(deviation.cause), study::markdown_text(deviation.decides));
  }
  return text;
}

}  // namespace c3sim::validate
