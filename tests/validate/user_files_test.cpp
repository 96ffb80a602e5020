// Files of users: what of them is compared, what is left out, and what they are told of it.
#include <fmt/format.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "sim/config/csv_file.h"
#include "tests/testing.h"
#include "tests/validate/libraries.h"
#include "validate/report.h"
#include "validate/suite.h"

namespace c3sim::validate {
namespace {

using study::Figure;

const std::string runs = "kind,gemm,collective,bytes,how,limit,all_us\n";
const std::string good = "gemm,8192x8192x8192,-,0,all,304,1900\n";

class UserFiles : public testing::Test {
 protected:
  Validation read(const std::vector<std::filesystem::path>& files, const Options& options = {}) const {
    return read_files(library_, files, options);
  }
  Validation read(const std::string& name, const std::string& text, const Options& options = {}) const {
    return read({folder_.write(name, text)}, options);
  }
  std::string fault(const std::string& name, const std::string& text) const {
    return fault_of([&] { read(name, text); });
  }

  Folder folder_{"user_files_test"};
  Library library_ = shipped_library();
};

TEST_F(UserFiles, TableOfRunsNeedsNoTimesOfTheParts) {
  const Validation validation = read("runs.csv", runs + good);
  ASSERT_THAT(validation.cases, SizeIs(1));
  EXPECT_EQ(validation.cases[0].id, "runs.csv:2/time");
  EXPECT_DOUBLE_EQ(validation.cases[0].measured, 1900e-6);
  EXPECT_EQ(study::to_string(validation.cases[0].trial), "gemm 8192x8192x8192 on 304 CUs");
}

// What rules divide and multiply by: none of it may be nothing, or rules and figures are no numbers.
// A fault that two cells of a wide row share is told once.
TEST_F(UserFiles, YardsticksMustBeTimesAndCounts) {
  const std::string pairs = "gpus,gemm,collective,bytes,gemm_us,collective_us,c3_base_us,c3_sp_us\n";
  const std::string by_shape =
      "shape,torch_tiles,persistent_tiles,torch_alone_ms,torch_overlap_ms,persistent_alone_ms,persistent_overlap_ms,"
      "ws_alone_ms,ws_overlap_ms\n";
  EXPECT_EQ(
      fault("pairs.csv", pairs + "4,cb1,all_gather,1048576,0,50,1800,1800\n"),
      (folder_.path() / "pairs.csv").string() + ":2:26: gemm_us: '0us' cannot be: 0.001 to 3600000000 us are accepted");
  EXPECT_THAT(fault("pairs.csv", pairs + "4,cb1,all_gather,1048576,0,0,0,0\n"),
              HasSubstr("pairs.csv:2:28: collective_us: '0us' cannot be"));
  EXPECT_THAT(fault("shapes.csv", by_shape + "cb1,0,-1,1,2,1,2,1,2\n"),
              AllOf(HasSubstr("shapes.csv:2:5: torch_tiles: '0' cannot be: 1 to 1000000000 are accepted"),
                    HasSubstr("shapes.csv:2:7: persistent_tiles: '-1' is negative")));
}

// 10 TB/s on links of 48 GB/s is a legal thing to write down, and far outside its band; what no machine of this century
// does is a slip of the pen.
TEST_F(UserFiles, RateBeyondTheLinkIsOutsideItsBandAndOneBeyondReasonAtFault) {
  const std::string columns = "src,d0,d1,d2,d3,d4,d5,d6,d7\n";
  const std::filesystem::path fast =
      folder_.write("iris_p2p_store_8xmi300x.csv", columns + "0,-,10000,-,-,-,-,-,1e20\n");
  const Validation validation = validate_files(library_, std::vector{fast}, {});
  ASSERT_THAT(validation.cases, SizeIs(1));
  EXPECT_EQ(study::to_string(validation.cases[0].trial), "store of 4GiB by gpu0 of gpu1");
  EXPECT_EQ(validation.outside(), 1u);
  ASSERT_THAT(validation.faults, SizeIs(1));
  EXPECT_EQ(validation.faults[0].path, "d7");
  EXPECT_THAT(validation.faults[0].what, HasSubstr("'1e20GiB/s' cannot be: 1e-09 to 10000000 GB/s are accepted"));
}

TEST_F(UserFiles, FileThatIsGivenTwiceIsComparedOnce) {
  const std::filesystem::path file = folder_.write("runs.csv", runs + good);
  const Validation validation = read({file, file, folder_.path() / "." / "runs.csv"});
  EXPECT_THAT(validation.cases, SizeIs(1));
  ASSERT_THAT(validation.faults, SizeIs(2));
  EXPECT_EQ(validation.faults[0], (sim::Fault{file, "", "is given twice: it is compared once"}));
  EXPECT_EQ(validation.faults[1].what, "is given twice, first as " + file.string() + ": it is compared once");
}

TEST_F(UserFiles, FilesOfTheSameNameHaveCasesOfTheirOwn) {
  const Validation validation = read({folder_.write("a/runs.csv", runs + good),
                                      folder_.write("b/runs.csv", runs + good), folder_.write("c.csv", runs + good)});
  ASSERT_THAT(validation.cases, SizeIs(3));
  EXPECT_EQ(validation.cases[0].id, (folder_.path() / "a/runs.csv:2/time").string());
  EXPECT_EQ(validation.cases[1].id, (folder_.path() / "b/runs.csv:2/time").string());
  EXPECT_EQ(validation.cases[2].id, "c.csv:2/time");
}

TEST_F(UserFiles, RowOfAnotherPlatformIsLeftOutAndTold) {
  const std::string columns = "platform," + runs;
  const std::string text =
      columns + "mi300x," + good + "h200,gemm,cb1,-,0,all,132,1900\n" + "MI300X," + good + "," + good;
  const Validation validation = read("both.csv", text);
  EXPECT_THAT(validation.cases, SizeIs(3));
  ASSERT_THAT(validation.faults, SizeIs(1));
  EXPECT_EQ(validation.faults[0].where, (folder_.path() / "both.csv:3").string());
  EXPECT_EQ(validation.faults[0].path, "platform");
  EXPECT_EQ(validation.faults[0].what, "measured on 'h200', compared with mi300x: --platform names another");

  Options options;
  options.platform = "some/h200.yaml";
  EXPECT_THAT(read("both.csv", text, options).cases,
              SizeIs(2));  // the row that says h200, and the one that says nothing
  EXPECT_THAT(fault("other.csv", columns + "mi355x,gemm,cb1,-,0,all,132,1900\n"), HasSubstr("measured on 'mi355x'"));
  EXPECT_EQ(read("all.csv", columns + "h200,gemm,cb1,-,0,all,132,1900\n").cases.at(0).machine.platform, "h200");
}

// A wide row is told once.
TEST_F(UserFiles, WideRowOfAnotherPlatformIsOneFault) {
  const Validation validation =
      read("wide.csv",
           "platform,size_bytes,gpu0,gpu1,gpu2,gpu3,gpu4,gpu5,gpu6,gpu7\n"
           "h200,1073741824,300,300,300,300,300,300,300,300\nmi300x,1073741824,300,300,300,300,300,300,300,300\n");
  EXPECT_THAT(validation.cases, SizeIs(8));
  EXPECT_THAT(validation.faults, SizeIs(1));
}

// Of six rows one is good, one measured nothing, and four are at fault: one of them twice.
TEST_F(UserFiles, SummaryCountsWhatIsLeftOutAndWhy) {
  const std::filesystem::path mixed = folder_.write("mixed.csv", runs + good +
                                                                     "gemm,8192x8192x8192,-,0,all,304,nan\n"
                                                                     "gemm,8192x8192x8192,-,0,all,304,-5\n"
                                                                     "gemm,cb9,-,0,all,304,0\n"
                                                                     "coll,-,all_gathr,1048576,nccl,0,50\n"
                                                                     "gemm,8192x8192x8192,-\n");
  const Validation validation = validate_files(library_, std::vector{mixed, folder_.write("empty.csv", "")}, {});
  EXPECT_THAT(validation.cases, SizeIs(1));
  std::vector<std::string> left_out;
  for (const LeftOut& left : validation.left_out) {
    left_out.push_back(
        fmt::format("{} {}: {}", left.rows, std::filesystem::path(left.file).filename().string(), left.why));
  }
  EXPECT_THAT(left_out, ElementsAre("0 empty.csv: the whole file: no line names the columns",
                                    "1 mixed.csv: nothing was measured of what is compared",
                                    "4 mixed.csv: at fault: a warning tells of each"));
  EXPECT_EQ(verdict(validation), "1 of 1 cases lie within their bands. Left out: 5 rows and 1 file.");
}

// 305 CUs are no whole number of CUs of each of 8 XCDs.
TEST_F(UserFiles, NothingThatCanBePredictedIsAFault) {
  const std::filesystem::path file = folder_.write("odd.csv", runs + "gemm,8192x8192x8192,-,0,all,305,1900\n");
  EXPECT_THAT(
      fault_of([&] { validate_files(library_, std::vector{file}, {}); }),
      AllOf(HasSubstr("odd.csv:2: time: cannot be compared: 305 CUs cannot be used"), HasSubstr("multiples of 8")));
}

// Of every tool, what has a trial is predicted.
TEST_F(UserFiles, FilesOfToolsAreCompared) {
  const std::filesystem::path samples = std::filesystem::path(C3SIM_SOURCE_DIR) / "tests/data";
  const std::vector<std::filesystem::path> files{samples / "gemm_bench/hipblaslt_bench.txt",
                                                 samples / "gemm_bench/rocblas_bench.txt",
                                                 samples / "babel_stream/stream.csv",
                                                 samples / "rocprofv3/kernel_trace.csv",
                                                 samples / "rocprofv3/memory_copy_trace.csv",
                                                 samples / "rocprofv3/counter_collection.csv",
                                                 samples / "torch/trace.json"};
  const Validation validation = validate_files(library_, files, {});
  ASSERT_THAT(validation.cases, SizeIs(1 + 1 + 5 + 2 + 1 + 2 + 7));
  for (const Case& one : validation.cases) EXPECT_TRUE(one.predicted) << one.id << ": " << one.why_not_predicted;
  EXPECT_THAT(validation.faults, IsEmpty());
}

TEST_F(UserFiles, FileOfAnotherGpuIsTold) {
  const std::filesystem::path file = folder_.write("gemms.csv", "# gpu: NVIDIA H200\ngemm,time_us\ncb1,2000\n");
  Options options;
  options.platform = "mi300x";
  EXPECT_THAT(fault_of([&] { read({file}, options); }),
              HasSubstr("gemms.csv: gpu: measured on 'NVIDIA H200', compared with mi300x: --platform names another"));
  options.platform = "h200";
  EXPECT_THAT(read({file}, options).cases, SizeIs(1));
}

TEST_F(UserFiles, AreEachComparedWithTheGpuThatTheyName) {
  const std::string gemm = "gemm,time_us\ncb1,2000\n";
  const std::filesystem::path h200 = folder_.write("h200.csv", "# gpu: NVIDIA H200\n" + gemm);
  const std::filesystem::path mi300x = folder_.write("mi300x.csv", "# gpu: AMD Instinct MI300X\n" + gemm);
  const std::filesystem::path silent = folder_.write("silent.csv", gemm);
  const Validation validation = read({h200, mi300x, silent});
  ASSERT_THAT(validation.cases, SizeIs(3));
  EXPECT_EQ(validation.cases[0].machine.platform, "h200");
  EXPECT_EQ(validation.cases[1].machine.platform, "mi300x");
  EXPECT_EQ(validation.cases[2].machine.platform, "mi300x");
  EXPECT_THAT(validation.remarks,
              ElementsAre("silent.csv names no GPU: it is compared with mi300x, as files without one are; --platform "
                          "names another for all of them"));
  EXPECT_THAT(read({mi300x, silent}).remarks, IsEmpty());
  EXPECT_EQ(report(validation).platform, "h200, mi300x");
  EXPECT_THAT(fault_of([&] { read({folder_.write("a100.csv", "# gpu: NVIDIA A100\n" + gemm)}); }),
              HasSubstr("measured on 'NVIDIA A100', of which there is no platform (there are h200, mi300x, "));
}

TEST_F(UserFiles, OneThatIsNotThereIsAnErrorWhateverTheOthersSay) {
  EXPECT_EQ(fault_of([&] {
              read({folder_.write("good.csv", runs + good), folder_.path() / "NOPE.log"});
            }),
            (folder_.path() / "NOPE.log").string() + ": No such file or directory");
}

TEST_F(UserFiles, ColumnsThatAreNotUsedAreTold) {
  const Validation validation = read("mine.csv", "gemm,time_us,driver,cu\ncb1,2000,6.4,\ncb2,2000,6.4,100\n");
  EXPECT_THAT(validation.cases, SizeIs(1));
  EXPECT_THAT(validation.remarks, ElementsAre(HasSubstr("mine.csv:1:14: driver: this column is not used")));
  ASSERT_THAT(validation.faults, SizeIs(1));
  EXPECT_THAT(validation.faults[0].what, HasSubstr("did you mean 'cus'?"));
}

// Its own tables hold no column that nobody is told of.
TEST_F(UserFiles, ShippedTablesHaveNoUnusedColumn) {
  const calibrate::Reader reader = reader_of_everything(library_);
  std::size_t tables = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(library_.reference)) {
    if (entry.path().extension() != ".csv") continue;
    try {
      const calibrate::Reading reading = reader.read(entry.path());
      for (const sim::Fault& remark : reading.remarks) {
        ADD_FAILURE() << remark.where << " " << remark.path << ": " << remark.what;
      }
      for (const sim::Fault& fault : reading.faults) EXPECT_THAT(fault.what, Not(HasSubstr("not used"))) << fault.where;
      ++tables;
    } catch (const sim::ConfigError&) {  // lists of roles, data sheets and others that are no measurements
    }
  }
  EXPECT_GT(tables, 70u);
}

// An all-reduce of 17.6 MB that takes 8.9 ms waits for most of it: no error that is told of it could be right.
TEST_F(UserFiles, CollectivesThatHoldWaitsAreShownAndNotScored) {
  const std::filesystem::path trace = std::filesystem::path(C3SIM_SOURCE_DIR) / "tests/data/torch/trace.json";
  Validation validation = validate_files(library_, std::vector{trace}, {});
  const auto waits = std::ranges::count_if(
      validation.cases, [](const Case& one) { return !one.is_scored() && one.predicted.has_value(); });
  ASSERT_EQ(waits, 4) << "a collective alone, a pair, collectives beside computation, and the whole";
  for (Case& one : validation.cases) one.band = one.is_scored() ? 1e9 : 0.0;
  EXPECT_EQ(validation.outside(), 0u);
  const study::Results results = report(validation);
  const auto table = [&results](std::string_view key) -> const study::ResultTable& {
    return std::ranges::find(results.tables, key, &study::NamedTable::key)->table;
  };
  EXPECT_EQ(static_cast<std::ptrdiff_t>(table("unscored").rows().size()), waits);
  std::int64_t scored = 0;
  for (const auto& row : table("suites").rows()) scored += std::get<std::int64_t>(row[2]);
  EXPECT_EQ(scored, static_cast<std::int64_t>(validation.cases.size()) - waits);
  EXPECT_THAT(verdict(validation), HasSubstr("hold waits and"));
}

// Loads and stores of all GPUs have the same columns.
TEST_F(UserFiles, TableIsOfTheFormThatItIsNamedAfter) {
  const std::string columns = "size_bytes,gpu0,gpu1,gpu2,gpu3,gpu4,gpu5,gpu6,gpu7\n";
  const std::string row = "1073741824,300,300,300,300,300,300,300,300\n";
  const Validation named = read("iris_all_load_8xmi300x.csv", columns + row);
  ASSERT_THAT(named.cases, SizeIs(8));
  EXPECT_EQ(named.cases[0].group, "all GPUs load");
  EXPECT_THAT(named.remarks, IsEmpty());
  const Validation unnamed = read("mine.csv", columns + row);
  EXPECT_THAT(
      unnamed.remarks,
      ElementsAre("mine.csv was read as 'iris_all_store_8xmi300x'; it could as well be 'iris_all_load_8xmi300x': "
                  "a file is read as the form that it is named after"));
}

// Its columns are those of whole_steps, which knows no bert_large_adam: a table of a suite does.
TEST_F(UserFiles, ATableIsReadByItsWordsWhereNoRowIsByItsColumns) {
  const Validation mine = read("mine.csv",
                               "what,model,layers,gpus,batch,tokens,context,dtype,part,count,median_us,p10_us,p90_us\n"
                               "bert_large_adam,bert_large,24,1,4,512,512,fp32,forward,1,34587,34523,34655\n");
  ASSERT_THAT(mine.cases, SizeIs(1));
  EXPECT_EQ(mine.cases[0].group, "BERT, forward, fp32");
  EXPECT_THAT(mine.remarks, Contains(HasSubstr("no row can be read as 'whole_steps', whose columns these are: it is "
                                               "read as 'bert_large', which takes gpus=2 for granted")));
}

TEST_F(UserFiles, TableOfNoFormIsToldTheNearestOrAllThatThereAre) {
  EXPECT_THAT(fault("lacks.csv", "kind,gemm,collective,bytes,how,limit,all\n"),
              AllOf(HasSubstr("lacks.csv:1:1: no table with these columns is known: the nearest is 'runs'"),
                    HasSubstr("lacks.csv:1:1: all_us: this column is missing")));
  EXPECT_THAT(fault("odd.csv", "a,b\n1,2\n"), HasSubstr("odd.csv:1:1: no table with these columns is known; known "
                                                        "are:\n  attention alone (batch, queries, "));
}

std::vector<std::filesystem::path> shipped_tables() {
  std::vector<std::filesystem::path> tables;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shipped_library().reference)) {
    if (entry.path().extension() == ".csv") tables.push_back(entry.path());
  }
  std::ranges::sort(tables);
  return tables;
}

