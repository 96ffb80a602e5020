// Tests templates of forms, and lookups of other tables. The file tests/data/samples/tables.samples holds what else
// forms make of rows.
#include <fmt/format.h>

#include "calibrate/readers/table_format.h"
#include "tests/calibrate/readers/read_table.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

// Returns the groups of all rows, which stand for whatever a template makes of them.
std::vector<std::string> groups(const std::string& format, const std::string& table, const OtherTables& others = {}) {
  const Reading reading = read(format, table, others);
  EXPECT_EQ(faults_of(format, table, others), "");
  std::vector<std::string> found;
  for (const Measurement& measurement : reading.measurements) found.push_back(measurement.group);
  return found;
}

TEST(Lookups, FindARowOfAnotherTable) {
  const sim::CsvFile other = sim::CsvFile::from_text("shape,all_us\ncb1,1400\ncb2,6000\n", "isolated.csv");
  std::vector<std::string> asked;
  const OtherTables others = [&](const std::string& file) {
    asked.push_back(file);
    return file == "isolated" ? &other : nullptr;
  };
  const std::string lookup = "lookups: {alone: {file: isolated, column: '{all_us}us', where: {shape: '{gemm}'}}}\n";
  EXPECT_THAT(groups(grouped("{alone}", lookup), "gemm\ncb2\ncb9\n", others), ElementsAre("6000us", ""));
  EXPECT_THAT(asked, testing::Each("isolated"));
  EXPECT_THAT(groups(grouped("{alone}", lookup), "gemm\ncb2\n"), ElementsAre("")) << "no other table is at hand";
  EXPECT_THAT(
      groups(grouped("{alone}", "lookups: {alone: {file: absent, column: '{all_us}', where: {shape: '{gemm}'}}}\n"),
             "gemm\ncb2\n", others),
      ElementsAre(""))
      << "no such table";
}

TEST(Lookups, OfAColumnThatTheOtherTableHasNotFindNothing) {
  const sim::CsvFile other = sim::CsvFile::from_text("shape,all_us\ncb1,1400\n", "isolated.csv");
  const OtherTables others = [&](const std::string&) { return &other; };
  EXPECT_THAT(
      groups(grouped("{x}", "lookups: {x: {file: o, column: '{none}', where: {shape: cb1}}}\n"), "a\n1\n", others),
      ElementsAre(""));
  EXPECT_THAT(
      groups(grouped("{x}", "lookups: {x: {file: o, column: '{all_us}', where: {none: cb1}}}\n"), "a\n1\n", others),
      ElementsAre(""));
}

TEST(Lookups, MayBeTranslated) {
  const sim::CsvFile other = sim::CsvFile::from_text("id,how\n1,both\n2,serial\n", "o.csv");
  const OtherTables others = [&](const std::string&) { return &other; };
  const std::string lookup = "lookups: {found: {file: o, column: '{how}', where: {id: '{id}'}}}\n";
  EXPECT_THAT(
      groups(grouped("{strategy}", "words: {strategy: {of: found, both: c3_base}}\n" + lookup), "id\n1\n2\n", others),
      ElementsAre("c3_base", ""));
  EXPECT_THAT(groups(grouped("{found}", "words: {found: {both: c3_base}}\n" + lookup), "id\n1\n2\n", others),
              ElementsAre("c3_base", "serial"))
      << "in place";
}

TEST(Words, MayHaveAStarForWhateverStandsThere) {
  const std::string words = "words: {light: {of: name, '*-lite*': some, 'heavy*': much, '*ton': tons, '*': none}}\n";
  EXPECT_THAT(groups(grouped("{light}", words), "name\ngeneral-lite-2\nheavy\nton\nlite\n"),
              ElementsAre("some", "much", "tons", "none"));
}

TEST(Template, HasAHoleForEveryColumn) {
  const std::vector<Template::Hole> holes = Template{"{m}x{n}, {phase|gemm_}B"}.holes();
  ASSERT_EQ(holes.size(), 3u);
  EXPECT_EQ(holes[0].column, "m");
  EXPECT_EQ(holes[0].begin, 0u);
  EXPECT_EQ(holes[0].end, 3u);
  EXPECT_EQ(holes[1].column, "n");
  EXPECT_EQ(holes[1].prefix, "");
  EXPECT_EQ(holes[2].column, "phase");
  EXPECT_EQ(holes[2].prefix, "gemm_");
  EXPECT_THAT(Template{"12GiB"}.holes(), IsEmpty());
}

TEST(Template, SaysWhatIsWrongWithItsBraces) {
  EXPECT_EQ(Template{"{m}x{n}"}.fault(), "");
  EXPECT_EQ(Template{"12GiB"}.fault(), "");
  for (const char* const text : {"{m}x{n", "{m{n}}", "m}x", "{}B", "{|x}B"}) {
    EXPECT_EQ(
        Template{text}.fault(),
        fmt::format("the braces of '{}' are not pairs around columns: {{column}} or {{column|prefix}} is accepted",
                    text));
  }
}

TEST(TableFormat, KnowsEveryFigureByItsKey) {
  for (const study::FigureForm& form : study::all_figures()) {
    const TableFormat format = format_from("rows: [{trial: rest, see: {" + std::string(form.key) + ": '{x}'}}]\n");
    EXPECT_EQ(format.rows.at(0).see.at(0).figure, form.figure) << form.key;
  }
}

}  // namespace
}  // namespace c3sim::calibrate
