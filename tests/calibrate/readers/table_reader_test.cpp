// How rows become measurements by the form of their table: forms of a few lines, each for one of its means.
#include "calibrate/readers/table_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/calibrate/readers/read_table.h"

namespace c3sim::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The groups of all rows, which stand for whatever a template makes of them.
std::vector<std::string> groups(const std::string& format, const std::string& table, const OtherTables& others = {}) {
  const Reading reading = read(format, table, others);
  EXPECT_EQ(faults_of(format, table, others), "");
  std::vector<std::string> found;
  for (const Measurement& measurement : reading.measurements) found.push_back(measurement.group);
  return found;
}

// A form of two kinds of rows, those that meet the condition and all others.
std::string parted(const std::string& condition, const std::string& lines = "") {
  return lines + "rows:\n  - {where: {" + condition + "}, trial: rest, see: {power: 5W}, group: met}\n" +
         "  - {trial: rest, see: {power: 5W}, group: other}\n";
}

TEST(TableReader, SaysWhichRowOfWhichFileItRead) {
  const Reading reading = read(grouped("g"), "# a comment\na\n1\n\n2\n");
  EXPECT_EQ(reading.name, "f.csv");
  EXPECT_EQ(reading.format, "f");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(reading.measurements[0].where(), "f.csv:3");
  EXPECT_EQ(reading.measurements[1].where(), "f.csv:5");
  EXPECT_EQ(reading.measurements[1].file, "f.csv");
  EXPECT_EQ(reading.measurements[1].role, Role::unlisted);
}

// Templates.

TEST(TableReader, PutsCellsInPlaceOfColumns) {
  EXPECT_THAT(groups(grouped("{m}x{n} of {kind}"), "kind,m,n\ngemm,8,16\n"), ElementsAre("8x16 of gemm"));
}

TEST(TableReader, TakesWhatFollowsAPrefix) {
  EXPECT_THAT(groups(grouped("{phase|gemm_}"), "phase\ngemm_cb1\ngemm_\nidle\n"), ElementsAre("cb1", "", ""))
      << "a cell without the prefix is as empty";
}

TEST(TableReader, TakesATextWithAnEmptyCellAsNotWritten) {
  EXPECT_THAT(groups(grouped("{m}x{n}"), "m,n\n8,\n8,-\n-,8\n8,nan\n8,NaN\n8,unset\n8,null\n8,N/A\n8,0\n"),
              ElementsAre("", "", "", "", "", "", "", "", "8x0"));
}

TEST(TableReader, TakesAnOptionalColumnThatATableLacksAsEmpty) {
  const std::string optional = "optional: [b]\n";
  EXPECT_THAT(groups(grouped("{a}{b}", optional), "a,b\n1,2\n"), ElementsAre("12"));
  EXPECT_THAT(groups(grouped("{a}{b}", optional), "a\n1\n"), ElementsAre(""));
}

TEST(TableReader, ReadsFieldsThatAreNotWrittenAsAbsent) {
  const Reading reading = read("rows: [{trial: gemm, with: {gemm: cb1, cus: '{limit}'}, see: {time: '{us}us'}}]\n",
                               "limit,us\n,5\n240,5\n");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(std::get<study::GemmTrial>(reading.measurements[0].trial).cus, std::nullopt);
  EXPECT_EQ(std::get<study::GemmTrial>(reading.measurements[1].trial).cus, 240);
}

// 5 ms that are 4 % longer, 0.2 % shorter: 5.2 and 4.99 ms.
TEST(TableReader, WorksOutWhatWasSeenOfSeveralCells) {
  const std::string form =
      "rows: [{trial: gemm, with: {gemm: cb1}, see: {time: '$({ms}ms * (1 + ({over}) / 100))'}}]\n";
  const Reading reading = read(form, "ms,over\n5,4\n5,-0.2\n5,\n");
  ASSERT_EQ(reading.measurements.size(), 2u) << "an empty cell tells nothing";
  EXPECT_NEAR(reading.measurements[0].seen[0].value, 5.2e-3, 1e-9);
  EXPECT_NEAR(reading.measurements[1].seen[0].value, 4.99e-3, 1e-9);
  EXPECT_THAT(faults_of(form, "ms,over\n5,much\n"), testing::HasSubstr("f.csv:2"));
  EXPECT_THAT(faults_of(form, "ms,over\n5,much\n"), testing::HasSubstr("'much' is no number"));
}

