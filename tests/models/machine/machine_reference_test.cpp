// These tests compare machines with measurements of links, of their power and of loaded memories.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/kernels/remote_kernel.h"
#include "sim/loaded_latency.h"
#include "tests/models/model_fixture.h"
#include "tests/models/reference_table.h"

namespace c3sim::models {
namespace {

constexpr double gib = 1073741824.0;
constexpr double mib = 1048576.0;
constexpr int all_cus = 304;

// Returns the microseconds until the last of the kernels has ended.
double together_us(const std::vector<RemoteKernelSpec>& kernels) {
  LoneNode node(mi300x());
  std::vector<sim::Time> ends(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    node.simulator().spawn("kernel", note_end(node.simulator(), run_remote_kernel(node, kernels[i]), ends[i]));
  }
  node.simulator().run();
  return sim::to_microseconds(*std::max_element(ends.begin(), ends.end()));
}

// Returns the time if every GPU accesses all other GPUs at once.
double all_us(RemoteAccess access, double bytes, int workgroups) {
  std::vector<RemoteKernelSpec> kernels;
  for (int gpu = 0; gpu < 8; ++gpu) {
    std::vector<int> peers(8);
    std::iota(peers.begin(), peers.end(), 0);
    peers.erase(peers.begin() + gpu);
    kernels.push_back({gpu, peers, access, sim::Bytes(bytes), workgroups});
  }
  return together_us(kernels);
}

// The amount that stores leave in the L2s was fitted from 16 MiB on.
double tolerance(double bytes) {
  if (bytes >= 64.0 * mib) return 0.05;
  return bytes >= 16.0 * mib ? 0.15 : 0.25;
}

void expect_close(double predicted, double measured, double relative, const std::string& row) {
  EXPECT_NEAR(predicted / measured, 1.0, relative) << row << ": predicted " << predicted << ", measured " << measured;
}

// Returns the total GiB/s of one GPU as Iris counts it.
double iris_all(RemoteAccess access, double bytes) {
  return bytes * 7.0 / gib / (all_us(access, bytes, all_cus) * 1e-6);
}

double mean_of_gpus(const std::vector<double>& row) { return std::accumulate(row.begin() + 1, row.end(), 0.0) / 8.0; }

std::string row_name(const std::string& table, const std::vector<double>& row) {
  return table + ", " + std::to_string(std::lround(row[0] / mib)) + " MiB";
}

// The mean of every row must agree, and from 128 MiB on every GPU: at small sizes measured GPUs differ by up to 38 %.
TEST(Iris, AllGpusStoreAtTheMeasuredRate) {
  const auto rows = reference_numbers("iris_all_store_8xmi300x.csv");
  ASSERT_EQ(rows.size(), 13U);
  for (const auto& row : rows) {
    const double predicted = iris_all(RemoteAccess::store, row[0]);
    expect_close(predicted, mean_of_gpus(row), tolerance(row[0]), row_name("iris_all_store", row));
    if (row[0] < 128.0 * mib) continue;
    for (std::size_t gpu = 1; gpu < row.size(); ++gpu) {
      expect_close(predicted, row[gpu], 0.05, row_name("iris_all_store", row) + ", gpu" + std::to_string(gpu - 1));
    }
  }
}

TEST(Iris, AllGpusLoadAtTheMeasuredRate) {
  const auto rows = reference_numbers("iris_all_load_8xmi300x.csv");
  ASSERT_EQ(rows.size(), 13U);
  for (const auto& row : rows) {
    if (row[0] < 2.0 * mib) continue;
    const double predicted = iris_all(RemoteAccess::load, row[0]);
    for (std::size_t gpu = 1; gpu < row.size(); ++gpu) {
      expect_close(predicted, row[gpu], tolerance(row[0]),
                   row_name("iris_all_load", row) + ", gpu" + std::to_string(gpu - 1));
    }
  }
}

// A known gap: at 1 MiB the load is measured to take 70 us, 10 us more than the other rows' common launch (10 us) and
// rate (148 GB/s) give, perhaps because so little work does not fill the GPU. Closing it fails this test.
TEST(Iris, OneMebibyteIsStillLoadedTooFast) {
  const auto row = reference_numbers("iris_all_load_8xmi300x.csv").front();
  ASSERT_EQ(row[0], mib);
  EXPECT_GT(iris_all(RemoteAccess::load, mib), 1.15 * mean_of_gpus(row));
}

// Remote loads of all GPUs at once collapse; stores, and loads of a single pair, do not.
TEST(Iris, LoadsCollapseWhereStoresDoNot) {
  const double loads = iris_all(RemoteAccess::load, gib);
  EXPECT_LT(loads, 0.5 * iris_all(RemoteAccess::store, gib));
  const double pair = 1e6 / together_us({{0, {1}, RemoteAccess::load, sim::Bytes(gib), all_cus}});
  EXPECT_LT(loads, 3.1 * pair) << "of seven links";
}

void expect_pairs(const std::string& file, RemoteAccess access) {
  const auto rows = reference_numbers(file);
  ASSERT_EQ(rows.size(), 8U);
  for (std::size_t from = 0; from < rows.size(); ++from) {
    for (std::size_t to = 0; to < rows.size(); ++to) {
      if (from == to) continue;
      const double us =
          together_us({{static_cast<int>(from), {static_cast<int>(to)}, access, sim::Bytes(4.0 * gib), all_cus}});
      expect_close(4.0 / (us * 1e-6), rows[from][to + 1], 0.05,
                   file + " gpu" + std::to_string(from) + " and gpu" + std::to_string(to));
    }
  }
}
TEST(Iris, FullAPairLoadsAtTheMeasuredRate) { expect_pairs("iris_p2p_load_8xmi300x.csv", RemoteAccess::load); }
TEST(Iris, FullAPairStoresAtTheMeasuredRate) { expect_pairs("iris_p2p_store_8xmi300x.csv", RemoteAccess::store); }

// Returns decimal GB/s for 64 MiB per transfer.
double transferbench(double us) { return 64.0 * mib / us * 1e-3; }

TEST(TransferBench, APairAloneRunsAtTheMeasuredRate) {
  const double predicted = transferbench(together_us({{0, {1}, RemoteAccess::store, sim::Bytes(64.0 * mib), all_cus}}));
  const auto rows = reference_cells("transferbench_p2p_unidir_8xmi300x.csv");
  ASSERT_EQ(rows.size(), 10U);
  for (std::size_t from = 0; from < 8; ++from) {
    for (std::size_t to = 0; to < 8; ++to) {
      if (from == to) continue;
      const std::string& cell = rows[from + 2][to + 3];  // behind two rows and columns of CPUs
      expect_close(predicted, std::stod(cell), 0.05, "p2p_unidir " + rows[from + 2][0] + " to " + std::to_string(to));
    }
  }
}

// A kernel writes to host memory.
TEST(TransferBench, AGpuWritesToTheHostAtTheMeasuredRate) {
  LoneNode node(mi300x());
  UsageList usages;
  node.fabric().add(usages, 0, host_device, 1.0);
  const double predicted = rate_alone(node.network(), std::move(usages)) * 1e-9;
  for (const auto& row : reference_cells("transferbench_p2p_unidir_8xmi300x.csv")) {
    if (row[0].starts_with("CPU")) continue;
    for (std::size_t cpu : {1U, 2U}) expect_close(predicted, std::stod(row[cpu]), 0.05, "p2p_unidir " + row[0]);
  }
}

TEST(TransferBench, BothWaysOfAPairRunAtTheMeasuredRate) {
  const double predicted =
      2.0 * transferbench(together_us({{0, {1}, RemoteAccess::store, sim::Bytes(64.0 * mib), all_cus},
                                       {1, {0}, RemoteAccess::store, sim::Bytes(64.0 * mib), all_cus}}));
  for (const auto& row : reference_cells("transferbench_p2p_bidir_8xmi300x.csv")) {
    for (std::size_t to = 1; to < row.size(); ++to) {
      if (!row[to].empty()) expect_close(predicted, std::stod(row[to]), 0.05, "p2p_bidir " + row[0]);
    }
  }
}

// Each transfer has 8 CUs and goes to fine-grained memory.
TEST(TransferBench, AllPairsRunAtTheMeasuredRate) {
  const double predicted = transferbench(all_us(RemoteAccess::uncached_store, 64.0 * mib, 56));
  const auto rows = reference_cells("transferbench_a2a_8xmi300x_amdblog.csv");
  ASSERT_EQ(rows.size(), 8U);
  for (const auto& row : rows) {
    for (std::size_t to = 1; to <= 8; ++to) {
      if (row[to] != "-") expect_close(predicted, std::stod(row[to]), 0.05, "a2a from gpu" + row[0]);
    }
  }
}

// T6 also writes a second copy to its own memory, which does not bound it.
TEST(TransferBench, ExamplesRunAtTheMeasuredRate) {
  int compared = 0;
  for (const auto& row : reference_cells("transferbench_examples_mi300x.csv")) {
    const bool kernel_to_peer = row[1].starts_with("GFX") && row[3].starts_with("G");
    if (!kernel_to_peer) continue;
    const double bytes = std::stod(row[4]);
    const RemoteKernelSpec kernel{0, {1}, RemoteAccess::store, sim::Bytes(bytes), std::stoi(row[2])};
    expect_close(bytes / together_us({kernel}) * 1e-3, std::stod(row[5]), tolerance(bytes), row[0]);
    ++compared;
  }
  EXPECT_EQ(compared, 4);  // T1, T3a, T3b, T6; T2 is DmaLatte.ALargeCopyRunsAtTheMeasuredRate
}

// The next tests compare the power that links cost on the two machines with what was measured on H200s.

// Returns the mean power of both boards in W and what each sends and receives in B/s, by the size of two-way copies.
std::map<std::string, std::pair<double, double>> link_power() {
  std::map<std::string, std::pair<double, double>> seen;
  for (const auto& cells : reference_cells("link_power.csv", "h200x8")) {
    if (cells[0] != "rest" && cells[0] != "both_ways") continue;
    seen[cells[1]] = {(std::stod(cells[3]) + std::stod(cells[5])) / 2.0, 2.0 * std::stod(cells[2]) * 1e9};
  }
  return seen;
}

// Link power is a step as soon as anything moves, plus an energy per byte sent or received. Copies of 4 MiB stay in the
// L2s; on the MI300X the energy includes the way through its cache.
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

// The next test compares the law of loaded latency, with the factor of the H200's platform file, with what was measured
// there.

struct Point {
  double rate;
  double latency_ns;
};

// Returns the points by what streams concurrently with the pointer chain: reads or copies.
std::map<std::string, std::vector<Point>> measured() {
  std::map<std::string, std::vector<Point>> points;
  for (const auto& cells : reference_cells("loaded_latency.csv", "h200x8")) {
    if (cells[0] == "memory") points[cells[1]].push_back({std::stod(cells[4]), std::stod(cells[5])});
  }
  return points;
}

// Utilisation is relative to the highest rate of such a stream, as the model's capacities are. At a full memory the law
// gives 1 + 0.08 * 18 = 2.4 times the unloaded latency; measured were 2.4 with reads and 3.3 with copies. Below that,
// it is low with copies, as HBM turns from reads to writes long before it is full, and from 0.94 on 40 % high with
// reads.
TEST(LoadedLatencyOfTheH200, LiesWithinTwoFifthsOfEveryMeasurement) {
  const MemorySpec memory = h200().gpu.memory;
  const sim::LoadedLatency law{memory.hbm_latency, memory.queueing_factor};
  for (const auto& [traffic, points] : measured()) {
    const double full =
        std::ranges::max_element(points, [](const Point& a, const Point& b) { return a.rate < b.rate; })->rate;
    double sum = 0.0;
    for (const Point& point : points) {
      const double error = law.at(point.rate / full).value() * 1e9 / point.latency_ns - 1.0;
      EXPECT_LT(std::abs(error), 0.42) << traffic << " at " << point.rate << " GB/s: " << point.latency_ns << " ns";
      sum += std::abs(error);
    }
    EXPECT_LT(sum / static_cast<double>(points.size()), 0.17) << traffic;
  }
}

}  // namespace
}  // namespace c3sim::models
