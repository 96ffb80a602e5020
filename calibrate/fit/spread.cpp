#include "calibrate/fit/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "calibrate/fit/step_residuals.h"
#include "sim/unit.h"
#include "study/uncertainty/fidelity.h"

namespace c3sim::calibrate {

namespace {

constexpr double normal_90 = 1.645;  // standard deviations on either side that hold 90 %
constexpr double least = 0.005;      // nobody measures better

std::string bytes_text(double bytes) {
  for (auto unit = sim::binary_units.rbegin(); unit != sim::binary_units.rend(); ++unit) {
    if (bytes >= unit->factor && std::fmod(bytes, unit->factor) == 0.0) {
      return fmt::format("{:.0f} {}", bytes / unit->factor, unit->name);
    }
  }
  return fmt::format("{:.0f} B", bytes);
}

struct Sized {
  std::string work;
  double smallest = 0.0;
  double largest = 0.0;
  const Measurement* measurement = nullptr;
};

// But for the measurement; of no work where results of such are not called calibrated.
Sized extent_of(const study::Trial& trial, const models::PlatformSpec& platform) {
  if (const auto* const copy = std::get_if<study::CopyTrial>(&trial)) {
    const double bytes = copy->spec.bytes.value();
    return {study::fitted_name_of(copy->spec, platform), bytes, bytes};
  }
  if (const auto* const collective = std::get_if<study::CollectiveTrial>(&trial)) {
    models::CollectiveSpec spec = collective->spec;
    if (spec.gpus == 0) spec.gpus = platform.gpus;
    const double bytes = spec.bytes.value();
    return {spec.channels ? "" : study::fitted_name_of(spec, platform), bytes, bytes};
  }
  const auto* const gemm = std::get_if<study::GemmTrial>(&trial);
  if (gemm == nullptr || gemm->cus.value_or(platform.gpu.cus()) != platform.gpu.cus()) return {};
  const std::array elements{gemm->shape.m * gemm->shape.k, gemm->shape.k * gemm->shape.n,
                            gemm->shape.m * gemm->shape.n};
  const auto [low, high] = std::ranges::minmax(elements);
  return {"gemm", static_cast<double>(low) * models::GemmShape::element_bytes,
          static_cast<double>(high) * models::GemmShape::element_bytes};
}

bool is_duration(study::Figure figure) {
  using study::Figure;
  static constexpr std::array figures{
      Figure::time,          Figure::kernel_time,         Figure::rate, Figure::link_rate, Figure::flop_rate,
      Figure::bus_bandwidth, Figure::over_parallel_copies};
  return std::ranges::find(figures, figure) != figures.end();
}

// As a duration, or in shares of one.
bool is_timed(const Measurement& measurement) {
  return std::ranges::any_of(measurement.seen, [](const Seen& seen) {
    return is_duration(seen.figure) || study::form_of(seen.figure).error == study::ErrorKind::points;
  });
}

// What counts of the observations, without their signs.
std::vector<double> magnitudes_of(std::span<const Observation> observed, std::span<const Observation> outliers) {
  const auto is_outlier = [&](const Observation& one) {
    return std::ranges::any_of(
        outliers, [&](const Observation& other) { return other.where == one.where && other.figure == one.figure; });
  };
  std::vector<double> all;
  std::vector<double> others;
  for (const Observation& one : observed) {
    if (!is_duration(one.figure)) continue;
    all.push_back(std::abs(one.residual()));
    if (!is_outlier(one)) others.push_back(all.back());
  }
  return 2 * others.size() > all.size() ? others : all;
}

double deviation_of(std::vector<double> magnitudes) {
  if (magnitudes.empty()) return 0.0;
  std::ranges::sort(magnitudes);
  const auto place = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(magnitudes.size()))) - 1;
  return std::max(magnitudes[place] / normal_90, least);
}

// Timed work of every name, by growing size.
std::map<std::string, std::vector<Sized>> by_work(const Task& task, const PlatformText& fitted) {
  const models::PlatformSpec platform = fitted.spec();
  std::map<std::vector<std::string>, bool> is_by_its_library;  // by assignments
  std::map<std::string, std::vector<Sized>> by_work;
  for (const Measurement* const measurement : task.measurements) {
    const auto [same, is_new] = is_by_its_library.try_emplace(measurement->assignments);
    if (is_new) {
      same->second = fitted.spec(measurement->assignments).gpu.gemm.library.name == platform.gpu.gemm.library.name;
    }
    if (!same->second || !is_timed(*measurement)) continue;
    Sized one = extent_of(measurement->trial, platform);
    one.measurement = measurement;
    if (!one.work.empty()) by_work[one.work].push_back(std::move(one));
  }
  for (auto& [work, sized] : by_work) std::ranges::stable_sort(sized, {}, &Sized::smallest);
  return by_work;
}

// By decade, from the smallest on, where there are enough measurements to tell how far they lie off; equal sizes stay
// together. Of a GEMM its smallest matrix counts: products of few rows are farther off than square ones.
std::vector<std::span<const Sized>> bins_of(const std::vector<Sized>& sized) {
  constexpr std::size_t enough = 5;
  constexpr double decade = 10.0;
  const std::span<const Sized> all(sized);
  std::vector<std::span<const Sized>> bins;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < sized.size(); ++i) {
    const bool is_beyond = sized[i].smallest >= decade * sized[begin].smallest;
    if (!is_beyond || i - begin < enough || sized.size() - i < enough || sized[i].smallest == sized[i - 1].smallest) {
      continue;
    }
    bins.push_back(all.subspan(begin, i - begin));
    begin = i;
  }
  bins.push_back(all.subspan(begin));
  return bins;
}

}  // namespace

std::string Spread::row() const {
  const auto size = [this](double bytes) {
    return fmt::format("{{value: {}, source: \"{}\", kind: measured}}", bytes_text(bytes), source);
  };
  std::string text =
      fmt::format("  - name: {}\n    smallest: {}\n    largest: {}\n", work, size(smallest), size(largest));
  if (deviation > 0.0) {
    text += fmt::format("    spread: {{value: {:.2g}, source: \"{}\", kind: fitted, range: [0, 1]}}\n",
                        std::min(deviation, 1.0), source);
  }
  return text;
}

std::vector<Spread> spreads_of(const Task& task, const PlatformText& fitted, std::span<const Observation> outliers,
                               int jobs) {
  std::vector<Spread> spreads;
  for (const auto& [work, sized] : by_work(task, fitted)) {
    for (const std::span<const Sized> bin : bins_of(sized)) {
      std::vector<const Measurement*> measurements;
      for (const Sized& one : bin) measurements.push_back(one.measurement);
      const std::vector<Observation> observed = StepResiduals(fitted, {}, measurements, jobs).observations({});
      // Rows of one work touch: between them lies nothing that was not measured on either side.
      const bool is_last = &bin.back() == &sized.back();
      const double largest =
          is_last ? std::ranges::max_element(sized, {}, &Sized::largest)->largest : (&bin.back() + 1)->smallest;
      spreads.push_back(
          {work, bin.front().smallest, largest, deviation_of(magnitudes_of(observed, outliers)), task.source()});
    }
  }
  return spreads;
}

}  // namespace c3sim::calibrate
