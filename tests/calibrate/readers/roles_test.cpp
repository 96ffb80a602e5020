#include "calibrate/readers/roles.h"

#include <fstream>

#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

const std::string heading = "file,rows,role,spread\n";

class RolesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void list(const std::string& lines) { std::ofstream(folder_ / "roles.csv") << heading << lines; }
  Roles roles() const { return Roles::beside(folder_ / "f.csv"); }

  // A measurement of 100 us for each row of the table f.csv.
  static Reading reading_of(const sim::CsvFile& table) {
    Reading reading;
    reading.name = "f.csv";
    for (std::size_t row = 0; row < table.rows(); ++row) {
      Measurement measurement;
      measurement.file = reading.name;
      measurement.line = table.line(row);
      measurement.seen.push_back({.figure = study::Figure::time, .value = 100e-6});
      reading.measurements.push_back(measurement);
    }
    return reading;
  }
  std::vector<Role> roles_of(const std::string& text) const {
    const sim::CsvFile table = sim::CsvFile::from_text(text, "f.csv");
    Reading reading = reading_of(table);
    roles().apply(reading, &table);
    EXPECT_THAT(reading.faults, IsEmpty());
    std::vector<Role> found;
    for (const Measurement& measurement : reading.measurements) found.push_back(measurement.role);
    return found;
  }
  std::string faults() const {
    try {
      roles();
    } catch (const sim::ConfigError& error) {
      return error.what();
    }
    return "";
  }
  std::string faults_of_table(const std::string& text) const {
    const sim::CsvFile table = sim::CsvFile::from_text(text, "f.csv");
    Reading reading = reading_of(table);
    roles().apply(reading, &table);
    return reading.faults.empty() ? "" : sim::ConfigError(reading.faults).what();
  }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "roles";
};

constexpr Role calibrate_it = Role::calibrate;
constexpr Role predict_it = Role::predict;
constexpr Role unlisted = Role::unlisted;

TEST_F(RolesTest, AreUnlistedWhereNoListIs) { EXPECT_THAT(roles_of("a\n1\n"), ElementsAre(unlisted)); }

TEST_F(RolesTest, AreThoseOfTheFile) {
  list("g.csv,,predict,\nf.csv,,calibrate,\n");
  EXPECT_THAT(roles_of("a\n1\n2\n"), ElementsAre(calibrate_it, calibrate_it));
  list("g.csv,,predict,\n");
  EXPECT_THAT(roles_of("a\n1\n"), ElementsAre(unlisted)) << "nobody said";
}

TEST_F(RolesTest, AreThoseOfTheFirstLineThatIsMet) {
  list("f.csv,a=1,predict,\nf.csv,a=2,calibrate,\nf.csv,a=1,calibrate,\nf.csv,,predict,\n");
  EXPECT_THAT(roles_of("a\n1\n2\n3\n"), ElementsAre(predict_it, calibrate_it, predict_it));
  list("f.csv,,calibrate,\nf.csv,a=1,predict,\n");
  EXPECT_THAT(roles_of("a\n1\n"), ElementsAre(calibrate_it)) << "the second line is never reached";
}

TEST_F(RolesTest, DependOnWordsAndBeginnings) {
  list("f.csv,a=x|c3_*|-,predict,\n");
  EXPECT_THAT(roles_of("a\nx\nc3_1\n-\nxx\nc3\n"), ElementsAre(predict_it, predict_it, predict_it, unlisted, unlisted));
  list("f.csv,a=,predict,\n");
  EXPECT_THAT(roles_of("a,b\n,1\nx,1\n"), ElementsAre(predict_it, unlisted)) << "no word is that of an empty cell";
}

TEST_F(RolesTest, HoldForAllMeasurementsOfAWideRow) {
  list("f.csv,a=1,predict,\n");
  const sim::CsvFile table = sim::CsvFile::from_text("a\n2\n1\n", "f.csv");
  Reading reading = reading_of(table);
  reading.measurements.push_back(reading.measurements.back());  // another column of the last row
  roles().apply(reading, &table);
  EXPECT_EQ(reading.measurements[0].role, unlisted);
  EXPECT_EQ(reading.measurements[1].role, predict_it);
  EXPECT_EQ(reading.measurements[2].role, predict_it);
}