// Without a suite's name: a table is found by its columns, or the user is told what comes near, or what there is.
TEST_F(UserFiles, FullEveryShippedTableIsReadOrToldWhatIsNear) {
  library_.platform_names = study::platform_names(folders);
  std::set<std::string> of_suites;
  for (const Suite& suite : read_suites(library_, calibrate::Reader(library_.formats))) {
    for (const SuiteTable& table : suite.tables) of_suites.insert((library_.reference / table.file).string());
  }
  std::size_t compared = 0;
  for (const std::filesystem::path& table : shipped_tables()) {
    Options options;
    for (const std::string hopper : {"h200", "h100"}) {
      if (table.string().find("/" + hopper + "x") != std::string::npos) options.platform = hopper;
    }
    if (of_suites.contains(table.string())) {
      const Validation validation = read({table}, options);
      EXPECT_THAT(validation.cases, Not(IsEmpty())) << table;
      EXPECT_THAT(validation.faults, IsEmpty()) << table;
      ++compared;
    } else {
      EXPECT_THAT(fault_of([&] { read({table}, options); }),
                  AnyOf(IsEmpty(), HasSubstr(": the nearest is '"), HasSubstr("; known are:\n  attention alone"),
                        HasSubstr("nothing in it can be compared: ")))
          << table;
    }
  }
  EXPECT_EQ(compared, of_suites.size());
}

