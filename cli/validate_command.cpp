#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "sim/config/output_file.h"
#include "study/report/results_folder.h"
#include "validate/golden.h"
#include "validate/markdown.h"
#include "validate/page.h"
#include "validate/prediction_file.h"
#include "validate/report.h"

namespace c3sim::cli {

namespace {

constexpr auto validate_examples =
    "Examples:\n"
    "  c3sim validate                               every suite; --list names them\n"
    "  c3sim validate rccl overlap --report page    two of them, and a page with every case\n"
    "  c3sim validate all_reduce.log p2p.csv        your own measurements: rccl-tests, TransferBench, CSV\n"
    "  c3sim validate --platform my.yaml rccl       another platform\n"
    "  c3sim validate h200 --uncertainty            and how many measured values lie within 90 % intervals\n"
    "  c3sim validate --against old.csv             what moved since another version's --update-goldens\n"
    "  c3sim validate --predict plan.csv --out P.json   predictions before anything is measured, with a digest\n"
    "  c3sim validate --score P.json measured.csv   the same, held against what was then measured\n"
    "The exit code is 1 where a case or claim lies outside its band, and where anything moved against --against. "
    "Errors\n"
    "are relative, in percent, or, of shares, in points.";

constexpr auto goldens = "goldens.csv";

}  // namespace

ValidateCommand::ValidateCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command =
      *app.add_subcommand("validate", "Hold predictions against measurements: shipped suites, or files of your own");
  command.footer(validate_examples);
  command.add_option("NAMES", names_, "Suites by name (all unless given), or files of measurements")
      ->type_name("SUITE|FILE...");
  command.add_flag("--list", list_, "List the suites");
  command.add_option("--report", report_folder_, "Folder that gets the page, and all tables as CSV, JSON and Markdown")
      ->type_name("DIR");
  command
      .add_option("--tolerance", tolerance_,
                  "Band of every case instead of its own, in percent of what was measured (of shares in points)")
      ->type_name("PERCENT");
  session.add_jobs_option(command);
  session.add_uncertainty_options(command);
  command.add_option("--case", case_, "Only the cases whose name holds this text")->type_name("TEXT");
  command.add_option("--predict", plan_, "Table of what is to be measured: write predictions of it to --out")
      ->type_name("FILE");
  command.add_option("--out", out_, "File of predictions to write")->type_name("FILE");
  command.add_option("--score", predictions_, "File of predictions to hold against the measured files")
      ->type_name("FILE");
  command.add_option("--against", against_, "Predictions of another version: show what moved")->type_name("FILE");
  command.add_flag("--update-goldens", update_goldens_,
                   "Write the predictions of all suites to validate/goldens.csv of this source tree");
  session.add_validation_options(command);
  session.add_without_option(command);
  command.callback([this] { run(); });
}

void ValidateCommand::run() {
  Arguments arguments;
  options_ = read_options(arguments);
  check_combinations(arguments);
  check_outputs(arguments);
  const validate::Library library = session_.library(arguments);
  if (list_) return list(library);
  if (!plan_.empty()) return predict(library);

  validate::Validation validation = compare(library, arguments);
  study::Results results = validate::report(validation);
  const bool moved = add_moves(library, validation, results);
  add_warnings(validation, results);
  results.notes.push_back(validate::verdict(validation));
  if (!report_folder_.empty()) {
    save(validation, results);
    results.notes.push_back("Page: " + (report_folder_ / "page.html").string());
  }
  session_.answer(results);
  if (validation.outside() > 0 || (moved && !against_.empty())) session_.fail_check();
}

validate::Options ValidateCommand::read_options(Arguments& arguments) const {
  validate::Options options;
  options.jobs = session_.jobs(arguments);
  if (!tolerance_.empty()) options.tolerance = arguments.number("--tolerance", tolerance_, 0.0, 1000.0) / 100.0;
  options.uncertainty = session_.sampling(arguments);
  options.only = case_;
  options.platform = session_.platform_name();
  options.changes = session_.assignments();
  options.progress = session_.progress();
  return options;
}

