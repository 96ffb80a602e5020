// Files of measurements, plain and compressed: text, rows and cells, and what is refused with a sentence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <boost/algorithm/string/replace.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "sim/config/config_error.h"
#include "sim/config/csv_file.h"
#include "sim/config/measurement_text.h"
#include "tests/config_fault.h"
#include "tests/gzip.h"
#include "tests/samples.h"

namespace c3sim::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Rows = std::vector<std::vector<std::string>>;

// Every cell of a file with its place, on the line of its row.
std::string words_of(const CsvFile& file) {
  std::string words;
  for (std::size_t row = 0; row < file.rows(); ++row) {
    words += fmt::format("line {}:", file.line(row));
    for (const std::string& column : file.columns()) {
      if (column.empty()) continue;
      const std::string cell = boost::replace_all_copy(std::string(file.text(row, column)), "\n", "\\n");
      words += fmt::format(" [{} at {}: {}]", column, file.place(row, column), cell);
    }
    words += '\n';
  }
  return words;
}

// What each row has in the columns, as numbers from 0 to 10; or the columns that the file must have.
void read_as(CsvFile& file, const std::string& reads) {
  std::istringstream words(reads);
  std::string kind;
  words >> kind;
  const std::vector<std::string> columns{std::istream_iterator<std::string>(words), {}};
  if (kind == "requires") file.require(columns);
  for (std::size_t row = 0; kind != "requires" && row < file.rows(); ++row) {
    for (const std::string& column : columns) {
      if (kind == "numbers") file.number(row, column, 0.0, 10.0);
      if (kind == "integers") file.integer(row, column, 0, 10);
    }
  }
}

// Columns count bytes from 1: "8,abc" has its second cell at column 3. Quotes are those of RFC 4180, sections 2.5 to
// 2.7.
TEST(CsvFile, HasCellsAndFaultsAtTheirPlaces) {
  expect_samples("csv.samples", [](const Sample& sample) {
    std::string words;
    const std::string refusal = config_fault([&] {
      CsvFile file = CsvFile::from_text(sample.inputs.front().second, sample.inputs.front().first);
      for (const auto& [reads, nothing] : sample.inputs) read_as(file, reads);
      words = words_of(file);
      file.check();
    });
    return words + refusal + (refusal.empty() ? "" : "\n");
  });
}

TEST(CsvFile, RefusesCellsOfMoreThanFourKibibytesAndNulBytes) {
  const auto faults_of_text = [](std::string_view text) {
    return config_fault([text] { CsvFile::from_text(text, "f.csv").check(); });
  };
  const std::string longest(4096, 'x');
  EXPECT_EQ(faults_of_text("a,b\n1," + longest + "\n"), "");
  EXPECT_EQ(faults_of_text("a,b\n1," + longest + "x\n"), "f.csv:2:3: b: a cell of 4097 bytes: up to 4096 are accepted");
  EXPECT_EQ(faults_of_text("a," + longest + "x\n1,2\n"), "f.csv:1:3: a cell of 4097 bytes: up to 4096 are accepted");
  EXPECT_THAT(faults_of_text(std::string_view("a\0b", 3)), StartsWith("f.csv:1:2: "));
}

TEST(CsvFile, RefusesAFolderAnAbsentFileAndOneLargerThanAnyTable) {
  const std::filesystem::path folder = testing::TempDir();
  const std::filesystem::path large = folder / "large.csv";
  std::ofstream(large) << "a\n";
  std::filesystem::resize_file(large, (std::uintmax_t{1} << 30) + 1);  // sparse
  for (const auto& [path, fault] : {std::pair(folder, "it is a folder: a file is accepted"),
                                    {"no/such.csv", "no/such.csv: No such file or directory"},
                                    {large, "larger than 1 GiB"}}) {
    EXPECT_THAT(config_fault([&path = path] { CsvFile::from_file(path); }), HasSubstr(fault));
  }
  std::filesystem::remove(large);
}

// Rows and cells of comma-separated values.

Rows rows_of(std::string_view text) {
  Rows rows;
  CsvLexer lexer(text);
  CsvRow row;
  while (lexer.next(row)) {
    rows.emplace_back();
    for (const CsvCell& cell : row.cells) rows.back().emplace_back(cell.text);
  }
  return rows;
}

