#include "study/report/table_figure.h"

#include "sim/config/config.h"
#include "sim/config/config_error.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

// Three sizes by two makers, one of which says nothing of the largest.
ResultTable times() {
  ResultTable table({{"maker", "", ""}, {"bytes", "", ""}, {"time-us", "", ""}, {"fits", "", ""}});
  table.add_row({std::string("rccl"), std::string("1MiB"), 2.0, true});
  table.add_row({std::string("rccl"), std::string("4MiB"), 8.0, false});
  table.add_row({std::string("sdma"), std::string("1MiB"), 3.0, true});
  table.add_row({std::string("sdma"), std::string("4MiB"), 6.0, true});
  return table;
}

std::vector<double> figure(const std::string& text) {
  sim::Config config = sim::Config::from_text("figure: {" + text + "}", "f.yaml");
  const TableFigure read = read_table_figure(config.root().section("figure"));
  config.finish();
  return figure_of(read, times());
}

std::string fault(const std::string& text) {
  try {
    figure(text);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(TableFigures, FoldWhatIsComputedOfEachRow) {
  EXPECT_THAT(figure("of: time_us, fold: sum"), ElementsAre(19.0));
  EXPECT_THAT(figure("of: 2 * time_us, fold: max"), ElementsAre(16.0));
  EXPECT_THAT(figure("of: time_us, fold: count"), ElementsAre(4.0));
  EXPECT_THAT(figure("of: time_us, fold: median"), ElementsAre(4.5));  // between 3 and 6
  EXPECT_THAT(figure("of: fits, fold: mean"), ElementsAre(0.75));
  EXPECT_THAT(figure("of: time_us, fold: growth"), ElementsAre(4.0));  // 6 less 2
  EXPECT_NEAR(figure("of: time_us, fold: geomean").front(), std::pow(2.0 * 8.0 * 3.0 * 6.0, 0.25), 1e-12);
}

TEST(TableFigures, AreOfTheRowsThatMeetEveryCondition) {
  EXPECT_THAT(figure("of: time_us, where: [maker = sdma, bytes = 4MiB]"), ElementsAre(6.0));
  EXPECT_THAT(figure("of: time_us, where: bytes > 1MiB, fold: max"), ElementsAre(8.0));
  EXPECT_THAT(figure("of: time_us, where: [bytes >= 4MiB, time_us < 8]"), ElementsAre(6.0));
  EXPECT_THAT(figure("of: time_us, where: maker = s* | gloo, fold: sum"), ElementsAre(9.0));
  EXPECT_THAT(figure("of: time_us, where: maker != sdma | gloo, fold: sum"), ElementsAre(10.0));
  EXPECT_THAT(figure("of: time_us, where: fits = no"), ElementsAre(8.0));
  EXPECT_THAT(figure("of: time_us, where: maker = $(maker), fold: count"), ElementsAre(4.0));
}

TEST(TableFigures, OfSeveralKindsAreTheLeastAndTheGreatest) {
  EXPECT_THAT(figure("of: time_us, by: maker, fold: sum"), ElementsAre(9.0, 10.0));
  EXPECT_THAT(figure("of: [time_us, bytes / 1MiB], fold: max, then: 1 - fold"), ElementsAre(-7.0, -3.0));
}

TEST(TableFigures, OfNoRowAreNoneUnlessTheySayWhatElse) {
  EXPECT_THAT(figure("of: time_us, where: maker = gloo"), IsEmpty());
  EXPECT_THAT(figure("of: time_us, where: maker = gloo, otherwise: 128"), ElementsAre(128.0));
}

TEST(TableFigures, SayWhatIsWrong) {
  EXPECT_THAT(fault("of: time_us, fold: meen"), HasSubstr("fold: 'meen'"));
  EXPECT_THAT(fault("of: time_us, where: maker"), HasSubstr("'maker' compares no two: =, !=, <, <=, > and >= are"));
  EXPECT_THAT(fault("of: times_us"), HasSubstr("figure: $(times_us): there is no column 'times_us'; did you mean"));
  EXPECT_THAT(fault("of: bytes"), HasSubstr("bytes: is '1048576B', no number"));
}

}  // namespace
}  // namespace c3sim::study
