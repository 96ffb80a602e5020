#include "study/c3/variation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>

#include "sim/config/config_error.h"
#include "study/report/table_of.h"

namespace c3sim::study {

namespace {

// Returns the answer of each platform; none for an absent platform, nor for one that cannot do what the first one can.
std::vector<std::optional<Fractions>> ask_each(std::span<const std::optional<models::PlatformSpec>> platforms,
                                               const FractionsOf& question, const Progress& progress) {
  std::vector<std::optional<Fractions>> answers(platforms.size());
  for_each_index(
      platforms.size(),
      [&](std::size_t index) {
        if (!platforms[index]) return;
        Testbed testbed(*platforms[index]);
        try {
          answers[index] = question(testbed);
        } catch (const sim::ConfigError&) {
          if (index == 0) throw;
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

struct Told {
  std::string unit;  // unit of changes: "points"
  int decimals;
  std::string title;
};

// Shows changes with the given decimals. Parameters whose changes all round to 0 are counted and left out.
NamedTable table_of_changes(std::span<const std::string> names, const SensitivityAnswer& answer, const Told& told) {
  const std::string unit = told.unit == "percent" ? "%" : told.unit;
  std::vector<Shown<Sensitivity>> shown{
      {{"parameter", "parameter", ""}, &Sensitivity::parameter},
      {{"low", "low", ""}, &Sensitivity::low},
      {{"high", "high", ""}, &Sensitivity::high},
      {{"swing_" + told.unit, "swing", unit, told.decimals},
       [&](const Sensitivity& one) { return 100.0 * one.largest_swing(answer.base); }}};
  for (std::size_t place = 0; place < names.size(); ++place) {
    const auto change = [&answer, place](std::optional<Fractions> Sensitivity::*end) {
      return [&answer, place, end](const Sensitivity& one) {
        return one.*end ? Cell(100.0 * ((*(one.*end))[place] - answer.base[place])) : Cell();
      };
    };
    const std::string& name = names[place];
    shown.push_back({{name + "_low_" + told.unit, name + " low", "", told.decimals}, change(&Sensitivity::at_low)});
    shown.push_back({{name + "_high_" + told.unit, "high", "", told.decimals}, change(&Sensitivity::at_high)});
  }
  const double least_shown = 0.5 * std::pow(10.0, -told.decimals);
  std::vector<Sensitivity> moving;
  std::ranges::copy_if(answer.parameters, std::back_inserter(moving), [&](const Sensitivity& one) {
    return 100.0 * one.largest_swing(answer.base) >= least_shown || !one.at_low || !one.at_high;
  });
  return {"sensitivity",
          fmt::format("{}; {} of {} parameters move it by less than {:g} {}", told.title,
                      answer.parameters.size() - moving.size(), answer.parameters.size(), least_shown, unit),
          table_of(moving, shown)};
}

}  // namespace

std::vector<Strategy> strategies_that_vary(std::span<const Strategy> strategies) {
  std::vector<Strategy> vary;
  std::ranges::copy_if(strategies, std::back_inserter(vary), [](Strategy s) { return s != Strategy::serial; });
  return vary;
}

FractionsOf question_of(const Scenario& scenario, std::vector<Strategy> strategies) {
  return [scenario, strategies = std::move(strategies)](Testbed& testbed) {
    Fractions fractions;
    for (const Strategy strategy : strategies) {
      fractions.push_back(run_strategy(testbed, scenario, strategy).fraction_of_ideal());
    }
    return fractions;
  };
}

std::vector<Fractions> leave_mechanisms_out(const models::PlatformSpec& platform, const FractionsOf& question,
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

SensitivityAnswer vary_parameters(const Platform& platform, const FractionsOf& question, const Progress& progress) {
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
  std::vector<std::string> names;
  std::string as_it_is;
  for (std::size_t strategy = 0; strategy < strategies.size(); ++strategy) {
    names.emplace_back(to_string(strategies[strategy]));
    as_it_is += fmt::format("{} {} {:.1f} %", strategy == 0 ? ":" : ",", names.back(), 100.0 * answer.base[strategy]);
  }
  return table_of_changes(
      names, answer,
      {"points", 1,
       "Change of the fraction of ideal at the ends of each parameter's range, in points; as it is" + as_it_is});
}

NamedTable sensitivity_table(std::span<const std::string> names, const std::string& quantity,
                             SensitivityAnswer answer) {
  const Fractions own = answer.base;
  const auto relative = [&own](Fractions& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (own[i] != 0.0) values[i] = 1.0 + (values[i] - own[i]) / std::abs(own[i]);
    }
  };
  for (Sensitivity& one : answer.parameters) {
    if (one.at_low) relative(*one.at_low);
    if (one.at_high) relative(*one.at_high);
  }
  for (double& value : answer.base) value = value == 0.0 ? 0.0 : 1.0;
  std::ranges::stable_sort(answer.parameters, std::greater(),
                           [&answer](const Sensitivity& one) { return one.largest_swing(answer.base); });
  return table_of_changes(
      names, answer,
      {"percent", 2,
       fmt::format("Change of {} at the ends of each parameter's range, in percent of what it is", quantity)});
}

}  // namespace c3sim::study
