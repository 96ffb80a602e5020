#include "models/platform/cu_resources.h"

#include <algorithm>
#include <limits>

namespace c3sim::models {
namespace {
constexpr sim::Limits<sim::Bytes> storage{sim::Bytes(0.0), sim::Bytes(16777216.0)};
}  // namespace

CuResources CuResources::read(sim::Section section) {
  return {.lds = static_cast<std::int32_t>(section.quantity("lds", storage).value()),
          .registers = static_cast<std::int32_t>(section.quantity("registers", storage).value()),
          .waves = static_cast<std::int32_t>(section.integer("waves", 1, 1024))};
}

int workgroups_that_fit(const CuResources& room, const CuResources& need) {
  std::int32_t fit = std::numeric_limits<std::int32_t>::max();
  if (need.lds > 0) fit = std::min(fit, room.lds / need.lds);
  if (need.registers > 0) fit = std::min(fit, room.registers / need.registers);
  if (need.waves > 0) fit = std::min(fit, room.waves / need.waves);
  return fit;
}

void check_fits(sim::Section section, const CuResources& need, const CuResources& cu) {
  if (need.lds > cu.lds) section.fault("lds", "is more than a CU has (gpu.cu.lds)");
  if (need.registers > cu.registers) section.fault("registers", "is more than a CU has (gpu.cu.registers)");
  if (need.waves > cu.waves) section.fault("waves", "is more than a CU has (gpu.cu.waves)");
}

}  // namespace c3sim::models
