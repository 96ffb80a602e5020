#include "calibrate/readers/transfer.h"

#include "tests/calibrate/readers/log_sample.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

// A transfer of 64 MiB at 48 GB/s, as TransferBench spells it.
Transfer transfer(std::string_view from, std::string_view by, std::string_view to, double bytes = 67108864.0) {
  LogReading reading("f.log");
  Transfer result;
  result.line = 1;
  result.from = read_memories({from, 1, 1}, reading).value();
  result.by = read_executor({by, 1, 1}, reading).value();
  result.to = read_memories({to, 1, 1}, reading).value();
  result.bytes = sim::Bytes(bytes);
  result.rate = 48e9;
  return result;
}

Reading recorded(const std::vector<Transfer>& at_once) {
  LogReading reading("f.log");
  record(at_once, "TransferBench", reading);
  return std::move(reading).take();
}
std::string trial_of(std::string_view from, std::string_view by, std::string_view to) {
  return words_of_trial(recorded({transfer(from, by, to)}), 0);
}
std::string why_not(std::string_view from, std::string_view by, std::string_view to) {
  const Reading reading = recorded({transfer(from, by, to)});
  EXPECT_TRUE(reading.measurements.empty());
  return left_out_of(reading);
}

TEST(Transfer, IsAStoreWhereTheSourceRunsTheKernel) {
  EXPECT_EQ(trial_of("G0", "G0:4", "G1"), "store of 64MiB on 4 CUs by gpu0 of gpu1");
  const Reading reading = recorded({transfer("G0", "G0:4", "G1")});
  EXPECT_EQ(reading.measurements[0].seen[0].figure, study::Figure::link_rate);
  EXPECT_EQ(reading.measurements[0].seen[0].value, 48e9);
  EXPECT_EQ(reading.measurements[0].group, "TransferBench, one way");
}

TEST(Transfer, IntoFineGrainedMemoryIsAnUncachedStore) {
  EXPECT_EQ(trial_of("F2", "G2:8", "F3"), "uncached_store of 64MiB on 8 CUs by gpu2 of gpu3");
  EXPECT_EQ(trial_of("F2", "G2:8", "G3"), "store of 64MiB on 8 CUs by gpu2 of gpu3");
}

TEST(Transfer, IsALoadWhereTheDestinationRunsTheKernel) {
  EXPECT_EQ(trial_of("G0", "G1:4", "G1"), "load of 64MiB on 4 CUs by gpu1 of gpu0");
}

TEST(Transfer, ByAnEngineOfItsSourceIsACopy) {
  EXPECT_EQ(trial_of("G0", "D0:1", "G1"), "copy gpu0 to gpu1 of 64MiB");
  EXPECT_EQ(trial_of("G0", "D0.3:1", "G1"), "copy gpu0 to gpu1 of 64MiB by engine 3");
  EXPECT_EQ(recorded({transfer("G0", "D0", "G1")}).measurements[0].seen[0].figure, study::Figure::rate);
}

// As in tests/models/machine/machine_reference_test.cpp: the second copy, in its own memory, is not the bound.
TEST(Transfer, MayWriteItsOwnMemoryBesides) {
  EXPECT_EQ(trial_of("G0", "G0:16", "G0G1"), "store of 64MiB on 16 CUs by gpu0 of gpu1");
}

TEST(Transfer, ExecutorsHaveManySpellings) {
  for (const std::string_view by : {"G1:4", "G001:004", "GPU01:004", "GFX1:4", "GFX/G1:4", "R0G1:4", "G1.*:4"}) {
    EXPECT_EQ(trial_of("G1", by, "G0"), "store of 64MiB on 4 CUs by gpu1 of gpu0") << by;
  }
  for (const std::string_view by : {"D1", "D001:001", "DMA01:001", "DMA/D1:1"}) {
    EXPECT_EQ(trial_of("G1", by, "G0"), "copy gpu1 to gpu0 of 64MiB") << by;
  }
}

TEST(Transfer, OtherSpellingsAreFaults) {
  LogReading reading("f.log");
  for (const std::string_view cell : {"", "X0", "G", "G0:", "G0:x", "G0.x:4", "G0:4 ", "0", "G99999", "G0:99999"}) {
    EXPECT_FALSE(read_executor({cell, 3, 9}, reading)) << cell;
  }
  for (const std::string_view cell : {"", "X0", "G", "G0+", "G0 G1", "g0", "G-1", "G99999"}) {
    EXPECT_FALSE(read_memories({cell, 3, 9}, reading)) << cell;
  }
  const std::string faults = faults_of(std::move(reading).take());
  EXPECT_THAT(faults, HasSubstr("f.log:3:9: executor: 'X0' is not known: kernels (G0:4, GFX0:4, GPU00:004)"));
  EXPECT_THAT(faults, HasSubstr("f.log:3:9: memory: 'X0' is not known: memories of GPUs (G0, F0)"));
  EXPECT_EQ(std::ranges::count(faults, '\n'), 18);
}

