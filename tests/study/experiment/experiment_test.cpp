#include "study/experiment/experiment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "models/kernels/gemm.h"
#include "study/ask/questions.h"
#include "tests/folder.h"
#include "tests/study/experiment/quantities.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

namespace fs = std::filesystem;

class ExperimentTest : public testing::Test {
 protected:
  Experiment read(const std::string& text) {
    sim::Config config = sim::Config::from_text(text, "test.yaml");
    set_parameters(config, {});
    read_machine(config);
    return read_experiment(config, testbed_);
  }
  Experiment of(const std::string& operations) {
    return read("name: test\nplatform: mi300x\noperations:\n" + operations);
  }
  Results run(const std::string& operations) { return run_experiment(testbed_, of(operations)); }
  const std::vector<Span>& spans(const std::string& operations) {
    return testbed_.run(of(operations).graph.schedule()).operations;
  }
  sim::Time makespan(const std::string& operations) { return testbed_.run(of(operations).graph.schedule()).makespan(); }
  // Returns the makespan, the makespan on one stream and the speedup of an experiment with these operations.
  std::vector<Cell> overlap_of(const std::string& operations) {
    const std::vector<Cell> row = run(operations).tables.at(1).table.rows().at(0);
    return {row.begin() + 1, row.end()};
  }

  Testbed testbed_{mi300x().spec};
};

TEST_F(ExperimentTest, StreamsOverlapAndOneStreamDoesNot) {
  const auto speedup = [this](const std::string& second_stream) {
    return overlap_of("  - {name: a, stream: s, gemm: 8192x8192x8192}\n  - {name: b, stream: " + second_stream +
                      ", collective: {kind: all_gather, bytes: 512MiB, backend: sdma}}\n")
        .at(2);
  };
  EXPECT_EQ(speedup("s"), Cell(NoNumber{"nothing can overlap"}));
  EXPECT_GT(std::get<double>(speedup("t")), 1.1);
}

// The host launches each kernel when it comes to it, and the GPU waits for that: no kernel is slower for it.
TEST_F(ExperimentTest, WaitingForALaunchOrForTheGapBeforeAKernelIsNoSlowdown) {
  for (const char* const launch : {"op_by_op", "graph"}) {
    const std::string text = std::string("name: test\nlaunch: ") + launch + R"(
operations:
  - {repeat: 4, operations: [
      {name: norm, stream: s, kernel: {operator: rmsnorm, elements: 8x4096}},
      {name: product, stream: s, gemm: 4096x8x4096},
      {name: sum, stream: s, collective: {kind: all_reduce, bytes: 64KiB, graph: true}}]}
)";
    sim::Config config = sim::Config::from_text(text, "test.yaml");
    set_parameters(config, {});
    Testbed testbed(beside(mi300x(), read_machine(config).beside()).spec);
    const ResultTable table = run_experiment(testbed, read_experiment(config, testbed)).tables.at(0).table;
    ASSERT_THAT(table.rows(), SizeIs(12));
    for (const std::vector<Cell>& row : table.rows()) {
      EXPECT_NEAR(std::get<double>(row.at(place_of(table.columns(), "slowdown"))), 1.0, 0.01) << launch;
    }
  }
}

// What an experiment copies in one block, or in several, takes as long as what the command copies.
TEST_F(ExperimentTest, CopiesOfBlocksAreThoseOfTheCommand) {
  for (const int blocks : {1, 2, 16}) {
    const CopyTrial trial{{.from = 0, .to = 1, .bytes = sim::Bytes(65536.0), .copies = blocks}};
    EXPECT_EQ(makespan(fmt::format("  - {{name: a, stream: s, copy: {{from: 0, to: 1, bytes: 64KiB, copies: {}}}}}\n",
                                   blocks)),
              ask(testbed_, trial).results.at(0).time)
        << blocks;
  }
}

