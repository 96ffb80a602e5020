// How rows become measurements by the form of their table: forms of a few lines, each for one of its means.
#include "calibrate/table_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config.h"

namespace calibrate {
namespace {

using study::Figure;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TableFormat form(const std::string& text) {
  sim::Config config = sim::Config::from_text(text, "f.yaml");
  TableFormat format = TableFormat::read(config.root(), "f");
  config.finish();
  return format;
}

Reading read(const std::string& format, const std::string& table, const OtherTables& others = {}) {
  return read_table(CsvFile::from_text(table, "runs/f.csv"), form(format), others);
}

std::string faults_of(const std::string& format, const std::string& table, const OtherTables& others = {}) {
  const Reading reading = read(format, table, others);
  return reading.faults.empty() ? "" : sim::ConfigError(reading.faults).what();
}

// The groups of all rows, which stand for whatever a template makes of them.
std::vector<std::string> groups(const std::string& format, const std::string& table, const OtherTables& others = {}) {
  const Reading reading = read(format, table, others);
  EXPECT_EQ(faults_of(format, table, others), "");
  std::vector<std::string> found;
  for (const Measurement& measurement : reading.measurements) found.push_back(measurement.group);
  return found;
}

// A form of rows at rest whose group is `group`, with `lines` before its rows.
std::string grouped(const std::string& group, const std::string& lines = "") {
  return lines + "rows: [{trial: rest, see: {power: 5W}, group: '" + group + "'}]\n";
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

TEST(TableReader, ReadsFieldsThatAreNotWrittenAsAbsent) {
  const Reading reading = read("rows: [{trial: gemm, with: {gemm: cb1, cus: '{limit}'}, see: {time: '{us}us'}}]\n",
                               "limit,us\n,5\n240,5\n");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(std::get<study::GemmTrial>(reading.measurements[0].trial).cus, std::nullopt);
  EXPECT_EQ(std::get<study::GemmTrial>(reading.measurements[1].trial).cus, 240);
}

TEST(TableReader, FillsInTheCellsOfAnyTable) {
  const CsvFile file = CsvFile::from_text("a,b\n1,-\n", "f.csv");
  EXPECT_EQ(fill_in({"{a} and {a}"}, file, 0), "1 and 1");
  EXPECT_EQ(fill_in({"{b}"}, file, 0), std::nullopt);
  EXPECT_EQ(fill_in({"{c}"}, file, 0), std::nullopt) << "no such column";
  EXPECT_EQ(fill_in({"text"}, file, 0), "text");
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

// A row that no entry knows: the column that keeps it from the entry that comes nearest, and what is known there.

const std::string kinds =
    "rows:\n"
    "  - {where: {kind: gemm, collective: '-'}, trial: rest, see: {power: 5W}}\n"
    "  - {where: {kind: [coll, drift], how: nccl}, trial: rest, see: {power: 5W}}\n"
    "  - {where: {kind: coll, how: 'copy_*'}, trial: rest, see: {power: 5W}}\n"
    "  - {where: {kind: coll, how: tree, bytes: '<8'}, trial: rest, see: {power: 5W}}\n";

std::string fault_of_row(const std::string& row) {
  return faults_of(kinds, "kind,collective,how,bytes\n" + row + "\n");
}

TEST(UnknownRows, NameTheWordThatWasMeant) {
  EXPECT_EQ(fault_of_row("gem,-,nccl,8"), "runs/f.csv:2:1: kind: 'gem' is not known; did you mean 'gemm'?");
  EXPECT_EQ(fault_of_row("coll,-,nkcl,8"),
            "runs/f.csv:2:8: how: 'nkcl' is not known beside kind 'coll'; did you mean 'nccl'?");
}

TEST(UnknownRows, NameAllWordsWhereNoneIsNear) {
  EXPECT_EQ(fault_of_row("p2p,-,nccl,8"), "runs/f.csv:2:1: kind: 'p2p' is not known; known are: gemm, coll, drift");
  EXPECT_EQ(fault_of_row("coll,-,ring,8"),
            "runs/f.csv:2:8: how: 'ring' is not known beside kind 'coll'; known are: nccl, copy_*, tree");
}

TEST(UnknownRows, NameTheColumnThatIsOddBesideTheOthers) {
  // Every word of these is known somewhere; together they are not.
  EXPECT_EQ(fault_of_row("gemm,all_gather,nccl,8"),
            "runs/f.csv:2:6: collective: 'all_gather' is not known beside kind 'gemm'; known are: -");
  EXPECT_EQ(fault_of_row("drift,-,tree,8"),
            "runs/f.csv:2:9: how: 'tree' is not known beside kind 'drift'; known are: nccl");
  EXPECT_EQ(fault_of_row("coll,-,tree,8"),
            "runs/f.csv:2:13: bytes: '8' is not known beside kind 'coll', how 'tree'; known are: <8");
}

TEST(UnknownRows, QuoteNoMoreOfAWordThanOneReads) {
  const std::string fault = fault_of_row(std::string(1000, 'x') + ",-,nccl,8");
  EXPECT_LT(fault.size(), 200u) << fault;
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
  const CsvFile other = CsvFile::from_text("shape,all_us\ncb1,1400\ncb2,6000\n", "isolated.csv");
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
  const CsvFile other = CsvFile::from_text("shape,all_us\ncb1,1400\n", "isolated.csv");
  const OtherTables others = [&](const std::string&) { return &other; };
  EXPECT_THAT(
      groups(grouped("{x}", "lookups: {x: {file: o, column: '{none}', where: {shape: cb1}}}\n"), "a\n1\n", others),
      ElementsAre(""));
  EXPECT_THAT(
      groups(grouped("{x}", "lookups: {x: {file: o, column: '{all_us}', where: {none: cb1}}}\n"), "a\n1\n", others),
      ElementsAre(""));
}

TEST(Lookups, MayBeTranslated) {
  const CsvFile other = CsvFile::from_text("id,how\n1,both\n2,serial\n", "o.csv");
  const OtherTables others = [&](const std::string&) { return &other; };
  const std::string lookup = "lookups: {found: {file: o, column: '{how}', where: {id: '{id}'}}}\n";
  EXPECT_THAT(
      groups(grouped("{strategy}", "words: {strategy: {of: found, both: c3_base}}\n" + lookup), "id\n1\n2\n", others),
      ElementsAre("c3_base", ""));
  EXPECT_THAT(groups(grouped("{found}", "words: {found: {both: c3_base}}\n" + lookup), "id\n1\n2\n", others),
              ElementsAre("c3_base", "serial"))
      << "in place";
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
    "{column}'}\n";

TEST(WideTables, HoldAMeasurementInEachOfTheirColumns) {
  const Reading reading = read(wide, "kind,bytes,one_us,two_us\ncopy,64,5,7\n");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(std::get<study::FanOutTrial>(reading.measurements[0].trial).peers, 1);
  EXPECT_EQ(std::get<study::FanOutTrial>(reading.measurements[1].trial).peers, 2);
  EXPECT_DOUBLE_EQ(reading.measurements[1].seen[0].value, 7e-6);
  EXPECT_EQ(reading.measurements[0].group, "to 1");
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

// What is seen.

std::string seeing(const std::string& figures) { return "rows: [{trial: rest, see: {" + figures + "}}]\n"; }

TEST(SeenFigures, AreReadWithTheirUnitsAndScales) {
  const Reading reading = read(seeing("time: '{t}us', rate: '{r}GB/s', copy_share: {measured: '{share}', scale: 0.01}, "
                                      "cache_hit_share: '{hits}', power: '{w}W'"),
                               "t,r,share,hits,w\n5,48,31,0.5,-\n");
  ASSERT_EQ(reading.measurements.size(), 1u);
  const std::vector<Seen>& seen = reading.measurements[0].seen;
  ASSERT_EQ(seen.size(), 4u) << "no power";
  EXPECT_EQ(seen[0].figure, Figure::time);
  EXPECT_DOUBLE_EQ(seen[0].value, 5e-6);
  EXPECT_DOUBLE_EQ(seen[1].value, 48e9);
  EXPECT_DOUBLE_EQ(seen[2].value, 0.31) << "percent";
  EXPECT_DOUBLE_EQ(seen[3].value, 0.5);
}

TEST(SeenFigures, HaveTheSpreadAndTheBandOfTheirForm) {
  const Reading reading =
      read(seeing("time: {measured: '{t}us', low: '{p10}us', high: '{p90}us', scale: 2, band: 0.1}"),
           "t,p10,p90\n5,4,7\n5,-,7\n");
  const Seen& both = reading.measurements.at(0).seen.at(0);
  EXPECT_DOUBLE_EQ(both.value, 10e-6);
  EXPECT_DOUBLE_EQ(both.low.value(), 8e-6);
  EXPECT_DOUBLE_EQ(both.high.value(), 14e-6);
  EXPECT_EQ(both.band, 0.1);
  EXPECT_EQ(reading.measurements.at(1).seen.at(0).low, std::nullopt);
}

TEST(SeenFigures, WithinTheirBoundsAreAccepted) {
  // 1 ns and an hour are the ends of a time; a share may be 0.
  EXPECT_EQ(faults_of(seeing("time: '{t}'"), "t\n1ns\n3600s\n"), "");
  EXPECT_EQ(faults_of(seeing("copy_share: '{s}'"), "s\n0\n1\n"), "");
}

TEST(SeenFigures, BeyondTheirBoundsAreFaults) {
  EXPECT_EQ(faults_of(seeing("time: '{t}us'"), "x,t\n1,0\n"),
            "runs/f.csv:2:3: t: '0us' cannot be: 0.001 to 3600000000 us are accepted");
  EXPECT_EQ(faults_of(seeing("copy_share: {measured: '{s}', scale: 0.01}"), "s\n101\n"),
            "runs/f.csv:2:1: s: '101' cannot be: 0 to 100 % are accepted");
  EXPECT_THAT(faults_of(seeing("time: '{t}us'"), "t\n1e999\n"), HasSubstr("f.csv:2:1: t: '1e999us' is out of range"));
  EXPECT_THAT(faults_of(seeing("time: '{t}us'"), "t\n1e300\n"), HasSubstr("f.csv:2:1: t: '1e300us'"));
  EXPECT_THAT(faults_of(seeing("rate: '{r}GB/s'"), "r\n-5\n"), HasSubstr("f.csv:2:1: r: '-5GB/s' is negative"));
  EXPECT_THAT(faults_of(seeing("rate: '{r}GB/s'"), "r\ninf\n"), HasSubstr("f.csv:2:1: r: 'infGB/s' is not a rate"));
  EXPECT_THAT(faults_of(seeing("rate: '{r}GB/s'"), "r\nNAN\n"), HasSubstr("f.csv:2:1: r: 'NANGB/s' is not a rate"));
  EXPECT_THAT(faults_of(seeing("rate: '{r}'"), "r\n5\n"), HasSubstr("f.csv:2:1: r: '5' needs a unit"));
  EXPECT_THAT(faults_of(seeing("rate: '{r}'"), "r\n5us\n"), HasSubstr("is a time, but a rate is needed"));
}

TEST(SeenFigures, HaveASpreadThatCanBe) {
  const std::string spread = seeing("time: {measured: '{t}us', low: '{l}us', high: '{h}us'}");
  EXPECT_EQ(faults_of(spread, "t,l,h\n5,0,9\n"),
            "runs/f.csv:2:3: l: '0us' cannot be: 0.001 to 3600000000 us are accepted");
  EXPECT_EQ(faults_of(spread, "t,l,h\n5,4,1e10\n"),
            "runs/f.csv:2:5: h: '1e10us' cannot be: 0.001 to 3600000000 us are accepted");
  EXPECT_EQ(faults_of(spread, "t,l,h\n5,9,4\n"), "runs/f.csv:2:3: l: '9us' lies above '4us', where the spread ends");
  EXPECT_EQ(faults_of(spread, "t,l,h\n9,4,5\n"), "") << "a mean may lie beyond percentiles";
}

TEST(SeenFigures, OfAConstantAtFaultArePlacedAtTheRow) {
  EXPECT_EQ(faults_of(seeing("time: 5W"), "a\n1\n"),
            "runs/f.csv:2:1: '5W' is a power, but a time is needed: write 2.2us, 450ns or 1ms");
}

TEST(SeenFigures, OfAnEmptyRowLeaveItOut) {
  const Reading reading = read(seeing("time: '{t}us', power: '{w}W'"), "t,w\n-,nan\n");
  EXPECT_THAT(reading.measurements, IsEmpty());
  ASSERT_EQ(reading.left_out.size(), 1u);
  EXPECT_EQ(reading.left_out[0].why, "nothing was measured of what is compared");
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

TEST(TableReader, ReadsAssignmentsOfThePlatform) {
  const Reading reading =
      read("set: ['gpus={gpus}', 'gpu.power.cap={cap}W']\n" + grouped("g"), "gpus,cap\n4,600\n8,-\n");
  EXPECT_THAT(reading.measurements.at(0).assignments, ElementsAre("gpus=4", "gpu.power.cap=600W"));
  EXPECT_THAT(reading.measurements.at(1).assignments, ElementsAre("gpus=8"));
}

// Faults of a trial's fields.

const std::string copies =
    "rows: [{trial: collective, with: {collective: '{coll}', bytes: '{bytes}B', gpus: '{n}'}, see: {time: "
    "'{us}us'}}]\n";

TEST(FaultsOfARow, AreAllToldWithTheirCells) {
  EXPECT_EQ(faults_of(copies, "coll,bytes,n,us\ngather,0,one,x\n"),
            "runs/f.csv:2:1: coll: 'gather' is not known; known are: all_gather, all_to_all, all_reduce, "
            "reduce_scatter, broadcast\n"
            "runs/f.csv:2:8: bytes: '0B' is out of bounds: 1B to 1TiB are accepted\n"
            "runs/f.csv:2:10: n: 'one' is not a whole decimal number such as 12 (no leading zeros)\n"
            "runs/f.csv:2:14: us: 'xus' is not a time: write 2.2us, 450ns or 1ms");
}

TEST(FaultsOfARow, NameTheFieldThatIsMissing) {
  EXPECT_EQ(
      faults_of(copies, "coll,bytes,n,us\n-,,2,5\n"),
      "runs/f.csv:2:1: coll: is missing; known are: all_gather, all_to_all, all_reduce, reduce_scatter, broadcast\n"
      "runs/f.csv:2:3: bytes: is missing: 1B to 1TiB are accepted");
  EXPECT_EQ(faults_of("rows: [{trial: copy, with: {from: gpu0, to: gpu1}, see: {time: '{us}us'}}]\n", "us\n5\n"),
            "runs/f.csv:2:1: bytes of the trial 'copy' is missing: 1B to 1TiB are accepted");
  EXPECT_EQ(faults_of("rows: [{trial: gemm, with: {gemm: '{g}'}, see: {time: '{us}us'}}]\n", "us,g\n5,-\n"),
            "runs/f.csv:2:3: g: is missing: MxNxK such as 8192x57344x8192 is accepted, or cb1 to cb5, mb1, mb2 of "
            "ConCCL's Table I");
}

TEST(FaultsOfARow, LeaveTheOthersReadable) {
  const Reading reading = read(grouped("{a}"), "a,b\n1\n2,x\n3,y,z\n4,x\n");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(reading.measurements[0].where(), "f.csv:3");
  ASSERT_EQ(reading.faults.size(), 2u);
  EXPECT_EQ(reading.faults[0].where, "runs/f.csv:2:1");
  EXPECT_EQ(reading.faults[0].what, "1 cells where the columns are 2");
  EXPECT_EQ(reading.faults[1].where, "runs/f.csv:4:1");
}

TEST(FaultsOfARow, OfAColumnNamedTwiceAreTold) {
  EXPECT_EQ(faults_of(grouped("{a}"), "a,a\n1,2\n"), "runs/f.csv:1:3: a: this column is named twice");
}

}  // namespace
}  // namespace calibrate