TEST(CsvLexer, TellsTheFirstQuoteThatIsWrong) {
  for (const auto& [text, column] : {std::pair("1,\"2\n3", 3), std::pair("\"1\"x,2\n", 4), std::pair("\"", 1)}) {
    CsvLexer lexer(text);
    CsvRow row;
    ASSERT_TRUE(lexer.next(row));
    ASSERT_TRUE(row.bad_quote) << text;
    EXPECT_EQ(row.bad_quote->column, column) << text;
    EXPECT_FALSE(lexer.next(row) && row.cells.empty());
  }
}

TEST(CsvLexer, TellsWhetherALineEnds) {
  CsvLexer lexer("1\n2");
  CsvRow row;
  ASSERT_TRUE(lexer.next(row));
  EXPECT_TRUE(row.is_ended);
  ASSERT_TRUE(lexer.next(row));
  EXPECT_FALSE(row.is_ended);
  EXPECT_EQ(row.line, 2);
}

// Whatever cells hold comes back from quotes.
RC_GTEST_PROP(CsvLexer, WhatIsQuotedComesBack, (const std::vector<std::vector<std::string>>& cells)) {
  std::string text;
  Rows expected;
  for (const std::vector<std::string>& row : cells) {
    if (row.empty()) continue;
    expected.push_back(row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "\"" : ",\"";
      for (const char c : row[i]) text += c == '"' ? std::string("\"\"") : std::string(1, c);
      text += '"';
    }
    text += '\n';
  }
  RC_ASSERT(rows_of(text) == expected);
}

// Files of measurements, plain and compressed, and what is refused with a sentence.

// What is read of a file of these bytes, piece by piece, or the fault, with "f.gz" for the file.
std::string read_of(const std::string& bytes, std::size_t most = MeasurementStream::largest) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "f.gz";
  std::ofstream(path, std::ios::binary) << bytes;
  std::string text;
  try {
    MeasurementStream stream(path, most);
    for (std::string_view piece = stream.next(); !piece.empty(); piece = stream.next()) text += piece;
    EXPECT_EQ(stream.next(), "");
    EXPECT_EQ(read_measurement_text(path), text);
  } catch (const ConfigError& error) {
    return std::string(error.what()).substr(path.parent_path().string().size() + 1);
  }
  return text;
}

TEST(MeasurementText, PlainTextIsItself) {
  EXPECT_EQ(read_of("a,b\n1,2\n"), "a,b\n1,2\n");
  EXPECT_EQ(read_of(""), "");
}

RC_GTEST_PROP(MeasurementText, GzipIsWhatWasPacked, ()) {
  const auto text = "x" + *rc::gen::arbitrary<std::string>();  // no other magic
  RC_ASSERT(read_of(gzip(text)) == text);
}

// As `cat a.gz b.gz` and pigz have it; tapes fill up with zeros.
TEST(MeasurementText, MembersFollowEachOther) {
  EXPECT_EQ(read_of(gzip("a,b\n") + gzip("1,2\n")), "a,b\n1,2\n");
  EXPECT_EQ(read_of(gzip("a,b\n") + std::string(512, '\0')), "a,b\n");
}

TEST(MeasurementText, GzipThatIsCutOffAnywhereIsToldAsSuch) {
  const std::string whole = gzip("a,b\n1,2\n3,4\n");
  for (std::size_t size = 2; size < whole.size(); ++size) {
    EXPECT_EQ(read_of(whole.substr(0, size)), "f.gz: its gzip is cut off: the whole file is accepted") << size;
  }
  const std::string packed = gzip(std::string(1'000'000, '0'));
  EXPECT_THAT(read_of(packed.substr(0, packed.size() - 9)), HasSubstr("its gzip is cut off"));
}

TEST(MeasurementText, DamagedGzipIsToldAsSuch) {
  std::string bytes = gzip("a,b\n1,2\n3,4\n");
  bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 1);  // of the checksum
  EXPECT_THAT(read_of(bytes), StartsWith("f.gz: its gzip is damaged (incorrect data check)"));
}

