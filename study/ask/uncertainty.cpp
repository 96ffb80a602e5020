#include "study/ask/uncertainty.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "sim/config/config_error.h"
#include "sim/config/nearest_name.h"
#include "study/ask/answers.h"
#include "study/c3/c3_results.h"
#include "study/report/table_of.h"

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

using Values = std::vector<double>;

// A Quantity is a column of numbers in one table of an answer.
class Quantity {
 public:
  // Finds the first table with such a column.
  Quantity(const Results& answer, const std::string& key) {
    std::vector<std::string> known;
    for (const NamedTable& named : answer.tables) {
      for (std::size_t c = 0; c < named.table.columns().size(); ++c) {
        const Column& column = named.table.columns()[c];
        if (!std::ranges::all_of(named.table.rows(), [c](const auto& row) { return is_number(row[c]); })) continue;
        known.push_back(column.key);
        if (column.key != key) continue;
        table_ = named.key;
        column_ = column;
        names_ = names_of(named.table);
        return;
      }
    }
    throw sim::ConfigError(
        {{"--sensitivity", "",
          fmt::format("the answer has no number '{}' in all its rows{}", key, sim::name_hint(key, known))}});
  }

  const std::string& heading() const { return column_.heading; }
  const std::vector<std::string>& names() const { return names_; }  // of the values
  // A fraction changes by points, and any other quantity by a share of itself.
  bool is_fraction() const { return column_.key.find("fraction") != std::string::npos; }
  double percent(double value) const { return column_.unit == "%" ? value : 100.0 * value; }
  double change(double from, double to) const {
    return is_fraction() || from == 0.0 ? percent(to - from) : 100.0 * (to - from) / std::abs(from);
  }

  // Throws sim::ConfigError for an answer that lacks some of the values.
  Values of(const Results& answer) const {
    const NamedTable& named = *answer.table(table_);
    const std::size_t place = place_of(named.table.columns(), column_.key);
    Values values;
    for (const std::vector<Cell>& row : named.table.rows()) {
      const std::optional<double> value = place < row.size() ? number_of(row[place]) : std::nullopt;
      if (value && is_shown(row)) values.push_back(*value);
    }
    if (values.size() == names_.size()) return values;
    throw sim::ConfigError({{"--sensitivity", "", fmt::format("not all rows of the answer have '{}'", column_.key)}});
  }

 private:
  // What serial execution gains or loses of the ideal is not due to overlap.
  bool is_shown(const std::vector<Cell>& row) const {
    return !is_fraction() || std::ranges::count(row, Cell(std::string(to_string(Strategy::serial)))) == 0;
  }

  // Names the rows by what tells them apart, in the columns before the first one that was measured.
  std::vector<std::string> names_of(const ResultTable& table) const {
    std::vector<std::string> names;
    for (const std::vector<Cell>& row : table.rows()) {
      if (!is_shown(row)) continue;
      std::string& name = names.emplace_back();
      for (std::size_t c = 0; c < row.size() && !std::holds_alternative<double>(row[c]); ++c) {
        const bool is_same = std::ranges::all_of(table.rows(), [&](const auto& other) { return other[c] == row[c]; });
        if (const std::string text = word_of(row[c]); !text.empty() && !is_same)
          name += (name.empty() ? "" : "_") + text;
      }
      if (name.empty()) name = column_.key;
    }
    return names;
  }

  std::string table_;
  Column column_;
  std::vector<std::string> names_;
};

// Returns the values on each machine; none for an absent machine, nor for one that cannot do what is asked.
std::vector<std::optional<Values>> ask_each(std::span<const std::optional<models::PlatformSpec>> machines,
                                            const Quantity& quantity, const Again& ask, const Progress& progress) {
  std::vector<std::optional<Values>> answers(machines.size());
  for_each_index(
      machines.size(),
      [&](std::size_t index) {
        if (!machines[index]) return;
        Testbed testbed(*machines[index]);
        try {
          answers[index] = quantity.of(ask(testbed));
        } catch (const sim::ConfigError&) {
        }
      },
      progress);
  return answers;
}