// Conditions.

TEST(Conditions, AreMetByOneOfTheirWords) {
  EXPECT_THAT(groups(parted("how: [nccl, '-']"), "how\nnccl\n-\nncc\nnccl2\n"),
              ElementsAre("met", "met", "other", "other"));
  EXPECT_THAT(groups(parted("how: ''"), "how,x\n,1\n\"\",1\nnccl,1\n"), ElementsAre("met", "met", "other"));
}

TEST(Conditions, AreMetTogether) {
  EXPECT_THAT(groups(parted("how: nccl, kind: coll"), "how,kind\nnccl,coll\nnccl,c3\ncopy,coll\n"),
              ElementsAre("met", "other", "other"));
}

TEST(Conditions, AskForABeginningWhereTheyEndInAStar) {
  EXPECT_THAT(groups(parted("phase: 'c3_*'"), "phase\nc3_nccl\nc3_\nc3\nac3_\n"),
              ElementsAre("met", "met", "other", "other"));
  EXPECT_THAT(groups(parted("phase: '*'"), "phase,x\nany,1\n,1\n"), ElementsAre("met", "met")) << "anything";
}

TEST(Conditions, CompareNumbers) {
  const std::string bytes = "bytes\n7\n8\n8.5\n1e3\n-9\n";
  EXPECT_THAT(groups(parted("bytes: '<8'"), bytes), ElementsAre("met", "other", "other", "other", "met"));
  EXPECT_THAT(groups(parted("bytes: '<= 8'"), bytes), ElementsAre("met", "met", "other", "other", "met"));
  EXPECT_THAT(groups(parted("bytes: '>8'"), bytes), ElementsAre("other", "other", "met", "met", "other"));
  EXPECT_THAT(groups(parted("bytes: '>= 8.0'"), bytes), ElementsAre("other", "met", "met", "met", "other"));
  EXPECT_THAT(groups(parted("bytes: '>=0'"), "bytes,x\nmany,1\n,1\nnan,1\n1e999,1\n0x8,1\n"),
              ElementsAre("other", "other", "other", "other", "other"))
      << "what is no number lies on no side of one";
}

TEST(Conditions, CompareWithAnotherColumn) {
  EXPECT_THAT(groups(parted("a: '{b}'"), "a,b\nx,x\nx,y\n-,-\n"), ElementsAre("met", "other", "other"))
      << "what is empty equals nothing";
  EXPECT_THAT(groups(parted("a: '<{b}'"), "a,b\n1,2\n2,1\n"), ElementsAre("met", "other"));
}

TEST(Conditions, OfTheFirstEntryThatARowMeetsDecide) {
  const Reading reading = read(
      "rows:\n  - {where: {a: 1}, leave_out: one}\n  - {where: {a: '*'}, leave_out: any}\n  - {where: {a: 2}, "
      "leave_out: two}\n",
      "a\n1\n2\n");
  ASSERT_EQ(reading.left_out.size(), 2u);
  EXPECT_EQ(reading.left_out[0].why, "one");
  EXPECT_EQ(reading.left_out[0].where, "f.csv:2");
  EXPECT_EQ(reading.left_out[1].why, "any");
}

// Words.

TEST(WordsOfAColumn, StandForOthersInAColumnOfTheirOwn) {
  const std::string words = "words: {strategy: {of: how, both: c3_base, comm_first: c3_sp}}\n";
  EXPECT_THAT(groups(grouped("{how}: {strategy}", words), "how\nboth\ncomm_first\nserial\n"),
              ElementsAre("both: c3_base", "comm_first: c3_sp", ""))
      << "which says nothing of other words";
  EXPECT_THAT(groups(parted("strategy: c3_sp", words), "how\nboth\ncomm_first\n"), ElementsAre("other", "met"));
}

TEST(WordsOfAColumn, StandForOthersInPlaceAndKeepTheRest) {
  for (const char* const words : {"words: {how: {both: c3_base}}\n", "words: {how: {of: how, both: c3_base}}\n"}) {
    EXPECT_THAT(groups(grouped("{how}", words), "how\nboth\nserial\n"), ElementsAre("c3_base", "serial")) << words;
  }
}

