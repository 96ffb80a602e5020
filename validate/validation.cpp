#include "validate/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "sim/config_error.h"
#include "sim/nearest_name.h"
#include "validate/baseline.h"

namespace validate {

namespace {

// The forms of all tables that are known: those of the folder of formats, and, behind them, those of the suites.
calibrate::Reader reader_of(const Library& library) {
  calibrate::Reader reader(library.formats);
  // Tables that lookups name, read once.
  auto tables = std::make_shared<std::map<std::string, calibrate::CsvFile>>();
  reader.set_other_tables([tables, folder = library.reference](const std::string& file) {
    auto known = tables->find(file);
    if (known == tables->end()) {
      known = tables->emplace(file, calibrate::CsvFile::from_file(folder / file)).first;
    }
    return &known->second;
  });
  return reader;
}

calibrate::Reader reader_of_everything(const Library& library) {
  calibrate::Reader reader = reader_of(library);
  for (Suite& suite : read_suites(library.suites, reader)) {
    for (SuiteTable& table : suite.tables) {
      if (reader.table(table.format.name) == nullptr) reader.add(std::move(table.format));
    }
  }
  return reader;
}

void count_left_out(Validation& validation, const std::string& suite, const std::string& file, const std::string& why) {
  for (LeftOut& known : validation.left_out) {
    if (known.suite == suite && known.file == file && known.why == why) {
      ++known.rows;
      return;
    }
  }
  validation.left_out.push_back({suite, file, why, 1});
}

void take(Validation& validation, const calibrate::Reading& reading, const std::string& suite,
          const std::string& platform, double band) {
  std::vector<Case> cases = cases_of(reading.measurements, suite, platform, band);
  validation.cases.insert(validation.cases.end(), std::make_move_iterator(cases.begin()),
                          std::make_move_iterator(cases.end()));
  for (const calibrate::Omission& omission : reading.left_out) {
    count_left_out(validation, suite, reading.name, omission.why);
  }
}

std::vector<Suite> chosen(std::vector<Suite> suites, std::span<const std::string> names) {
  if (names.empty()) return suites;
  std::vector<std::string> known;
  for (const Suite& suite : suites) known.push_back(suite.name);
  std::vector<sim::Fault> faults;
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) {
      faults.push_back({"SUITE", "", "'" + name.substr(0, 80) + "' is not known" + sim::name_hint(name, known)});
    }
  }
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
  std::erase_if(suites, [names](const Suite& suite) { return std::ranges::find(names, suite.name) == names.end(); });
  return suites;
}

Machine with(Machine machine, const Options& options) {
  machine.assignments.insert(machine.assignments.end(), options.assignments.begin(), options.assignments.end());
  return machine;
}

void finish(Validation& validation, const Library& library, const Options& options) {
  for (Case& one : validation.cases) {
    one.machine = with(std::move(one.machine), options);
    if (options.tolerance) one.band = *options.tolerance;
  }
  predict(validation.cases, library.platforms, options.jobs, options.progress);
  add_baselines(validation.cases, library.platforms);
  validation.choices = choices_of(validation.cases);
}

// Claims are of the machine of their suite. Each suite's are predicted by a thread of its own.
void add_claims(Validation& validation, const Library& library, std::span<const Suite> suites, const Options& options) {
  const std::vector<Claim> all = read_claims(library.reference / "claims.csv");
  std::vector<const Suite*> claiming;
  for (const Suite& suite : suites) {
    if (!suite.claims.empty()) claiming.push_back(&suite);
  }
  std::vector<std::vector<Claim>> found(claiming.size());
  study::for_each_index(
      claiming.size(),
      [&](std::size_t i) {
        const Suite& suite = *claiming[i];
        std::vector<Case> own;
        std::ranges::copy_if(validation.cases, std::back_inserter(own),
                             [&](const Case& one) { return one.suite == suite.name; });
        const models::PlatformSpec spec = library.platforms(with({suite.platform, {}}, options));
        found[i] = predict_claims(all, suite.claims, {spec, library.experiments, own});
      },
      {}, options.jobs);
  for (std::vector<Claim>& claims : found) std::ranges::move(claims, std::back_inserter(validation.claims));
}

}  // namespace

