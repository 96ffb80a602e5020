// Parses arbitrary text as a quantity of any dimension: into a finite number that is not negative, or it is explained.
#include <cmath>

#include "sim/config/config_text.h"
#include "sim/units.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim;

void fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  // The first byte chooses the dimension.
  constexpr int dimensions = static_cast<int>(sim::Dimension::flops_per_second) + 1;
  const auto dimension = static_cast<sim::Dimension>(static_cast<unsigned char>(bytes[0]) % dimensions);

  const sim::ParsedQuantity quantity = sim::parse_quantity(bytes.substr(1), dimension);
  if (!quantity.ok()) return;
  require(std::isfinite(quantity.value) && quantity.value >= 0.0);
  if (dimension == sim::Dimension::bytes) {
    require(quantity.value < 0x1p53 && std::floor(quantity.value) == quantity.value);
    // The text of a size reads back as the same size.
    const sim::ParsedQuantity again = sim::parse_quantity(to_string(sim::Bytes(quantity.value)), dimension);
    require(again.ok() && again.value == quantity.value);
  }
  if (dimension == sim::Dimension::time) require(sim::to_time(sim::Seconds(quantity.value)) >= sim::Time::zero());
}
