#include "validate/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibrate/measurement_files.h"
#include "sim/config/config_error.h"
#include "validate/cost.h"
#include "validate/evaluation.h"

namespace c3sim::validate {

namespace {

constexpr auto default_platform = "mi300x";

// Returns "file:line" for "file:line:column".
std::string row_of(const std::string& where) {
  const std::size_t column = where.rfind(':');
  const std::size_t line = column == 0 || column == std::string::npos ? column : where.rfind(':', column - 1);
  const bool has_both =
      line != std::string::npos && column > line + 1 && where.find_first_not_of("0123456789", line + 1) == column;
  return has_both ? where.substr(0, column) : where;
}

void take_faults(Validation& validation, const calibrate::Reading& reading) {
  std::set<std::string> rows;
  for (const sim::Fault& fault : reading.faults) rows.insert(row_of(fault.where));
  std::ranges::copy(reading.faults, std::back_inserter(validation.faults));
  if (rows.empty()) return;
  validation.left_out.push_back({"", reading.name, "at fault: a warning tells of each", static_cast<int>(rows.size())});
}

// Throws sim::ConfigError if nothing is left to compare.
void require_cases(Validation& validation, const std::filesystem::path& file) {
  if (!validation.cases.empty()) return;
  if (validation.faults.empty()) {
    const std::string why = validation.left_out.empty() ? "it has no rows" : validation.left_out.front().why;
    validation.faults.push_back({file.string(), "", "nothing in it can be compared: " + why});
  }
  throw sim::ConfigError(validation.faults);
}

// Adds the cases of a reading, and its omissions by reason.
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
  study::for_each_index(
      suites.size(),
      [&](std::size_t i) {
        std::vector<Case> own;
        std::ranges::copy_if(validation.cases, std::back_inserter(own),
                             [&](const Case& one) { return one.suite == suites[i].name; });
        study::Testbed testbed(library.platforms({suites[i].platform, {}, options.changes}).spec);
        found[i] = predict_claims(all, suites[i].claims, book, {testbed, library.experiments, own});
      },
      {}, options.jobs);
  for (std::size_t i = 0; i < suites.size(); ++i) {
    if (options.uncertainty) {
      const study::Platform platform = library.platforms({suites[i].platform, {}, options.changes});
      const study::Ensemble ensemble(platform, *options.uncertainty, options.jobs);
      add_intervals(found[i], suites[i].claims, book, ensemble, library.experiments, validation.cases, options.jobs);
    }
    std::ranges::move(found[i], std::back_inserter(validation.claims));
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
  target.platform =
      target.is_asked ? *platform : calibrate::platform_of(reading, target.known).value_or(default_platform);
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

// Adds the cases of a reading and what the user should know about it.
void take_with_remarks(Validation& validation, const calibrate::Reading& reading, double band) {
  take(validation, reading, "", reading.platform, band);
  for (const sim::Fault& remark : reading.remarks) validation.remarks.push_back(sim::in_words(remark));
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
  calibrate::require_files(files);
  Validation validation;
  const std::vector<calibrate::Reading> readings = readings_of(validation, library, files, options);
  if (!options.platform) remark_on_platforms(validation, library, readings);
  for (const calibrate::Reading& reading : readings) {
    take_with_remarks(validation, reading, band_of_users);
    take_faults(validation, reading);
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
  take_with_remarks(validation, reading, 0.0);
  require_cases(validation, file);
  for (Case& one : validation.cases) {
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