// The library's kernels stand in for engines, on the same GPUs and for elements of the same format.
TEST_F(ExperimentTest, TheYardstickOfACollectiveHasItsFormatAndItsGpus) {
  const Experiment experiment = of(
      "  - {name: a, stream: s, collective: {kind: all_gather, backend: sdma, bytes: 1MiB, gpus: 4, first: 4, dtype: "
      "fp32}}\n");
  const auto& yardstick = std::get<models::CollectiveSpec>(experiment.wholes.at(0).at(0).work);
  EXPECT_EQ(yardstick.backend, models::Backend::rccl);
  EXPECT_EQ(yardstick.first, 4);
  EXPECT_EQ(yardstick.dtype, models::ElementType::fp32);
}

// Each of forty kernels follows the one before: a stream launches them beforehand, so that overlap gains nothing, and
// none is faster or slower than alone.
TEST_F(ExperimentTest, AChainOfKernelsHasNoSpeedupAndNoSlowdown) {
  const Results results =
      run("  - {name: a, stream: s, repeat: 40, kernel: {operator: rmsnorm, elements: 8192x8192}}\n");
  const std::vector<Cell>& overlap = results.tables.at(1).table.rows().at(0);
  EXPECT_EQ(overlap.at(1), overlap.at(2)) << "the chain is its own yardstick";
  EXPECT_EQ(overlap.at(3), Cell(NoNumber{"nothing can overlap"}));
  EXPECT_THAT(results.notes.at(0), HasSubstr("nothing can overlap: there is no speedup"));
  EXPECT_THAT(results.notes.at(1), HasSubstr("The end of a kernel is when the host knows of it"));
  for (const std::vector<Cell>& row : results.tables.at(0).table.rows()) {
    EXPECT_NEAR(std::get<double>(row.back()), 1.0, 1e-3) << std::get<std::string>(row.front());
  }
}

// A GEMM in shards that copies feed over one link at a time loses to a collective over all links before the whole GEMM;
// in pieces over all links at once it gains. The yardstick is the same for both, whatever they are cut into.
TEST_F(ExperimentTest, ASpeedupIsOverTheSameOperationsUncutAndALossIsSaidNotToPay) {
  const auto operations = [](const std::string& schedule) {
    return "  - {name: a, stream: s, dependent: {gemm: 7168x16384x8192, schedule: " + schedule + "}}\n";
  };
  const Cell serial = overlap_of(operations("serial_rccl")).at(0);
  const std::vector<Cell> shards = overlap_of(operations("shard_overlap"));
  const std::vector<Cell> finer = overlap_of(operations("finer_hetero_fused_1d"));
  EXPECT_EQ(shards.at(1), serial);
  EXPECT_EQ(finer.at(1), serial);
  EXPECT_LT(std::get<double>(shards.at(2)), 1.0);
  EXPECT_GT(std::get<double>(finer.at(2)), 1.0);
  EXPECT_DOUBLE_EQ(std::get<double>(finer.at(2)) * std::get<double>(finer.at(0)), std::get<double>(serial));
  EXPECT_THAT(run(operations("shard_overlap")).notes.at(0), HasSubstr("which is less: this schedule does not pay"));
}

// Against a pipeline of p pieces, h hops of a whole array one after another take h * p / (p + h - 1) times as long.
TEST_F(ExperimentTest, APipelineOfCopiesIsHeldAgainstWholeCopies) {
  const std::vector<Cell> overlap = overlap_of(
      "  - {name: a, repeat: {hop: 4}, stream: hop_$(hop), after: [a@hop-1], pieces: 8,\n"
      "     copy: {from: $(hop), to: $(hop + 1), bytes: 512MiB}}\n");
  EXPECT_NEAR(std::get<double>(overlap.at(2)), 4.0 * 8.0 / 11.0, 0.03);
}

