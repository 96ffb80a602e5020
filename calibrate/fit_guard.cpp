#include "calibrate/fit_guard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace c3sim::calibrate {

namespace {

bool has_a_rate_of_its_own(const Measurement& measurement) {
  const auto* const gemm = std::get_if<study::GemmTrial>(&measurement.trial);
  return !measurement.names_library() && gemm != nullptr && gemm->shape.dtype != models::Dtype::bf16 &&
         gemm->shape.dtype != models::Dtype::fp16;
}

// A Ratio turns the times of one figure of a probe into another figure, if what they are divided by is known.
struct Ratio {
  study::Figure of;
  std::optional<double> over;  // seconds
  study::Figure figure;
};

std::optional<Ratio> ratio_of(study::Figure figure, const Alone& alone) {
  using study::Figure;
  const auto longer = [](std::optional<double> first, std::optional<double> second) {
    return first && second ? std::optional(std::max(*first, *second)) : std::nullopt;
  };
  const std::array ratios{
      Ratio{Figure::time, longer(alone.gemm_in_turn, alone.collective_in_turn), Figure::over_longer_in_turn},
      Ratio{Figure::time, longer(alone.gemm, alone.collective), Figure::over_longer},
      Ratio{Figure::gemm_time, alone.gemm_in_turn, Figure::gemm_stretch_in_turn},
      Ratio{Figure::gemm_time, alone.gemm, Figure::gemm_stretch},
      Ratio{Figure::collective_time, alone.collective_in_turn, Figure::collective_stretch_in_turn},
      Ratio{Figure::collective_time, alone.collective, Figure::collective_stretch}};
  const auto* const found =
      std::ranges::find_if(ratios, [figure](const Ratio& one) { return one.of == figure && one.over; });
  return found == ratios.end() ? std::nullopt : std::optional(*found);
}

// Replaces the times of a probe by ratios. Ratios that the file states itself would count twice: they are dropped.
Measurement over_alone(Measurement probe) {
  std::vector<Seen> ratios;
  for (Seen seen : probe.seen) {
    const std::optional<Ratio> ratio = ratio_of(seen.figure, probe.alone);
    if (!ratio) continue;
    seen.figure = ratio->figure;
    seen.value /= *ratio->over;
    if (seen.low) *seen.low /= *ratio->over;
    if (seen.high) *seen.high /= *ratio->over;
    ratios.push_back(seen);
  }
  probe.seen = std::move(ratios);
  return probe;
}

void admit_probe(Measurement probe, Reading& reading, std::vector<Measurement>& admitted) {
  if (!study::is_concurrent(probe.trial)) {
    reading.left_out.push_back(
        {probe.where(), "is a probe of a run alone: a fit reads those that are marked calibrate"});
    return;
  }
  const std::string where = probe.where();
  probe = over_alone(std::move(probe));
  if (probe.seen.empty()) {
    reading.left_out.push_back({where, "is a probe without the time of its operation alone"});
  } else {
    admitted.push_back(std::move(probe));
  }
}

}  // namespace

Reading admit_to_fit(Reading reading) {
  std::vector<Measurement> admitted;
  for (Measurement& measurement : reading.measurements) {
    if (measurement.role == Role::predict) {
      reading.left_out.push_back({measurement.where(), "is marked predict"});
    } else if (measurement.role == Role::probe) {
      admit_probe(std::move(measurement), reading, admitted);
    } else if (has_a_rate_of_its_own(measurement)) {
      reading.left_out.push_back({measurement.where(), "its GEMM is of no type that is fitted: bf16 and fp16 are"});
    } else if (study::is_concurrent(measurement.trial)) {
      reading.faults.push_back(
          {measurement.where(), "", "a fit may not read a concurrent run, unless a column role says probe"});
    } else {
      admitted.push_back(std::move(measurement));
    }
  }
  reading.measurements = std::move(admitted);
  return reading;
}

std::string why_nothing_is_left(const Reading& reading) {
  std::map<std::string, int> reasons;
  for (const Omission& omission : reading.left_out) ++reasons[omission.why];
  std::vector<std::string> counted;
  for (const auto& [why, rows] : reasons) counted.push_back(fmt::format("{} ({} of its rows)", why, rows));
  return counted.empty() ? "it has no rows" : fmt::format("{}", fmt::join(counted, "; "));
}

void require_measurements(const std::vector<Reading>& files) {
  std::vector<sim::Fault> faults;
  for (const Reading& file : files) {
    if (!file.measurements.empty()) return;
    faults.insert(faults.end(), file.faults.begin(), file.faults.end());
    if (file.faults.empty())
      faults.push_back({file.name, "", "nothing in it can be fitted to: " + why_nothing_is_left(file)});
  }
  throw sim::ConfigError(std::move(faults));
}

}  // namespace c3sim::calibrate
