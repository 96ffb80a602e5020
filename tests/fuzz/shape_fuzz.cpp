// Arbitrary text as the shape of a GEMM: it is parsed into extents within bounds whose text reads back, or explained.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/platform/gemm_shape.h"
#include "tests/fuzz/require.h"

using namespace c3sim;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const models::ParsedGemmShape parsed = models::parse_gemm_shape(text);
  if (!parsed.ok()) return 0;
  constexpr std::int64_t largest = std::int64_t{1} << 24;
  for (const std::int64_t extent : {parsed.shape.m, parsed.shape.n, parsed.shape.k}) {
    require(extent >= 1 && extent <= largest);
  }
  require(std::isfinite(parsed.shape.flops().value()));
  const models::ParsedGemmShape again = models::parse_gemm_shape(models::to_string(parsed.shape));
  require(again.ok() && again.shape == parsed.shape);
  return 0;
}
