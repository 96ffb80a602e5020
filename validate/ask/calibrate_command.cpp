#include <system_error>

#include "calibrate/calibration.h"
#include "calibrate/measurement_files.h"
#include "sim/config/output_file.h"
#include "study/config_folders.h"
#include "study/report/results_folder.h"
#include "validate/ask/commands.h"

namespace c3sim::validate {

namespace {

constexpr auto calibrate_examples = R"(Examples:
  c3sim calibrate h200 --platform h200 --out fitted.yaml
  c3sim calibrate gemms.csv collectives.csv --platform mi300x --out mine.yaml --report mine
`c3sim validate --list` names the suites; a fit reads those tables of a suite that were measured on the platform.
Parameters of kind fitted on which the measurements depend are fitted within their ranges, and get a standard error.
Everything else stays as it is in the platform file, comments included. A fit leaves out rows marked predict, and
concurrent runs unless they are marked probe: to these it fits the parameters of kind probed, last
(c3sim-measure --only probes measures such a table). Parameters that the platform file takes from another one (base)
are fitted, too, and written into the new file. Parameters that --set gives are written there, but not fitted. A fit
to a table of copies takes seconds, and one to the suite h200 or public about a minute on two cores; a terminal shows
its progress.)";

std::vector<calibrate::Reading> readings_of(const study::Request& request, const Library& library,
                                            const std::filesystem::path& base) {
  const auto [suites, paths] = suites_and_files(library, request.texts("names"));
  std::vector<calibrate::Reading> files;
  const study::Platform asked = study::read_platform(base, request.assignments(), study::config_folders());
  for (const std::string& warning : asked.warnings) request.warn(warning);
  const std::string platform = asked.spec.name;
  if (!suites.empty()) {
    for (calibrate::Reading& reading : readings_of_suites(library, suites, platform)) {
      files.push_back(calibrate::admit_to_fit(std::move(reading)));
    }
  }
  if (!paths.empty()) {
    calibrate::require_files(paths);
    calibrate::ScreenedFor target{request.platform_name().value_or("mi300x"), platform};
    calibrate::MeasurementFiles own = calibrate::read_measurement_files(
        reader_of_everything(library), paths, [&target](const calibrate::Reading&) { return target; });
    for (calibrate::Reading& reading : own.readings) {
      for (const sim::Fault& remark : reading.remarks) request.warn(sim::in_words(remark));
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

study::Results answer_calibrate(study::Request& request) {
  study::Arguments arguments;
  const std::filesystem::path out_file = request.text("out");
  const std::filesystem::path report_folder = request.text("report");
  std::error_code absent;
  if (std::filesystem::is_directory(out_file, absent)) {
    arguments.fault("--out", study::in_quotes(out_file.string()) + " is a folder: the name of a file is accepted");
  }
  for (const std::string& name : request.texts("names")) request.reads(name);
  request.check_options(arguments);
  arguments.check();
  const std::filesystem::path base = request.platform_file();
  request.check_output(arguments, "--out", out_file);
  const std::vector<std::string> of_folder{"results.json", "page.html"};
  request.check_output_folder(arguments, "--report", report_folder, of_folder);
  request.check_not_in(arguments, "--out", out_file, "--report", report_folder, of_folder);
  calibrate::CalibrationOptions options;
  options.jobs = request.jobs(arguments);
  options.progress = request.progress();
  options.config_folders = study::config_folders();
  options.assignments = request.assignments();
  const Library library = library_of(request, arguments);
  arguments.check();

  sim::OutputFile out(out_file);  // reports a path that cannot be written before the fit
  const std::vector<calibrate::Reading> files = readings_of(request, library, base);
  const calibrate::Calibration calibration = calibrate::calibrate(base, files, options);
  out.stream() << study::signed_text(calibration.text);
  out.commit();
  study::Results results = calibrate::report(calibration, files);
  for (std::string& sentence : study::overridden(request.assignments(), "--set")) {
    results.warnings.push_back(std::move(sentence));
  }
  if (!report_folder.empty()) {
    study::save(results, request.origin(), report_folder);
    results.notes.push_back("Page: " + (report_folder / "page.html").string());
  }
  return results;
}

}  // namespace

study::Command calibrate_command() {
  return {"calibrate", "Fit a platform file to isolated measurements", calibrate_examples,
          std::vector<study::Option>{
              {"names", "SUITE|FILE...", "Suites, or files of measurements in any format that c3sim read knows",
               study::Said::all_in_place, true},
              {.name = "out", .form = "FILE", .help = "Platform file to write", .required = true},
              {"report", "DIR",
               "Folder that gets page.html, which shows parameters and residuals, and results.json and a CSV file for "
               "each table"}} +
              study::overwrite_option() +
              validation_options("Platform to fit, by its name or its file (mi300x unless given)") +
              study::jobs_option(),
          answer_calibrate};
}

}  // namespace c3sim::validate
