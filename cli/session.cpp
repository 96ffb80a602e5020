#include "cli/session.h"

#include <fmt/format.h>

#include <limits>
#include <system_error>
#include <utility>

#include "sim/config/output_file.h"
#include "sim/trace.h"
#include "study/config_folders.h"
#include "study/explain/critical_path.h"
#include "study/explain/explanation.h"
#include "study/explain/run_trace.h"
#include "study/explain/slowdown.h"
#include "study/gemm_profiles.h"
#include "study/report/results_folder.h"
#include "study/report/results_page.h"

namespace c3sim::cli {

namespace {

constexpr std::size_t most_bars = 40;  // that a chart holds

std::vector<study::Choice<study::Format>> format_choices() {
  return {{"table", study::Format::table},
          {"csv", study::Format::csv},
          {"json", study::Format::json},
          {"markdown", study::Format::markdown}};
}

study::Platform read_named(const std::string& name, const std::vector<std::string>& assignments) {
  const std::vector<std::filesystem::path> folders = study::config_folders();
  return study::read_platform(study::find_platform(name, "--platform", folders), assignments, folders);
}

}  // namespace

void Session::add_base_options(CLI::App& command) {
  command.add_option("--platform", platform_, "Platform by its name or its file (mi300x unless given)")
      ->type_name("NAME|FILE");
  command.add_option("--format", format_name_, "How results are written on stdout; CSV has a block for each table")
      ->type_name(names_of(format_choices()));
}

void Session::add_platform_options(CLI::App& command) {
  add_base_options(command);
  command
      .add_option("--set", assignments_,
                  "Change one parameter of the platform, checked as the file is: --set gpu.sdma.engines=32 "
                  "(may be given again)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--out", out_folder_,
                  "Folder that gets the results as CSV, JSON and a page for the browser, and the platform they are for")
      ->type_name("DIR");
}

void Session::add_run_options(CLI::App& command) {
  add_platform_options(command);
  command
      .add_option(
          "--protocol", protocol_,
          "How runs are measured: back to back after warm-up, as papers do (steady), or once, from rest (shot); "
          "steady unless given")
      ->type_name(names_of(study::protocol_choices()));
  command.add_option("--trace", trace_file_, "File for a trace of every run, to be opened with ui.perfetto.dev")
      ->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--library", [this](const std::string& name) { assignments_.push_back("gpu.gemm.library=" + name); },
          "Whose GEMM kernels run: rocblas (rocblas_nt, rocblas_tt where operands are transposed), hipblaslt, "
          "work_stealing, persistent or stream_k; cublas on the H200; opus_a2a_gemm, opus_gemm_a2a or "
          "opus_gemm_a2a_persistent on the MI355X")
      ->type_name("NAME");
  command
      .add_option("--profiles", profiles_file_,
                  "Measured GEMMs (time, bytes at L2, Infinity Cache and HBM) that stand in for the estimate; "
                  "docs/model.md shows the form")
      ->type_name("FILE");
  command.add_flag("--explain", explain_,
                   "Add where the time went: what held the work back, who shared it, and the critical path");
}

void Session::add_without_option(CLI::App& command) {
  command
      .add_option("--without", without_,
                  "Mechanisms of interference, separated by commas, that the machine is to be without, or all")
      ->type_name(names_of(study::mechanism_choices()) + "|all");
}

void Session::add_c3_options(CLI::App& command) {
  add_without_option(command);
  command.add_flag("--sensitivity", sensitivity_,
                   "Add how far the fraction of ideal moves over the range of each assumed or fitted parameter");
}

void Session::add_jobs_option(CLI::App& command) {
  command.add_option("--jobs", jobs_, "Threads that simulate (as many as there are cores unless given)")
      ->type_name("COUNT");
}

int Session::jobs(Arguments& arguments) const {
  if (jobs_.empty()) return 0;  // for_each_index takes it for one per core
  return arguments.integer("--jobs", jobs_, 1, most_jobs);
}

void Session::add_uncertainty_options(CLI::App& command) {
  command
      .add_option("--uncertainty", draws_,
                  "Add where each prediction lies with 90 % probability, from so many draws (alone: 100) of what the "
                  "platform file tells of errors: of its parameters, and of the model's times of isolated work. "
                  "Interference has no error of its own in it: see docs/uncertainty.md")
      ->type_name("DRAWS")
      ->expected(0, 1)
      ->default_str("100");
  command.add_option("--seed", seed_, "Of the draws of --uncertainty: the same seed, the same draws (1 unless given)")
      ->type_name("N");
}