// A million zeros pack into a thousand bytes.
TEST(MeasurementText, SmallFileDoesNotFillTheMemory) {
  const std::string bomb = gzip(std::string(1'000'000, '0'));
  EXPECT_LT(bomb.size(), 10'000u);
  EXPECT_EQ(read_of(bomb, 999'999),
            "f.gz: unpacked, it is larger than 999999 bytes: a file of measurements is accepted up to that size");
  EXPECT_EQ(read_of(bomb, 1'000'000).size(), 1'000'000u);
  EXPECT_THAT(read_of(gzip(bomb)), HasSubstr("it is compressed twice: gzip of plain text is accepted"));
}

// Blocks are of 2^18 bytes: members and texts end before, at and behind their ends.
TEST(MeasurementText, IsWholeWhereverBlocksEnd) {
  std::string text;
  for (int i = 0; text.size() < 700'000; ++i) text += std::to_string(7919 * i % 10'007);
  const std::string packed = gzip(text);
  ASSERT_GT(packed.size(), std::size_t{1} << 18);
  EXPECT_EQ(read_of(text), text);
  EXPECT_EQ(read_of(packed), text);
  // Bytes that cannot be packed, so that a member ends one byte further on each time: one ends just before a block
  // does, one with it, and of one the next member's two first bytes are cut apart.
  constexpr std::size_t block = std::size_t{1} << 18;
  std::string noise = "x";
  for (std::uint32_t state = 1; noise.size() < block; state = 1664525 * state + 1013904223)
    noise += static_cast<char>(state >> 24);
  std::set<std::size_t> ends;
  for (std::size_t size = block - 120; size < block - 20; ++size) {
    const std::string first = noise.substr(0, size);
    const std::string member = gzip(first);
    if (member.size() < block - 2 || member.size() > block + 1) continue;
    ends.insert(member.size());
    EXPECT_EQ(read_of(member + gzip("more") + std::string(512, '\0')), first + "more");
  }
  EXPECT_EQ(ends.size(), 4u);
}

TEST(MeasurementText, WhatIsNoTextIsSaid) {
  const std::string zip =
      "f.gz: it is a zip archive, as .xlsx files are, too: unpack it, or save the sheet as CSV, which is accepted";
  for (const auto& [bytes, fault] : std::vector<std::pair<std::string, ::testing::Matcher<std::string>>>{
           {"\xFF\xFEg", "f.gz: it is UTF-16: UTF-8 is accepted, as iconv -f UTF-16 -t UTF-8 makes it"},
           {std::string("\xFE\xFF\0g", 4), HasSubstr("it is UTF-16")},
           {"PK\x03\x04sheet", zip},
           {gzip("PK\x03\x04sheet"), HasSubstr("it is a zip archive")},
           {"\xD0\xCF\x11\xE0", HasSubstr("an old Excel (.xls): save the sheet as CSV")},
           {"\xFD"
            "7zXZ",
            HasSubstr("it is compressed by xz: unpack it by xz -d")},
           {"\x28\xB5\x2F\xFD", HasSubstr("it is compressed by zstd")},
           {"BZh91AY", HasSubstr("it is compressed by bzip2")}}) {
    EXPECT_THAT(read_of(bytes), fault);
  }
}

TEST(MeasurementText, FoldersAndAbsentFilesAreTold) {
  EXPECT_THROW(read_measurement_text(testing::TempDir()), ConfigError);
  EXPECT_EQ(config_fault([] { read_measurement_text("no/such/file"); }), "no/such/file: No such file or directory");
}

// Its writer is gone after the first reading: a second one would wait for ever.
TEST(MeasurementText, PipeIsOpenedOnce) {
  const std::filesystem::path pipe = std::filesystem::path(testing::TempDir()) / "measurement_text_pipe";
  std::filesystem::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&pipe] { std::ofstream(pipe, std::ios::binary) << gzip("a,b\n1,2\n"); });
  EXPECT_EQ(read_measurement_text(pipe), "a,b\n1,2\n");
  writer.join();
  std::filesystem::remove(pipe);
}

}  // namespace
}  // namespace c3sim::sim