std::size_t Validation::outside() const {
  const auto out = std::ranges::count_if(cases, [](const Case& one) { return one.predicted && !one.is_within_band(); });
  const auto broken =
      std::ranges::count_if(claims, [](const Claim& claim) { return !claim.predicted.empty() && !claim.holds(); });
  return static_cast<std::size_t>(out + broken);
}

std::vector<Heading> suites_of(const Library& library) {
  std::vector<Heading> headings;
  for (const Suite& suite : read_suites(library.suites, calibrate::Reader(library.formats))) {
    headings.push_back({suite.name, suite.title, suite.question, suite.platform});
  }
  return headings;
}

Validation validate_suites(const Library& library, std::span<const std::string> names, const Options& options) {
  const calibrate::Reader reader = reader_of(library);
  std::vector<Suite> suites = chosen(read_suites(library.suites, reader), names);
  Validation validation;
  for (Suite& suite : suites) {
    if (options.platform) suite.platform = *options.platform;
    validation.suites.push_back({suite.name, suite.title, suite.question, suite.platform});
    for (const SuiteTable& table : suite.tables) {
      const calibrate::Reading reading = reader.read_as(table.format, library.reference / table.file);
      if (!reading.faults.empty()) throw sim::ConfigError(reading.faults);
      take(validation, reading, suite.name, suite.platform, table.band);
    }
  }
  finish(validation, library, options);
  add_claims(validation, library, suites, options);
  validation.gaps = gaps_of(read_deviations(library.deviations), validation.claims, validation.cases);
  std::erase_if(validation.gaps, [](const Gap& gap) { return !gap.tested; });
  return validation;
}

Validation read_files(const Library& library, std::span<const std::filesystem::path> files, const Options& options) {
  constexpr double band_of_users = 0.15;
  const calibrate::Reader reader = reader_of_everything(library);
  const std::string platform = options.platform.value_or("mi300x");
  Validation validation;
  std::vector<sim::Fault> unreadable;
  for (const std::filesystem::path& file : files) {
    try {
      const calibrate::Reading reading = reader.read(file);
      take(validation, reading, "", platform, band_of_users);
      validation.faults.insert(validation.faults.end(), reading.faults.begin(), reading.faults.end());
      validation.suites.push_back({"", file.filename().string(), "Read as " + reading.format, platform});
    } catch (const sim::ConfigError& error) {
      unreadable.insert(unreadable.end(), error.faults().begin(), error.faults().end());
    }
  }
  if (!unreadable.empty() && validation.cases.empty()) throw sim::ConfigError(std::move(unreadable));
  validation.faults.insert(validation.faults.begin(), unreadable.begin(), unreadable.end());
  if (validation.cases.empty() && validation.faults.empty()) {
    const std::string why = validation.left_out.empty() ? "it has no rows" : validation.left_out.front().why;
    validation.faults.push_back({files.front().string(), "", "nothing in it can be compared: " + why});
  }
  if (validation.cases.empty()) throw sim::ConfigError(validation.faults);
  return validation;
}

Validation validate_files(const Library& library, std::span<const std::filesystem::path> files,
                          const Options& options) {
  Validation validation = read_files(library, files, options);
  finish(validation, library, options);
  return validation;
}

std::vector<Case> predict_file(const Library& library, const std::filesystem::path& file, const Options& options) {
  calibrate::Reading reading = reader_of_everything(library).read(file, calibrate::Rows::all);
  if (!reading.faults.empty()) throw sim::ConfigError(reading.faults);
  for (calibrate::Measurement& measurement : reading.measurements) {
    measurement.seen.clear();
    for (const study::Figure figure : measurement.asked) measurement.seen.push_back({.figure = figure});
  }
  std::vector<Case> cases = cases_of(reading.measurements, "", options.platform.value_or("mi300x"), 0.0);
  for (Case& one : cases) one.machine = with(std::move(one.machine), options);
  predict(cases, library.platforms, options.jobs, options.progress);
  return cases;
}

}  // namespace validate
