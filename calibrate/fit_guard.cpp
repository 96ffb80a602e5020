#include "calibrate/fit_guard.h"

#include <fmt/format.h>

#include "calibrate/readers/roles.h"

namespace c3sim::calibrate {

namespace {

// Rows that say themselves what they are, whatever table they stand in.
void refuse_rows_marked_predict(const std::filesystem::path& path) {
  const std::string text = sim::read_measurement_text(path);
  if (text.find("predict") == std::string::npos || log_format_of(text) != nullptr) return;
  sim::CsvFile file = sim::CsvFile::from_text(text, path.string());
  for (std::size_t row = 0; file.has("role") && row < file.rows(); ++row) {
    if (file.text(row, "role") == "predict") file.fault(row, "role", "a fit may not read a row marked predict");
  }
  if (file.has("role")) file.check();
}

}  // namespace

Reading admit_to_fit(Reading reading) {
  std::vector<sim::Fault> faults = reading.faults;
  std::vector<Measurement> admitted;
  for (Measurement& measurement : reading.measurements) {
    if (measurement.role == Role::predict) {
      reading.left_out.push_back({measurement.where(), "is marked predict"});
    } else if (study::is_concurrent(measurement.trial)) {
      faults.push_back({measurement.where(), "", "a fit may not read a concurrent run"});
    } else {
      admitted.push_back(std::move(measurement));
    }
  }
  if (!faults.empty()) throw sim::ConfigError(faults);
  reading.measurements = std::move(admitted);
  return reading;
}

Reading read_for_fit(const Reader& reader, const std::filesystem::path& path) {
  const std::string mark = Roles::beside(path).marks_as_prediction(path.filename().string());
  if (!mark.empty()) {
    throw sim::ConfigError(
        {{path.string(), "", fmt::format("a fit may not read this file: {} marks it predict", mark)}});
  }
  refuse_rows_marked_predict(path);
  return admit_to_fit(reader.read(path));
}

}  // namespace c3sim::calibrate
