// Parses arbitrary text as the shape of a GEMM: its extents lie within bounds and read back, or it is explained.
#include <cmath>

#include "models/platform/gemm_shape.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim;

void fuzz(std::string_view text) {
  const sim::Parsed<models::GemmShape> parsed = models::parse_gemm_shape(text);
  if (!parsed.ok()) return;
  constexpr std::int64_t largest = std::int64_t{1} << 24;
  for (const std::int64_t extent : {parsed.value.m, parsed.value.n, parsed.value.k}) {
    require(extent >= 1 && extent <= largest);
  }
  require(std::isfinite(parsed.value.flops().value()));
  const sim::Parsed<models::GemmShape> again = models::parse_gemm_shape(models::to_string(parsed.value));
  require(again.ok() && again.value == parsed.value);
}
