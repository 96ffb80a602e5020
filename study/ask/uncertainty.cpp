#include "study/ask/uncertainty.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/config/config_error.h"
#include "sim/config/nearest_name.h"
#include "study/ask/answers.h"
#include "study/c3/c3_study.h"
#include "study/c3/variation.h"

namespace c3sim::study {

namespace {

// Returns times in seconds, in the order of Intervals.
std::vector<double> times_of(const WorkResult& result) { return {sim::to_seconds(result.time).value()}; }
std::vector<double> times_of(const C3Result& result) {
  std::vector<double> times;
  for (const sim::Time time : {result.makespan, result.gemm, result.collective})
    times.push_back(sim::to_seconds(time).value());
  return times;
}

// Returns the results of the same questions on another machine.
std::vector<WorkResult> again(Testbed& testbed, std::vector<WorkResult> results) {
  for (WorkResult& result : results)
    result.time = testbed.run(result.schedule, result.between).time_of_last(result.timed);
  return results;
}
std::vector<C3Result> again(Testbed& testbed, const std::vector<C3Result>& results) {
  std::vector<C3Trial> trials;
  for (const C3Result& result : results) trials.push_back({result.scenario, result.strategy});
  return run_all(testbed, trials);
}

// Returns how a result of the platform itself is compared with measurements.
Unfitted unfitted(const WorkResult& result, const models::PlatformSpec& platform) {
  return fidelity_of(result, platform) == Fidelity::calibrated ? Unfitted::none : Unfitted::alone;
}
Unfitted unfitted(const C3Result&, const models::PlatformSpec&) { return Unfitted::beside; }

}  // namespace

template <class Result>
void add_intervals(Answer<Result>& answer, const Ensemble& ensemble, const models::PlatformSpec& platform,
                   const Progress& progress, int jobs) {
  const auto ask = [&answer](Testbed& testbed) {
    std::vector<std::vector<double>> times;
    for (const Result& result : again(testbed, answer.results)) times.push_back(times_of(result));
    return times;
  };
  const auto drawn = ensemble.ask_each(ask, jobs, progress);  // by draw, then by result
  for (std::size_t result = 0; result < answer.results.size(); ++result) {
    Intervals& intervals = answer.intervals.emplace_back();
    const std::vector<double> own = times_of(answer.results[result]);
    const double error = ensemble.error_of(unfitted(answer.results[result], platform));
    for (std::size_t figure = 0; figure < own.size(); ++figure) {
      std::vector<double> values;
      for (const std::vector<std::vector<double>>& times : drawn) values.push_back(times[result][figure]);
      intervals.push_back(at_least(interval_of(std::move(values)), own[figure], error));
    }
  }
  for (std::string& warning : ensemble.warnings()) answer.warnings.push_back(std::move(warning));
}

template void add_intervals(Answer<WorkResult>&, const Ensemble&, const models::PlatformSpec&, const Progress&, int);
template void add_intervals(Answer<C3Result>&, const Ensemble&, const models::PlatformSpec&, const Progress&, int);

namespace {

// Returns the place of the quantity's column.
std::size_t place_in(const ResultTable& table, const std::string& quantity) {
  std::vector<std::string> known;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    if (!std::ranges::all_of(table.rows(), [c](const auto& row) { return is_number(row[c]); })) continue;
    known.push_back(table.columns()[c].key);
    if (known.back() == quantity) return c;
  }
  throw sim::ConfigError(
      {{"--sensitivity", "",
        fmt::format("the answer has no number '{}' in all its rows{}", quantity, sim::name_hint(quantity, known))}});
}

// Returns the quantity in each row of a machine's answer. Throws sim::ConfigError where the machine does not answer all
// that `like` answers.
std::vector<double> column_of(const ResultTable& table, const std::string& quantity, const ResultTable& like) {
  const std::size_t place = study::place_of(table.columns(), quantity);
  std::vector<double> values;
  for (const std::vector<Cell>& row : table.rows()) {
    const std::optional<double> value = place < row.size() ? number_of(row[place]) : std::nullopt;
    if (value) values.push_back(*value);
  }
  if (values.size() != like.rows().size()) {
    throw sim::ConfigError({{"--sensitivity", "", fmt::format("not all rows of the answer have '{}'", quantity)}});
  }
  return values;
}

// Names the rows by what tells them apart, in the columns before the first one that was measured.
std::vector<std::string> names_of(const ResultTable& table, const std::string& quantity) {
  const auto& rows = table.rows();
  if (rows.size() == 1) return {quantity};
  std::vector<std::string> names(rows.size());
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    if (std::holds_alternative<double>(rows.front()[c])) break;
    const bool is_same = std::ranges::all_of(rows, [&](const auto& row) { return row[c] == rows.front()[c]; });
    for (std::size_t r = 0; r < rows.size() && !is_same; ++r) {
      if (const std::string text = word_of(rows[r][c]); !text.empty()) names[r] += (names[r].empty() ? "" : "_") + text;
    }
  }
  return names;
}

}  // namespace

NamedTable sensitivity_of(const std::string& quantity, const Platform& platform,
                          const std::function<Results(Testbed& testbed)>& ask, const Progress& progress) {
  Testbed own(platform.spec);
  const ResultTable table = ask(own).tables.front().table;
  const std::size_t place = place_in(table, quantity);
  const auto question = [&](Testbed& testbed) { return column_of(ask(testbed).tables.front().table, quantity, table); };
  return sensitivity_table(names_of(table, quantity), table.columns()[place].heading,
                           vary_parameters(platform, question, progress));
}

}  // namespace c3sim::study
