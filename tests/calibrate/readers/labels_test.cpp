// What lists of labels may say, and what is wrong with others.
#include <fstream>

#include "calibrate/readers/roles.h"
#include "tests/calibrate/readers/log_sample.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

class LabelList : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Labels read(const std::string& lines) const {
    std::ofstream(folder_ / "labels.csv") << "file,name,trial,fields\n" << lines;
    return Labels::beside(folder_ / "trace.csv");
  }
  std::string faults(const std::string& lines) const {
    try {
      read(lines);
    } catch (const sim::ConfigError& error) {
      return error.what();
    }
    return "";
  }
  Reading labelled(const std::string& lines, NamedRuns runs) const {
    Reading reading;
    reading.name = "trace.csv";
    reading.named.push_back(std::move(runs));
    read(lines).apply(reading);
    return reading;
  }

  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "labels_test";
};

constexpr double us = 1e-6;
const NamedRuns triad{"triad_kernel", "", 3, 10, 100 * us, 99 * us, 101 * us};

TEST_F(LabelList, TheFirstLineThatNamesRunsTellsTheirTrial) {
  const std::string lines =
      "other.csv,triad*,stream,bytes=1GiB\ntrace.csv,triad*,stream,bytes=2GiB read=2 "
      "written=1\ntrace.csv,*,gemm,gemm=cb1\n";
  const Reading reading = labelled(lines, triad);
  ASSERT_EQ(reading.measurements.size(), 1u);
  EXPECT_EQ(words_of_trial(reading, 0), "stream of 2GiB from 2 arrays to 1");
  EXPECT_EQ(reading.measurements[0].where(), "trace.csv:3");
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 100 * us);
  EXPECT_TRUE(reading.named.empty());
}

TEST_F(LabelList, NamesMayBeginAndEndInAnything) {
  const Labels labels = read(
      "trace.csv,*all_reduce*,collective,collective=all_reduce bytes=1MiB\n"
      "trace.csv,*_tail,gemm,gemm=64x64x64\n");
  const auto kind = [&labels](const std::string& name) {
    const study::Trial* const trial = labels.trial_of("trace.csv", name);
    return trial == nullptr ? std::string_view("none") : study::kind_of(*trial);
  };
  EXPECT_EQ(kind("my_all_reduce_kernel"), "collective by kernels");
  EXPECT_EQ(kind("a_tail"), "gemm");
  EXPECT_EQ(kind("a_tail_more"), "none");
}

TEST_F(LabelList, WithoutAListNothingIsLabelled) {
  Reading reading;
  reading.named.push_back(triad);
  Labels::beside(folder_ / "nowhere" / "trace.csv").apply(reading);
  EXPECT_EQ(reading.measurements.size(), 0u);
  EXPECT_EQ(reading.left_out.size(), 1u);
}

TEST_F(LabelList, TellsAllThatIsWrongWithIt) {
  EXPECT_THAT(
      faults("trace.csv,a,gem,gemm=cb1\ntrace.csv,a,gemm,gemm=8192\ntrace.csv,a,copy,byte=4MiB\n"
             "trace.csv,a,copy,4MiB\ntrace.csv,a,gemm,gemm=cb1 gemm=cb2\n"),
      AllOf(
          HasSubstr("labels.csv:2:13: trial: 'gem' is not known: gemm, collective, remote, stream, copy are accepted"),
          HasSubstr("labels.csv:3:18: fields: gemm '8192'"),
          HasSubstr("labels.csv:4:18: fields: 'byte' is no field of copy; did you mean 'bytes'?"),
          HasSubstr("labels.csv:5:18: fields: '4MiB' has no value: FIELD=VALUE is accepted"),
          HasSubstr("labels.csv:6:18: fields: 'gemm' is given twice")));
}

TEST_F(LabelList, FiguresBeyondReasonAreLeftOut) {
  const NamedRuns endless{"a", "", 2, 1, 4000.0, 4000.0, 4000.0};  // more than an hour
  EXPECT_THAT(left_out_of(labelled("trace.csv,a,gemm,gemm=cb1\n", endless)),
              HasSubstr("its figures are beyond reason"));
}

}  // namespace
}  // namespace c3sim::calibrate