TEST_F(ExperimentTest, ItsPageOpensWithItsStreamsOverTime) {
  const Results results =
      run("  - {name: a, stream: s, gemm: 1024x8192x1024, pieces: 130}\n"
          "  - {name: b, stream: t, gpus: [0, 1], kernel: {operator: add, elements: 8192x8192}}\n"
          "  - {name: c, stream: s, collective: {kind: all_gather, bytes: 1MiB}}\n");
  EXPECT_EQ(results.title, "test");
  const auto& chart = std::get<TimelineChart>(results.charts.at(0));
  EXPECT_THAT(chart.series, ElementsAre("GEMM", "other kernels", "RCCL"));
  std::vector<std::string> rows;
  for (const TimelineRow& row : chart.rows) rows.push_back(row.name);
  EXPECT_THAT(rows, ElementsAre("s: GEMM", "s: RCCL", "t, GPU 0 1")) << "131 bars in one row would be a blur";
  const std::vector<TimelineBar>& gemms = chart.rows.at(0).bars;
  ASSERT_EQ(gemms.size(), 130U);
  for (std::size_t i = 1; i < gemms.size(); ++i) EXPECT_LE(gemms[i - 1].end, gemms[i].start + 1e-9);
  EXPECT_EQ(std::get<BarChart>(results.charts.at(1)).id, "makespan_us");
  EXPECT_EQ(std::get<BarChart>(results.charts.at(2)).id, "operations_us");
}

// Both kernels want all CUs at once: the kernel whose stream is urgent gets them first.
TEST_F(ExperimentTest, KernelsOfHighPriorityGetCusFirst) {
  const auto first_to_end = [this](const std::string& second_priority) {
    const std::vector<Span>& both =
        spans("  - {name: a, stream: s, gemm: 8192x8192x1024}\n  - {name: b, stream: t, priority: " + second_priority +
              ", gemm: 8192x8192x1024}\n");
    return both[0].end < both[1].end ? "a" : "b";
  };
  EXPECT_STREQ(first_to_end("normal"), "a");
  EXPECT_STREQ(first_to_end("high"), "b");
}

TEST_F(ExperimentTest, AKernelThatIsAnOperatorHasItsRows) {
  const auto spec_of = [this](const std::string& elements) {
    const Experiment experiment =
        of("  - {name: a, stream: s, kernel: {operator: rmsnorm, elements: " + elements + "}}\n");
    return std::get<models::ElementwiseSpec>(experiment.graph.nodes().at(0).operation.work);
  };
  EXPECT_GT(spec_of("16x8192").flops, sim::Flops(0.0));
  EXPECT_EQ(spec_of("16x8192").row, 8192);
  EXPECT_EQ(spec_of("8192").row, 4096) << "a usual row";
}

// Fetching blocks by a runtime's calls keeps only the engine and the link busy, so a concurrent product hides it.
TEST_F(ExperimentTest, BlocksFromTheHostComeBesideAProduct) {
  const std::string product = "  - {name: a, stream: s, gemm: 8192x8192x8192}\n";
  const std::string fetch =
      "  - {name: b, stream: t, copy: {from: host, to: 0, bytes: 32KiB, copies: 64, submit: each}}\n";
  const double fetching = sim::to_microseconds(makespan(fetch));
  EXPECT_GT(fetching, 64 * 9.14);
  EXPECT_LT(sim::to_microseconds(makespan(product + fetch)),
            1.05 * std::max(sim::to_microseconds(makespan(product)), fetching));
}

// Returns a product and a copy that waits for the product's stores up to `to`.
std::string send_of(const std::string& to, const std::string& trigger) {
  return "  - {name: product, stream: s, gemm: 4096x8192x8192}\n  - {name: send, stream: t, stored: {of: product, "
         "to: " +
         to + ", trigger: " + trigger + "}, copy: {from: 0, to: 1, bytes: 1MiB}}\n";
}

