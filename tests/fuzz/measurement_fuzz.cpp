// Reads arbitrary bytes as a table of measurements, and as rows of every form in configs/formats/: every number lies
// within the bounds of its figure, every trial has words and is possible or told why not, nothing concurrent or marked
// predict is admitted to a fit and nothing else is kept from it; or there is a ConfigError.
#include <algorithm>
#include <cmath>
#include <string>

#include "calibrate/measurement_files.h"
#include "calibrate/readers/reader.h"
#include "study/play/platform_file.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim;

namespace {

using calibrate::Measurement;
using calibrate::Reading;
using calibrate::Role;

const calibrate::Reader& shipped() {
  static const calibrate::Reader reader(C3SIM_SOURCE_DIR "/configs/formats");
  return reader;
}

const study::Testbed& testbed() {
  static const study::Testbed h200(study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/h200.yaml", {}).spec);
  return h200;
}

void require_within_bounds(const calibrate::Seen& seen) {
  const study::FigureForm& form = study::form_of(seen.figure);
  const auto is_within = [&form](double value) {
    return std::isfinite(value) && value >= form.low && value <= form.high;
  };
  require(is_within(seen.value));
  require(!seen.low || is_within(*seen.low));
  require(!seen.high || is_within(*seen.high));
  require(!seen.low || !seen.high || *seen.low <= *seen.high);
}

void require_sound(const Measurement& measurement) {
  require(!measurement.seen.empty());
  for (const calibrate::Seen& seen : measurement.seen) require_within_bounds(seen);
  for (const auto& alone : {measurement.alone.gemm, measurement.alone.collective, measurement.alone.tiles}) {
    require(!alone || (std::isfinite(*alone) && *alone > 0.0));
  }
  require(!study::to_string(measurement.trial).empty());
  require(!study::kind_of(measurement.trial).empty());
  study::command_of(measurement.trial);
  study::why_impossible(testbed(), measurement.trial);
}

bool is_admissible(const Measurement& measurement) {
  const auto* const gemm = std::get_if<study::GemmTrial>(&measurement.trial);
  const bool is_fitted =
      gemm == nullptr || gemm->shape.dtype == models::Dtype::bf16 || gemm->shape.dtype == models::Dtype::fp16;
  const bool is_kept = measurement.role == Role::predict || measurement.role == Role::probe;
  return !is_kept && is_fitted && !study::is_concurrent(measurement.trial);
}

// A fit sees only ratios of probes, and only those of concurrent runs.
bool is_admitted_probe(const Measurement& measurement) {
  return measurement.role == Role::probe && study::is_concurrent(measurement.trial) &&
         std::ranges::all_of(measurement.seen, [](const calibrate::Seen& seen) {
           return study::form_of(seen.figure).dimension == sim::Dimension::number;
         });
}

void require_guarded(Reading reading) {
  const std::size_t admissible = static_cast<std::size_t>(std::ranges::count_if(reading.measurements, is_admissible));
  const std::size_t faults = reading.faults.size();
  const Reading admitted = calibrate::admit_to_fit(std::move(reading));
  const auto probes = static_cast<std::size_t>(std::ranges::count_if(admitted.measurements, is_admitted_probe));
  require(admitted.measurements.size() == admissible + probes && admitted.faults.size() == faults);
  require(std::ranges::all_of(admitted.measurements,
                              [](const Measurement& m) { return is_admissible(m) || is_admitted_probe(m); }));
}

void check(Reading reading) {
  for (const Measurement& measurement : reading.measurements) require_sound(measurement);
  require_guarded(reading);
  // Roles are set as a list of the folder may give them; faults, which would keep all rows out, are dropped.
  for (Measurement& measurement : reading.measurements) measurement.role = static_cast<Role>(measurement.line % 4);
  reading.faults.clear();
  require_guarded(reading);
  std::erase_if(reading.measurements, [](const Measurement& m) { return study::is_concurrent(m.trial); });
  require_guarded(std::move(reading));
}

void read(const std::string& text) {
  or_fault([&] { check(shipped().read_text(text, "f.csv")); });
}

}  // namespace

void fuzz(std::string_view bytes) {
  const std::string text(bytes);
  read(text);
  for (const calibrate::TableFormat& form : shipped().tables()) {
    std::string heading;
    for (const std::string& column : form.needed_columns()) heading += (heading.empty() ? "" : ",") + column;
    read(heading + "\n" + text);
  }
}
