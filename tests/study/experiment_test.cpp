#include "study/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/config.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExperimentTest : public testing::Test {
 protected:
  Experiment read(const std::string& text) {
    sim::Config config = sim::Config::from_text(text, "test.yaml");
    sim::Section root = config.root();
    root.text("platform");
    Experiment experiment = read_experiment(root, testbed_);
    config.finish();
    return experiment;
  }

  // What is said of an experiment with these operations.
  std::string faults(const std::string& operations) {
    try {
      read("name: test\nplatform: mi300x\noperations:\n" + operations);
    } catch (const sim::ConfigError& error) {
      return error.what();
    }
    return {};
  }

  Testbed testbed_{mi300x().spec};
};

TEST_F(ExperimentTest, StreamsAndAfterBecomeDependencies) {
  const Experiment experiment = read(
      "name: test\nplatform: mi300x\noperations:\n"
      "  - {name: a, stream: s, gemm: 1024x1024x1024, cus: [64, 304]}\n"
      "  - {name: b, stream: t, collective: {kind: all_gather, bytes: 1MiB, backend: sdma, variant: b2b}}\n"
      "  - {name: c, stream: s, after: [b], copy: {from: 0, to: 1, bytes: 4KiB}}\n"
      "  - {name: d, stream: t, after: [b], gemm: 1024x1024x1024, cus: [0, 304]}\n");
  ASSERT_EQ(experiment.schedule.size(), 4U);
  EXPECT_EQ(experiment.schedule[0].mask, (models::CuMask{8, 38}));
  EXPECT_THAT(experiment.schedule[0].after, IsEmpty());
  EXPECT_THAT(experiment.schedule[1].after, IsEmpty());
  EXPECT_THAT(experiment.schedule[2].after, ElementsAre(0U, 1U));
  EXPECT_THAT(experiment.schedule[3].after, ElementsAre(1U));
  EXPECT_EQ(experiment.schedule[3].mask, models::CuMask{});
}

TEST_F(ExperimentTest, RunningAloneIsNoSlowdown) {
  const Experiment experiment =
      read("name: test\nplatform: mi300x\noperations:\n  - {name: a, stream: s, gemm: 4096x4096x4096}\n");
  const Results results = run_experiment(testbed_, experiment);
  EXPECT_EQ(results.tables[0].table.rows().at(0).back(), Cell(1.0));  // slowdown
  EXPECT_EQ(results.tables[1].table.rows().at(0).back(), Cell(1.0));  // speedup
}

TEST_F(ExperimentTest, StreamsOverlapAndOneStreamDoesNot) {
  const auto speedup = [this](const std::string& second_stream) {
    const Experiment experiment = read(
        "name: test\nplatform: mi300x\noperations:\n"
        "  - {name: a, stream: s, gemm: 8192x8192x8192}\n"
        "  - {name: b, stream: " +
        second_stream + ", collective: {kind: all_gather, bytes: 512MiB, backend: sdma}}\n");
    return std::get<double>(run_experiment(testbed_, experiment).tables[1].table.rows().at(0).back());
  };
  EXPECT_NEAR(speedup("s"), 1.0, 1e-9);
  EXPECT_GT(speedup("t"), 1.1);
}

// Both want all CUs at once: whose stream is urgent gets them first.
TEST_F(ExperimentTest, KernelsOfHighPriorityGetCusFirst) {
  const auto first_to_end = [this](const std::string& second_priority) {
    const Experiment experiment = read(
        "name: test\nplatform: mi300x\noperations:\n"
        "  - {name: a, stream: s, gemm: 8192x8192x1024}\n"
        "  - {name: b, stream: t, priority: " +
        second_priority + ", gemm: 8192x8192x1024}\n");
    const std::vector<Span>& spans = testbed_.run(experiment.schedule).operations;
    return spans[0].end < spans[1].end ? "a" : "b";
  };
  EXPECT_STREQ(first_to_end("normal"), "a");
  EXPECT_STREQ(first_to_end("high"), "b");
}