// A product stores its 64 MiB in order, over its time. A copy that waits for the first of eight parts begins before the
// product has ended; one that waits for all begins when the host has noticed the end some microseconds later. With a
// flag waves stay for their fences, which a tracker does without; but a tracker of fewer entries than tiles stored at
// once sees nothing before the end.
TEST_F(ExperimentTest, BeginsWithTheRangeOfStoresThatItWaitsFor) {
  const auto start_of_copy = [this](const std::string& to, const std::string& trigger, Testbed& testbed) {
    const std::vector<Span>& spans = testbed.run(of(send_of(to, trigger)).graph.schedule()).operations;
    return std::pair(sim::to_microseconds(spans[1].start), sim::to_microseconds(spans[0].end));
  };
  const auto [early, end] = start_of_copy("8MiB", "tracker", testbed_);
  EXPECT_LT(early, 0.6 * end);
  EXPECT_LT(early, start_of_copy("56MiB", "tracker", testbed_).first);
  // The tracker has half of the entries that are needed: 24 of 64 MiB are counted when 48 are stored.
  const models::GpuSpec& gpu = testbed_.platform().gpu;
  const auto entries = models::stored_at_once(models::plan_gemm(gpu, {4096, 8192, 8192}), gpu, gpu.cus()) / 2;
  Testbed half(
      mi300x({"gpu.memory.tracker.entries=" + std::to_string(entries), "gpu.memory.tracker.full=next_free"}).spec);
  const double later = start_of_copy("24MiB", "tracker", half).first;
  EXPECT_GT(later, start_of_copy("24MiB", "tracker", testbed_).first);
  EXPECT_LE(later, start_of_copy("56MiB", "tracker", testbed_).first);
  EXPECT_LT(early, start_of_copy("8MiB", "flag", testbed_).first);
  Testbed few(mi300x({"gpu.memory.tracker.entries=1"}).spec);
  for (const double late :
       {start_of_copy("64MiB", "tracker", testbed_).first, start_of_copy("8MiB", "kernel_end", testbed_).first,
        start_of_copy("8MiB", "tracker", few).first}) {
    EXPECT_NEAR(late, end, 10.0);
  }
}

// A tracker notifies the engine of a waiting copy; for a flag the engine looks again an interval later.
TEST_F(ExperimentTest, AnEngineThatATrackerTellsPollsNothing) {
  const auto end_of_copy = [this](const std::string& trigger, const std::string& interval) {
    Testbed testbed(mi300x({"gpu.sdma.poll_interval=" + interval}).spec);
    return testbed.run(of(send_of("8MiB", trigger)).graph.schedule()).operations[1].end;
  };
  EXPECT_EQ(end_of_copy("tracker", "0.1 us"), end_of_copy("tracker", "50 us"));
  EXPECT_LT(end_of_copy("flag", "0.1 us"), end_of_copy("flag", "50 us"));
}

// Fused products queue their commands beforehand; a collective between two products does not wait for the second's.
TEST_F(ExperimentTest, FusedGemmsLetCollectivesOfEnginesPass) {
  const Experiment experiment =
      of("  - {name: a, stream: s, fused: {gemm: 4096x8192x4096, trigger: flag, pieces: 8}}\n"
         "  - {name: b, stream: s, collective: {kind: all_gather, bytes: 64MiB, backend: sdma}}\n"
         "  - {name: c, stream: s, fused: {gemm: 4096x8192x4096, trigger: flag, pieces: 8}}\n");
  const Timeline& timeline = testbed_.run(experiment.graph.schedule());
  const auto time = [&](std::size_t place) {
    return sim::to_microseconds(timeline.operations[place].end - timeline.operations[place].start);
  };
  EXPECT_NEAR(time(2), time(0), 0.05 * time(0));
  EXPECT_TRUE(measure(testbed_, experiment).at("speedup")) << "of what one fuses a part can run at once";
}

// The second of two hops waits for the first through a word of memory.
const std::string first_hop =
    "  - {name: a, stream: s, packets: {gpu: 0, engine: 14, commands: [{copy: 1MiB, to: 1}, {fence: w, value: 1}]}}\n";
