#include "calibrate/readers/table_format.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/config.h"

namespace c3sim::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string faults_of_form(const std::string& text) {
  try {
    format_from(text);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "";
}

// A form whose only row has these lines besides a trial and what is seen of it.
std::string form_of_row(const std::string& lines) { return "rows:\n  - trial: rest\n    see: {power: 5W}\n" + lines; }

std::vector<std::string> texts(const std::vector<Template>& templates) {
  std::vector<std::string> found;
  for (const Template& form : templates) found.push_back(form.text());
  return found;
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
  EXPECT_EQ(Template{"{m}x{n"}.fault(), "the brace of '{n' is never closed: {column} or {column|prefix} is accepted");
  EXPECT_EQ(Template{"{m{n}}"}.fault(), "the brace of '{m' is never closed: {column} or {column|prefix} is accepted");
  EXPECT_EQ(Template{"m}x"}.fault(), "a brace is closed that none opens: {column} or {column|prefix} is accepted");
  EXPECT_EQ(Template{"{}B"}.fault(), "braces without a column: {column} or {column|prefix} is accepted");
  EXPECT_EQ(Template{"{|x}B"}.fault(), "braces without a column: {column} or {column|prefix} is accepted");
}

TEST(TableFormat, ReadsEveryKey) {
  const TableFormat format = format_from(R"(
about: copies and their power
columns: {d1_us: one, d2_us: two}
optional: [p10, p90]
words:
  how: {copy_engine: sdma, nccl: rccl}
  strategy: {of: how, both: c3_base}
lookups:
  alone_us: {file: isolated, column: "{all_us}", where: {kind: gemm, gemm: "{gemm}"}}
set: ["gpus={gpus}", "gpu.power.cap={cap}W"]
rows:
  - where: {kind: [coll, drift], bytes: ">= 1024"}
    trial: collective
    group: "{kind} by size"
    with: {collective: all_gather, bytes: "{bytes}B"}
    see:
      time: {measured: "{all_us}us", low: "{p10}us", high: "{p90}us", scale: 0.5, band: 0.1}
      over_longer: {measured: "{all_us}us", over: longer_alone}
      gemm_stretch: {measured: "{gemm_us}us", over: gemm_alone}
      power: "{watts}W"
    gemm_alone: "{alone_us}us"
    collective_alone: "{comm_us}us"
    tiles: "{tiles}"
    decision: "{gemm} {bytes}"
    alternative: "{how}"
  - where: {kind: graph}
    leave_out: it has no model
)");
  EXPECT_EQ(format.name, "f");
  EXPECT_EQ(format.description, "copies and their power");
  EXPECT_THAT(format.each, ElementsAre(std::pair("d1_us", "one"), std::pair("d2_us", "two")));
  EXPECT_THAT(format.optional, ElementsAre("p10", "p90"));
  EXPECT_EQ(format.words.at("how").of, "");
  EXPECT_EQ(format.words.at("how").meaning.at("nccl"), "rccl");
  EXPECT_EQ(format.words.at("strategy").of, "how");
  EXPECT_EQ(format.words.at("strategy").meaning.size(), 1u);
  ASSERT_EQ(format.lookups.size(), 1u);
  EXPECT_EQ(format.lookups[0].name, "alone_us");
  EXPECT_EQ(format.lookups[0].file, "isolated");
  EXPECT_EQ(format.lookups[0].column.text(), "{all_us}");
  ASSERT_EQ(format.lookups[0].where.size(), 2u);
  EXPECT_EQ(format.lookups[0].where[1].column, "gemm");
  EXPECT_THAT(texts(format.lookups[0].where[1].words), ElementsAre("{gemm}"));
  EXPECT_THAT(texts(format.assignments), ElementsAre("gpus={gpus}", "gpu.power.cap={cap}W"));
  ASSERT_EQ(format.rows.size(), 2u);
  const RowFormat& first = format.rows[0];
  ASSERT_EQ(first.where.size(), 2u);
  EXPECT_EQ(first.where[0].column, "kind");
  EXPECT_THAT(texts(first.where[0].words), ElementsAre("coll", "drift"));
  EXPECT_THAT(texts(first.where[1].words), ElementsAre(">= 1024"));
  EXPECT_EQ(first.trial, "collective");
  EXPECT_EQ(first.group.text(), "{kind} by size");
  EXPECT_EQ(first.with.at("bytes").text(), "{bytes}B");
  ASSERT_EQ(first.see.size(), 4u);
  EXPECT_EQ(first.see[0].figure, study::Figure::time);
  EXPECT_EQ(first.see[0].over, Over::nothing);
  EXPECT_EQ(first.see[0].measured.text(), "{all_us}us");
  EXPECT_EQ(first.see[0].low.text(), "{p10}us");
  EXPECT_EQ(first.see[0].high.text(), "{p90}us");
  EXPECT_EQ(first.see[0].scale, 0.5);
  EXPECT_EQ(first.see[0].band, 0.1);
  EXPECT_EQ(first.see[1].over, Over::longer_alone);
  EXPECT_EQ(first.see[2].over, Over::gemm_alone);
  EXPECT_EQ(first.see[3].figure, study::Figure::power);
  EXPECT_EQ(first.see[3].measured.text(), "{watts}W");
  EXPECT_EQ(first.see[3].scale, 1.0);
  EXPECT_EQ(first.see[3].band, std::nullopt);
  EXPECT_EQ(first.gemm_alone.text(), "{alone_us}us");
  EXPECT_EQ(first.collective_alone.text(), "{comm_us}us");
  EXPECT_EQ(first.tiles.text(), "{tiles}");
  EXPECT_EQ(first.decision.text(), "{gemm} {bytes}");
  EXPECT_EQ(first.alternative.text(), "{how}");
  EXPECT_EQ(format.rows[1].leave_out, "it has no model");
}

TEST(TableFormat, KnowsEveryFigureByItsKey) {
  for (const study::FigureForm& form : study::all_figures()) {
    const TableFormat format = format_from("rows: [{trial: rest, see: {" + std::string(form.key) + ": '{x}'}}]\n");
    EXPECT_EQ(format.rows.at(0).see.at(0).figure, form.figure) << form.key;
  }
}

// Which tables are of the form.

std::vector<std::string> needs(const std::string& text) { return format_from(text).needed_columns(); }

TEST(NeededColumns, AreThoseThatRowsName) {
  EXPECT_THAT(needs(R"(
set: "gpus={gpus}"
rows:
  - {where: {kind: "{other}"}, trial: gemm, with: {gemm: "{m}x{n}", cus: 8}, see: {time: {measured: "{t}us", low: "{l}us"}},
     group: "{g}", gemm_alone: "{a}us", collective_alone: "{b}us", tiles: "{c}", decision: "{d}", alternative: "{e}"}
  - {where: {how: x}, leave_out: no model}
)"),
              ElementsAre("a", "b", "c", "d", "e", "g", "gpus", "how", "kind", "l", "m", "n", "other", "t"));
}

TEST(NeededColumns, OfRunsToComeTellNothingMeasured) {
  const TableFormat format = format_from(
      "rows: [{trial: gemm, with: {gemm: '{g}'}, see: {time: {measured: '{t}us', low: '{l}us'}}, gemm_alone: "
      "'{a}us'}]\n");
  EXPECT_THAT(format.needed_columns(Rows::all), ElementsAre("g"));
}

TEST(TableFormat, IsOfOneMachineWhereItSetsWhatNoRowSays) {
  EXPECT_TRUE(
      format_from("set: gpu.power.cap=700W\nrows: [{trial: rest, see: {time: '{t}us'}}]\n").is_of_one_machine());
  // How many GPUs a run has may follow from the columns of other tables of the form.
  EXPECT_FALSE(format_from("set: gpus=4\nrows: [{trial: rest, see: {time: '{t}us'}}]\n").is_of_one_machine());
  EXPECT_FALSE(format_from("set: 'gpus={gpus}'\nrows: [{trial: rest, see: {time: '{t}us'}}]\n").is_of_one_machine());
}

TEST(NeededColumns, OfWordsAreThoseThatTheyTranslate) {
  EXPECT_THAT(needs("words: {strategy: {of: how, x: c3_sp}}\n" + form_of_row("    where: {strategy: c3_sp}\n")),
              ElementsAre("how"));
  EXPECT_THAT(needs("words: {how: {x: y}}\n" + form_of_row("    where: {how: y}\n")), ElementsAre("how")) << "in place";
  EXPECT_THAT(needs("words: {how: {of: how, x: y}}\n" + form_of_row("    where: {how: y}\n")), ElementsAre("how"))
      << "in place";
  EXPECT_THAT(needs("words: {strategy: {of: how, x: c3_sp}}\n" + form_of_row("    where: {kind: c3}\n")),
              ElementsAre("kind"))
      << "nobody asks for it";
}

TEST(NeededColumns, OfWordsOfWordsAreThoseAtTheirEndWhateverTheirNames) {
  EXPECT_THAT(needs("words: {a: {of: b, x: y}, b: {of: c, u: x}}\n" + form_of_row("    where: {a: y}\n")),
              ElementsAre("c"));
  EXPECT_THAT(needs("words: {b: {of: a, x: y}, a: {of: c, u: x}}\n" + form_of_row("    where: {b: y}\n")),
              ElementsAre("c"));
}

TEST(NeededColumns, OfALookupAreThoseThatItComparesWith) {
  const std::string asked = form_of_row("    gemm_alone: '{alone}us'\n");
  EXPECT_THAT(
      needs("lookups: {alone: {file: other, column: '{all_us}', where: {kind: gemm, gemm: '{shape}'}}}\n" + asked),
      ElementsAre("shape"))
      << "the others are of the other table";
  EXPECT_THAT(needs("lookups: {alone: {column: '{all_us}', where: {kind: gemm, gemm: '{shape}'}}}\n" + asked),
              ElementsAre("all_us", "gemm", "kind", "shape"));
}

TEST(NeededColumns, OfWordsOfALookupAreThoseOfTheLookup) {
  EXPECT_THAT(needs("words: {strategy: {of: found, x: c3_sp}}\n"
                    "lookups: {found: {file: other, column: '{how}', where: {id: '{id}'}}}\n" +
                    form_of_row("    where: {strategy: c3_sp}\n")),
              ElementsAre("id"));
}

TEST(NeededColumns, OfAWideTableAreItsCells) {
  EXPECT_THAT(needs("columns: {d1: one, d2: two}\nwords: {peer: {of: column, one: gpu1, two: gpu2}}\n" +
                    form_of_row("    group: '{column} {peer} {wide}'\n    gemm_alone: '{cell}us'\n")),
              ElementsAre("d1", "d2"));
}

TEST(NeededColumns, AreNotThoseThatATableMayLack) {
  const std::string form = form_of_row("    where: {kind: c3}\n    gemm_alone: '{gemm_us}us'\n    tiles: '{tiles}'\n");
  EXPECT_THAT(needs("optional: gemm_us\n" + form), ElementsAre("kind", "tiles"));
  EXPECT_THAT(needs("optional: [gemm_us, tiles]\n" + form), ElementsAre("kind"));
  EXPECT_THAT(format_from("optional: gemm_us\n" + form).named_columns(), ElementsAre("gemm_us", "kind", "tiles"));
  EXPECT_EQ(faults_of_form("optional: [gem_us, tiles]\n" + form),
            "f.yaml:1:1: optional: no entry names the column 'gem_us'; did you mean 'gemm_us'?");
}

// Outside a wide table these are columns like others: one that lacks them is told so.
TEST(NeededColumns, AreCalledCellAndColumnWhereNoTableIsWide) {
  EXPECT_THAT(needs(form_of_row("    group: '{column}'\n    gemm_alone: '{cell}us'\n")), ElementsAre("cell", "column"));
}

// Faults: where, what is wrong, what would be accepted.

TEST(FaultsOfAForm, NameTheKindOfTrialThatWasMeant) {
  EXPECT_EQ(faults_of_form("rows:\n  - {trial: gem, see: {time: '{t}us'}}\n"),
            "f.yaml:2:6: rows[0].trial: 'gem' is no trial; did you mean 'gemm'?");
  EXPECT_EQ(
      faults_of_form("rows:\n  - {trial: training, with: {cus: 8}, see: {time: '{t}us'}}\n"),
      "f.yaml:2:6: rows[0].trial: 'training' is no trial; known are: rest, empty_kernel, gemm, collective, copy, "
      "replay, fan_out, remote, stream, load, c3, dependent, fused, step, stream_beside_collective, copies_in_a_row, "
      "beside_hog");
  EXPECT_EQ(faults_of_form("rows:\n  - {see: {time: '{t}us'}}\n"), "f.yaml:2:5: rows[0].trial: is missing");
}

TEST(FaultsOfAForm, NameTheFieldThatWasMeant) {
  EXPECT_EQ(faults_of_form(form_of_row("    with: {cus: 8}\n")),
            "f.yaml:4:12: rows[0].with.cus: no field of the trial 'rest'");
  EXPECT_EQ(faults_of_form("rows:\n  - {trial: gemm, with: {gem: cb1}, see: {time: '{t}us'}}\n"),
            "f.yaml:2:26: rows[0].with.gem: no field of the trial 'gemm'; did you mean 'gemm'?");
}

TEST(FaultsOfAForm, NameTheFigureThatWasMeant) {
  EXPECT_EQ(faults_of_form("rows:\n  - {trial: rest, see: {pover: 5W}}\n"),
            "f.yaml:2:25: rows[0].see.pover: unknown key; did you mean 'power'?");
  EXPECT_EQ(faults_of_form("rows:\n  - {trial: rest, see: {power: {measured: 5W, lwo: 4W}}}\n"),
            "f.yaml:2:47: rows[0].see.power.lwo: unknown key; did you mean 'low'?");
}

TEST(FaultsOfAForm, NameTheKeyThatWasMeant) {
  EXPECT_EQ(faults_of_form("abuot: x\n" + form_of_row("")), "f.yaml:1:1: abuot: unknown key; did you mean 'about'?");
  EXPECT_EQ(faults_of_form(form_of_row("    wher: {a: b}\n")),
            "f.yaml:4:5: rows[0].wher: unknown key; did you mean 'where'?");
  EXPECT_EQ(faults_of_form("lookups: {a: {fil: b, column: '{c}', where: {d: e}}}\n" + form_of_row("")),
            "f.yaml:1:15: lookups.a.fil: unknown key; did you mean 'file'?");
  EXPECT_THAT(faults_of_form("rows:\n  - {leave_out: no model, trial: rest}\n"),
              HasSubstr("f.yaml:2:27: rows[0].trial: unknown key"))
      << "what is left out is no trial";
}

TEST(FaultsOfAForm, AskForWhatIsMissing) {
  EXPECT_EQ(faults_of_form("about: x\n"), "f.yaml:1:1: rows: is missing");
  EXPECT_EQ(faults_of_form("rows: []\n"), "f.yaml:1:1: rows: at least one entry is due");
  EXPECT_EQ(faults_of_form("rows:\n  - {trial: rest}\n"), "f.yaml:2:5: rows[0].see: is missing");
  EXPECT_EQ(faults_of_form("rows:\n  - {trial: rest, see: {}}\n"),
            "f.yaml:2:19: rows[0].see: at least one figure is due");
  EXPECT_EQ(faults_of_form("rows:\n  - {trial: rest, see: {power: {low: 4W}}}\n"),
            "f.yaml:2:25: rows[0].see.power.measured: is missing");
  EXPECT_EQ(faults_of_form("lookups: {a: {file: b}}\n" + form_of_row("")),
            "f.yaml:1:11: lookups.a.column: is missing\nf.yaml:1:11: lookups.a.where: is missing");
  EXPECT_EQ(faults_of_form(form_of_row("    where: {kind: []}\n")),
            "f.yaml:4:13: rows[0].where.kind: at least one word is due");
}

TEST(FaultsOfAForm, PairDecisionsWithAlternatives) {
  EXPECT_EQ(faults_of_form(form_of_row("    decision: x\n")), "f.yaml:4:5: rows[0].decision: goes with alternative");
  EXPECT_EQ(faults_of_form(form_of_row("    alternative: x\n")), "f.yaml:4:5: rows[0].alternative: goes with decision");
}

TEST(FaultsOfAForm, NameTheTimeThatAFigureIsOver) {
  EXPECT_THAT(faults_of_form("rows:\n  - {trial: rest, see: {over_longer: {measured: 5us, over: longer}}}\n"),
              HasSubstr("rows[0].see.over_longer.over: 'longer' is not one of gemm_alone, longer_alone"));
}

TEST(FaultsOfAForm, BoundScalesAndBands) {
  EXPECT_THAT(faults_of_form("rows:\n  - {trial: rest, see: {power: {measured: 5W, scale: 0}}}\n"),
              HasSubstr("rows[0].see.power.scale: '0' must lie between 1e-12 and 1e+12"));
  EXPECT_THAT(faults_of_form("rows:\n  - {trial: rest, see: {power: {measured: 5W, band: -1}}}\n"),
              HasSubstr("rows[0].see.power.band: '-1' must lie between 0 and 10"));
}

// One in every place that holds columns: each is told.
TEST(FaultsOfAForm, AreBracesThatNobodyClosesWhereverTheyStand) {
  for (const char* const line :
       {"    group: '{a'\n", "    where: {kind: '{a'}\n", "    where: {kind: [x, '{a']}\n", "    gemm_alone: '{a'\n",
        "    collective_alone: '{a'\n", "    tiles: '{a'\n", "    decision: '{a'\n    alternative: x\n",
        "    decision: x\n    alternative: '{a'\n"}) {
    EXPECT_THAT(faults_of_form(form_of_row(line)), HasSubstr(": the brace of '{a' is never closed")) << line;
    EXPECT_THAT(faults_of_form(form_of_row(line)), HasSubstr("f.yaml:")) << line;
  }
  for (const char* const text :
       {"set: 'gpus={a'\nrows: [{trial: rest, see: {power: 5W}}]\n", "rows: [{trial: rest, see: {power: '{a'}}]\n",
        "rows: [{trial: rest, see: {power: {measured: '{a'}}}]\n",
        "rows: [{trial: rest, see: {power: {measured: 5W, low: '{a'}}}]\n",
        "rows: [{trial: rest, see: {power: {measured: 5W, high: '{a'}}}]\n",
        "rows: [{trial: gemm, with: {gemm: '{a'}, see: {power: 5W}}]\n",
        "lookups: {x: {column: '{a', where: {b: c}}}\nrows: [{trial: rest, see: {power: 5W}}]\n",
        "lookups: {x: {column: '{b}', where: {b: '{a'}}}\nrows: [{trial: rest, see: {power: 5W}}]\n"}) {
    EXPECT_THAT(faults_of_form(text), HasSubstr(": the brace of '{a' is never closed")) << text;
  }
  EXPECT_EQ(faults_of_form(form_of_row("    group: '{a'\n")),
            "f.yaml:4:5: rows[0].group: the brace of '{a' is never closed: {column} or {column|prefix} is accepted");
}

TEST(FaultsOfAForm, AreComparisonsWithNoNumber) {
  for (const char* const word : {"<", ">=", "< eight", ">1e999", "<= nan"}) {
    EXPECT_EQ(faults_of_form(form_of_row("    where: {bytes: '" + std::string(word) + "'}\n")),
              "f.yaml:4:13: rows[0].where.bytes: '" + std::string(word) +
                  "' compares with no number: <, <=, > or >= before a decimal number is accepted");
  }
  EXPECT_EQ(faults_of_form(form_of_row("    where: {bytes: ['<8', '<= 8', '>1e6', '>= 0.5', '<{limit}']}\n")), "");
}

// Whatever would never end is told before any table is read.

TEST(FaultsOfAForm, AreWordsInACircle) {
  EXPECT_EQ(faults_of_form("words:\n  a: {of: b, x: y}\n  b: {of: a, x: y}\n" + form_of_row("")),
            "f.yaml:2:7: words.a.of: a of b of a: a column that follows from itself");
  EXPECT_EQ(faults_of_form("words: {a: {of: b, x: y}, b: {of: c, x: y}, c: {of: b, x: y}}\n" + form_of_row("")),
            "f.yaml:1:31: words.b.of: b of c of b: a column that follows from itself");
  EXPECT_EQ(faults_of_form("words: {a: {of: a, x: y}}\n" + form_of_row("")), "") << "in place";
}

TEST(FaultsOfAForm, AreLookupsThatAskForThemselves) {
  EXPECT_EQ(faults_of_form("lookups:\n  a: {column: '{x}', where: {id: '{a}'}}\n" + form_of_row("")),
            "f.yaml:2:3: lookups.a: a of a: a column that follows from itself");
  EXPECT_EQ(faults_of_form("lookups:\n  a: {file: f, column: '{x}', where: {id: '{b}'}}\n"
                           "  b: {file: g, column: '{x}', where: {id: '{a}'}}\n" +
                           form_of_row("")),
            "f.yaml:2:3: lookups.a: a of b of a: a column that follows from itself");
}

TEST(FaultsOfAForm, AreCirclesThroughWordsAndLookups) {
  EXPECT_EQ(faults_of_form("words: {w: {of: l, x: y}}\n"
                           "lookups: {l: {file: f, column: '{x}', where: {id: '{w}'}}}\n" +
                           form_of_row("")),
            "f.yaml:1:13: words.w.of: w of l of w: a column that follows from itself");
  EXPECT_EQ(faults_of_form("words: {l: {x: y}}\n"
                           "lookups: {l: {file: f, column: '{x}', where: {id: '{l}'}}}\n" +
                           form_of_row("")),
            "f.yaml:2:11: lookups.l: l of l: a column that follows from itself")
      << "words in place of what was looked up";
}

// Of 17 columns the last follows from 16 others, of 18 from 17.
TEST(FaultsOfAForm, AreColumnsThatFollowFromTooManyOthers) {
  const auto chain = [](int length) {
    std::string words = "words:\n";
    for (int i = 0; i < length; ++i) words += fmt::format("  c{}: {{of: c{}, x: y}}\n", i, i + 1);
    return words + form_of_row("");
  };
  EXPECT_EQ(faults_of_form(chain(16)), "");
  EXPECT_EQ(faults_of_form(chain(17)),
            "f.yaml:2:8: words.c0.of: c0 follows from more than 16 columns, one from the other");
  EXPECT_THAT(faults_of_form(chain(5000)), HasSubstr("follows from more than 16 columns"));
}

TEST(FaultsOfAForm, AreNoCirclesWhereALookupNamesAColumnOfTheOtherTable) {
  EXPECT_EQ(faults_of_form("lookups: {a: {file: f, column: '{a}', where: {a: '{id}'}}}\n" + form_of_row("")), "");
}

TEST(FaultsOfAForm, AreToldAllAtOnce) {
  const std::string faults =
      faults_of_form("rows:\n  - {trial: gem, see: {time: '{t'}}\n  - {trial: rest, see: {}}\nx: y\n");
  for (const char* const fault : {"rows[0].trial", "rows[0].see.time", "rows[1].see", "x: unknown key"}) {
    EXPECT_THAT(faults, HasSubstr(fault));
  }
}

}  // namespace
}  // namespace c3sim::calibrate