// What would be ignored is refused.
void ValidateCommand::check_combinations(Arguments& arguments) const {
  const bool predicts = !plan_.empty();
  const bool scores = !predictions_.empty();
  const bool other_machine =
      session_.platform_name().has_value() || !session_.assignments().empty() || session_.is_without_some();
  const std::array<std::pair<bool, const char*>, 7> comparing{{{!names_.empty(), "SUITE|FILE"},
                                                               {scores, "--score"},
                                                               {!against_.empty(), "--against"},
                                                               {!report_folder_.empty(), "--report"},
                                                               {!case_.empty(), "--case"},
                                                               {options_.uncertainty.has_value(), "--uncertainty"},
                                                               {update_goldens_, "--update-goldens"}}};
  for (const auto& [given, name] : comparing) {
    if (given && predicts) arguments.fault(name, "compares: --predict writes down what is not measured yet");
    if (given && list_) arguments.fault(name, "compares: --list goes alone");
  }
  if (predicts && list_) arguments.fault("--predict", "--list goes alone");
  if (!out_.empty() && !predicts) arguments.fault("--out", "goes with --predict: --report names a folder for results");
  if (predicts && out_.empty()) arguments.fault("--predict", "asks for --out FILE, where the predictions go");
  if (scores && other_machine)
    arguments.fault("--score", "the file says of which platform it is: no --platform, no --set, no --without");
  if (scores && options_.uncertainty) {
    arguments.fault("--uncertainty", "predicts anew: --score holds the predictions of a file against measurements");
  }
  const bool all_as_shipped = names_.empty() && case_.empty() && !other_machine && against_.empty() && !scores;
  if (update_goldens_ && !all_as_shipped) {
    arguments.fault("--update-goldens",
                    "is of all suites as they are shipped: no SUITE|FILE, --case, --platform, --set, "
                    "--without, --against or --score is accepted beside it");
  }
  std::error_code absent;
  if (std::filesystem::exists(report_folder_, absent) && !std::filesystem::is_directory(report_folder_, absent)) {
    arguments.fault("--report",
                    in_quotes(report_folder_.string()) + " is a file: a folder, or a name for a new one, is accepted");
  }
}

// What is read is not written; suites are no files, and do not exist as such.
void ValidateCommand::check_outputs(Arguments& arguments) {
  for (const std::string& name : names_) session_.reads(name);
  for (const std::filesystem::path& file : {plan_, predictions_, against_}) session_.reads(file);
  if (const auto platform = session_.platform_name(); platform) session_.reads(*platform);
  session_.check_output(arguments, "--out", out_);
  std::error_code absent;
  if (std::filesystem::exists(out_, absent) && !std::filesystem::is_regular_file(out_, absent)) {
    arguments.fault("--out", in_quotes(out_.string()) + " is no file: predictions are read back for their digest");
  }
  session_.check_output_folder(
      arguments, "--report", report_folder_,
      {"results.json", "report.md", "page.html", "accuracy.md", "deviations.md", "accuracy_table.md"});
}

// A file may be at fault in every row.
void ValidateCommand::add_warnings(const validate::Validation& validation, study::Results& results) const {
  constexpr std::size_t most = sim::ConfigError::max_lines;
  results.warnings = validation.remarks;
  if (session_.is_without_some()) {
    results.warnings.emplace_back("--without: no real machine, but what one would be without these mechanisms");
  }
  for (std::size_t i = 0; i < std::min(validation.faults.size(), most); ++i) {
    const sim::Fault& fault = validation.faults[i];
    results.warnings.push_back(
        fmt::format("left out: {}: {}{}{}", fault.where, fault.path, fault.path.empty() ? "" : ": ", fault.what));
  }
  if (validation.faults.size() > most) {
    results.warnings.push_back(fmt::format("{} more are at fault", validation.faults.size() - most));
  }
}

