#include "calibrate/fit_guard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace c3sim::calibrate {

namespace {

bool has_a_rate_of_its_own(const study::Trial& trial) {
  const auto* const gemm = std::get_if<study::GemmTrial>(&trial);
  return gemm != nullptr && gemm->shape.dtype != models::Dtype::bf16 && gemm->shape.dtype != models::Dtype::fp16;
}

}  // namespace

Reading admit_to_fit(Reading reading) {
  std::vector<Measurement> admitted;
  for (Measurement& measurement : reading.measurements) {
    if (measurement.role == Role::predict) {
      reading.left_out.push_back({measurement.where(), "is marked predict"});
    } else if (has_a_rate_of_its_own(measurement.trial)) {
      reading.left_out.push_back({measurement.where(), "its GEMM is of no type that is fitted: bf16 and fp16 are"});
    } else if (study::is_concurrent(measurement.trial)) {
      reading.faults.push_back({measurement.where(), "", "a fit may not read a concurrent run"});
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