TEST(WordsOfAColumn, MayStandForWordsOfAnother) {
  EXPECT_THAT(groups(grouped("{a}", "words: {a: {of: b, u: x}, b: {of: c, v: u}}\n"), "c\nv\nu\n"),
              ElementsAre("x", ""));
  EXPECT_THAT(groups(grouped("{a}", "words: {a: {of: c, u: x}, c: {v: u}}\n"), "c\nv\nu\n"), ElementsAre("x", "x"))
      << "translated in place first";
}

TEST(WordsOfAColumn, AreFoundAtTheirSource) {
  EXPECT_EQ(faults_of("words: {shape: {of: gemm, big: 8by8}}\n"
                      "rows: [{trial: gemm, with: {gemm: '{shape}'}, see: {time: 5us}}]\n",
                      "id,gemm\n1,big\n")
                .substr(0, 32),
            "runs/f.csv:2:3: gemm: '8by8' is ");
}

// Lookups.

const std::string twice_a = "lookups: {double: {column: '{twice}', where: {id: '{a}'}}}\n";

TEST(Lookups, FindARowOfTheTableItself) {
  EXPECT_THAT(groups(grouped("{double}", twice_a), "id,a,twice\n1,2,two\n2,1,four\n3,9,six\n"),
              ElementsAre("four", "two", ""))
      << "no row has id 9";
}

TEST(Lookups, TakeTheFirstRowThatMeetsAllConditions) {
  const std::string lookup = "lookups: {alone: {column: '{us}us', where: {kind: gemm, shape: '{shape}'}}}\n";
  EXPECT_THAT(groups(grouped("{alone}", lookup), "kind,shape,us\nc3,cb1,9\ngemm,cb2,1\ngemm,cb1,2\ngemm,cb1,3\n"),
              ElementsAre("2us", "1us", "2us", "2us"));
}

