#include "validate/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <set>

#include "calibrate/measurement_files.h"
#include "sim/config/config_error.h"
#include "sim/config/files_read.h"
#include "sim/config/nearest_name.h"
#include "validate/cost.h"
#include "validate/evaluation.h"

namespace c3sim::validate {

namespace {

SuiteTable read_suite_table(sim::Section section, const calibrate::Reader& reader) {
  SuiteTable table;
  table.file = section.text("file");
  table.band = section.number("band", 0.0, 10.0);
  table.platform = section.text("platform", "");
  if (section.has("description")) {
    sim::Section about = section.section("description");
    table.about = {.what = about.text("what"),
                   .machine = about.text("machine"),
                   .protocol = about.text("protocol"),
                   .fitted = about.text("fitted", ""),
                   .others = about.text("others", "")};
  }
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

}  // namespace

Suite read_suite(sim::Config config, std::string name, const calibrate::Reader& reader,
                 std::span<const std::string> papers) {
  sim::Section root = config.root();
  Suite suite;
  suite.name = std::move(name);
  suite.title = root.text("title");
  suite.question = root.text("question");
  suite.platform = root.text("platform");
  if (root.has("claims")) suite.claims = root.names("claims");
  for (const std::string& paper : suite.claims) {
    if (std::ranges::find(papers, paper) != papers.end()) continue;
    root.fault("claims", "nothing predicts claims of '" + paper + "'" + sim::name_hint(paper, papers));
  }
  if (root.has("tables")) {
    for (const sim::Section& table : root.list("tables")) suite.tables.push_back(read_suite_table(table, reader));
  }
  if (suite.tables.empty() && suite.claims.empty()) root.fault("tables", "a suite has tables or claims");
  config.finish();
  return suite;
}

std::vector<std::string> suites_in(const std::filesystem::path& folder) {
  const std::filesystem::path parent = folder.parent_path();
  return sim::yaml_names({&parent, 1}, folder.filename().string());
}

std::vector<Suite> read_suites(const Library& library, const calibrate::Reader& reader) {
  const std::vector<std::string> papers = ClaimBook(library.claims).papers();
  std::vector<Suite> suites;
  for (const std::string& name : suites_in(library.suites)) {
    const std::filesystem::path file = library.suites / (name + ".yaml");
    suites.push_back(read_suite(sim::Config::from_file(file), name, reader, papers));
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

std::vector<calibrate::Reading> readings_of_suites(const Library& library, std::span<const std::string> names,
                                                   const std::string& platform) {
  const calibrate::Reader reader = reader_of_forms(library);
  std::vector<calibrate::Reading> readings;
  for (const Suite& suite : suites_named(library, names, reader)) {
    const std::size_t before = readings.size();
    for (const SuiteTable& table : suite.tables) {
      if (suite.platform_of(table) == platform) readings.push_back(reading_of(table, library, reader));
    }
    if (readings.size() > before) continue;
    std::set<std::string> measured{suite.platform};
    for (const SuiteTable& table : suite.tables) measured.insert(suite.platform_of(table));
    throw sim::ConfigError({{"SUITE|FILE", "",
                             fmt::format("suite '{}' has no table of platform {}, but of {}: --platform names another",
                                         suite.name, platform, fmt::join(measured, ", "))}});
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

namespace {

// Throws sim::ConfigError if nothing is left to compare.
void require_cases(Validation& validation, const std::filesystem::path& file) {
  if (!validation.cases.empty()) return;
  if (validation.faults.empty()) {
    std::string why;
    for (const LeftOut& left : validation.left_out) why += (why.empty() ? "" : "; ") + left.why;
    validation.faults.push_back(
        {file.string(), "", "nothing in it can be compared: " + (why.empty() ? "it has no rows" : why)});
  }
  throw sim::ConfigError(validation.faults);
}

// Adds the cases of a reading and its omissions by reason, and of files of the user what they should know about it.
void take(Validation& validation, const calibrate::Reading& reading, const std::string& suite,
          const std::string& platform, double band) {
  std::ranges::move(cases_of(reading.measurements, suite, platform, band), std::back_inserter(validation.cases));
  for (const calibrate::Omission& omission : reading.left_out) {
    auto known = std::ranges::find_if(validation.left_out, [&](const LeftOut& one) {
      return one.suite == suite && one.file == reading.name && one.why == omission.why;
    });
    if (known == validation.left_out.end()) {
      known = validation.left_out.insert(known, LeftOut{suite, reading.name, omission.why});
    }
    ++known->rows;
    known->seconds += omission.seconds;
    if (suite.empty()) known->each.push_back(omission);
  }
  if (!suite.empty()) return;
  for (const sim::Fault& remark : reading.remarks) validation.remarks.push_back(sim::in_words(remark));
}

void keep_only(Validation& validation, const std::string& only) {
  if (only.empty()) return;
  const std::string example = validation.cases.empty() ? "" : ": such as " + validation.cases.front().id;
  std::erase_if(validation.cases, [&only](const Case& one) { return one.id.find(only) == std::string::npos; });
  validation.left_out.clear();
  if (!validation.cases.empty()) return;
  throw sim::ConfigError({{"--case", "", "no case has '" + only.substr(0, 80) + "' in its name" + example}});
}

void finish(Validation& validation, const Library& library, const Options& options) {
  for (Case& one : validation.cases) {
    one.machine.changes = options.changes;
    if (options.tolerance) one.band = *options.tolerance;
  }
  add_baselines(validation.cases, library.platforms);  // before keep_only(), since rules are fitted to other cases
  keep_only(validation, options.only);
  predict(validation.cases, library.platforms, options.jobs, options.progress);
  if (options.mechanisms) split_costs(validation.cases, library.platforms, options.jobs, options.progress);
  if (options.unprobed) predict_unprobed(validation.cases, library.platforms, options.jobs, options.progress);
  if (options.uncertainty) {
    validation.uncertainty = options.uncertainty;
    std::ranges::move(
        add_intervals(validation.cases, library.platforms, *options.uncertainty, options.jobs, options.progress),
        std::back_inserter(validation.remarks));
  }
  validation.choices = choices_of(validation.cases);
}

// Reports an unknown platform of a suite as a fault of the suite file, since nobody gave an option.
void require_platform(const Library& library, const Suite& suite) {
  try {
    library.platforms({suite.platform, {}});
  } catch (const sim::ConfigError& error) {
    std::vector<sim::Fault> faults = error.faults();
    for (sim::Fault& fault : faults) {
      if (fault.where == "--platform") fault = {suite.name + ".yaml", "platform", std::move(fault.what)};
    }
    throw sim::ConfigError(std::move(faults));
  }
}

// Adds the claims of each suite, predicted on the machine of the suite. Each suite has a thread.
void add_claims(Validation& validation, const Library& library, std::vector<Suite> suites, const Options& options) {
  const std::vector<Claim> all = read_claims(library.reference / "claims.csv");
  const ClaimBook book(library.claims);
  std::erase_if(suites, [](const Suite& suite) { return suite.claims.empty(); });
  std::vector<std::vector<Claim>> found(suites.size());
  std::vector<std::vector<std::string>> remarks(suites.size());
  study::for_each_index(
      suites.size(),
      [&](std::size_t i) {
        std::vector<Case> own;
        std::ranges::copy_if(validation.cases, std::back_inserter(own),
                             [&](const Case& one) { return one.suite == suites[i].name; });
        const study::Platform platform = library.platforms({suites[i].platform, {}, options.changes});
        study::Testbed testbed(platform.spec);
        found[i] = predict_claims(all, suites[i].claims, book,
                                  {testbed, platform, library.experiments, own, false, &remarks[i]});
      },
      {}, options.jobs);
  for (std::size_t i = 0; i < suites.size(); ++i) {
    if (options.uncertainty) {
      const study::Platform platform = library.platforms({suites[i].platform, {}, options.changes});
      const study::Ensemble ensemble(platform, *options.uncertainty, options.jobs);
      add_intervals(found[i], suites[i].claims, book, platform, ensemble, library.experiments, validation.cases,
                    options.jobs);
    }
    std::ranges::move(found[i], std::back_inserter(validation.claims));
    std::ranges::move(remarks[i], std::back_inserter(validation.remarks));
  }
}

}  // namespace

std::size_t Validation::outside() const {
  const auto out =
      std::ranges::count_if(cases, [](const Case& one) { return one.is_scored() && !one.is_within_band(); });
  const auto broken =
      std::ranges::count_if(claims, [](const Claim& claim) { return !claim.predicted.empty() && !claim.holds(); });
  return static_cast<std::size_t>(out + broken);
}

// Keeps the tables of one machine in a suite of several machines or, if there are none, the tables of the suite's own
// platform, which any platform may be asked to predict.
void keep_tables_of(Suite& suite, const std::string& machine) {
  const bool has_some =
      std::ranges::any_of(suite.tables, [&](const SuiteTable& table) { return suite.platform_of(table) == machine; });
  const std::string kept = has_some ? machine : suite.platform;
  std::erase_if(suite.tables, [&](const SuiteTable& table) { return suite.platform_of(table) != kept; });
}

Validation validate_suites(const Library& library, std::span<const std::string> names, const Options& options) {
  const calibrate::Reader reader = reader_of_forms(library);
  std::vector<Suite> suites = suites_named(library, names, reader);
  Validation validation;
  for (Suite& suite : suites) {
    if (options.platform) {
      keep_tables_of(suite, library.platforms({*options.platform, {}, options.changes}).spec.name);
      suite.platform = *options.platform;
    }
    if (!options.platform) require_platform(library, suite);
    validation.suites.push_back(suite);
    std::vector<std::filesystem::path> files;
    for (const SuiteTable& table : suite.tables) files.emplace_back(table.file);
    for (const SuiteTable& table : suite.tables) {
      calibrate::Reading reading = reading_of(table, library, reader);
      calibrate::keep_apart(reading, table.file, files);
      const std::size_t before = validation.cases.size();
      const std::string& measured = options.platform ? suite.platform : suite.platform_of(table);
      take(validation, reading, suite.name, measured, table.band);
      if (!table.about) continue;
      for (std::size_t i = before; i < validation.cases.size(); ++i) {
        validation.cases[i].table = static_cast<int>(validation.tables.size());
      }
      validation.tables.push_back({suite.name, reading.name, *table.about});
    }
  }
  finish(validation, library, options);
  if (!options.only.empty()) return validation;
  add_claims(validation, library, std::move(suites), options);
  validation.gaps = gaps_of(read_deviations(library.deviations), validation.claims, validation.cases);
  std::erase_if(validation.gaps, [](const Gap& gap) { return !gap.tested; });
  return validation;
}

// The platform file is read only if the measurements name a GPU or hold collectives, since nothing else needs it.
calibrate::ScreenedFor screened_for(const calibrate::Reading& reading, const Library& library,
                                    const std::optional<std::string>& platform,
                                    const std::vector<std::string>& changes) {
  calibrate::ScreenedFor target;
  target.known = library.platform_names;
  target.is_asked = platform.has_value();
  target.platform = target.is_asked ? *platform : calibrate::platform_of(reading, target.known).value_or("mi300x");
  const bool has_collectives = std::ranges::any_of(reading.measurements, [](const calibrate::Measurement& one) {
    return std::holds_alternative<study::CollectiveTrial>(one.trial);
  });
  if (reading.gpu.empty() && !has_collectives) return target;
  const models::PlatformSpec spec = library.platforms({target.platform, {}, changes}).spec;
  target.machine = spec.name;
  target.gpus = spec.gpus;
  return target;
}

namespace {

// Returns the readings of files. What could not be read is at fault and left out.
std::vector<calibrate::Reading> readings_of(Validation& validation, const Library& library,
                                            std::span<const std::filesystem::path> files, const Options& options) {
  const auto target_of = [&](const calibrate::Reading& reading) {
    return screened_for(reading, library, options.platform, options.changes);
  };
  calibrate::MeasurementFiles read =
      calibrate::read_measurement_files(reader_of_everything(library), files, target_of, calibrate::Repeats::counted);
  for (const sim::Fault& fault : read.unreadable) {
    validation.faults.push_back(fault);
    const auto of_fault = [&fault](const auto& file) { return (fault.where + ":").starts_with(file.string() + ":"); };
    const auto file = std::ranges::find_if(files, of_fault);
    const std::string name = file == files.end() ? fault.where : file->string();
    if (!validation.left_out.empty() && validation.left_out.back().file == name) continue;  // it is told once
    validation.left_out.push_back({"", name, "the whole file: " + fault.what, 0});
  }
  return std::move(read.readings);
}

// Remarks on files that name no GPU if files of several platforms are compared, each with its own.
void remark_on_platforms(Validation& validation, const Library& library,
                         const std::vector<calibrate::Reading>& readings) {
  const auto differs = [&readings](const calibrate::Reading& one) {
    return std::ranges::any_of(
        readings, [&one](const auto& other) { return !other.platform.empty() && other.platform != one.platform; });
  };
  for (const calibrate::Reading& reading : readings) {
    if (!reading.gpu.empty() || calibrate::platform_of(reading, library.platform_names) || !differs(reading)) continue;
    validation.remarks.push_back(fmt::format(
        "{} names no GPU: it is compared with {}, as files without one are; --platform names another for all of them",
        reading.name, reading.platform));
  }
}

}  // namespace

Validation read_files(const Library& library, std::span<const std::filesystem::path> files, const Options& options) {
  constexpr double band_of_users = 0.15;
  const std::regex column_behind_line("(:[0-9]+):[^:]*$");
  calibrate::require_files(files);
  Validation validation;
  const std::vector<calibrate::Reading> readings = readings_of(validation, library, files, options);
  if (!options.platform) remark_on_platforms(validation, library, readings);
  for (const calibrate::Reading& reading : readings) {
    const std::size_t before = validation.cases.size();
    take(validation, reading, "", reading.platform, band_of_users);
    for (Case& one : std::span(validation.cases).subspan(before)) {
      const auto is_its = [&one](const auto& file) { return file == one.file() || file.filename() == one.file(); };
      const auto file = std::ranges::find_if(files, is_its);
      one.path = file == files.end() ? one.file() : file->string();
    }
    std::ranges::copy(reading.faults, std::back_inserter(validation.faults));
    std::set<std::string> rows;  // "file:line" for faults at "file:line:column"
    for (const sim::Fault& fault : reading.faults)
      rows.insert(std::regex_replace(fault.where, column_behind_line, "$1"));
    if (!rows.empty()) {
      validation.left_out.push_back({"", reading.name, "at fault: a warning says why", static_cast<int>(rows.size())});
    }
    if (reading.platform.empty()) continue;  // it is of another GPU
    validation.suites.push_back({"", reading.name, "Read as " + reading.format, reading.platform});
  }
  require_cases(validation, files.front());
  return validation;
}

Validation validate_files(const Library& library, std::span<const std::filesystem::path> files,
                          const Options& options) {
  Validation validation = read_files(library, files, options);
  finish(validation, library, options);
  require_predictions(validation);
  return validation;
}

Validation predict_file(const Library& library, const std::filesystem::path& file, const Options& options) {
  calibrate::Reading reading = reader_of_everything(library).read(file, calibrate::Rows::all);
  const calibrate::ScreenedFor target = screened_for(reading, library, options.platform, options.changes);
  reading.platform = target.platform;
  refuse_other_gpus(reading, file.string(), target);
  leave_out_other_nodes(reading, target);
  if (!reading.faults.empty()) throw sim::ConfigError(reading.faults);
  for (calibrate::Measurement& measurement : reading.measurements) {
    measurement.seen.clear();
    for (const study::Figure figure : measurement.asked) measurement.seen.push_back({.figure = figure});
  }
  Validation validation;
  take(validation, reading, "", reading.platform, 0.0);
  require_cases(validation, file);
  for (Case& one : validation.cases) {
    one.path = file.string();
    one.machine.changes = options.changes;
    one.why_not_scored = "it is not measured yet";
  }
  predict(validation.cases, library.platforms, options.jobs, options.progress);
  require_predictions(validation);
  return validation;
}

void require_predictions(const Validation& validation) {
  std::vector<sim::Fault> faults = validation.faults;
  for (const Case& one : validation.cases) {
    if (one.predicted) return;
    faults.push_back({one.where, std::string(one.form().key), "cannot be compared: " + one.why_not_predicted});
  }
  throw sim::ConfigError(std::move(faults));
}

}  // namespace c3sim::validate
