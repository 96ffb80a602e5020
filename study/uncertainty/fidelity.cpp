#include "study/uncertainty/fidelity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/overloaded.h"

namespace c3sim::study {

namespace {

constexpr std::string_view copies = "copy";
constexpr std::string_view gemms = "gemm";

// The name of a collective's work begins with that of its backend.
std::string_view maker_of(const models::CollectiveSpec& collective) { return models::to_string(collective.backend); }
std::string work_name(const models::CollectiveSpec& collective) {
  return std::string(maker_of(collective)) + '_' + std::string(models::to_string(collective.kind));
}

std::array<sim::Bytes, 3> matrices_of(const models::GemmShape& shape) {
  const auto bytes = [&](std::int64_t elements) { return sim::Bytes(static_cast<double>(elements) * shape.element()); };
  return {bytes(shape.m * shape.k), bytes(shape.k * shape.n), bytes(shape.m * shape.n)};
}

Fidelity look_up(const models::PlatformSpec& platform, const std::string& work, std::string_view maker,
                 sim::Bytes bytes) {
  Fidelity best = Fidelity::assumed;
  for (const models::FittedRange& range : platform.fitted_to) {
    if (range.work == work && range.smallest <= bytes && bytes <= range.largest && !platform.what_if) {
      return Fidelity::calibrated;
    }
    if (range.work.starts_with(maker)) best = Fidelity::extrapolated;
  }
  return best;
}

// Returns the largest spread of those rows of the work that are nearest in size, or of the maker if there are none.
double nearest_spread(const models::PlatformSpec& platform, std::string_view work, std::string_view maker,
                      sim::Bytes bytes) {
  double nearest = std::numeric_limits<double>::infinity();
  double spread = 0.0;
  double worst = 0.0;
  for (const models::FittedRange& range : platform.fitted_to) {
    if (range.spread <= 0.0) continue;
    if (range.work.starts_with(maker)) worst = std::max(worst, range.spread);
    // This is the logarithm of the factor by which the range misses the size; 0 if it holds the size.
    const double away = std::max({0.0, std::log(range.smallest / bytes), std::log(bytes / range.largest)});
    if (range.work != work || away > nearest) continue;
    spread = away < nearest ? range.spread : std::max(spread, range.spread);
    nearest = away;
  }
  return std::isinf(nearest) ? worst : spread;
}

}  // namespace

std::string fitted_name_of(const models::SdmaCopySpec& copy, const models::PlatformSpec& platform) {
  const bool recommended = !copy.engine || *copy.engine == platform.gpu.sdma.recommended_engine(copy.from, copy.to);
  const bool between_gpus = copy.from != models::host_device && copy.to != models::host_device;
  return recommended && between_gpus && !copy.submit ? std::string(copies) : "";
}

std::string fitted_name_of(const models::CollectiveSpec& collective, const models::PlatformSpec& platform) {
  const bool as_measured = collective.gpus == platform.gpus && collective.engines == 1 && !collective.cus &&
                           collective.host_threads.value_or(platform.host.threads) == platform.host.threads;
  if (!as_measured) return "";
  return work_name(collective);
}

Fidelity fidelity_of(const Work& work, const models::PlatformSpec& platform, std::optional<int> cus) {
  const auto of_gemm = [&](const models::GemmShape& shape) {
    const int all = platform.gpu.cus();
    const std::string name = cus.value_or(all) == all ? std::string(gemms) : "gemm on fewer CUs";
    const bool rate_fitted = !platform.gpu.gemm.others[static_cast<std::size_t>(shape.dtype)];
    Fidelity weakest = rate_fitted ? Fidelity::calibrated : Fidelity::extrapolated;
    for (const sim::Bytes matrix : matrices_of(shape)) {
      weakest = weaker(weakest, look_up(platform, name, gemms, matrix));
    }
    return weakest;
  };
  return std::visit(
      sim::Overloaded{[&](const models::SdmaCopySpec& copy) {
                        return look_up(platform, fitted_name_of(copy, platform), copies, copy.bytes);
                      },
                      [&](const models::CollectiveSpec& collective) {
                        return look_up(platform, fitted_name_of(collective, platform), maker_of(collective),
                                       collective.bytes);
                      },
                      of_gemm, [&](const models::AttentionShape&) { return by_parameters(platform, "gpu.attention."); },
                      [](const models::FusedSpec&) { return Fidelity::assumed; },  // no machine has them
                      [&](const auto&) { return by_parameters(platform, "gpu.streams."); }},
      work);
}

Fidelity by_parameters(const models::PlatformSpec& platform, std::string_view of) {
  const bool is_measured =
      std::ranges::any_of(platform.measured, [of](const std::string& path) { return path.starts_with(of); });
  return is_measured ? Fidelity::extrapolated : Fidelity::assumed;
}

Fidelity weaker(Fidelity one, Fidelity other) { return std::max(one, other); }

Spread spread_of(const Work& work, const models::PlatformSpec& platform) {
  const auto of_size = [&platform](const std::string& name, std::string_view maker, sim::Bytes bytes) {
    return Spread{name + " of " + sim::to_string(bytes), nearest_spread(platform, name, maker, bytes)};
  };
  return std::visit(
      sim::Overloaded{
          [&](const models::SdmaCopySpec& copy) { return of_size(std::string(copies), copies, copy.bytes); },
          [&](const models::CollectiveSpec& collective) {
            return of_size(work_name(collective), maker_of(collective), collective.bytes);
          },
          [&](const models::GemmShape& shape) {
            const std::array matrices = matrices_of(shape);
            return Spread{"gemm of " + models::to_string(shape),
                          nearest_spread(platform, gemms, gemms, *std::ranges::min_element(matrices))};
          },
          [](const auto&) { return Spread{}; }},
      work);
}

}  // namespace c3sim::study