// swiglu reads two elements and writes one.
TEST_F(ExperimentTest, AKernelMayBeAnOperatorByName) {
  const auto work_of = [this](const std::string& kernel) {
    return read("name: test\nplatform: mi300x\noperations:\n  - {name: a, stream: s, kernel: {" + kernel + "}}\n")
        .schedule[0]
        .work;
  };
  const auto spec = std::get<models::ElementwiseSpec>(work_of("operator: swiglu, elements: 1024x2048"));
  EXPECT_EQ(spec.read, sim::Bytes(2.0 * 2.0 * 1024 * 2048));
  EXPECT_EQ(spec.written, sim::Bytes(2.0 * 1024 * 2048));
  EXPECT_GT(spec.flops, sim::Flops(0.0));
  const auto wide = std::get<models::ElementwiseSpec>(work_of("operator: add, elements: 1000, element: 4B"));
  EXPECT_EQ(wide.bytes(), sim::Bytes(3.0 * 4.0 * 1000));
}

TEST_F(ExperimentTest, KernelsAreConfinedToCusAndCopiesAreNot) {
  const auto operation = [](const std::string& work) {
    return "  - {name: a, stream: s, cus: [0, 152], " + work + "}\n";
  };
  EXPECT_EQ(faults(operation("kernel: {read: 1GiB}")), "");
  EXPECT_THAT(faults(operation("copy: {from: 0, to: 1, bytes: 1B}")), HasSubstr("copy engines take no CUs"));
  EXPECT_THAT(faults(operation("remote: {gpu: 0, peers: [1], bytes: 1MiB}")), HasSubstr("a number of CUs of its own"));
  EXPECT_THAT(faults("  - {name: a, stream: s, priority: high, copy: {from: 0, to: 1, bytes: 1B}}\n"),
              HasSubstr("only kernels wait for them"));
  EXPECT_THAT(faults("  - {name: a, stream: s, priority: urgent, gemm: 1x1x1}\n"), HasSubstr("low, normal, high"));
}

TEST_F(ExperimentTest, SaysWhatIsWrongWithAnOperator) {
  const auto said = [this](const std::string& kernel) {
    return faults("  - {name: a, stream: s, kernel: {" + kernel + "}}\n");
  };
  EXPECT_THAT(said("operator: swigl, elements: 8"), HasSubstr("did you mean 'swiglu'?"));
  EXPECT_THAT(said("operator: add"), HasSubstr("elements: is missing"));
  for (const char* const elements : {"0", "-1", "8x", "x8", "8y8", "1.5", "16777216x16777216x16777216", "''"}) {
    EXPECT_THAT(said(std::string("operator: add, elements: ") + elements), HasSubstr("8192x28672")) << elements;
  }
  EXPECT_THAT(said("operator: add, elements: 8, read: 1B"), HasSubstr("read: unknown key"));
}

TEST_F(ExperimentTest, SaysWhatIsWrongWithAnOperation) {
  EXPECT_THAT(faults("  - {name: a, stream: s}\n"),
              HasSubstr("exactly one of the keys gemm, collective, copy, packets, kernel and remote"));
  EXPECT_THAT(faults("  - {name: a, stream: s, gemm: 1x1x1, copy: {from: 0, to: 1, bytes: 1B}}\n"),
              HasSubstr("exactly one of the keys"));
  EXPECT_THAT(faults("  - {name: a, stream: s, gemm: 8192x8192}\n"),
              HasSubstr("test.yaml:4:26: operations[0].gemm: '8192x8192' is no GEMM shape"));
  EXPECT_THAT(faults("  - {name: a, stream: s, gemm: 1x1x1, cus: [0, 12]}\n"), HasSubstr("two multiples of 8"));
  EXPECT_THAT(faults("  - {name: a, stream: s, gemm: 1x1x1, cus: [8, 8]}\n"), HasSubstr("two multiples of 8"));
  EXPECT_THAT(faults("  - {name: a, stream: s, gemm: 1x1x1, cus: [0, 312]}\n"), HasSubstr("312"));
  EXPECT_THAT(faults("  - {name: a, stream: s, gemm: 1x1x1, after: [b]}\n"),
              HasSubstr("no operation before this one is named 'b'"));
  EXPECT_THAT(faults("  - {name: a, stream: s, gemm: 1x1x1}\n  - {name: a, stream: s, gemm: 1x1x1}\n"),
              HasSubstr("same name"));
  EXPECT_THAT(faults("  - {name: a, stream: s, copy: {from: 0, to: 8, bytes: 1B}}\n"), HasSubstr("copy.to"));
  EXPECT_THAT(faults("  - {name: a, stream: s, copy: {from: 1, to: 1, bytes: 1B}}\n"),
              HasSubstr("copies between two GPUs"));
  EXPECT_THAT(faults("  - {name: a, stream: s, copy: {from: 0, to: 1, bytes: 1}}\n"), HasSubstr("unit"));
  EXPECT_THAT(faults("  - {name: a, stream: s, copy: {from: 0, to: 1, bytes: 2000GiB}}\n"), HasSubstr("1TiB"));
  EXPECT_THAT(faults("  - {name: a, stream: s, collective: {kind: all_gather, bytes: 1MiB, backend: sdma, variant: "
                     "swap}}\n"),
              HasSubstr("swap"));
  EXPECT_THAT(faults("  - {name: a, stream: s, collective: {kind: allgather, bytes: 1MiB}}\n"),
              HasSubstr("did you mean 'all_gather'?"));
  EXPECT_THAT(faults("  - {name: a, stream: s, gemm: 1x1x1, gem: 1}\n"), HasSubstr("gem"));
}

