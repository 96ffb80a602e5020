#include "calibrate/readers/table_format.h"

#include "tests/calibrate/readers/read_table.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

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
  EXPECT_EQ(Template{"{m}x{n"}.fault(), "the brace of '{n' is never closed: {column} or {column|prefix} is accepted");
  EXPECT_EQ(Template{"{m{n}}"}.fault(), "the brace of '{m' is never closed: {column} or {column|prefix} is accepted");
  EXPECT_EQ(Template{"m}x"}.fault(), "a brace is closed that none opens: {column} or {column|prefix} is accepted");
  EXPECT_EQ(Template{"{}B"}.fault(), "braces without a column: {column} or {column|prefix} is accepted");
  EXPECT_EQ(Template{"{|x}B"}.fault(), "braces without a column: {column} or {column|prefix} is accepted");
}

TEST(TableFormat, KnowsEveryFigureByItsKey) {
  for (const study::FigureForm& form : study::all_figures()) {
    const TableFormat format = format_from("rows: [{trial: rest, see: {" + std::string(form.key) + ": '{x}'}}]\n");
    EXPECT_EQ(format.rows.at(0).see.at(0).figure, form.figure) << form.key;
  }
}

}  // namespace
}  // namespace c3sim::calibrate
