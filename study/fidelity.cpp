#include "study/fidelity.h"

#include <algorithm>
#include <string>

namespace c3sim::study {

namespace {

// `maker` is what names of the same kind of work begin with.
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

}  // namespace

std::string_view to_string(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::calibrated:
      return "calibrated";
    case Fidelity::extrapolated:
      return "extrapolated";
    case Fidelity::assumed:
      return "assumed";
  }
  return "";
}

Fidelity fidelity_of(const models::SdmaCopySpec& copy, const models::PlatformSpec& platform) {
  const bool recommended = !copy.engine || *copy.engine == platform.gpu.sdma.recommended_engine(copy.from, copy.to);
  const bool between_gpus = copy.from != models::host_device && copy.to != models::host_device;
  return look_up(platform, recommended && between_gpus ? "copy" : "another copy", "copy", copy.bytes);
}

Fidelity fidelity_of(const models::CollectiveSpec& collective, const models::PlatformSpec& platform) {
  const std::string maker(models::to_string(collective.backend));
  const bool as_measured = collective.gpus == platform.gpus && collective.engines == 1 && !collective.cus &&
                           collective.host_threads.value_or(platform.host.threads) == platform.host.threads;
  const std::string kind(models::to_string(collective.kind));
  return look_up(platform, as_measured ? maker + '_' + kind : "another " + kind, maker, collective.bytes);
}

Fidelity fidelity_of(const models::GemmShape& shape, int cus, const models::PlatformSpec& platform) {
  const std::string work = cus == platform.gpu.cus() ? "gemm" : "gemm on fewer CUs";
  Fidelity weakest = Fidelity::calibrated;
  for (const std::int64_t elements : {shape.m * shape.k, shape.k * shape.n, shape.m * shape.n}) {
    const sim::Bytes matrix(static_cast<double>(elements) * models::GemmShape::element_bytes);
    weakest = weaker(weakest, look_up(platform, work, "gemm", matrix));
  }
  return weakest;
}

Fidelity weaker(Fidelity one, Fidelity other) { return std::max(one, other); }

}  // namespace c3sim::study
