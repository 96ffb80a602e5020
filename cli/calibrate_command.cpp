#include <set>
#include <system_error>

#include "calibrate/calibration_report.h"
#include "calibrate/fit_guard.h"
#include "cli/commands.h"
#include "sim/config/output_file.h"
#include "study/config_folders.h"

namespace c3sim::cli {

namespace {

constexpr auto description = "Fit a platform file to isolated measurements";
constexpr auto examples =
    "Examples:\n"
    "  c3sim calibrate validate/reference/h200x8/isolated.csv validate/reference/h200x8/power.csv --platform h200 "
    "--out fitted.yaml\n"
    "Parameters of kind fitted that the measurements show are fitted within their ranges; everything else, comments\n"
    "included, stays as the platform file has it. Concurrent measurements and rows marked predict are refused.";

}  // namespace

CalibrateCommand::CalibrateCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand("calibrate", description);
  command.footer(examples);
  command.add_option("FILE", files_, "Measurements as CSV (may be several files)")->type_name("FILE...")->required();
  command.add_option("--out", out_, "Platform file to write")->type_name("FILE")->required();
  session.add_base_options(command);
  command.callback([this] { run(); });
}

void CalibrateCommand::run() {
  Arguments arguments;
  std::error_code absent;
  if (std::filesystem::is_directory(out_, absent)) {
    arguments.fault("--out", in_quotes(out_.string()) + " is a folder: the name of a file is accepted");
  }
  std::set<std::filesystem::path> seen;
  for (const std::filesystem::path& file : files_) {
    if (!seen.insert(std::filesystem::weakly_canonical(file, absent)).second) {
      arguments.fault("FILE", in_quotes(file.string()) + " is given twice");
    }
    session_.reads(file);
  }
  const std::filesystem::path base = session_.platform_file(arguments);
  session_.check_output(arguments, "--out", out_);
  arguments.check();
  sim::OutputFile out(out_);  // what cannot be written is said before the fit
  const calibrate::Reader reader = session_.reader();
  std::vector<calibrate::Reading> files;
  for (const std::filesystem::path& file : files_) files.push_back(calibrate::read_for_fit(reader, file));
  const calibrate::Calibration calibration =
      calibrate::calibrate(base, files, session_.progress(), study::config_folders());
  out.stream() << calibration.text;
  out.commit();
  session_.answer(calibrate::report(calibration, files));
}

}  // namespace c3sim::cli