const std::string second_hop =
    "  - {name: b, stream: t, packets: {gpu: 1, engine: 10, commands: [{poll: w, equal: 1}, {copy: 1MiB, to: 2}]}}\n";

// Handing over without the host saves the host's time, no more; the second hop's waiting is no work. Listed the other
// way round, the hops would deadlock one after another.
TEST_F(ExperimentTest, AChainOfPacketsIsHardlySpedUpAndHasNoSerialTimeInTheOtherOrder) {
  const double speedup = std::get<double>(overlap_of(first_hop + second_hop).at(2));
  EXPECT_GE(speedup, 1.0);
  EXPECT_LT(speedup, 1.25);
  const std::vector<Cell> other_order = overlap_of(second_hop + first_hop);
  EXPECT_EQ(other_order.at(1), Cell());
  EXPECT_EQ(other_order.at(2), Cell(NoNumber{"none on one stream"}));
}

// Two engines hand a buffer on through words: the second copy starts after the first has ended, and the poll finds the
// word only after the fence.
TEST_F(ExperimentTest, PacketsWaitForEachOtherThroughWords) {
  const Results results =
      run("  - {name: a, stream: s, packets: {gpu: 0, engine: 14, commands: [{copy: 64MiB, to: 1}, {fence: w, value: "
          "1}]}}\n"
          "  - {name: b, stream: t, packets: {gpu: 1, engine: 10, queue: 2,\n"
          "     commands: [{poll: w, at_least: 1}, {swap: 4KiB, with: 2}, {atomic: w, add: 2}]}}\n");
  const auto& rows = results.tables[0].table.rows();
  EXPECT_GT(std::get<double>(rows.at(1)[4]), std::get<double>(rows.at(0)[4]));  // column 4 is the end
  EXPECT_EQ(rows.at(1)[6], Cell());                                             // packets have no time alone
}

// One queue holds the commands of a collective and those of a copy that waits for a later kernel.
TEST_F(ExperimentTest, ACopyThatWaitsForAKernelDoesNotStopTheCollectiveBeforeIt) {
  const std::vector<Span>& all = spans(
      "  - {name: c, stream: comm, collective: {kind: all_gather, bytes: 64MiB, backend: sdma}}\n"
      "  - {name: k, stream: compute, after: [c], gemm: 8192x8192x8192}\n"
      "  - {name: b, stream: copies, stored: {of: k, from: 0MiB, to: 32MiB, trigger: flag},\n"
      "     copy: {from: 0, to: 1, bytes: 32MiB}}\n");
  EXPECT_LT(all[0].end, all[1].end);
  EXPECT_GT(all[2].end, all[0].end);
}

// Two products wait for the same product. The host launches both when it knows of that product's end, unless they say
// that they are queued; in a file that states its own launch all are queued.
TEST_F(ExperimentTest, KernelsSayHowTheyAreLaunched) {
  const auto operations = [](const std::string& launch) {
    return "  - {name: a, stream: s, gemm: 4096x4096x4096}\n"
           "  - {name: b, stream: t, after: [a], gemm: 4096x4096x4096" +
           launch +
           "}\n"
           "  - {name: c, stream: u, after: [a], gemm: 4096x4096x4096" +
           launch + "}\n";
  };
  const auto launched = [](const Experiment& experiment) { return queued(experiment.graph.schedule()); };
  EXPECT_THAT(launched(of(operations(""))), ElementsAre(false, false, false));
  EXPECT_THAT(launched(of(operations(", launch: queued"))), ElementsAre(false, true, true));
  const std::string framework = "name: test\nplatform: mi300x\nlaunch: op_by_op\noperations:\n";
  EXPECT_THAT(launched(read(framework + operations(""))), ElementsAre(false, true, true));
  EXPECT_THAT(launched(read(framework + operations(", launch: host"))), ElementsAre(false, false, false));
}

