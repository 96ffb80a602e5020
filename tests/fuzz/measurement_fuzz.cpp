// Arbitrary bytes as a file of measurements: it is read, every number within its bounds and nothing concurrent in it,
// or it is a ConfigError.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calibrate/measurement.h"
#include "sim/config_error.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_positive(double value) { return std::isfinite(value) && value > 0.0; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  for (const bool is_listed : {false, true}) {
    try {
      const calibrate::MeasurementFile file =
          calibrate::measurements_of(calibrate::CsvFile::from_text(text, "f.csv"), is_listed);
      require(is_listed || file.concurrent == 0);
      for (const calibrate::Measurement& measurement : file.measurements) {
        require(measurement.time || measurement.power);
        require(!measurement.time || is_positive(measurement.time->value()));
        require(!measurement.power || is_positive(measurement.power->value()));
      }
    } catch (const sim::ConfigError&) {
    }
  }
  return 0;
}