std::optional<study::Sampling> Session::sampling(Arguments& arguments) const {
  constexpr int most_draws = 10000;
  if (draws_.empty()) {
    if (!seed_.empty()) arguments.fault("--seed", "goes with --uncertainty, whose draws it is of");
    return std::nullopt;
  }
  study::Sampling sampling;
  const int fewest_draws = static_cast<int>(study::fewest_draws);
  if (draws_.find_first_not_of("0123456789") != std::string::npos) {
    arguments.fault("--uncertainty", fmt::format("{}: a number of draws from {} to {}, or none, is accepted behind it; "
                                                 "names of suites and files go before it",
                                                 in_quotes(draws_), fewest_draws, most_draws));
    return sampling;
  }
  sampling.draws = static_cast<std::size_t>(arguments.integer("--uncertainty", draws_, fewest_draws, most_draws));
  if (!seed_.empty()) {
    const int seed = arguments.integer("--seed", seed_, 0, std::numeric_limits<int>::max());
    sampling.seed = static_cast<std::uint64_t>(seed);
  }
  return sampling;
}

models::Mechanisms Session::mechanisms_left_out(Arguments& arguments) const {
  models::Mechanisms mechanisms;
  if (without_.empty()) return mechanisms;
  for (const models::Mechanism mechanism : arguments.choice_list("--without", without_, study::mechanism_choices())) {
    mechanisms.add(mechanism);
  }
  return mechanisms;
}

void Session::check_options(Arguments& arguments) {
  if (err_is_terminal_ && !progress_line_) progress_line_.emplace(err_);
  format_ = arguments.choice("--format", format_name_, format_choices());
  std::error_code absent;
  if (std::filesystem::is_directory(trace_file_, absent)) {
    arguments.fault("--trace", in_quotes(trace_file_.string()) + " is a folder: the name of a file is accepted");
  }
  if (std::filesystem::exists(out_folder_, absent) && !std::filesystem::is_directory(out_folder_, absent)) {
    arguments.fault("--out",
                    in_quotes(out_folder_.string()) + " is a file: a folder, or a name for a new one, is accepted");
  }
}

void Session::check_output(Arguments& arguments, std::string_view option, const std::filesystem::path& file) const {
  std::error_code absent;
  if (!std::filesystem::is_regular_file(file, absent)) return;
  for (const std::filesystem::path& input : inputs_) {
    if (!std::filesystem::equivalent(file, input, absent)) continue;
    arguments.fault(option, in_quotes(file.string()) + " is read by this command: another file is accepted");
    return;
  }
}

void Session::check_output_folder(Arguments& arguments, std::string_view option, const std::filesystem::path& folder,
                                  const std::vector<std::string>& names) const {
  if (folder.empty()) return;
  for (const std::string& name : study::files_of_earlier_answer(folder)) {
    check_output(arguments, option, folder / name);
  }
  for (const sim::Fault& fault : study::in_the_way(folder, names, origin_)) {
    arguments.fault(option, in_quotes(fault.where) + " " + fault.what);
  }
  if (study::FolderLock::is_taken(folder)) {
    arguments.fault(option, in_quotes(folder.string()) + ": " + study::FolderLock::taken);
  }
}

void Session::check_outputs(Arguments& arguments) const {
  if (!trace_file_.empty()) check_output(arguments, "--trace", trace_file_);
  check_output_folder(arguments, "--out", out_folder_,
                      {"results.json", "results.csv", "report.md", "page.html", "platform.yaml"});
}

std::filesystem::path Session::platform_file(Arguments& arguments, const std::string& preset) {
  check_options(arguments);
  arguments.check();
  std::filesystem::path file =
      study::find_platform(platform_.empty() ? preset : platform_, "--platform", study::config_folders());
  reads(file);
  if (!profiles_file_.empty()) reads(profiles_file_);
  check_outputs(arguments);
  arguments.check();
  return file;
}

study::Platform Session::platform(Arguments& arguments, const std::string& preset,
                                  std::optional<models::Protocol> protocol, std::vector<std::string> assigned) {
  const models::Mechanisms without = mechanisms_left_out(arguments);
  if (!protocol_.empty()) protocol = arguments.choice("--protocol", protocol_, study::protocol_choices());
  assigned.insert(assigned.end(), assignments_.begin(), assignments_.end());
  study::Platform platform = study::read_platform(platform_file(arguments, preset), assigned, study::config_folders());
  for (const std::string& file : platform.config.files()) reads(file);
  check_outputs(arguments);
  arguments.check();
  study::Beside asked{without, protocol};
  if (!profiles_file_.empty()) {
    asked.profiles = study::read_gemm_profiles(sim::Config::from_file(profiles_file_), platform.spec);
    for (const models::GemmProfile& profile : asked.profiles) {
      platform.warnings.push_back("GEMM " + models::to_string(profile.shape) + " follows its profile in " +
                                  profiles_file_.string() + ", not the estimate");
    }
  }
  if (!without_.empty()) {
    platform.warnings.push_back("--without " + without_ + ": no real machine, but what one would be without it");
  }
  return study::beside(std::move(platform), std::move(asked));
}