// A kernel makes the sums of an all-reduce by engines, so a framework's thread launches it in its turn: after the
// product it costs no further launch, however many kernels are launched after it.
TEST_F(ExperimentTest, ACollectiveOfEnginesThatBeginsWithAKernelIsLaunchedInItsTurn) {
  const auto end_of_collective = [this](int behind) {
    const Experiment experiment = read(
        "name: test\nplatform: mi300x\nlaunch: op_by_op\noperations:\n"
        "  - {name: a, stream: s, gemm: 4096x4096x4096}\n"
        "  - {name: b, stream: t, after: [a], collective: {kind: all_reduce, bytes: 1MiB, backend: sdma}}\n"
        "  - {name: c, stream: s, after: [b], repeat: " +
        std::to_string(behind) + ", gemm: 64x64x64}\n");
    return testbed_.run(experiment.graph.schedule()).operations[1].end;
  };
  EXPECT_EQ(end_of_collective(1), end_of_collective(100));
}

// A file that states its launch ends when its GPUs are done; any other file, when the host knows of the end.
TEST_F(ExperimentTest, WhatAFrameworkLaunchesEndsWithItsGpus) {
  const std::string operations = "operations:\n  - {name: a, stream: s, repeat: 2, gemm: 4096x4096x4096}\n";
  const auto makespan = [&](const std::string& launch) {
    return *measure(testbed_, read("name: test\nplatform: mi300x\n" + launch + operations)).at("makespan_us");
  };
  EXPECT_NEAR(makespan("") - makespan("launch: graph\n"), sim::to_microseconds(testbed_.platform().host.kernel_notice),
              1e-6);
}

TEST_F(ExperimentTest, DelaysAndWorkOfTheHostTakeTheirTime) {
  const std::vector<Span>& all = spans(
      "  - {name: a, stream: s, delay: 30us}\n"
      "  - {name: b, stream: t, host: 50us}\n"
      "  - {name: c, stream: u, kernel: {read: 64B}}\n");
  EXPECT_EQ(all[0].end, sim::Time(30'000'000));
  EXPECT_EQ(all[1].end, sim::Time(50'000'000));
  const models::ElementwiseSpec kernel{sim::Bytes(64.0), {}, {}};
  EXPECT_EQ(all[2].end, sim::Time(50'000'000) + testbed_.alone(kernel)) << "launched when the host is free";
}

// An operation on one GPU alone makes the testbed simulate all GPUs, instead of one that stands for them.
TEST_F(ExperimentTest, CopiesOfAllGpusTakeAsLongWhereTheyAreSimulatedOneByOne) {
  const std::string copies =
      "  - {name: a, stream: s, dependent: {gemm: 1024x8192x4096, schedule: finer_hetero_fused_1d}}\n";
  const double alike = sim::to_microseconds(makespan(copies));
  EXPECT_NEAR(sim::to_microseconds(makespan(copies + "  - {name: b, stream: t, gpus: [1], delay: 1us}\n")), alike,
              1e-3 * alike);
}

TEST_F(ExperimentTest, QuantitiesAreOfOperationsOfTheFile) {
  const Quantities found = measure(testbed_, of("  - {name: a, stream: s, repeat: 3, delay: 10us}\n"));
  for (const char* const key : {"makespan_us", "a.time_us", "a.end_us", "serial_us"}) {
    EXPECT_DOUBLE_EQ(found.at(key).value(), 30.0) << key;
  }
  EXPECT_EQ(found.at("speedup"), std::nullopt) << "nothing can overlap";
}

using Names = std::set<std::string>;

// Returns the names of those that each operation of a schedule waits for, also by way of others.
std::map<std::string, Names> waited_for(const Schedule& schedule) {
  std::map<std::string, Names> before;
  for (const Operation& operation : schedule) {
    Names& all = before[operation.name];
    for (const std::size_t earlier : operation.after) {
      all.insert(schedule[earlier].name);
      all.merge(Names(before.at(schedule[earlier].name)));
    }
  }
  return before;
}