TEST_F(ExperimentTest, WhatABackendCannotDoIsAFaultWithItsPlace) {
  EXPECT_THAT(faults("  - {name: a, stream: s, cus: [0, 64], copy: {from: 0, to: 1, bytes: 1MiB}}\n"),
              HasSubstr("test.yaml:4:26: operations[0].cus: copy engines take no CUs"));
  EXPECT_THAT(faults("  - name: a\n    stream: s\n    cus: [0, 64]\n"
                     "    collective: {kind: all_gather, bytes: 1MiB, backend: sdma}\n"),
              HasSubstr("test.yaml:6:5: operations[0].cus: copy engines take no CUs"));
  EXPECT_THAT(faults("  - name: a\n    stream: s\n    cus: [0, 64]\n"
                     "    collective: {kind: all_reduce, bytes: 1MiB, backend: sdma}\n"),
              "")
      << "its reduce-scatter runs as a kernel";
  EXPECT_THAT(faults("  - {name: a, stream: s, collective: {kind: all_gather, bytes: 1MiB, variant: b2b}}\n"),
              HasSubstr("test.yaml:4:70: operations[0].collective.variant: RCCL uses no copy engines"));
}

// Two hops, the second one waiting for the first: handing over without the host saves what the host takes, no more. The
// second one's waiting is no work.
TEST_F(ExperimentTest, AChainOfPacketsIsHardlySpedUp) {
  const Experiment chain = read(
      "name: test\nplatform: mi300x\noperations:\n"
      "  - {name: a, stream: s, packets: {gpu: 0, engine: 14, commands: [{copy: 1MiB, to: 1}, {fence: w, value: 1}]}}\n"
      "  - {name: b, stream: t, packets: {gpu: 1, engine: 10, commands: [{poll: w, equal: 1}, {copy: 1MiB, to: "
      "2}]}}\n");
  const ResultTable overlap = run_experiment(testbed_, chain).tables.at(1).table;
  const double speedup = std::get<double>(overlap.rows().at(0).at(3));
  EXPECT_GE(speedup, 1.0);
  EXPECT_LT(speedup, 1.25);
}

// Listed the other way round, one after another would be a deadlock.
TEST_F(ExperimentTest, PacketsThatWaitForLaterOnesHaveNoSerialTime) {
  const Experiment chain = read(
      "name: test\nplatform: mi300x\noperations:\n"
      "  - {name: b, stream: t, packets: {gpu: 1, engine: 10, commands: [{poll: w, equal: 1}, {copy: 1MiB, to: 2}]}}\n"
      "  - {name: a, stream: s, packets: {gpu: 0, engine: 14, commands: [{copy: 1MiB, to: 1}, {fence: w, value: "
      "1}]}}\n");
  const ResultTable overlap = run_experiment(testbed_, chain).tables.at(1).table;
  EXPECT_EQ(overlap.rows().at(0).at(2), Cell());
  EXPECT_EQ(overlap.rows().at(0).at(3), Cell());
}

