#include "validate/suite.h"

#include <algorithm>
#include <system_error>

#include "sim/config/nearest_name.h"
#include "validate/claim_book.h"

namespace c3sim::validate {

namespace {

SuiteTable read_suite_table(sim::Section section, const calibrate::Reader& reader) {
  SuiteTable table;
  table.file = section.text("file");
  table.band = section.number("band", 0.0, 10.0);
  table.platform = section.text("platform", "");
  const std::string stem = table.file.stem().string();
  if (!section.has("format")) {
    table.format = calibrate::TableFormat::read(section, stem);
    table.format.is_of_one_table = true;
    return table;
  }
  const std::string name = section.text("format");
  if (const calibrate::TableFormat* const format = reader.table(name)) {
    table.format = *format;
  } else {
    std::vector<std::string> known;
    for (const calibrate::TableFormat& other : reader.tables()) known.push_back(other.name);
    section.fault("format", "no form of that name is known" + sim::name_hint(name, known));
  }
  return table;
}

std::vector<std::string> read_claims_of(sim::Section& root, std::span<const std::string> papers) {
  std::vector<std::string> claims = root.names("claims");
  const std::vector<std::string> known(papers.begin(), papers.end());
  for (const std::string& name : claims) {
    if (std::ranges::find(known, name) == known.end()) {
      root.fault("claims", "nothing predicts claims of '" + name + "'" + sim::name_hint(name, known));
    }
  }
  return claims;
}

}  // namespace

Suite read_suite(sim::Config config, std::string name, const calibrate::Reader& reader,
                 std::span<const std::string> papers) {
  sim::Section root = config.root();
  Suite suite;
  suite.name = std::move(name);
  suite.title = root.text("title");
  suite.question = root.text("question");
  suite.platform = root.text("platform");
  if (root.has("claims")) suite.claims = read_claims_of(root, papers);
  if (root.has("tables")) {
    for (const sim::Section& table : root.list("tables")) suite.tables.push_back(read_suite_table(table, reader));
  }
  if (suite.tables.empty() && suite.claims.empty()) root.fault("tables", "a suite has tables or claims");
  config.finish();
  return suite;
}

std::vector<Suite> read_suites(const Library& library, const calibrate::Reader& reader) {
  std::vector<std::filesystem::path> files;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(library.suites, absent)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  const std::vector<std::string> papers = ClaimBook(library.claims).papers();
  std::vector<Suite> suites;
  for (const std::filesystem::path& file : files) {
    suites.push_back(read_suite(sim::Config::from_file(file), file.stem().string(), reader, papers));
  }
  return suites;
}

}  // namespace c3sim::validate