// On streams and by `after` what waits for an operation that is left out waits for whatever it would wait for if the
// operation were there, but for the operation itself.
RC_GTEST_FIXTURE_PROP(ExperimentTest, LeavingOperationsOutKeepsTheOrderOfTheOthers, ()) {
  const auto count = *rc::gen::inRange(2, 10);
  std::string with_all, with_some;
  Names left;
  for (int i = 0; i < count; ++i) {
    std::string after;
    for (int earlier = 0; earlier < i; ++earlier) {
      if (*rc::gen::inRange(0, 3) == 0) after += fmt::format("{}a{}", after.empty() ? "" : ", ", earlier);
    }
    const std::string operation =
        fmt::format("  - {{name: a{}, stream: s{}, after: [{}], delay: 1us", i, *rc::gen::inRange(0, 3), after);
    const bool is_left_out = i > 0 && *rc::gen::arbitrary<bool>();
    with_all += operation + "}\n";
    with_some += operation + (is_left_out ? ", repeat: 0}\n" : "}\n");
    if (!is_left_out) left.insert(fmt::format("a{}", i));
  }
  std::map<std::string, Names> expected = waited_for(of(with_all).graph.schedule());
  std::erase_if(expected, [&](const auto& one) { return !left.contains(one.first); });
  for (auto& [name, names] : expected) std::erase_if(names, [&](const auto& one) { return !left.contains(one); });
  RC_ASSERT(waited_for(of(with_some).graph.schedule()) == expected);
}

// The next tests read files of experiments.

class ExperimentFiles : public InFolder {
 protected:
  static ExperimentMachine machine_of(const fs::path& file) {
    sim::Config config = experiment_config(file);
    set_parameters(config, {});
    return read_machine(config);
  }
};

TEST_F(ExperimentFiles, LieOverWhatTheyInclude) {
  write("models/sizes.yaml", "parameters: {tokens: 1, hidden: 2}\nplatform: h200\n");
  write("other.yaml", "parameters: {tokens: 3, ffn: 4}\nprotocol: shot\n");
  const fs::path file = write("top.yaml",
                              "include: [models/sizes.yaml, other.yaml]\nname: top\nparameters: {hidden: 5}\n"
                              "set: [\"a=$(tokens)\", \"b=$(hidden)\", \"c=$(ffn)\"]\n");
  const ExperimentMachine machine = machine_of(file);
  EXPECT_EQ(machine.platform, "h200");
  EXPECT_EQ(machine.protocol, models::Protocol::shot);
  EXPECT_THAT(machine.settings, ElementsAre(sim::PlacedText{"a=1", file.string() + ":4:7"},
                                            sim::PlacedText{"b=5", file.string() + ":4:22"},
                                            sim::PlacedText{"c=4", file.string() + ":4:37"}));
}

TEST_F(ExperimentFiles, SayHowKernelsAreLaunched) {
  EXPECT_EQ(machine_of(write("a.yaml", "launch: graph\n")).launch, models::LaunchMode::graph);
  EXPECT_EQ(machine_of(write("b.yaml", "launch: op_by_op\n")).beside().launch, models::LaunchMode::op_by_op);
}

