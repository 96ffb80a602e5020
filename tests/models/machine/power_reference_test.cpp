// Power of the two machines beside what was measured on H200s: does the voltage have a floor, what do operands of zeros
// save, what do links cost?
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "tests/models/model_fixture.h"
#include "tests/models/reference_table.h"

namespace c3sim::models {
namespace {

struct Sample {
  double tflops;
  double watts;
  double mhz;
};

// By operands and workgroups.
std::map<std::pair<std::string, int>, Sample> matrix_power() {
  std::map<std::pair<std::string, int>, Sample> samples;
  for (const auto& cells : reference_cells("matrix_power.csv", "h200x8")) {
    samples[{cells[2], std::stoi(cells[0])}] = {std::stod(cells[3]), std::stod(cells[4]), std::stod(cells[5])};
  }
  return samples;
}

// Of an operation at the highest clock, in pJ: what 48 more workgroups add.
double energy(const std::string& operands) {
  const auto samples = matrix_power();
  const Sample few = samples.at({operands, 16});
  const Sample more = samples.at({operands, 64});
  return (more.watts - few.watts) / (more.tflops - few.tflops);
}

// Of an operation of random numbers at the clock of that run, over that at the highest clock. What is drawn without
// operations grows from that at rest to where the line through few and more workgroups begins.
double relative_energy(int workgroups) {
  const auto samples = matrix_power();
  const Sample few = samples.at({"random", 16});
  const double rest = samples.at({"idle", 0}).watts;
  const double busy = few.watts - few.tflops * energy("random");
  const Sample sample = samples.at({"random", workgroups});
  const double without_operations = rest + (busy - rest) * sample.mhz / few.mhz;
  return (sample.watts - without_operations) / sample.tflops / energy("random");
}

// From 1980 to 1732 MHz energy falls as the clock to the power that the MI300X's file takes over; at 1483 and 1466 MHz
// it is a fifth above what that would make it: as if from the H200's floor on it fell no further.
TEST(VoltageOfTheH200, HasAFloor) {
  const auto samples = matrix_power();
  const auto scale = [&samples](int workgroups) {
    return samples.at({"random", workgroups}).mhz / samples.at({"random", 16}).mhz;
  };
  const double exponent = std::log(relative_energy(128)) / std::log(scale(128));
  EXPECT_NEAR(mi300x().gpu.power.voltage_exponent, exponent, 0.05);
  const double floor = h200().gpu.power.voltage_floor_clock / h200().gpu.power.highest_clock;
  for (const int workgroups : {264, 528}) {
    EXPECT_GT(relative_energy(workgroups), 1.15 * std::pow(scale(workgroups), exponent));
    EXPECT_NEAR(relative_energy(workgroups), std::pow(floor, exponent), 0.02);
  }
}

// gemm_mi300x.csv, fp8: random operands run at 1188 MHz, zeros at 1792. If the cap holds both, their energies at those
// clocks follow; what they do not owe to the operands they owe to the voltage. If it does not hold the zeros, they take
// less, and the floor is higher.
TEST(VoltageOfTheMi300x, HasItsFloorWhereZerosTellIt) {
  const PowerSpec spec = mi300x().gpu.power;
  std::map<std::string, double> megahertz;
  for (const auto& cells : reference_cells("gemm_mi300x.csv")) {
    if (cells[7] == "random data clock" || cells[7] == "all-zero data clock") megahertz[cells[7]] = std::stod(cells[5]);
  }
  const auto energy_at = [&spec](double mhz) {
    const double scale = mhz * 1e6 / spec.highest_clock.value();
    return (spec.cap - spec.idle - scale * spec.clock_tree).value() / mhz;
  };
  const double random_mhz = megahertz.at("random data clock");
  const double zero_mhz = megahertz.at("all-zero data clock");
  const double by_voltage = energy_at(zero_mhz) / energy_at(random_mhz) / (energy("zero") / energy("random"));
  const double floor_mhz = zero_mhz / std::pow(by_voltage, 1.0 / spec.voltage_exponent);
  EXPECT_NEAR(spec.voltage_floor_clock.value() * 1e-6, floor_mhz, 0.02 * floor_mhz);
  EXPECT_GT(floor_mhz, spec.matrix_clock.value() * 1e-6) << "matrix work runs below it";
}

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
  EXPECT_NEAR(mi300x().gpu.power.links_awake.value(), hardly_anything - rest, 1.0);
  EXPECT_NEAR(h200().gpu.power.links_awake.value(), hardly_anything - rest, 1.0);

  const auto [watts, rate] = seen.at("4194304");
  const double between = (watts - hardly_anything) / rate * 1e12;
  const PowerSpec spec = mi300x().gpu.power;
  EXPECT_NEAR((spec.link_energy + spec.cache_energy).value() * 1e12, between, 2.0);
}

}  // namespace
}  // namespace c3sim::models
