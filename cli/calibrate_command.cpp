#include <system_error>

#include "calibrate/calibration_report.h"
#include "calibrate/fit_guard.h"
#include "calibrate/measurement_files.h"
#include "cli/commands.h"
#include "sim/config/output_file.h"
#include "study/config_folders.h"
#include "study/report/results_folder.h"
#include "study/report/results_page.h"
#include "validate/suite_data.h"

namespace c3sim::cli {

namespace {

constexpr auto calibrate_examples =
    "Examples:\n"
    "  c3sim calibrate h200 --platform h200 --out fitted.yaml\n"
    "  c3sim calibrate gemms.csv collectives.csv --platform mi300x --out mine.yaml --report mine\n"
    "Suites are those of c3sim validate --list. Parameters of kind fitted that the measurements show are fitted "
    "within\n"
    "their ranges, and get a standard error; everything else, comments included, stays as the platform file has it.\n"
    "Rows marked predict are left out, concurrent runs are rejected. What the platform stands on (base) is fitted,\n"
    "too, and written into the new file; what --set gives is written there and not fitted. Takes seconds for a table\n"
    "of copies, about a minute of two cores for the whole suite h200; a terminal shows how far it is.";

}  // namespace

CalibrateCommand::CalibrateCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand("calibrate", "Fit a platform file to isolated measurements");
  command.footer(calibrate_examples);
  command.add_option("SUITE|FILE", names_, "Suites, or files of measurements in any format that is known")
      ->type_name("NAME...")
      ->required();
  command.add_option("--out", out_, "Platform file to write")->type_name("FILE")->required();
  command
      .add_option(
          "--report", report_folder_,
          "Folder for page.html, which shows parameters and residuals, report.md, results.json and a CSV per table")
      ->type_name("DIR");
  session.add_validation_options(command);
  session.add_jobs_option(command);
  command.callback([this] { run(); });
}

void CalibrateCommand::run() {
  Arguments arguments;
  std::error_code absent;
  if (std::filesystem::is_directory(out_, absent)) {
    arguments.fault("--out", in_quotes(out_.string()) + " is a folder: the name of a file is accepted");
  }
  for (const std::string& name : names_) session_.reads(name);
  const std::filesystem::path base = session_.platform_file(arguments);
  session_.check_output(arguments, "--out", out_);
  session_.check_output_folder(arguments, "--report", report_folder_, {"results.json", "report.md", "page.html"});
  calibrate::CalibrationOptions options;
  options.jobs = session_.jobs(arguments);
  options.progress = session_.progress();
  options.config_folders = study::config_folders();
  options.assignments = session_.assignments();
  const validate::Library library = session_.library(arguments);
  arguments.check();

  sim::OutputFile out(out_);  // what cannot be written is said before the fit
  const std::vector<calibrate::Reading> files = read(library, base);
  const calibrate::Calibration calibration = calibrate::calibrate(base, files, options);
  out.stream() << calibration.text;
  out.commit();
  study::Results results = calibrate::report(calibration, files);
  if (!report_folder_.empty()) {
    study::save(results, session_.origin(), report_folder_);
    results.notes.push_back("Page: " + (report_folder_ / "page.html").string());
  }
  session_.answer(results);
}

std::vector<calibrate::Reading> CalibrateCommand::read(const validate::Library& library,
                                                       const std::filesystem::path& base) const {
  const auto [suites, paths] = suites_and_files(library, names_);
  std::vector<calibrate::Reading> files;
  const study::Platform asked = study::read_platform(base, session_.assignments(), study::config_folders());
  for (const std::string& warning : asked.warnings) session_.warn(warning);
  const std::string platform = asked.spec.name;
  if (!suites.empty()) {
    for (calibrate::Reading& reading : validate::readings_of_suites(library, suites, platform)) {
      files.push_back(calibrate::admit_to_fit(std::move(reading)));
      files.back().faults.clear();  // what runs at once in a suite is its own affair
    }
  }
  if (!paths.empty()) {
    calibrate::require_files(paths);
    const calibrate::ScreenedFor target{session_.platform_name().value_or("mi300x"), platform};
    calibrate::MeasurementFiles own = calibrate::read_measurement_files(
        validate::reader_of_everything(library), paths, [&target](const calibrate::Reading&) { return target; });
    for (calibrate::Reading& reading : own.readings) {
      for (const sim::Fault& remark : reading.remarks) session_.warn(calibrate::in_words(remark));
      files.push_back(calibrate::admit_to_fit(std::move(reading)));
    }
    for (const sim::Fault& fault : own.unreadable) {
      calibrate::Reading nothing;
      nothing.name = fault.where;
      nothing.faults = {fault};
      files.push_back(std::move(nothing));
    }
  }
  calibrate::require_measurements(files);
  return files;
}

}  // namespace c3sim::cli
