#include "study/work/fewer_channels.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/collectives/collective.h"

namespace c3sim::study {

std::string fewer_channels(const models::CollectiveSpec& collective, const models::PlatformSpec& platform) {
  const auto kernels = models::kernel_part(collective, platform.gpu.sdma);
  if (!kernels || !kernels->channels) return {};
  const int most = models::channels_of(*kernels, platform);
  if (*kernels->channels <= most) return {};
  return fmt::format("{} channels were asked for, but {} on {} has at most {} of {}: {} are simulated",
                     *kernels->channels, models::to_string(kernels->backend), platform.name, most,
                     models::to_string(kernels->kind), most);
}

void warn_of_channels(std::vector<std::string>& warnings, std::span<const Work> works,
                      const models::PlatformSpec& platform) {
  for (const Work& work : works) {
    const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
    std::string sentence = collective == nullptr ? "" : fewer_channels(*collective, platform);
    if (sentence.empty() || std::ranges::count(warnings, sentence) > 0) continue;
    warnings.push_back(std::move(sentence));
  }
}

}  // namespace c3sim::study
