// Writes docs/accuracy.md, docs/deviations.md and the README's table of accuracy.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <tuple>

#include "study/report/table_figure.h"
#include "study/report/table_of.h"
#include "validate/report.h"

namespace c3sim::validate {

namespace {

std::string markdown_of(const study::ResultTable& table) {
  std::ostringstream text;
  table.write_markdown(text);
  return text.str();
}

std::string in_percent(double share, int decimals = 1) { return fmt::format("{:.{}f}", 100.0 * share, decimals); }

// Returns a table with a row for each group: the given columns, then the metrics, then the columns `behind`.
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
  return markdown_of(study::table_of(groups, shown));
}

// Returns what is said of a suite; files of the user have a name alone.
Heading heading_of(const Validation& validation, const std::string& suite) {
  const auto found = std::ranges::find(validation.suites, suite, &Heading::name);
  return found == validation.suites.end() ? Heading{.name = suite, .title = suite} : *found;
}

// Calls `tell` with each longest run of neighbours of the same key.
template <class Element, class KeyOf, class Tell>
void for_each_run(const std::vector<Element>& elements, const KeyOf& key_of, const Tell& tell) {
  for (auto begin = elements.begin(); begin != elements.end();) {
    const auto end = std::find_if(begin, elements.end(), [&](const Element& one) {
      return std::invoke(key_of, one) != std::invoke(key_of, *begin);
    });
    tell(std::vector<Element>(begin, end));
    begin = end;
  }
}

// Returns a table of groups for each suite.
std::string groups_section(const Validation& validation) {
  std::string text;
  for_each_run(groups_by(By::figure, validation), &Group::suite, [&](const std::vector<Group>& of_suite) {
    const std::string& suite = of_suite.front().suite;
    text += fmt::format("\n### {}: {}\n\n", suite, study::markdown_text(heading_of(validation, suite).title));
    text += table_of_groups(of_suite, {{{"group", "group", ""}, &Group::name},
                                       {{"figure", "figure", ""}, &Group::figure},
                                       {{"role", "role", ""}, &Group::role}});
  });
  return text;
}

std::string section(const study::Results& results, std::string_view key) {
  return markdown_of(results.table(key)->table);
}

// Returns a list of the tables of others: how each was measured, and what was fitted to it.
std::string protocols_of_others(const Validation& validation) {
  std::string text;
  for (const auto& [suite, file, about] : validation.tables) {
    const std::string fitted = about.fitted.empty() ? "" : fmt::format(" Fitted to it: {}.", about.fitted);
    text += fmt::format("- {}\n", study::markdown_text(fmt::format("{}, {} on {}: {}.{}", file, about.what,
                                                                   about.machine, about.protocol, fitted)));
  }
  return text;
}

// Returns a table of claims for each role.
std::string claims_section(const study::Results& results) {
  std::string text;
  for (const char* const role : {"predict", "calibrate", "probe", "unlisted"}) {
    const study::ResultTable own =
        study::rows_that_meet({.where = {{"role", "=", {role}}}}, results.table("claims")->table);
    if (!own.rows().empty()) text += fmt::format("\nRole {}:\n\n{}", role, markdown_of(own));
  }
  return text;
}

// Returns a list of what is not compared for each suite.
std::string left_out_section(const Validation& validation) {
  std::string text;
  for_each_run(validation.left_out, &LeftOut::suite, [&](const std::vector<LeftOut>& of_suite) {
    text += fmt::format("\n{}:\n\n", suite_title(of_suite.front().suite));
    for (const LeftOut& left : of_suite) {
      const std::string rows = left.rows == 0 ? "" : fmt::format(", {} {}", left.rows, left.rows == 1 ? "row" : "rows");
      const std::string took = left.seconds > 0.0 ? fmt::format(" of {:.0f} us", left.seconds * 1e6) : "";
      text += fmt::format("- {}\n", study::markdown_text(fmt::format("{}{}{}: {}", left.file, rows, took, left.why)));
    }
  });
  return text;
}

// Returns an empty section if no suite has runs that other simulators predicted.
std::string beside_simulators(const study::Results& results) {
  if (results.table("simulators")->table.rows().empty()) return {};
  return fmt::format(R"(
## Beside other simulators

What simulators of serving said of runs that were measured, run by one of their authors as they are shipped, and what
c3sim says of the same. Median errors, in percent; of each simulator over the values that it has, whose number stands beside.
Part of the load of these runs, which their source does not tell, was inferred from them (decision 273), so that c3sim's
column is no prediction, as the others' are. BLIS_trained and LLMServingSim have no value of the rows that are shown.

{})",
                     section(results, "simulators"));
}

}  // namespace

