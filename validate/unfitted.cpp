#include "validate/unfitted.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "study/report/statistics.h"
#include "study/report/table_of.h"

namespace c3sim::validate {

namespace {

using study::Figure;
using study::Unfitted;

constexpr std::size_t fewest_told = 10;
constexpr std::array kinds_of_unfitted{Unfitted::alone, Unfitted::beside, Unfitted::steps};

// A replay repeats what was measured, but for its collectives.
std::optional<Unfitted> unfitted_work(const study::Trial& trial) {
  if (std::holds_alternative<study::ReplayTrial>(trial)) return {};
  if (std::holds_alternative<study::StepTrial>(trial)) return Unfitted::steps;
  return study::is_concurrent(trial) ? Unfitted::beside : Unfitted::alone;
}

bool is_time(Figure figure) {
  return figure == Figure::time || figure == Figure::kernel_time || figure == Figure::gemm_time ||
         figure == Figure::collective_time;
}

// What a table sets beside the number of GPUs, the library and the host makes it another GPU than that of the file.
bool is_another_machine(const Machine& machine) {
  constexpr std::array<std::string_view, 3> of_the_same{"gpus=", "gpu.gemm.library=", "host."};
  return std::ranges::any_of(machine.assignments, [&](const std::string& assignment) {
    return std::ranges::none_of(of_the_same, [&](std::string_view part) { return assignment.starts_with(part); });
  });
}

// Of magnitudes with this median, the one that nine in ten of a normal distribution about 0 stay below.
double nine_in_ten_of(double median) { return median * study::normal_quantile(0.95) / study::normal_quantile(0.75); }

}  // namespace

std::vector<UnfittedError> unfitted_errors(std::span<const Case> cases) {
  std::map<std::string, std::map<Unfitted, std::vector<double>>> deviations;  // by platform; logarithms
  for (const Case& one : cases) {
    const std::optional<Unfitted> work = unfitted_work(one.trial);
    if (is_another_machine(one.machine)) continue;
    if (!work || one.role != calibrate::Role::predict || !one.is_scored() || !is_time(one.figure)) continue;
    if (one.measured <= 0.0 || *one.predicted <= 0.0) continue;
    const double off = std::abs(std::log(*one.predicted / one.measured));
    deviations[one.machine.platform][*work].push_back(off);
    deviations[one.machine.platform][Unfitted::none].push_back(off);
  }
  std::vector<UnfittedError> errors;
  for (auto& [platform, by_work] : deviations) {
    if (by_work[Unfitted::none].size() < fewest_told) continue;
    for (const Unfitted work : kinds_of_unfitted) {
      const bool of_all = by_work[work].size() < fewest_told;
      const std::vector<double>& off = by_work[of_all ? Unfitted::none : work];
      const double median = study::median(off);
      errors.push_back({platform, work, off.size(), of_all, std::expm1(median), std::expm1(nine_in_ten_of(median))});
    }
  }
  return errors;
}

study::ResultTable table_of(std::span<const UnfittedError> errors) {
  using E = const UnfittedError&;
  return study::table_of<UnfittedError>(
      errors, std::vector<study::Shown<UnfittedError>>{
                  {{"platform", "platform", ""}, &UnfittedError::platform},
                  {{"work", "work", ""}, &UnfittedError::work},
                  {{"cases", "cases", ""}, &UnfittedError::cases},
                  {{"of_all", "of all work", ""}, &UnfittedError::of_all},
                  {{"median", "median", "", 3}, &UnfittedError::median},
                  {{"nine_in_ten", "nine in ten", "", 3}, [](E one) { return one.nine_in_ten; }}});
}

}  // namespace c3sim::validate
