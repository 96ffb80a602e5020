// Power of the two machines beside what was measured on H200s: what do links cost?
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "tests/models/model_fixture.h"
#include "tests/models/reference_table.h"

namespace c3sim::models {
namespace {

// Mean power of both boards in W, and what each sends and receives in B/s, by the size of copies both ways.
std::map<std::string, std::pair<double, double>> link_power() {
  std::map<std::string, std::pair<double, double>> seen;
  for (const auto& cells : reference_cells("link_power.csv", "h200x8")) {
    if (cells[0] != "rest" && cells[0] != "both_ways") continue;
    seen[cells[1]] = {(std::stod(cells[3]) + std::stod(cells[5])) / 2.0, 2.0 * std::stod(cells[2]) * 1e9};
  }
  return seen;
}

// A step as soon as anything moves; then so much for every byte that is sent or received. Copies of 4 MiB stay in the
// L2s; on the MI300X the way through its cache is counted there.
TEST(LinkPower, IsAStepAndASlope) {
  const auto seen = link_power();
  const double rest = seen.at("0").first;
  const double hardly_anything = seen.at("65536").first;
  EXPECT_NEAR(h200().gpu.power.links_awake.value(), hardly_anything - rest, 1.0);

  const auto [watts, rate] = seen.at("4194304");
  const double between = (watts - hardly_anything) / rate * 1e12;
  const PowerSpec spec = mi300x().gpu.power;
  EXPECT_NEAR((spec.link_energy + spec.cache_energy).value() * 1e12, between, 2.0);
}

}  // namespace
}  // namespace c3sim::models
