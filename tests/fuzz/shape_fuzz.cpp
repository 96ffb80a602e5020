// Arbitrary text as the shape of a GEMM: it is parsed into extents within bounds whose text reads back, or explained.
#include <cmath>

#include "models/platform/gemm_shape.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim;

void fuzz(std::string_view text) {
  const models::ParsedGemmShape parsed = models::parse_gemm_shape(text);
  if (!parsed.ok()) return;
  constexpr std::int64_t largest = std::int64_t{1} << 24;
  for (const std::int64_t extent : {parsed.shape.m, parsed.shape.n, parsed.shape.k}) {
    require(extent >= 1 && extent <= largest);
  }
  require(std::isfinite(parsed.shape.flops().value()));
  const models::ParsedGemmShape again = models::parse_gemm_shape(models::to_string(parsed.shape));
  require(again.ok() && again.shape == parsed.shape);
}