// Every file of configs/experiments can be run; as shipped, most of them gain by overlap.
TEST(ShippedExperiments, AreReadAndDefaultToSchedulesThatPay) {
  const std::set<std::string> that_pay{"copy_pipeline.yaml",        "expert_parallel.yaml",  "fsdp_layer.yaml",
                                       "gemm_then_all_to_all.yaml", "layer_overlap.yaml",    "sdma_handshake.yaml",
                                       "tensor_parallel.yaml",      "transformer_layer.yaml"};
  Testbed testbed(read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {}, folders).spec);
  std::size_t paid = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(C3SIM_SOURCE_DIR "/configs/experiments")) {
    SCOPED_TRACE(entry.path());
    sim::Config config = experiment_config(entry.path());
    set_parameters(config, {});
    read_machine(config);
    const Experiment experiment = read_experiment(config, testbed);
    EXPECT_FALSE(experiment.graph.nodes().empty());
    if (!that_pay.contains(entry.path().filename())) continue;
    EXPECT_GT(measure(testbed, experiment).at("speedup").value(), 1.0);
    ++paid;
  }
  EXPECT_EQ(paid, that_pay.size());
}

// An experiment is compared with its operations uncut, on all CUs and one stream.
TEST_F(ExperimentTest, OnOneStreamOperationsAreWholeAndCollectivesByRccl) {
  struct Row {
    std::string operations;
    std::vector<std::string> works;
  };
  const std::vector<Row> rows{
      {"  - {name: a, stream: s, cus: [0, 64], priority: high, gemm: 1024x8192x1024, pieces: 8}\n"
       "  - {name: b, stream: t, after: [a], kernel: {read: 1MiB}, pieces: 4}\n",
       {"gemm 1024x8192x1024", "kernel: 1MiB read, 0B written"}},
      {"  - {name: a, stream: s, collective: {kind: all_gather, bytes: 8MiB, backend: sdma, variant: b2b, engines: "
       "2}}\n"
       "  - {name: b, stream: t, collective: {kind: all_reduce, bytes: 8MiB, channels: 16}}\n",  // on the same GPUs
       {"rccl all_gather of 8MiB over 8 GPUs", "rccl on 16 channels all_reduce of 8MiB over 8 GPUs"}},
      {"  - {name: a, stream: s, dependent: {gemm: 64x1024x64, schedule: finer_hetero_fused_1d}}\n"
       "  - {name: b, stream: s, dependent: {gemm: 64x1024x64, schedule: scatter_shard_overlap}}\n",
       {"rccl all_gather of 128KiB over 8 GPUs", "gemm 64x1024x64", "gemm 64x1024x64",
        "rccl reduce_scatter of 128KiB over 8 GPUs"}},
      {"  - {name: a, stream: s, after: [b], delay: 1us}\n  - {name: b, stream: t, delay: 2us}\n",
       {"delay of 2us", "delay of 1us"}}};
  const auto uncut = [this](const std::string& operations) {
    const Experiment experiment = of(operations);
    return on_one_stream(experiment.graph, experiment.wholes);
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.operations);
    const Schedule schedule = uncut(row.operations);
    std::vector<std::string> works;
    for (const Operation& operation : schedule) {
      works.push_back(to_string(operation.work));
      EXPECT_EQ(operation.mask, models::CuMask{});
      EXPECT_EQ(operation.priority, 0);
    }
    EXPECT_EQ(works, row.works);
    EXPECT_TRUE(is_chain(schedule));
  }
  const Schedule on_other_gpus = uncut(
      "  - {name: a, stream: s, gpus: [0], gemm: 64x64x64}\n"
      "  - {name: b, stream: s, gpus: [1], gemm: 64x64x64}\n"
      "  - {name: c, stream: t, gpus: [2], after: [a], gemm: 64x64x64}\n");
  EXPECT_THAT(on_other_gpus.at(1).after, IsEmpty());
  EXPECT_THAT(on_other_gpus.at(2).after, ElementsAre(0U));
  const Schedule packets = uncut(
      "  - {name: a, stream: s, packets: {gpu: 0, engine: 14, commands: [{copy: 1MiB, to: 1}]}}\n"
      "  - {name: b, stream: t, packets: {gpu: 4, engine: 10, commands: [{copy: 1MiB, to: 5}]}}\n");
  EXPECT_THAT(packets.at(1).after, ElementsAre(0U)) << "on whatever GPUs";
}

}  // namespace
}  // namespace c3sim::study
