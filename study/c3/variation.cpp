#include "study/c3/variation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>

#include "sim/config/config_error.h"
#include "study/report/table_of.h"

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
  std::vector<Shown<std::size_t>> shown{{{"without", "without", ""}, [](std::size_t i) {
                                           return i == 0 ? "none" : models::to_string(models::all_mechanisms[i - 1]);
                                         }}};
  for (std::size_t strategy = 0; strategy < strategies.size(); ++strategy) {
    const std::string name(to_string(strategies[strategy]));
    shown.push_back({{name + "_percent", name, "%", 1}, [=](std::size_t i) { return 100.0 * answers[i][strategy]; }});
  }
  std::vector<std::size_t> places(answers.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  return {"by_mechanism", "Of ideal on machines that are without one mechanism of interference",
          table_of(places, shown)};
}

double Sensitivity::swing(const Fractions& base, std::size_t strategy) const {
  std::vector<double> seen{base[strategy]};
  for (const auto& answer : {at_low, at_high}) {
    if (answer) seen.push_back((*answer)[strategy]);
  }
  const auto [least, most] = std::ranges::minmax(seen);
  return most - least;
}

double Sensitivity::largest_swing(const Fractions& base) const {
  double largest = 0.0;
  for (std::size_t strategy = 0; strategy < base.size(); ++strategy) largest = std::max(largest, swing(base, strategy));
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
  std::vector<Shown<Sensitivity>> shown{{{"parameter", "parameter", ""}, &Sensitivity::parameter},
                                        {{"low", "low", ""}, &Sensitivity::low},
                                        {{"high", "high", ""}, &Sensitivity::high},
                                        {{"swing_points", "swing", "points", 1}, [&](const Sensitivity& one) {
                                           return 100.0 * one.largest_swing(answer.base);
                                         }}};
  std::string as_it_is;
  for (std::size_t strategy = 0; strategy < strategies.size(); ++strategy) {
    const std::string name(to_string(strategies[strategy]));
    as_it_is += fmt::format("{} {} {:.1f} %", strategy == 0 ? ":" : ",", name, 100.0 * answer.base[strategy]);
    const auto change = [&answer, strategy](std::optional<Fractions> Sensitivity::*end) {
      return [&answer, strategy, end](const Sensitivity& one) {
        return one.*end ? Cell(100.0 * ((*(one.*end))[strategy] - answer.base[strategy])) : Cell();
      };
    };
    shown.push_back({{name + "_low_points", name + " low", "", 1}, change(&Sensitivity::at_low)});
    shown.push_back({{name + "_high_points", "high", "", 1}, change(&Sensitivity::at_high)});
  }
  return {"sensitivity",
          "Change of the fraction of ideal at the ends of each parameter's range, in points; as it is" + as_it_is,
          table_of(answer.parameters, shown)};
}

}  // namespace c3sim::study