std::optional<models::PlatformSpec> with(const Platform& platform, const std::string& parameter,
                                         const std::string& value) {
  try {
    return reassign(platform, std::array{parameter + "=" + value});
  } catch (const sim::ConfigError&) {
    return std::nullopt;
  }
}

// Excludes parameters that describe errors of predictions, as the machine does not have them.
bool is_uncertain(const sim::Parameter& parameter) {
  constexpr std::array<std::string_view, 4> of_errors{"fitted_to[", "correlations[", "concurrent_spread.",
                                                      "unfitted_errors."};
  const auto begins = [&parameter](std::string_view prefix) { return parameter.path.starts_with(prefix); };
  if (std::ranges::any_of(of_errors, begins)) return false;
  const bool may_differ = parameter.kind == "assumed" || parameter.kind == "fitted" || parameter.kind == "probed";
  return may_differ && !parameter.low.empty();
}

// A Varied is a parameter and the changes, in points or percent, at both ends of its range; they are absent where other
// parameters rule that end out, or where the machine cannot do there what is asked.
struct Varied {
  const sim::Parameter* parameter;
  std::optional<Values> low, high;
  double swing = 0.0;  // the largest range of a value
};

}  // namespace

NamedTable sensitivity_of(const std::string& key, const Platform& platform, const Again& ask,
                          const Progress& progress) {
  Testbed own(platform.spec);
  const Results answer = ask(own);
  const Quantity quantity(answer, key);
  const Values base = quantity.of(answer);
  std::vector<Varied> all;
  std::vector<std::optional<models::PlatformSpec>> machines;
  for (const sim::Parameter& parameter : platform.parameters) {
    if (!is_uncertain(parameter)) continue;
    all.push_back({&parameter, {}, {}});
    machines.push_back(with(platform, parameter.path, parameter.low));
    machines.push_back(with(platform, parameter.path, parameter.high));
  }
  std::vector<std::optional<Values>> values = ask_each(machines, quantity, ask, progress);
  const int decimals = quantity.is_fraction() ? 1 : 2;
  const double least_shown = 0.5 * std::pow(10.0, -decimals);
  std::vector<Varied> moving;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Varied& one = all[i];
    one.low = std::move(values[2 * i]);
    one.high = std::move(values[2 * i + 1]);
    for (std::size_t place = 0; place < base.size(); ++place) {
      std::vector<double> changes{0.0};
      for (std::optional<Values>* const end : {&one.low, &one.high}) {
        if (*end) changes.push_back((**end)[place] = quantity.change(base[place], (**end)[place]));
      }
      one.swing = std::max(one.swing, std::ranges::max(changes) - std::ranges::min(changes));
    }
    if (one.swing >= least_shown || !one.low || !one.high) moving.push_back(one);
  }
  std::ranges::stable_sort(moving, std::greater(), &Varied::swing);

  const std::string unit = quantity.is_fraction() ? "points" : "percent";
  const std::string unit_shown = quantity.is_fraction() ? "points" : "%";
  std::vector<Shown<Varied>> shown{
      {{"parameter", "parameter", ""}, [](const Varied& one) { return one.parameter->path; }},
      {{"low", "low", ""}, [](const Varied& one) { return one.parameter->low; }},
      {{"high", "high", ""}, [](const Varied& one) { return one.parameter->high; }},
      {{"swing_" + unit, "swing", unit_shown, decimals}, &Varied::swing}};
  for (std::size_t place = 0; place < base.size(); ++place) {
    const auto at = [place](std::optional<Values> Varied::*end) {
      return [=](const Varied& one) { return one.*end ? Cell((*(one.*end))[place]) : Cell(); };
    };
    const std::string& name = quantity.names()[place];
    shown.push_back({{name + "_low_" + unit, name + " low", "", decimals}, at(&Varied::low)});
    shown.push_back({{name + "_high_" + unit, "high", "", decimals}, at(&Varied::high)});
  }
  return {"sensitivity",
          fmt::format("Change of {} at the ends of each parameter's range, in {}; {} of {} parameters move it by less "
                      "than {:g} {}",
                      quantity.heading(), quantity.is_fraction() ? "points" : "percent of what it is",
                      all.size() - moving.size(), all.size(), least_shown, unit_shown),
          table_of(moving, shown)};
}

}  // namespace c3sim::study
