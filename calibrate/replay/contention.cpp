#include "calibrate/replay/contention.h"

#include <cmath>

namespace c3sim::calibrate {

using sim::operator""_MiB;

std::optional<models::CollectiveSpec> Contention::carried_out(const models::CollectiveSpec& collective,
                                                              std::string& why_not) {
  models::CollectiveSpec asked = collective;
  if (asked.gpus == 0) asked.gpus = testbed_.platform().gpus;
  asked.backend = by_what_.backend;
  if (!models::by_kernels(asked.backend) || !by_what_.channels_as_traced) asked.channels.reset();
  if (models::by_kernels(asked.backend) && by_what_.channels) asked.channels = by_what_.channels;
  why_not = testbed_.why_impossible(asked);
  if (why_not.empty()) return asked;
  if (!testbed_.why_impossible(collective).empty()) return {};
  ++by_library_[why_not];
  return collective;
}

void Contention::add_slowdowns(const models::CollectiveSpec& collective, Tenant& tenant) {
  models::CollectiveSpec like = collective;
  const double next = std::exp2(std::ceil(std::log2(collective.bytes.value())));
  like.bytes = std::max(sim::Bytes(64_MiB), sim::Bytes(next));
  const auto [known, is_new] = pairs_.try_emplace(like);
  if (is_new && testbed_.why_impossible(like).empty()) {
    const study::Operation own = study::operation_of(like);
    const sim::Time length = alone_on_queue(like);
    for (const Beside beside : {Beside::matrix, Beside::memory}) {
      const study::Operation other = study::operation_of(study::kernel_as_long(testbed_, beside, length));
      const auto [slowed, slows] = study::slowdowns_of_pair(testbed_, own, other, study::Between::communication);
      const auto place = static_cast<std::size_t>(beside);
      known->second.slowed[place] = slowed;
      known->second.slows[place] = slows;
    }
  }
  tenant.slows = known->second.slows;
  tenant.slowed = known->second.slowed;
}

const Tenant& Contention::tenant(const models::CollectiveSpec& collective) {
  const auto [known, is_new] = tenants_.try_emplace(collective);
  if (!is_new) return known->second;
  if (const std::optional<models::CollectiveSpec> spec = carried_out(collective, known->second.why_not)) {
    known->second.alone = alone_on_queue(*spec);
    add_slowdowns(*spec, known->second);
  }
  return known->second;
}

}  // namespace c3sim::calibrate