TEST(Transfer, ThatNoModelStandsForIsLeftOut) {
  EXPECT_THAT(why_not("C0", "C0:4", "G0"), HasSubstr("f.log:1: a copy by the host's cores has no model"));
  EXPECT_THAT(why_not("G0", "G0:4", "C0"), HasSubstr("from or to the host's memory"));
  EXPECT_THAT(why_not("G0", "D0:1", "B0"), HasSubstr("from or to the host's memory"));
  EXPECT_THAT(why_not("N0", "G0:4", "G0"), HasSubstr("what only reads or only writes"));
  EXPECT_THAT(why_not("G0", "G0:4", "N0"), HasSubstr("what only reads or only writes"));
  EXPECT_THAT(why_not("G0", "G0:4", "G0"), HasSubstr("a GPU that copies to itself"));
  EXPECT_THAT(why_not("G0", "D0", "G0"), HasSubstr("a GPU that copies to itself"));
  EXPECT_THAT(why_not("G0G1", "G0:4", "G1"), HasSubstr("a sum of several sources"));
  EXPECT_THAT(why_not("G0", "G0:4", "G1G2"), HasSubstr("a copy to several GPUs"));
  EXPECT_THAT(why_not("G0", "D0", "G1G2"), HasSubstr("a copy to several GPUs"));
  EXPECT_THAT(why_not("G0", "D1", "G1"), HasSubstr("by another engine than those of its source"));
  EXPECT_THAT(why_not("G0", "G2:4", "G1"), HasSubstr("neither its source nor its destination"));
  EXPECT_THAT(why_not("G0", "G0.3:4", "G1"), HasSubstr("on one XCD"));
  EXPECT_THAT(why_not("G0", "G0:0", "G1"), HasSubstr("without CUs"));
  EXPECT_THAT(why_not("G0", "I0:4", "G1"), HasSubstr("by a network card, or on another node"));
  EXPECT_THAT(why_not("R0G0", "R1G0:4", "R1G0"), HasSubstr("by a network card, or on another node"));
  EXPECT_THAT(why_not("G0", "G0:4", "R1G0"), HasSubstr("from or to the host's memory"));
}

TEST(Transfers, OfAPairInBothDirectionsAreOneTrial) {
  const Reading reading = recorded({transfer("G1", "G1:4", "G0"), transfer("G0", "G0:4", "G1")});
  ASSERT_EQ(reading.measurements.size(), 2u);
  for (std::size_t i : {0u, 1u}) {
    EXPECT_EQ(words_of_trial(reading, i), "store of 64MiB on 4 CUs between gpu0 and gpu1 both ways");
    EXPECT_EQ(reading.measurements[i].group, "TransferBench, both ways");
  }
}

// Each direction has links of its own, and so each is held against one alone; the group says that it was not.
TEST(Transfers, OfAPairThatDifferStandAlone) {
  const Reading reading = recorded({transfer("G0", "G0:4", "G1", 1048576.0), transfer("G1", "G1:8", "G0", 2097152.0)});
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(words_of_trial(reading, 0), "store of 1MiB on 4 CUs by gpu0 of gpu1");
  EXPECT_EQ(words_of_trial(reading, 1), "store of 2MiB on 8 CUs by gpu1 of gpu0");
  for (const Measurement& one : reading.measurements) {
    EXPECT_EQ(one.group, "TransferBench, both ways, unlike each other");
  }
}

// Three GPUs with two peers each: 8 CUs per transfer are 16 of each GPU.
TEST(Transfers, OfAllGpusToAllOthersAreOneTrial) {
  std::vector<Transfer> all;
  for (const auto& [from, by, to] : std::initializer_list<std::array<const char*, 3>>{{"F0", "G0:8", "F1"},
                                                                                      {"F0", "G0:8", "F2"},
                                                                                      {"F1", "G1:8", "F0"},
                                                                                      {"F1", "G1:8", "F2"},
                                                                                      {"F2", "G2:8", "F0"},
                                                                                      {"F2", "G2:8", "F1"}}) {
    all.push_back(transfer(from, by, to));
  }
  const Reading reading = recorded(all);
  ASSERT_EQ(reading.measurements.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(words_of_trial(reading, i), "uncached_store of 64MiB on 16 CUs by all GPUs of all others");
    EXPECT_EQ(reading.measurements[i].assignments, std::vector<std::string>{"gpus=3"});
  }
  all.pop_back();
  EXPECT_THAT(left_out_of(recorded(all)), HasSubstr("no trial stands for these transfers at once"));
}

TEST(Transfers, ThatDisturbEachOtherAreLeftOut) {
  EXPECT_THAT(left_out_of(recorded({transfer("G0", "G0:4", "G1"), transfer("G0", "G0:4", "G2")})),
              HasSubstr("no trial stands for these transfers at once"));
  EXPECT_THAT(left_out_of(recorded({transfer("G0", "D0", "G1"), transfer("G1", "D1", "G0")})),
              HasSubstr("no trial stands for these transfers at once"));
  const Reading beside_host = recorded({transfer("G0", "G0:4", "G1"), transfer("C0", "C0:4", "G1")});
  EXPECT_TRUE(beside_host.measurements.empty());
  EXPECT_THAT(left_out_of(beside_host), HasSubstr("the host's cores"));
}

TEST(Transfers, OfAllGpusAreLeftOutOneByOne) {
  LogReading reading("f.log");
  record_of_all(std::vector{transfer("G0", "D0", "G1"), transfer("G0", "G0", "G0"), transfer("G0", "G0:4096", "G1")}, 8,
                "TransferBench a2a", reading);
  const std::string left_out = left_out_of(std::move(reading).take());
  EXPECT_THAT(left_out, HasSubstr("copies by engines, several at once, have no model"));
  EXPECT_THAT(left_out, HasSubstr("a GPU that copies to itself"));
  EXPECT_THAT(left_out, HasSubstr("more than 4096 workgroups at once have no model"));
}

}  // namespace
}  // namespace c3sim::calibrate