TEST_F(RolesTest, OfALogAreThoseOfTheWholeFile) {
  list("f.csv,,calibrate,\n");
  Reading reading = reading_of(sim::CsvFile::from_text("a\n1\n", "f.csv"));
  roles().apply(reading, nullptr);
  EXPECT_EQ(reading.measurements[0].role, calibrate_it);
  EXPECT_THAT(reading.faults, IsEmpty());
  list("f.csv,a=1,predict,\nf.csv,,calibrate,\n");
  roles().apply(reading, nullptr);
  ASSERT_EQ(reading.faults.size(), 1u);
  EXPECT_EQ(reading.faults[0].what, "f.csv has no column 'a': a role of all of it is accepted");
}

// Spread. 2 % of 100 us.

TEST_F(RolesTest, GiveASpreadToWhatHasNone) {
  list("f.csv,a=1,calibrate,2\nf.csv,,calibrate,\n");
  const sim::CsvFile table = sim::CsvFile::from_text("a\n1\n2\n", "f.csv");
  Reading reading = reading_of(table);
  roles().apply(reading, &table);
  EXPECT_DOUBLE_EQ(reading.measurements[0].seen[0].low.value(), 98e-6);
  EXPECT_DOUBLE_EQ(reading.measurements[0].seen[0].high.value(), 102e-6);
  EXPECT_EQ(reading.measurements[1].seen[0].low, std::nullopt);
}

TEST_F(RolesTest, LeaveASpreadThatWasMeasured) {
  list("f.csv,,calibrate,2\n");
  const sim::CsvFile table = sim::CsvFile::from_text("a\n1\n", "f.csv");
  Reading reading = reading_of(table);
  reading.measurements[0].seen[0].low = 90e-6;
  roles().apply(reading, &table);
  EXPECT_DOUBLE_EQ(reading.measurements[0].seen[0].low.value(), 90e-6);
  EXPECT_EQ(reading.measurements[0].seen[0].high, std::nullopt);
}

TEST_F(RolesTest, OfSomeRowsMayStandAboveThatOfAllOthers) {
  list("f.csv,a=1,calibrate,\nf.csv,,predict,\n");
  EXPECT_THAT(roles_of("a\n1\n2\n"), ElementsAre(calibrate_it, predict_it));
}

// Faults of the list.

TEST_F(RolesTest, RefuseARoleThatTheyDoNotKnow) {
  list("f.csv,,maybe,\n");
  EXPECT_THAT(faults(), HasSubstr("roles.csv:2:8: role: calibrate, predict or probe is accepted"));
}

TEST_F(RolesTest, RefuseConditionsAndSpreadsThatAreNone) {
  list("f.csv,phase,predict,\ng.csv,=x,predict,\nh.csv,,calibrate,101\ni.csv,,calibrate,2 %\n");
  EXPECT_THAT(faults(), testing::AllOf(HasSubstr("roles.csv:2:7: rows: COLUMN=WORD is accepted"),
                                       HasSubstr("roles.csv:3:7: rows: COLUMN=WORD is accepted"),
                                       HasSubstr("roles.csv:4:18: spread: '101' must lie between 0 and 100"),
                                       HasSubstr("roles.csv:5:18: spread: '2 %' is not a decimal number")));
}

TEST_F(RolesTest, RefuseAListOfOtherColumns) {
  std::ofstream(folder_ / "roles.csv") << "file,role\nf.csv,calibrate\n";
  EXPECT_THAT(faults(), testing::AllOf(HasSubstr("roles.csv:1:1: rows: this column is missing"),
                                       HasSubstr("roles.csv:1:1: spread: this column is missing")));
}

// A condition that no row could meet would leave what it marks to the lines below.
TEST_F(RolesTest, RefuseAConditionOnAColumnThatTheTableHasNot) {
  list("g.csv,x=1,predict,\nf.csv,phse=c3_*,predict,\nf.csv,,calibrate,\n");
  EXPECT_THAT(faults_of_table("phase,b\nidle,1\nc3_1,1\n"),
              testing::AllOf(HasSubstr("roles.csv:3:7: rows: f.csv has no column 'phse'; did you mean 'phase'?"),
                             testing::Not(HasSubstr("roles.csv:2"))));
  EXPECT_THAT(faults_of_table("phase,b\n"), HasSubstr("has no column 'phse'")) << "whatever rows there are";
}

}  // namespace
}  // namespace c3sim::calibrate