std::string accuracy_table(const Validation& validation) {
  // Predictions come first, and within each role the suites of the MI300X do.
  std::vector<Group> groups = groups_by(By::suite, validation);
  const auto rank = [&](const Group& group) {
    const bool other_machine = !heading_of(validation, group.suite).platform.starts_with("mi300x");
    return std::tuple(group.role != calibrate::Role::predict, group.role, other_machine);
  };
  std::ranges::stable_sort(groups, {}, rank);
  const auto best_rule = [](const Group& group) {
    const std::vector<Contest> contests = contests_on(group);
    if (contests.empty()) return std::string();
    const auto hardest = std::ranges::min_element(contests, {}, &Contest::theirs);
    return fmt::format("{} {} / {}", hardest->rule, in_percent(hardest->theirs), in_percent(hardest->ours));
  };
  const auto title = [&](const Group& group) { return heading_of(validation, group.suite).title; };
  std::string text;
  for_each_run(groups, &Group::role, [&](const std::vector<Group>& of_role) {
    text += fmt::format("## By suite, role {}\n\n", to_string(of_role.front().role));
    text += table_of_groups(of_role, {{{"suite", "suite", ""}, title}},
                            {{{"rule", "best simple rule / c3sim, median %", ""}, best_rule}});
    text += "\n";
  });
  return text + verdict(validation) + "\n";
}

std::string accuracy_page(const Validation& validation) {
  constexpr auto page = R"(# Accuracy

Every prediction beside its measurement, as `c3sim validate` has it; `--report DIR` writes the page with every single
case. This file is made by `scripts/update_docs.sh`. Errors are predicted over measured less one, in percent; of shares
they are points. Parameters may be fitted to rows with role calibrate; rows with role predict are never looked at by a
fit. Rows with role probe ran at once with other work: the last stage of a fit may read them, and no other. The best
simple rule stands with its median error and c3sim's, both over the cases that the rule predicts.

{}
## Tables of others

Each is predicted by the protocol that it was measured by. How far off c3sim is by size or class stands by group below,
suite public. Repetitions differ by half the width of what they gave, in the median of rows that were measured more than
once.

{}
How each was measured, and what was fitted to its rows with role calibrate; `c3sim validate public --case FILE` shows
the rows of one.

{}{}
## What running at once costs

The cost of a run is what it takes beyond the longer of its two operations alone. GEMMs and collectives are longer than
alone by so many percent, as measured and, beside that, as predicted. Alone is by the protocol of the run: where both
were also run one after the other in the same loop, the times are those of that loop, for in a loop of its own a GEMM
may have another clock. Walls hide this cost where one operation is much the longer, so it is added up over the runs of a
group, and of a table. The ratio is predicted over measured cost; nine of ten samples drawn from the group's runs with
replacement lie in the range beside it.

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
  return fmt::format(page, accuracy_table(validation), section(results, "tables"), protocols_of_others(validation),
                     beside_simulators(results), section(results, "costs"), groups_section(validation),
                     section(results, "baselines"), section(results, "choices"), claims_section(results),
                     left_out_section(validation));
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
