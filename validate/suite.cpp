#include "validate/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <system_error>

#include "sim/config/nearest_name.h"
#include "validate/claim.h"

namespace c3sim::validate {

namespace {

TableAbout read_about(sim::Section section) {
  return {.what = section.text("what"),
          .machine = section.text("machine"),
          .protocol = section.text("protocol"),
          .fitted = section.text("fitted", ""),
          .others = section.text("others", "")};
}

SuiteTable read_suite_table(sim::Section section, const calibrate::Reader& reader) {
  SuiteTable table;
  table.file = section.text("file");
  table.band = section.number("band", 0.0, 10.0);
  table.platform = section.text("platform", "");
  if (section.has("description")) table.about = read_about(section.section("description"));
  const std::string stem = table.file.stem().string();
  if (!section.has("format")) {
    table.format = calibrate::TableFormat::read(section, stem);
    table.format.is_of_one_table = true;
    return table;
  }
  const std::string name = section.text("format");
  if (const calibrate::TableFormat* const format = reader.table(name)) {
    table.format = *format;
    // These assignments describe the measured machine, in addition to what the format sets for every table.
    if (section.has("set")) {
      for (const std::string& assignment : section.texts("set")) table.format.assignments.emplace_back(assignment);
    }
  } else {
    section.fault("format", "no form of that name is known" +
                                sim::name_hint(name, reader.tables(), &calibrate::TableFormat::name));
  }
  return table;
}

std::vector<std::string> read_claims_of(sim::Section& root, std::span<const std::string> papers) {
  std::vector<std::string> claims = root.names("claims");
  for (const std::string& name : claims) {
    if (std::ranges::find(papers, name) == papers.end()) {
      root.fault("claims", "nothing predicts claims of '" + name + "'" + sim::name_hint(name, papers));
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

std::vector<std::filesystem::path> suite_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<Suite> read_suites(const Library& library, const calibrate::Reader& reader) {
  const std::vector<std::string> papers = ClaimBook(library.claims).papers();
  std::vector<Suite> suites;
  for (const std::filesystem::path& file : suite_files(library.suites)) {
    suites.push_back(read_suite(sim::Config::from_file(file), file.stem().string(), reader, papers));
  }
  return suites;
}

std::vector<Suite> suites_named(const Library& library, std::span<const std::string> names,
                                const calibrate::Reader& reader) {
  std::vector<Suite> suites = read_suites(library, reader);
  if (names.empty()) return suites;
  std::vector<sim::Fault> faults;
  for (const std::string& name : names) {
    if (std::ranges::find(suites, name, &Suite::name) != suites.end()) continue;
    faults.push_back(
        {"SUITE|FILE", "",
         "'" + name.substr(0, 80) + "' is no suite and no file" + sim::name_hint(name, suites, &Suite::name)});
  }
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
  std::erase_if(suites, [names](const Suite& suite) { return std::ranges::find(names, suite.name) == names.end(); });
  return suites;
}

calibrate::Reading reading_of(const SuiteTable& table, const Library& library, const calibrate::Reader& reader) {
  const std::filesystem::path file = library.reference / table.file;
  calibrate::Reading reading = reader.read_as(table.format, file);
  for (calibrate::Measurement& one : reading.measurements) {
    auto* const replay = std::get_if<study::ReplayTrial>(&one.trial);
    if (replay != nullptr) replay->trace = (file.parent_path() / replay->trace).string();
  }
  if (!reading.faults.empty()) throw sim::ConfigError(reading.faults);
  return reading;
}

namespace {

[[noreturn]] void throw_of_another_platform(const Suite& suite, const std::string& platform) {
  std::set<std::string> measured{suite.platform};
  for (const SuiteTable& table : suite.tables) measured.insert(suite.platform_of(table));
  throw sim::ConfigError({{"SUITE|FILE", "",
                           fmt::format("suite '{}' has no table of platform {}, but of {}: --platform names another",
                                       suite.name, platform, fmt::join(measured, ", "))}});
}

}  // namespace

std::vector<calibrate::Reading> readings_of_suites(const Library& library, std::span<const std::string> names,
                                                   const std::string& platform) {
  const calibrate::Reader reader = reader_of_forms(library);
  std::vector<calibrate::Reading> readings;
  for (const Suite& suite : suites_named(library, names, reader)) {
    const std::size_t before = readings.size();
    for (const SuiteTable& table : suite.tables) {
      if (suite.platform_of(table) == platform) readings.push_back(reading_of(table, library, reader));
    }
    if (readings.size() == before) throw_of_another_platform(suite, platform);
  }
  return readings;
}

calibrate::Reader reader_of_forms(const Library& library) {
  calibrate::Reader reader(library.formats);
  // The map holds tables that lookups name, so that each is read once.
  auto tables = std::make_shared<std::map<std::string, sim::CsvFile>>();
  reader.set_other_tables([tables, folder = library.reference](const std::string& file) {
    auto known = tables->find(file);
    if (known == tables->end()) {
      known = tables->emplace(file, sim::CsvFile::from_file(folder / file)).first;
    }
    return &known->second;
  });
  return reader;
}

calibrate::Reader reader_of_everything(const Library& library) {
  const calibrate::Reader forms = reader_of_forms(library);
  calibrate::Reader reader = forms;
  for (Suite& suite : read_suites(library, forms)) {
    for (SuiteTable& table : suite.tables) {
      if (forms.table(table.format.name) == nullptr) reader.add(std::move(table.format));
    }
  }
  return reader;
}

}  // namespace c3sim::validate