bool lies_within(double value, const study::FigureForm& form) { return form.low <= value && value <= form.high; }

// What tables hold in every form there is, with cells that nobody should write: each row is read, left out or told, and
// what was read can be divided by.
RC_GTEST_FIXTURE_PROP(UserFiles, CellsOfAnyKindAreReadOrTold, ()) {
  static const std::vector<std::filesystem::path> tables = shipped_tables();
  const sim::CsvFile table = sim::CsvFile::from_file(*rc::gen::elementOf(tables));
  const auto odd = rc::gen::element<std::string>(
      "0", "-1", "1e300", "1e-300", "nan", "-", "99999999999999999999", "4096", "4097", "0.5", "16777216", "xyz",
      "\"\"\"\"", "\"a,b\"", "8192x8192x8192", "CPU0", "GPU9", "<5", "9007199254740991", "h200", "\xc3\xa9");
  std::string text = fmt::format("{}\n", fmt::join(table.columns(), ","));
  for (std::size_t row = 0; row < std::min<std::size_t>(table.rows(), 4); ++row) {
    std::vector<std::string> cells;
    for (const std::string& column : table.columns()) {
      const std::string_view cell = table.text(row, column);
      cells.emplace_back(cell.find_first_of(",\"") == std::string_view::npos ? cell : "words");
    }
    cells[*rc::gen::inRange<std::size_t>(0, cells.size())] = *odd;
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  try {
    const Validation validation = read(std::filesystem::path(table.name()).filename().string(), text);
    for (const Case& one : validation.cases) {
      RC_ASSERT(lies_within(one.measured, one.form()));
      const study::FigureForm& time = study::form_of(Figure::time);
      RC_ASSERT(!one.alone.gemm || lies_within(*one.alone.gemm, time));
      RC_ASSERT(!one.alone.collective || lies_within(*one.alone.collective, time));
      RC_ASSERT(!one.alone.tiles || *one.alone.tiles >= 1.0);
    }
  } catch (const sim::ConfigError& error) {
    RC_ASSERT(!error.faults().empty());
  }
}

}  // namespace
}  // namespace c3sim::validate