TEST(Lookups, OfAnEmptyCellFindNothing) {
  EXPECT_THAT(groups(grouped("{double}", twice_a), "id,a,twice\n1,1,-\n-,-,x\n"), ElementsAre("", ""));
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

TEST(Lookups, InTheTableItselfSeeItsWordsInPlace) {
  const std::string lines =
      "words: {shape: {d1: 64x32x16}}\n"
      "lookups: {alone: {column: '{shape} takes {us}us', where: {how: alone, shape: '{shape}'}}}\n";
  EXPECT_THAT(groups(grouped("{alone}", lines), "shape,how,us\nd1,both,9\n64x32x16,both,8\nd1,alone,5\n"),
              testing::Each("64x32x16 takes 5us"));
}

TEST(Lookups, MayAskForWhatAnotherFound) {
  EXPECT_THAT(groups(grouped("{far}",
                             "lookups:\n  near: {column: '{next}', where: {id: '{next}'}}\n"
                             "  far: {column: '{next}', where: {id: '{near}'}}\n"),
                     "id,next\na,b\nb,c\nc,d\nd,e\n"),
              ElementsAre("d", "e", "", ""));
}

// Wide tables.

const std::string wide =
    "columns: {one_us: '1', two_us: '2'}\n"
    "rows:\n"
    "  - {where: {column: '2', kind: skip}, leave_out: not this one}\n"
    "  - {trial: fan_out, with: {peers: '{column}', bytes: '{bytes}B'}, see: {time: '{cell}us'}, group: 'to "
    "{column}, {wide}'}\n";

TEST(WideTables, HoldAMeasurementInEachOfTheirColumns) {
  const Reading reading = read(wide, "kind,bytes,one_us,two_us\ncopy,64,5,7\n");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(std::get<study::FanOutTrial>(reading.measurements[0].trial).peers, 1);
  EXPECT_EQ(std::get<study::FanOutTrial>(reading.measurements[1].trial).peers, 2);
  EXPECT_DOUBLE_EQ(reading.measurements[1].seen[0].value, 7e-6);
  EXPECT_EQ(reading.measurements[0].group, "to 1, one_us");
  EXPECT_EQ(reading.measurements[1].where(), "f.csv:2");
}

TEST(WideTables, NameTheColumnThatIsAtFault) {
  EXPECT_EQ(faults_of(wide, "kind,bytes,one_us,two_us\ncopy,64,5,soon\n"),
            "runs/f.csv:2:11: two_us: 'soonus' is not a time: write 2.2us, 450ns or 1ms");
}

TEST(WideTables, SayWhichCellsTheyLeaveOut) {
  const Reading reading = read(wide, "kind,bytes,one_us,two_us\nskip,64,-,7\n");
  EXPECT_THAT(reading.measurements, IsEmpty());
  ASSERT_EQ(reading.left_out.size(), 2u);
  EXPECT_EQ(reading.left_out[0].why, "one_us: nothing was measured of what is compared");
  EXPECT_EQ(reading.left_out[1].why, "two_us: not this one");
}

// What belongs to a comparison.

TEST(TableReader, ReadsWhatSimpleRulesPredictFrom) {
  const std::string rules =
      "rows: [{trial: rest, see: {time: 5us}, gemm_alone: '{g}us', collective_alone: '{c}us', tiles: '{n}', "
      "decision: '{d}', alternative: '{how}'}]\n";
  const Reading reading = read(rules, "g,c,n,d,how\n5,7,528,which,this\n-,-,-,-,-\n");
  const Measurement& first = reading.measurements.at(0);
  EXPECT_DOUBLE_EQ(first.alone.gemm.value(), 5e-6);
  EXPECT_DOUBLE_EQ(first.alone.collective.value(), 7e-6);
  EXPECT_EQ(first.alone.tiles, 528.0);
  EXPECT_EQ(first.decision, "which");
  EXPECT_EQ(first.alternative, "this");
  const Measurement& second = reading.measurements.at(1);
  EXPECT_EQ(second.alone.gemm, std::nullopt);
  EXPECT_EQ(second.alone.tiles, std::nullopt);
  EXPECT_EQ(second.decision, "");
}

TEST(TableReader, BoundsWhatSimpleRulesDivideBy) {
  const std::string rules =
      "rows: [{trial: rest, see: {time: 5us}, gemm_alone: '{g}us', collective_alone: '{c}us', tiles: '{n}'}]\n";
  EXPECT_EQ(faults_of(rules, "g,c,n\n0,7,1\n"),
            "runs/f.csv:2:1: g: '0us' cannot be: 0.001 to 3600000000 us are accepted");
  EXPECT_EQ(faults_of(rules, "g,c,n\n1,1e10,1\n"),
            "runs/f.csv:2:3: c: '1e10us' cannot be: 0.001 to 3600000000 us are accepted");
  EXPECT_EQ(faults_of(rules, "g,c,n\n1,1,0.5\n"), "runs/f.csv:2:5: n: '0.5' cannot be: 1 to 1000000000 are accepted");
}

TEST(TableReader, ReadsRowsThatWaitForTheirMeasurementWhereThatIsAskedFor) {
  const TableFormat format = format_from("rows: [{trial: rest, see: {time: '{t}us', power: '{w}W'}}]\n");
  const sim::CsvFile table = sim::CsvFile::from_text("t,w\n-,-\n5,-\n", "f.csv");
  EXPECT_EQ(read_table(table, format).measurements.size(), 1u);
  const Reading all = read_table(table, format, {}, Rows::all);
  ASSERT_EQ(all.measurements.size(), 2u);
  EXPECT_THAT(all.measurements[0].seen, IsEmpty());
  EXPECT_THAT(all.measurements[0].asked, ElementsAre(study::Figure::time, study::Figure::power));
  EXPECT_THAT(all.measurements[1].asked, ElementsAre(study::Figure::time, study::Figure::power)) << "measured or not";
}

TEST(TableReader, ReadsAssignmentsOfThePlatform) {
  const Reading reading =
      read("set: ['gpus={gpus}', 'gpu.power.cap={cap}W']\n" + grouped("g"), "gpus,cap\n4,600\n8,-\n");
  EXPECT_THAT(reading.measurements.at(0).assignments, ElementsAre("gpus=4", "gpu.power.cap=600W"));
  EXPECT_THAT(reading.measurements.at(1).assignments, ElementsAre("gpus=8"));
}

}  // namespace
}  // namespace c3sim::calibrate
