// Power of the two machines beside what was measured on H200s: does the voltage have a floor, what do operands of zeros
// save, what do links cost?
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/models/model_fixture.h"
#include "tests/models/reference_table.h"

namespace models {
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

// What is drawn without operations grows from idle at rest to what the line through few and more workgroups starts at.
TEST(VoltageOfTheH200, HasAFloor) {
  const auto samples = matrix_power();
  const PowerSpec spec = h200().gpu.power;
  const double highest = spec.highest_clock.value() * 1e-6;
  const Sample few = samples.at({"random", 16});
  const double rest = samples.at({"idle", 0}).watts;
  const double busy = few.watts - few.tflops * energy("random");
  for (const int workgroups : {112, 128, 264, 528}) {
    const Sample sample = samples.at({"random", workgroups});
    const double without_operations = rest + (busy - rest) * sample.mhz / highest;
    const double measured = (sample.watts - without_operations) / sample.tflops / energy("random");
    const double voltage_clock = std::max(sample.mhz, spec.voltage_floor_clock.value() * 1e-6);
    EXPECT_NEAR(std::pow(voltage_clock / highest, spec.voltage_exponent) / measured, 1.0, 0.09) << sample.mhz;
    EXPECT_GT(measured, std::pow(sample.mhz / highest, spec.voltage_exponent)) << "without a floor";
  }
}

// gemm_mi300x.csv: at the same cap, random operands run at 1188 MHz, zeros at 1792. Their energies at those clocks
// follow; what they do not owe to the operands they owe to the voltage.
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

// Mean power of the boards that take part, in W, and what each moves, in B/s; by phase and size of a copy.
std::map<std::pair<std::string, std::string>, std::pair<double, double>> link_power() {
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> seen;
  for (const auto& cells : reference_cells("link_power.csv", "h200x8")) {
    const double first = std::stod(cells[3]);
    const double watts = cells[0] == "local" ? first : (first + std::stod(cells[5])) / 2.0;
    seen[{cells[0], cells[1]}] = {watts, 2.0 * std::stod(cells[2]) * 1e9};
  }
  return seen;
}

// A step as soon as anything moves; then so much for every byte that is sent or received. Copies of 4 MiB stay in the
// L2s; on the MI300X the way through its cache is counted there.
TEST(LinkPower, IsAStepAndASlope) {
  const auto seen = link_power();
  const double rest = seen.at({"rest", "0"}).first;
  const double hardly_anything = seen.at({"both_ways", "65536"}).first;
  EXPECT_NEAR(mi300x().gpu.power.links_awake.value(), hardly_anything - rest, 1.0);
  EXPECT_NEAR(h200().gpu.power.links_awake.value(), hardly_anything - rest, 1.0);

  const auto [watts, rate] = seen.at({"both_ways", "4194304"});
  const double between = (watts - hardly_anything) / rate * 1e12;
  const PowerSpec spec = mi300x().gpu.power;
  EXPECT_NEAR((spec.link_energy + spec.cache_energy).value() * 1e12, between, 2.0);
}

}  // namespace
}  // namespace models