void ValidateCommand::list(const validate::Library& library) {
  study::ResultTable table(
      {{"suite", "suite", ""}, {"title", "title", ""}, {"question", "question", ""}, {"platform", "platform", ""}});
  for (const validate::Heading& suite : validate::suites_of(library)) {
    table.add_row({suite.name, suite.title, suite.question, suite.platform});
  }
  session_.answer(study::Results{"", {{"suites", "", std::move(table)}}, {}, {}});
}

validate::Validation ValidateCommand::compare(const validate::Library& library, Arguments& arguments) {
  const auto [suites, files] = suites_and_files(library, names_);
  if (!suites.empty() && !files.empty())
    arguments.fault("SUITE|FILE", "suites or files are accepted, not both at once");
  if (!predictions_.empty() && files.empty()) arguments.fault("--score", "asks for the files that were measured");
  arguments.check();
  if (files.empty()) return validate::validate_suites(library, suites, options_);
  if (predictions_.empty()) return validate::validate_files(library, files, options_);
  const validate::PredictionFile predictions = validate::read_prediction_json(predictions_);
  options_.platform = predictions.platform;
  validate::Validation validation = validate::read_files(library, files, options_);
  validate::apply_predictions(validation, predictions, library, options_);
  return validation;
}

void ValidateCommand::predict(const validate::Library& library) {
  const validate::Validation plan = validate::predict_file(library, plan_, options_);
  const validate::Machine machine{plan.cases.front().machine.platform, {}, options_.changes};
  sim::write_file(
      out_, validate::to_prediction_json(plan.cases, C3SIM_VERSION, machine, session_.platform_text(machine.platform)));
  for (const std::string& remark : plan.remarks) session_.warn(remark);
  for (const validate::LeftOut& left : plan.left_out) {
    session_.warn(fmt::format("{}: rows that are left out: {}: {}", left.file, left.rows, left.why));
  }
  for (const validate::Case& one : plan.cases) {
    if (!one.predicted) session_.warn(fmt::format("{} is not predicted: {}", one.id, one.why_not_predicted));
  }
  const validate::PredictionFile written = validate::read_prediction_json(out_);
  session_.out() << fmt::format("{} predictions in {}\nsha256 {}\n", written.predicted.size(), out_.string(),
                                written.digest);
}

// Whether anything moved against --against, or against the goldens that are being replaced.
bool ValidateCommand::add_moves(const validate::Library& library, const validate::Validation& validation,
                                study::Results& results) {
  const std::filesystem::path file = update_goldens_ ? library.suites.parent_path() / goldens : against_;
  if (file.empty()) return false;
  validate::Predictions before;
  std::error_code absent;
  if (!update_goldens_ || std::filesystem::exists(file, absent)) before = validate::read_golden(file);
  const bool is_all = names_.empty() && case_.empty();
  const std::vector<validate::Move> moves = validate::moves_between(
      before, validation.cases, validation.claims, is_all ? validate::Compared::all : validate::Compared::some);
  results.tables.push_back(
      {"moves", fmt::format("Moved by more than 0.1 % against {}", file.string()), validate::move_table(moves)});
  if (update_goldens_) {
    sim::write_file(file, validate::to_golden(validate::predictions_of(validation.cases, validation.claims)));
    results.notes.push_back(fmt::format("{} predictions moved. Name the goldens by {} in a line of CHANGELOG.md.",
                                        moves.size(), validate::short_digest(file)));
  }
  return !moves.empty();
}

void ValidateCommand::save(const validate::Validation& validation, study::Results& results) {
  results.files = {{"accuracy.md", validate::accuracy_page(validation)},
                   {"deviations.md", validate::deviations_page(validation)},
                   {"accuracy_table.md", validate::accuracy_table(validation)}};
  study::save(results, validate::page_of(validation, results, C3SIM_VERSION), session_.origin(), report_folder_);
}

}  // namespace c3sim::cli