void Session::add_validation_options(CLI::App& command) {
  add_base_options(command);
  command
      .add_option("--set", assignments_,
                  "Change one parameter of the platform, or of every one, checked as the file is (may be given "
                  "again)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

validate::Library Session::library(Arguments& arguments) {
  check_options(arguments);
  const models::Mechanisms without = mechanisms_left_out(arguments);
  arguments.check();
  std::error_code absent;
  for (const std::filesystem::path& configs : study::config_folders()) {
    const std::filesystem::path data = std::filesystem::weakly_canonical(configs, absent).parent_path() / "validate";
    if (!std::filesystem::is_directory(configs / "formats", absent)) continue;
    if (!std::filesystem::is_directory(data, absent)) continue;
    const auto platforms = [without](const validate::Machine& machine) {
      std::vector<std::string> assignments = machine.assignments;
      assignments.insert(assignments.end(), machine.changes.begin(), machine.changes.end());
      return study::beside(read_named(machine.platform, assignments), {.without = without});
    };
    return {data / "reference",
            data / "suites",
            data / "deviations.yaml",
            configs / "formats",
            configs / "experiments",
            platforms,
            study::platform_names(study::config_folders())};
  }
  throw sim::ConfigError({{"validate", "",
                           "no folder configs with formats has a folder validate beside it: set "
                           "C3SIM_CONFIGS to the folder configs of a source tree"}});
}

std::optional<std::string> Session::platform_name() const {
  return platform_.empty() ? std::nullopt : std::optional(platform_);
}

std::string Session::platform_text(const std::string& name) const { return read_named(name, assignments_).resolved; }

calibrate::Reader Session::reader() {
  for (const std::filesystem::path& folder : study::config_folders()) {
    std::error_code absent;
    if (std::filesystem::is_directory(folder / "formats", absent)) return calibrate::Reader(folder / "formats");
  }
  return {};
}

study::Progress Session::progress() {
  if (!err_is_terminal_) return {};
  if (!progress_line_) progress_line_.emplace(err_);
  return [this](std::size_t done, std::size_t of) { progress_line_->report(done, of); };
}

void Session::warn(std::string_view sentence) {
  progress_line_.reset();
  err_ << "warning: " << sentence << '\n';
}

void Session::answer(const study::Platform& platform, study::Results results, const study::FolderLock* held) {
  results.warnings.insert(results.warnings.begin(), platform.warnings.begin(), platform.warnings.end());
  if (!out_folder_.empty()) {
    results.files.push_back({"platform.yaml", platform.resolved});
    study::save(results, origin_, out_folder_, held);
  }
  answer(results);
}

void Session::answer(const study::Results& results) {
  progress_line_.reset();
  for (const std::string& warning : results.warnings) warn(warning);
  study::write(results, format_, out_, text_width_);
  if (!out_.flush()) throw std::system_error(std::make_error_code(std::errc::io_error), "stdout");
}

void Session::explain_slowdowns(const models::PlatformSpec& platform, study::Results& results) {
  const std::vector<study::Slowdown> slowdowns = study::split_slowdowns(platform, results.runs);
  study::NamedTable& table = results.tables.emplace_back(study::NamedTable{
      "slowdown", "Why operations are slower than in a loop of their own: their slowdown by mechanism",
      slowdown_table(slowdowns)});
  if (slowdowns.size() <= most_bars)
    table.charts = {study::slowdown_chart(slowdowns, "Slowdown by mechanism: " + study::title_of(results))};
}

void Session::answer(study::Testbed& testbed, const study::Platform& platform, study::Results results) {
  if (explain_) {
    results.tables.push_back({"explanation", "Where the time went", study::explain(testbed, results.runs)});
    for (study::NamedTable& table : study::critical_paths(testbed, results.runs)) {
      results.tables.push_back(std::move(table));
    }
    explain_slowdowns(testbed.platform(), results);
  }
  if (!trace_file_.empty()) {
    sim::OutputFile file(trace_file_);
    {
      sim::PerfettoTrace trace(file.stream());
      study::trace_runs(testbed, results.runs, trace);
    }
    file.commit();
  }
  for (std::string& warning : testbed.warnings()) results.warnings.push_back(std::move(warning));
  answer(platform, std::move(results));
}

SuitesAndFiles suites_and_files(const validate::Library& library, const std::vector<std::string>& names) {
  SuitesAndFiles sorted;
  const std::vector<validate::Heading> known = validate::suites_of(library);
  for (const std::string& name : names) {
    std::error_code absent;
    const bool is_suite = std::ranges::find(known, name, &validate::Heading::name) != known.end();
    const bool is_file = name.find_first_of("/.") != std::string::npos || std::filesystem::exists(name, absent);
    if (!is_suite && is_file) {
      sorted.files.emplace_back(name);
    } else {
      sorted.suites.push_back(name);
    }
  }
  return sorted;
}

}  // namespace c3sim::cli