TEST_F(ExperimentTest, TellsAllFaultsOfAFileAtOnce) {
  const std::string told =
      faults("  - {name: a, stream: s, gemm: 0x1x1}\n  - {name: b, stream: s, copy: {from: 0, to: 9, bytes: 1B}}\n");
  EXPECT_THAT(told, HasSubstr("operations[0].gemm"));
  EXPECT_THAT(told, HasSubstr("operations[1].copy.to"));
}

TEST_F(ExperimentTest, NoOperationsAreNoExperiment) {
  EXPECT_THAT(faults("  []\n"), HasSubstr("at least one operation"));
}

// Two engines hand a buffer on through words: the second copy starts after the first has ended, and the poll finds the
// word only after the fence.
TEST_F(ExperimentTest, PacketsWaitForEachOtherThroughWords) {
  const Experiment experiment = read(
      "name: test\nplatform: mi300x\noperations:\n"
      "  - {name: a, stream: s, packets: {gpu: 0, engine: 14, commands: [{copy: 64MiB, to: 1}, {fence: w, value: "
      "1}]}}\n"
      "  - {name: b, stream: t, packets: {gpu: 1, engine: 10, queue: 2, commands: [{poll: w, at_least: 1}, {swap: "
      "4KiB, "
      "with: 2}, {atomic: w, add: 2}]}}\n");
  const Results results = run_experiment(testbed_, experiment);
  const auto& rows = results.tables[0].table.rows();
  EXPECT_GT(std::get<double>(rows.at(1)[4]), std::get<double>(rows.at(0)[4]));  // ends
  EXPECT_EQ(rows.at(1)[6], Cell());                                             // nothing to compare with
}

TEST_F(ExperimentTest, PollsThatWaitForEverAreADeadlockThatNamesEngineQueuePacketAndWord) {
  const Experiment experiment = read(
      "name: test\nplatform: mi300x\noperations:\n"
      "  - {name: a, stream: s, packets: {gpu: 0, engine: 2, commands: [{poll: left, equal: 1}, {fence: right, value: "
      "1}]}}\n"
      "  - {name: b, stream: t, packets: {gpu: 3, engine: 5, queue: 7, commands: [{copy: 4KiB, to: 1}, {poll: right, "
      "at_most: -1}, {fence: left, value: 1}]}}\n");
  try {
    run_experiment(testbed_, experiment);
    FAIL() << "no deadlock";
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("operations: deadlock"));
    EXPECT_THAT(error.what(), HasSubstr("packet 0 (POLL_REGMEM) of gpu0.sdma2.queue0: value == 1 in word 'left'"));
    EXPECT_THAT(error.what(), HasSubstr("packet 1 (POLL_REGMEM) of gpu3.sdma5.queue7: value <= -1 in word 'right'"));
  }
}

TEST_F(ExperimentTest, PacketsForEnginesQueuesAndGpusThatDoNotExistAreFaults) {
  const auto packets = [this](const std::string& where, const std::string& command) {
    return faults("  - {name: a, stream: s, packets: {" + where + ", commands: [" + command + "]}}\n");
  };
  EXPECT_THAT(packets("gpu: 0, engine: 16", "{copy: 1KiB, to: 1}"), HasSubstr("'16' must lie between 0 and 15"));
  EXPECT_THAT(packets("gpu: 8, engine: 2", "{copy: 1KiB, to: 1}"), HasSubstr("'8' must lie between 0 and 7"));
  EXPECT_THAT(packets("gpu: 0, engine: 2, queue: 8", "{copy: 1KiB, to: 1}"), HasSubstr("must lie between 0 and 7"));
  EXPECT_THAT(packets("gpu: 0, engine: 2", "{copy: 1KiB, to: 8}"), HasSubstr("must lie between 0 and 7"));
  EXPECT_THAT(packets("gpu: 0, engine: 2", "{copy: 1KiB, to: 0}"), HasSubstr("a copy goes to another GPU"));
  EXPECT_THAT(packets("gpu: 0, engine: 2", "{pol: a, equal: 1}"), HasSubstr("did you mean 'poll'?"));
  EXPECT_THAT(packets("gpu: 0, engine: 2", "{poll: a}"), HasSubstr("equal: is missing"));
}

}  // namespace
}  // namespace c3sim::study
