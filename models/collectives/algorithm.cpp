#include "models/collectives/algorithm.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/check.h"

namespace c3sim::models {

std::vector<Algorithm> all_algorithms();  // written by CMakeLists.txt

namespace {

std::vector<Algorithm> in_order(bool by_engines) {
  std::vector<Algorithm> chosen = all_algorithms();
  std::erase_if(chosen, [&](const Algorithm& one) { return (one.by_engines != nullptr) != by_engines; });
  std::ranges::sort(chosen, {}, [](const Algorithm& one) { return std::tuple(one.place, one.name); });
  for (const Algorithm& one : chosen) {
    SIM_CHECK(by_engines || one.by_kernels != nullptr || one.name == Backend::sdma.name);
    SIM_CHECK(std::ranges::count(chosen, one.name, &Algorithm::name) == 1);
  }
  return chosen;
}

const Algorithm& named(std::span<const Algorithm> algorithms, std::string_view name) {
  const auto found = std::ranges::find(algorithms, name, &Algorithm::name);
  SIM_CHECK(found != algorithms.end());
  return *found;
}

template <class Name>
std::vector<sim::Choice<Name>> choices_among(std::span<const Algorithm> algorithms) {
  std::vector<sim::Choice<Name>> choices;
  for (const Algorithm& one : algorithms) choices.emplace_back(one.name, Name{one.name});
  return choices;
}

}  // namespace

std::span<const Algorithm> backends() {
  static const std::vector<Algorithm> all = in_order(false);
  return all;
}

std::span<const Algorithm> sdma_variants() {
  static const std::vector<Algorithm> all = in_order(true);
  return all;
}

const Algorithm& algorithm_of(Backend backend) { return named(backends(), backend.name); }
const Algorithm& algorithm_of(SdmaVariant variant) { return named(sdma_variants(), variant.name); }
std::vector<sim::Choice<Backend>> all_choices(Backend) { return choices_among<Backend>(backends()); }
std::vector<sim::Choice<SdmaVariant>> all_choices(SdmaVariant) { return choices_among<SdmaVariant>(sdma_variants()); }

std::string described(std::span<const Algorithm> algorithms) {
  std::string text;
  for (const Algorithm& one : algorithms) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", one.name, one.about);
  }
  return text;
}

bool is_symmetric(const CollectiveSpec& spec, int gpus, HostThreads platform_threads) {
  if (spec.gpus != gpus || spec.first != 0 || spec.kind == CollectiveKind::broadcast) return false;
  if (by_kernels(spec.backend)) return true;
  // A single host thread serves the GPUs one after the other.
  return algorithm_of(spec.variant).gpus_alike && spec.host_threads.value_or(platform_threads) == HostThreads::per_gpu;
}

}  // namespace c3sim::models
