#include "validate/suite_data.h"

#include <algorithm>
#include <map>
#include <memory>

#include "sim/config/nearest_name.h"

namespace c3sim::validate {

calibrate::Reader reader_of_forms(const Library& library) {
  calibrate::Reader reader(library.formats);
  // Tables that lookups name, read once.
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

void locate_traces(calibrate::Reading& reading, const std::filesystem::path& table) {
  for (calibrate::Measurement& one : reading.measurements) {
    auto* const replay = std::get_if<study::ReplayTrial>(&one.trial);
    if (replay != nullptr) replay->trace = (table.parent_path() / replay->trace).string();
  }
}

std::vector<Suite> suites_named(const Library& library, std::span<const std::string> names,
                                const calibrate::Reader& reader) {
  std::vector<Suite> suites = read_suites(library, reader);
  if (names.empty()) return suites;
  std::vector<std::string> known;
  known.reserve(suites.size());
  for (const Suite& suite : suites) known.push_back(suite.name);
  std::vector<sim::Fault> faults;
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) {
      faults.push_back(
          {"SUITE|FILE", "", "'" + name.substr(0, 80) + "' is no suite and no file" + sim::name_hint(name, known)});
    }
  }
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
  std::erase_if(suites, [names](const Suite& suite) { return std::ranges::find(names, suite.name) == names.end(); });
  return suites;
}

std::vector<calibrate::Reading> readings_of_suites(const Library& library, std::span<const std::string> names,
                                                   const std::string& platform) {
  const calibrate::Reader reader = reader_of_forms(library);
  std::vector<calibrate::Reading> readings;
  for (const Suite& suite : suites_named(library, names, reader)) {
    if (suite.platform != platform) {
      throw sim::ConfigError({{"SUITE|FILE", "",
                               "suite '" + suite.name + "' is of platform " + suite.platform + ", not of " + platform +
                                   ": --platform names another"}});
    }
    for (const SuiteTable& table : suite.tables) {
      readings.push_back(reader.read_as(table.format, library.reference / table.file));
      locate_traces(readings.back(), library.reference / table.file);
      if (!readings.back().faults.empty()) throw sim::ConfigError(readings.back().faults);
    }
  }
  return readings;
}

}  // namespace c3sim::validate
