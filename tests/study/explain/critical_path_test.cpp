#include <map>

#include "study/explain/run_trace.h"
#include "tests/study/run_answers.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_KiB;
using sim::operator""_MiB;

struct Explained {
  double time_us = 0.0;
  std::vector<std::vector<Cell>> steps;  // run, track, step, subject, start, time, bounded by
  std::vector<std::vector<Cell>> parts;  // run, step, steps, time, percent
};

Explained explained(const models::CollectiveSpec& spec, const std::vector<std::string>& assignments = {}) {
  Testbed testbed(mi300x(assignments).spec);
  const Results results = answer_collectives(testbed, std::span(&spec, 1));
  const std::vector<NamedTable> tables = critical_paths(testbed, results.runs);
  return {std::get<double>(results.tables.front().table.rows()[0][6]), tables.at(0).table.rows(),
          tables.at(1).table.rows()};
}

double sum(const std::vector<std::vector<Cell>>& rows, std::size_t column) {
  double total = 0.0;
  for (const auto& row : rows) total += std::get<double>(row[column]);
  return total;
}

std::vector<std::string> texts(const std::vector<std::vector<Cell>>& rows, std::size_t column) {
  std::vector<std::string> texts;
  for (const auto& row : rows) texts.push_back(std::get<std::string>(row[column]));
  return texts;
}

std::string bound_of_data(const Explained& explanation) {
  for (const auto& row : explanation.steps) {
    if (std::get<std::string>(row[2]) == "data") return std::get<std::string>(row[6]);
  }
  return "no data on the path";
}

TEST(CriticalPath, PartsSumToTheWholeWithNothingLeftUnrecorded) {
  for (const auto backend : {models::Backend::rccl, models::Backend::sdma}) {
    for (const auto kind : {models::CollectiveKind::all_gather, models::CollectiveKind::all_to_all}) {
      for (const sim::Bytes bytes : {1_KiB, 256_MiB}) {
        const Explained explanation = explained(collective(backend, kind, bytes));
        EXPECT_NEAR(sum(explanation.steps, 5), explanation.time_us, 1e-9 * explanation.time_us);
        EXPECT_NEAR(sum(explanation.parts, 3), explanation.time_us, 1e-9 * explanation.time_us);
        EXPECT_NEAR(sum(explanation.parts, 4), 100.0, 1e-9);
        EXPECT_THAT(texts(explanation.parts, 1), testing::Not(testing::Contains("not recorded")));
      }
    }
  }
}

TEST(CriticalPath, OfRcclIsLaunchPlacementLatencyTransferAndNotice) {
  const Explained explanation =
      explained(collective(models::Backend::rccl, models::CollectiveKind::all_reduce, 256_KiB),
                {"host.kernel_launch=6 us", "rccl.protocols.ll.step_latency=250 ns"});
  EXPECT_THAT(texts(explanation.steps, 2),
              ElementsAre("launch kernel", "placement of channels", "latency of steps", "data", "notice kernel end"));
  // host.kernel_launch, gpu.dispatch.workgroup_launch, 14 steps of rccl.protocols.ll.step_latency, host.kernel_notice.
  EXPECT_DOUBLE_EQ(std::get<double>(explanation.steps[0][5]), 6.0);
  EXPECT_DOUBLE_EQ(std::get<double>(explanation.steps[1][5]), 1.0);
  EXPECT_DOUBLE_EQ(std::get<double>(explanation.steps[2][5]), 14 * 0.25);
  EXPECT_DOUBLE_EQ(std::get<double>(explanation.steps[4][5]), 2.0);
  EXPECT_EQ(std::get<std::string>(explanation.steps[2][3]), "ll");
  EXPECT_THAT(bound_of_data(explanation), HasSubstr("link gpu"));
}

TEST(CriticalPath, SaysWhatBoundedACopy) {
  const auto gather = collective(models::Backend::sdma, models::CollectiveKind::all_gather, 256_MiB);
  EXPECT_THAT(bound_of_data(explained(gather, {"fabric.link_rate=45 GB/s"})), HasSubstr("link gpu"));
  EXPECT_THAT(bound_of_data(explained(gather, {"gpu.sdma.payload_rate=40 GB/s"})),
              HasSubstr("engine payload rate gpu"));
  EXPECT_THAT(bound_of_data(explained(gather, {"gpu.memory.hbm.peak_rate=300 GB/s"})),
              testing::AnyOf(HasSubstr("HBM gpu"), HasSubstr("latency of memory")));
  EXPECT_THAT(bound_of_data(explained(gather, {"gpu.sdma.bytes_in_flight=16KiB"})), HasSubstr("latency"));
}

TEST(CriticalPath, TextShowsEveryStepOfASingleRunOnly) {
  Testbed testbed(mi300x().spec);
  const std::vector<models::CollectiveSpec> two{
      collective(models::Backend::sdma, models::CollectiveKind::all_gather, 1_KiB),
      collective(models::Backend::sdma, models::CollectiveKind::all_gather, 2_KiB)};
  const auto in_text = [&](std::span<const models::CollectiveSpec> specs) {
    return critical_paths(testbed, answer_collectives(testbed, specs).runs).front().in_text;
  };
  EXPECT_TRUE(in_text(std::span(two).first(1)));
  EXPECT_FALSE(in_text(two));
}

}  // namespace
}  // namespace c3sim::study
