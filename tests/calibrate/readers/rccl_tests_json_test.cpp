#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/readers/log_formats.h"
#include "tests/calibrate/readers/log_sample.h"

namespace c3sim::calibrate {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view rccl_json = "rccl-tests JSON";

// One size of nccl-tests, and one run of rccl-tests.
const std::string both_runs = R"({"size": 1048576, "type": "float", "out_of_place": {"time": 27.42, "nwrong": 0}, )"
                              R"("in_place": {"time": 27.13, "nwrong": 0}})";
std::string one_run(const std::string& size, const std::string& in_place, const std::string& time,
                    const std::string& more = "") {
  return R"({"name": "AllReduce", "nodes": 1, "ranks": 8, "gpusPerRank": 1, "size": )" + size + R"(, "inPlace": )" +
         in_place + R"(, "time": )" + time + R"(, "busBw": 1, "wrong": "0")" + more + "}";
}

Reading read_rccl_json(const std::string& text, const std::string& name = "folder/all_reduce.json") {
  return read_as(rccl_json, text, name);
}

// Of 1 MiB the published table says 27.42 us out of place and 27.13 in place; both files have it as the second of three
// sizes.
TEST(RcclTestsJson, BothToolsSayTheSame) {
  for (const std::string file : {"nccl_tests.json", "rccl_tests.json"}) {
    const Reading reading = read_rccl_json(sample("rccl_tests/" + file), "f.json");
    EXPECT_EQ(faults_of(reading), "");
    EXPECT_EQ(left_out_of(reading), "");
    ASSERT_EQ(reading.measurements.size(), 3u) << file;
    expect_sane(reading);
    EXPECT_EQ(words_of_trial(reading, 1), "rccl all_reduce of 1MiB over 8 GPUs");
    const Seen& seen = reading.measurements[1].seen.at(0);
    EXPECT_EQ(seen.figure, study::Figure::time);
    EXPECT_DOUBLE_EQ(seen.value, 27.42e-6);
    EXPECT_DOUBLE_EQ(*seen.low, 27.13e-6);
    EXPECT_DOUBLE_EQ(*seen.high, 27.42e-6);
    EXPECT_EQ(reading.measurements[1].group, "all_reduce, rccl-tests");
  }
}

// In rccl_tests.json every record has a line of its own: the first of the second size is the fourth.
TEST(RcclTestsJson, ARecordIsWhereItBegins) {
  EXPECT_EQ(read_rccl_json(sample("rccl_tests/rccl_tests.json"), "a/f.json").measurements.at(1).where(), "f.json:4");
}

TEST(RcclTestsJson, TheCollectiveMayStandInTheArgumentsOrTheFile) {
  EXPECT_EQ(words_of_trial(
                read_rccl_json(R"({"args": ["b/all_gather_perf", "-g", "4"], "results": [)" + both_runs + "]}"), 0),
            "rccl all_gather of 1MiB over 4 GPUs");
  EXPECT_EQ(words_of_trial(read_rccl_json(R"({"args": "alltoall_perf -g 8 -G 1", "results": [)" + both_runs + "]}"), 0),
            "rccl graph-launched all_to_all of 1MiB over 8 GPUs");
  EXPECT_EQ(words_of_trial(read_rccl_json("[" + both_runs + "]"), 0), "rccl all_reduce of 1MiB over all GPUs");
  EXPECT_THAT(faults_of(read_rccl_json("[" + both_runs + "]", "run.json")),
              HasSubstr("run.json:1:2: collective: the log does not say which one it measured"));
}

TEST(RcclTestsJson, SettingsMayBeFlagsOrCounts) {
  const std::string results = R"("results": [)" + both_runs + "]}";
  EXPECT_EQ(words_of_trial(read_rccl_json(R"({"config": {"nThreads": 2, "nGpus": 4, "graph": true}, )" + results), 0),
            "rccl graph-launched all_reduce of 1MiB over 8 GPUs");
  EXPECT_THAT(faults_of(read_rccl_json(R"({"config": {"ngpus": 0}, )" + results)),
              HasSubstr("config.ngpus: '0' must lie between 1 and 4096"));
  EXPECT_THAT(left_out_of(read_rccl_json(R"({"config": {"agg_iters": 2}, )" + results)),
              HasSubstr("2 operations launched as one"));
}

TEST(RcclTestsJson, RunsThatNoNodeOfTheModelMakesAreLeftOut) {
  const std::string devices =
      R"({"devices": [{"rank": 0, "hostname": "a"}, {"rank": 1, "hostname": "b"}], "results": [)";
  EXPECT_THAT(left_out_of(read_rccl_json(devices + both_runs + "]}")), HasSubstr("it ran on 2 hosts"));
  EXPECT_THAT(left_out_of(read_rccl_json("[" + with(one_run("8", "0", "9"), R"("nodes": 1)", R"("nodes": 2)") + "]")),
              HasSubstr("it ran on 2 hosts"));
  EXPECT_THAT(left_out_of(read_rccl_json("[" + with(one_run("8", "0", "9"), "AllReduce", "SendRecv") + "]")),
              HasSubstr("sendrecv has no model"));
}

// Each repetition of a cycle is a measurement of its own; a run without the other has no spread.
TEST(RcclTestsJson, RunsArePairedWithinTheirCycle) {
  const auto record = [](const std::string& cycle, const std::string& in_place, const std::string& time) {
    return one_run("1024", in_place, time, R"(, "numCycle": )" + cycle);
  };
  const Reading reading =
      read_rccl_json("[" + record("0", "0", "10") + "," + record("1", "0", "20") + "," + record("0", "1", "11") + "]");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_DOUBLE_EQ(*reading.measurements[0].seen[0].high, 11e-6);
  EXPECT_DOUBLE_EQ(seen_in(reading, 1), 20e-6);
  EXPECT_FALSE(reading.measurements[1].seen[0].high);
  // The same run twice is two measurements, not a pair.
  EXPECT_EQ(read_rccl_json("[" + record("0", "0", "10") + "," + record("0", "0", "12") + "]").measurements.size(), 2u);
  EXPECT_DOUBLE_EQ(seen_in(read_rccl_json("[" + record("0", "1", "10") + "]"), 0), 10e-6) << "in place alone";
}

TEST(RcclTestsJson, WrongAndEmptyRunsAreLeftOut) {
  EXPECT_THAT(left_out_of(read_rccl_json("[" + with(both_runs, R"("nwrong": 0)", R"("nwrong": 3)") + "]")),
              HasSubstr("all_reduce.json:1: elements came out wrong"));
  EXPECT_EQ(read_rccl_json("[" + with(both_runs, R"("nwrong": 0)", R"("nwrong": null)") + "]").measurements.size(), 1u);
  EXPECT_EQ(read_rccl_json("[" + with(one_run("8", "0", "9"), R"("0")", R"("N/A")") + "]").measurements.size(), 1u);
  EXPECT_THAT(left_out_of(read_rccl_json("[" + one_run("0", "0", "9") + "]")), HasSubstr("its size is 0"));
  EXPECT_THAT(left_out_of(read_rccl_json("[" + with(both_runs, "time", "cpu_time") + "]")),
              HasSubstr("time of the host's calls"));
  EXPECT_THAT(left_out_of(read_rccl_json("[" + one_run("8", "0", "\"N/A\"") + "]")), HasSubstr("nothing was measured"));
}

TEST(RcclTestsJson, NumbersMayBeTextsButMustBeNumbers) {
  EXPECT_DOUBLE_EQ(seen_in(read_rccl_json("[" + one_run("\"1024\"", "\"0\"", "\"16.61\"") + "]"), 0), 16.61e-6);
  const auto faults = [](const std::string& size, const std::string& in_place, const std::string& time) {
    const Reading reading = read_rccl_json("[" + one_run(size, in_place, time) + "]");
    EXPECT_TRUE(reading.measurements.empty());
    return faults_of(reading);
  };
  EXPECT_THAT(faults("8", "0", "true"), HasSubstr("[0].time: 'true' is not a decimal number"));
  EXPECT_THAT(faults("8", "0", "\"\""), HasSubstr("'' is not a decimal number"));
  EXPECT_THAT(faults("8", "0", "1e300"), HasSubstr("[0].time: '1e300' cannot be: 0.001 to"));
  EXPECT_THAT(faults("8", "0", "0"), HasSubstr("cannot be"));
  EXPECT_THAT(faults("8.5", "0", "1"), HasSubstr("[0].size: '8.5' is not a whole decimal number"));
  EXPECT_THAT(faults("-8", "0", "1"), HasSubstr("1B to 1TiB are accepted"));
  EXPECT_THAT(faults("8", "2", "1"), HasSubstr("[0].inPlace: '2' is not known: 0 and 1 are accepted"));
}

TEST(RcclTestsJson, ARecordThatLacksItsSizeOrHasAStrangeNameIsAFault) {
  EXPECT_THAT(faults_of(read_rccl_json("[" + with(both_runs, "size", "sizes") + "]")),
              HasSubstr("[0].size: is missing"));
  EXPECT_THAT(faults_of(read_rccl_json("[" + with(one_run("8", "0", "9"), "AllReduce", "AllRedux") + "]")),
              HasSubstr("[0].name: 'AllRedux' is not known: AllReduce, AllGather"));
}

// The key "time" of the second record begins behind its quotation mark.
TEST(RcclTestsJson, FaultsHaveTheirPlaceAndGoodRecordsStay) {
  const std::string bad = one_run("16", "0", "\"x\"");
  const Reading reading = read_rccl_json("[" + one_run("8", "0", "9") + ",\n" + bad + "]");
  EXPECT_EQ(reading.measurements.size(), 1u);
  EXPECT_EQ(faults_of(reading), "folder/all_reduce.json:2:" + std::to_string(bad.find("\"time\"") + 2) +
                                    ": [1].time: 'x' is not a decimal number such as 16.61 or 1e-3\n");
}

TEST(RcclTestsJson, AFileWithoutItsEndIsReadUpToThere) {
  const Reading cut = read_rccl_json("[" + one_run("8", "0", "9") + ",\n" + one_run("16", "0", "9").substr(0, 90));
  EXPECT_EQ(cut.measurements.size(), 1u);
  EXPECT_THAT(faults_of(cut), HasSubstr("all_reduce.json:2:90: : JSON is accepted: "));
  const std::string begun = R"({"args": ["broadcast_perf", "-g", "2"], "results": [)" + both_runs + ",";
  EXPECT_EQ(words_of_trial(read_rccl_json(begun), 0), "rccl broadcast of 1MiB over 2 GPUs")
      << "what stands before it is kept";
}

TEST(RcclTestsJson, RecordsMayFollowEachOtherWithoutAnArray) {
  EXPECT_EQ(read_rccl_json(one_run("8", "0", "9") + "\n" + one_run("16", "0", "9") + ",\r\n").measurements.size(), 2u);
}

TEST(RcclTestsJson, ATextWithoutResultsIsAFault) {
  EXPECT_THAT(faults_of(read_rccl_json(R"({"in_place": 1})")), HasSubstr("size: is missing"));
  EXPECT_THAT(faults_of(read_rccl_json(R"({"results": []})")),
              HasSubstr("no result: records with size, and out_of_place"));
}

TEST(RcclTestsJson, DepthAndWidthAreBounded) {
  EXPECT_THAT(faults_of(read_rccl_json(std::string(100000, '['))), HasSubstr("nested more than 32 deep"));
  std::string wide = "{\"a\": [0";
  for (int i = 0; i < 5000; ++i) wide += ",0";
  EXPECT_THAT(faults_of(read_rccl_json(wide + "]}")), HasSubstr("more than 4096 values in one object"));
}

TEST(RcclTestsJson, FilesCutOffAnywhereSayNothingNew) {
  for (const std::string file : {"nccl_tests.json", "rccl_tests.json"}) {
    const std::string text = sample("rccl_tests/" + file);
    // Cut between them, the first of two runs stands alone; its time is the same.
    expect_prefixes_read_the_same(rccl_json, text);
  }
}

TEST(RcclTestsJson, DamageIsSurvived) { expect_damage_is_survived(rccl_json, "[" + both_runs + "]"); }

TEST(RcclTestsJson, FullDamageOfWholeFilesIsSurvived) {
  for (const std::string file : {"nccl_tests.json", "rccl_tests.json"}) {
    expect_damage_is_survived(rccl_json, sample("rccl_tests/" + file));
  }
}

}  // namespace
}  // namespace c3sim::calibrate
