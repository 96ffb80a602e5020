#include "study/c3/variation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "sim/config/config_error.h"

namespace c3sim::study {

namespace {

// No answer where there is no platform.
std::vector<std::optional<Fractions>> ask_each(std::span<const std::optional<models::PlatformSpec>> platforms,
                                               const Question& question, const Progress& progress) {
  std::vector<std::optional<Fractions>> answers(platforms.size());
  for_each_index(
      platforms.size(),
      [&](std::size_t index) {
        if (!platforms[index]) return;
        Testbed testbed(*platforms[index]);
        answers[index] = question(testbed);
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

bool is_uncertain(const sim::Parameter& parameter) {
  return (parameter.kind == "assumed" || parameter.kind == "fitted") && !parameter.low.empty();
}

Cell change(const std::optional<Fractions>& answer, const Fractions& base, std::size_t strategy) {
  if (!answer) return {};
  return 100.0 * ((*answer)[strategy] - base[strategy]);
}

}  // namespace

std::vector<Strategy> strategies_that_vary(std::span<const Strategy> strategies) {
  std::vector<Strategy> vary;
  std::ranges::copy_if(strategies, std::back_inserter(vary), [](Strategy s) { return s != Strategy::serial; });
  return vary;
}

Question question_of(const Scenario& scenario, std::vector<Strategy> strategies) {
  return [scenario, strategies = std::move(strategies)](Testbed& testbed) {
    Fractions fractions;
    for (const Strategy strategy : strategies) {
      fractions.push_back(run_strategy(testbed, scenario, strategy).fraction_of_ideal());
    }
    return fractions;
  };
}

std::vector<Fractions> leave_mechanisms_out(const models::PlatformSpec& platform, const Question& question,
                                            const Progress& progress) {
  std::vector<std::optional<models::PlatformSpec>> platforms(1 + models::all_mechanisms.size(), platform);
  for (std::size_t i = 0; i < models::all_mechanisms.size(); ++i) {
    platforms[1 + i]->without.add(models::all_mechanisms[i]);
  }
  std::vector<Fractions> answers;
  for (auto& answer : ask_each(platforms, question, progress)) answers.push_back(std::move(answer.value()));
  return answers;
}

NamedTable mechanism_table(std::span<const Strategy> strategies, std::span<const Fractions> answers) {
  std::vector<Column> columns{{"without", "without", ""}};
  for (const Strategy strategy : strategies) {
    const std::string name(to_string(strategy));
    columns.push_back({name + "_percent", name, "%", 1});
  }
  ResultTable table(std::move(columns));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    std::vector<Cell> row;
    row.emplace_back(i == 0 ? std::string("none") : std::string(to_string(models::all_mechanisms[i - 1])));
    for (const double fraction : answers[i]) row.emplace_back(100.0 * fraction);
    table.add_row(std::move(row));
  }
  return {"by_mechanism", "Of ideal on machines that are without one mechanism of interference", std::move(table)};
}

double Sensitivity::swing(const Fractions& base, std::size_t strategy) const {
  double least = base[strategy];
  double most = base[strategy];
  for (const auto& answer : {at_low, at_high}) {
    if (!answer) continue;
    least = std::min(least, (*answer)[strategy]);
    most = std::max(most, (*answer)[strategy]);
  }
  return most - least;
}

double Sensitivity::largest_swing(const Fractions& base) const {
  double largest = 0.0;
  for (std::size_t strategy = 0; strategy < base.size(); ++strategy) {
    largest = std::max(largest, swing(base, strategy));
  }
  return largest;
}

SensitivityAnswer vary_parameters(const Platform& platform, const Question& question, const Progress& progress) {
  SensitivityAnswer answer;
  std::vector<std::optional<models::PlatformSpec>> platforms{platform.spec};
  for (const sim::Parameter& parameter : platform.parameters) {
    if (!is_uncertain(parameter)) continue;
    answer.parameters.push_back({parameter.path, parameter.low, parameter.high, {}, {}});
    platforms.push_back(with(platform, parameter.path, parameter.low));
    platforms.push_back(with(platform, parameter.path, parameter.high));
  }
  const auto answers = ask_each(platforms, question, progress);
  answer.base = answers.front().value();
  for (std::size_t i = 0; i < answer.parameters.size(); ++i) {
    answer.parameters[i].at_low = answers[1 + 2 * i];
    answer.parameters[i].at_high = answers[2 + 2 * i];
  }
  std::ranges::stable_sort(answer.parameters, std::greater(), [&answer](const Sensitivity& sensitivity) {
    return sensitivity.largest_swing(answer.base);
  });
  return answer;
}

NamedTable sensitivity_table(std::span<const Strategy> strategies, const SensitivityAnswer& answer) {
  std::vector<Column> columns{
      {"parameter", "parameter", ""}, {"low", "low", ""}, {"high", "high", ""}, {"swing_points", "swing", "points", 1}};
  for (const Strategy strategy : strategies) {
    const std::string name(to_string(strategy));
    columns.push_back({name + "_low_points", name + " low", "", 1});
    columns.push_back({name + "_high_points", "high", "", 1});
  }
  ResultTable table(std::move(columns));
  for (const Sensitivity& sensitivity : answer.parameters) {
    std::vector<Cell> row{sensitivity.parameter, sensitivity.low, sensitivity.high,
                          100.0 * sensitivity.largest_swing(answer.base)};
    for (std::size_t strategy = 0; strategy < strategies.size(); ++strategy) {
      row.push_back(change(sensitivity.at_low, answer.base, strategy));
      row.push_back(change(sensitivity.at_high, answer.base, strategy));
    }
    table.add_row(std::move(row));
  }
  std::string as_it_is;
  for (std::size_t strategy = 0; strategy < strategies.size(); ++strategy) {
    as_it_is += fmt::format("{} {} {:.1f} %", strategy == 0 ? ":" : ",", to_string(strategies[strategy]),
                            100.0 * answer.base[strategy]);
  }
  return {"sensitivity",
          "Change of the fraction of ideal at the ends of each parameter's range, in points; as it is" + as_it_is,
          std::move(table)};
}

}  // namespace c3sim::study
