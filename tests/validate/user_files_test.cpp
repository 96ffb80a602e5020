// Tests which parts of users' files are compared, what is left out, and what the users are told.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "sim/config/csv_file.h"
#include "tests/calibrate/script.h"
#include "tests/testing.h"
#include "tests/validate/libraries.h"
#include "validate/report.h"
#include "validate/validation.h"

namespace c3sim::validate {
namespace {

using study::Figure;

class UserFiles : public testing::Test {
 protected:
  Validation read(const std::vector<std::filesystem::path>& files, const Options& options = {}) const {
    return read_files(library_, files, options);
  }

  Folder folder_{"user_files_test"};
  Library library_ = shipped_library();
};

// Returns what is compared, a line for each case, and what is said of the rest.
std::string words_of(const Validation& validation) {
  std::string text;
  for (const Case& one : validation.cases) {
    text += fmt::format("{}: {}; {} {:.6g}", one.id, study::to_string(one.trial), one.form().key, one.measured);
    if (one.low || one.high) text += fmt::format(", from {:.6g} to {:.6g}", *one.low, *one.high);
    text += fmt::format("; group '{}'; on {}\n", one.group, one.machine.platform);
  }
  for (const LeftOut& left : validation.left_out) {
    text += fmt::format("left out: {} of {}: {}\n", left.rows, left.file, left.why);
  }
  for (const std::string& remark : validation.remarks) text += fmt::format("remark: {}\n", remark);
  for (const sim::Fault& fault : validation.faults) {
    text += fmt::format("fault: {}: {}: {}\n", fault.where, fault.path, fault.what);
  }
  return text;
}

TEST_F(UserFiles, AreReadAsSamplesSay) {
  expect_samples("user_files.samples", [this](const Sample& sample) {
    return said_of_script(sample, folder_.path() / "samples",
                          [this](const std::vector<std::string>& words, const std::string&) {
                            Options options;
                            std::vector<std::filesystem::path> files(words.begin(), words.end());
                            if (const auto option = std::ranges::find(words, "--platform"); option != words.end()) {
                              options.platform = *std::next(option);
                              files.resize(files.size() - 2);
                            }
                            Said said;
                            said.err = config_fault([&] { said.out = words_of(read(files, options)); });
                            said.code = said.err.empty() ? 0 : 2;
                            if (!said.err.empty()) said.err += '\n';
                            return said;
                          });
  });
}

// Every measurement of a tool that has a trial is predicted.
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

std::vector<std::filesystem::path> shipped_tables() {
  std::vector<std::filesystem::path> tables;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shipped_library().reference)) {
    if (entry.path().extension() == ".csv") tables.push_back(entry.path());
  }
  std::ranges::sort(tables);
  return tables;
}

// Every column of a shipped table is used or left alone on purpose.
TEST_F(UserFiles, ShippedTablesHaveNoUnusedColumn) {
  const calibrate::Reader reader = reader_of_everything(library_);
  std::size_t tables = 0;
  for (const std::filesystem::path& table : shipped_tables()) {
    try {
      const calibrate::Reading reading = reader.read(table);
      for (const sim::Fault& remark : reading.remarks) {
        ADD_FAILURE() << remark.where << " " << remark.path << ": " << remark.what;
      }
      for (const sim::Fault& fault : reading.faults) EXPECT_THAT(fault.what, Not(HasSubstr("not used"))) << fault.where;
      ++tables;
    } catch (const sim::ConfigError&) {  // lists of roles, data sheets and others are no measurements
    }
  }
  EXPECT_GT(tables, 70u);
}

// An all-reduce of 17.6 MB that takes 8.9 ms waits for most of it: an error of its prediction would mean nothing.
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
    return results.table(key)->table;
  };
  EXPECT_EQ(static_cast<std::ptrdiff_t>(table("unscored").rows().size()), waits);
  std::int64_t scored = 0;
  for (const auto& row : table("suites").rows()) scored += std::get<std::int64_t>(row[2]);
  EXPECT_EQ(scored, static_cast<std::int64_t>(validation.cases.size()) - waits);
  EXPECT_THAT(verdict(validation), HasSubstr("hold waits and"));
}

// A table is found by its columns without a suite's name, or the user is told the nearest form, or all forms.
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
      EXPECT_THAT(config_fault([&] { read({table}, options); }),
                  AnyOf(IsEmpty(), HasSubstr(": the nearest is '"), HasSubstr("; known are:\n  attention alone"),
                        HasSubstr("nothing in it can be compared: ")))
          << table;
    }
  }
  EXPECT_EQ(compared, of_suites.size());
}

bool lies_within(double value, const study::FigureForm& form) { return form.low <= value && value <= form.high; }

// Tables of every form hold cells that nobody should write: each row is read, left out or told, and values that were
// read can be divided by.
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
    const Validation validation = read({folder_.write(std::filesystem::path(table.name()).filename(), text)});
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
