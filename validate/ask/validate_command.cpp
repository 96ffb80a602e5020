#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/config/config_error.h"
#include "sim/config/files_read.h"
#include "sim/config/output_file.h"
#include "study/play/digest.h"
#include "study/report/results_folder.h"
#include "study/report/table_of.h"
#include "validate/ask/commands.h"
#include "validate/predictions.h"
#include "validate/report.h"

namespace c3sim::validate {

namespace {

constexpr auto validate_examples = R"(Examples:
  c3sim validate                               every suite; --list names them
  c3sim validate rccl overlap --report page    two of them, and a page with every case
  c3sim validate all_reduce.log p2p.csv        your own measurements: rccl-tests, TransferBench, CSV
  c3sim validate --platform my.yaml rccl       another platform
  c3sim validate overlap --mechanisms          also which mechanisms make the cost of running at once
  c3sim validate h200 --uncertainty            also how many measured values lie within 90 % intervals
  c3sim validate --out old.json                also write down every prediction, with a digest
  c3sim validate --against old.json            what moved since a version that wrote this file
  c3sim validate --predict plan.csv --out P.json   predictions before anything is measured
  c3sim validate --score P.json measured.csv   these predictions, compared with what was measured later
The exit code is 1 if a case or claim lies outside its band, or if a prediction moved from that of --against. Errors
are relative, in percent; errors of shares, such as that of cache hits, are in percentage points.)";

constexpr auto goldens = "goldens.json";

// A Comparison reads the options of c3sim validate and answers with predictions next to measurements.
class Comparison {
 public:
  explicit Comparison(study::Request& request) : request_(request) {}

  study::Results answer() {
    study::Arguments arguments;
    options_ = read_options(arguments);
    check_combinations(arguments);
    check_outputs(arguments);
    const Library library = library_of(request_, arguments);
    if (request_.says("list")) return listed(library);
    if (request_.says("predict")) return predicted(library);

    const std::filesystem::path file_before = updates_ ? library.suites.parent_path() / goldens : against_;
    Predictions before = predictions_before(file_before);
    if (options_.platform) before = of_platform(std::move(before), *options_.platform);
    Validation validation = compare(library, arguments, before);
    study::Results results = report(validation);
    const bool moved = add_moves(file_before, before, validation, results);
    if (!out_.empty()) results.notes.push_back(written(options_.platform.value_or(""), validation));
    add_warnings(validation, results);
    results.notes.push_back(verdict(validation));
    if (!report_folder_.empty()) {
      results.files = {{"accuracy.md", accuracy_page(validation)}, {"deviations.md", deviations_page(validation)}};
      add_charts(validation, results);
      study::save(results, request_.origin(), report_folder_);
      results.notes.push_back("Page: " + (report_folder_ / "page.html").string());
    }
    if (validation.outside() > 0 || (moved && !against_.empty())) request_.fail_check();
    return results;
  }

 private:
  Options read_options(study::Arguments& arguments) const {
    Options options;
    options.jobs = request_.jobs(arguments);
    if (request_.says("tolerance"))
      options.tolerance = arguments.number("--tolerance", request_.text("tolerance"), 0.0, 1000.0) / 100.0;
    options.uncertainty = request_.sampling(arguments);
    options.mechanisms = request_.says("mechanisms");
    options.unprobed = request_.says("unprobed");
    options.only = request_.text("case");
    options.platform = request_.platform_name();
    options.changes = request_.assignments();
    options.progress = request_.progress();
    return options;
  }

  // Refuses options that would be ignored.
  void check_combinations(study::Arguments& arguments) const {
    const bool predicts = request_.says("predict");
    const bool lists = request_.says("list");
    const bool scores = request_.says("score");
    const bool other_machine =
        request_.platform_name().has_value() || !request_.assignments().empty() || request_.says("without");
    for (const char* const option :
         {"names", "score", "against", "report", "case", "uncertainty", "mechanisms", "unprobed", "update_goldens"}) {
      if (!request_.says(option)) continue;
      const std::string name = option == std::string_view("names") ? "SUITE|FILE" : study::typed_name(option);
      if (predicts) arguments.fault(name, "compares: --predict writes down what is not measured yet");
      if (lists) arguments.fault(name, "compares: --list goes alone");
    }
    const bool as_shipped = is_of_all() && !other_machine && against_.empty() && !scores;
    std::error_code absent;
    const bool report_is_file =
        std::filesystem::exists(report_folder_, absent) && !std::filesystem::is_directory(report_folder_, absent);
    constexpr auto anew = "predicts anew: --score holds the predictions of a file against measurements";
    const std::vector<std::tuple<bool, const char*, std::string>> refused{
        {predicts && lists, "--predict", "--list goes alone"},
        {!out_.empty() && lists, "--out", "--list goes alone"},
        {predicts && out_.empty(), "--predict", "asks for --out FILE, where the predictions go"},
        {scores && other_machine, "--score",
         "the file says of which platform it is: no --platform, no --set, no --without"},
        {scores && options_.mechanisms, "--mechanisms", anew},
        {scores && options_.unprobed, "--unprobed", anew},
        {scores && options_.uncertainty, "--uncertainty", anew},
        {updates_ && !as_shipped, "--update-goldens",
         "takes all suites as they are shipped: no SUITE|FILE, --case, --platform, --set, --without, --against or "
         "--score is accepted beside it"},
        {report_is_file, "--report",
         study::in_quotes(report_folder_.string()) + " is a file: a folder, or a name for a new one, is accepted"}};
    for (const auto& [is_so, option, why] : refused) {
      if (is_so) arguments.fault(option, why);
    }
  }

  // Returns whether a file is one of an earlier --out that nobody has edited. Goldens are none.
  static bool is_predictions(const std::filesystem::path& file) {
    std::error_code absent;
    if (!std::filesystem::is_regular_file(file, absent)) return false;
    const sim::FilesRead apart;  // so that this check does not count as reading
    try {
      return !read_predictions(file).is_summary;
    } catch (const sim::ConfigError&) {
      return false;
    }
  }

  // Checks that no file is both read and written. Names of suites are not paths of existing files.
  void check_outputs(study::Arguments& arguments) {
    for (const std::string& name : names_) request_.reads(name);
    for (const char* const option : {"predict", "score", "against"}) request_.reads(request_.text(option));
    if (const auto platform = request_.platform_name(); platform) request_.reads(*platform);
    if (is_predictions(out_)) {
      request_.check_not_read(arguments, "--out", out_);
    } else {
      request_.check_output(arguments, "--out", out_);
    }
    std::error_code absent;
    const std::filesystem::path folder = out_.parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder, absent)) {
      arguments.fault("--out",
                      study::in_quotes(folder.string()) + " is no folder: a file in a folder that exists is accepted");
    }
    if (std::filesystem::exists(out_, absent) && !std::filesystem::is_regular_file(out_, absent)) {
      arguments.fault("--out",
                      study::in_quotes(out_.string()) + " is no file: predictions are read back for their digest");
    }
    const std::vector<std::string> of_report{"results.json", "page.html", "accuracy.md", "deviations.md"};
    request_.check_output_folder(arguments, "--report", report_folder_, of_report);
    request_.check_not_in(arguments, "--out", out_, "--report", report_folder_, of_report);
  }

  void add_warnings(const Validation& validation, study::Results& results) const {
    results.warnings = study::overridden(request_.assignments(), "--set");
    results.warnings.insert(results.warnings.end(), validation.remarks.begin(), validation.remarks.end());
    if (request_.says("without")) {
      results.warnings.emplace_back("--without: no real machine, but what one would be without these mechanisms");
    }
    for (const std::string& line : sim::by_cause(validation.faults)) results.warnings.push_back("left out: " + line);
  }

  static study::Results listed(const Library& library) {
    study::ResultTable table = study::table_of<Suite>(read_suites(library, calibrate::Reader(library.formats)),
                                                      {{{"suite", "suite", ""}, &Suite::name},
                                                       {{"title", "title", ""}, &Suite::title},
                                                       {{"question", "question", ""}, &Suite::question},
                                                       {{"platform", "platform", ""}, &Suite::platform}});
    return {"", {{"suites", "", std::move(table)}}, {}, {}};
  }

  Validation compare(const Library& library, study::Arguments& arguments, const Predictions& before) {
    const auto [suites, files] = suites_and_files(library, names_);
    if (!suites.empty() && !files.empty())
      arguments.fault("SUITE|FILE", "suites or files are accepted, not both at once");
    if (request_.says("score") && files.empty()) arguments.fault("--score", "asks for the files that were measured");
    if (!against_.empty() && before.is_summary && (!files.empty() || !options_.only.empty())) {
      arguments.fault("--against",
                      "has statistics of whole suites, which files of measurements and parts of suites do not move: "
                      "--out of the other version writes every prediction");
    }
    arguments.check();
    if (files.empty()) return validate_suites(library, suites, options_);
    if (!request_.says("score")) return validate_files(library, files, options_);
    const Predictions predictions = read_predictions(request_.text("score"));
    if (!predictions.platform.empty()) options_.platform = predictions.platform;
    options_.changes = predictions.changes;
    Validation validation = read_files(library, files, options_);
    apply_predictions(validation, predictions, library, options_);
    return validation;
  }

  study::Results predicted(const Library& library) {
    Validation plan = predict_file(library, request_.text("predict"), options_);
    const Machine& planned = plan.cases.front().machine;
    const study::Platform platform = library.platforms({planned.platform, {}, planned.changes});
    for (Case& one : plan.cases) one = plainly(std::move(one), platform);
    const std::string text = written(plan.cases.front().machine.platform, plan) + "\n";
    for (const std::string& remark : plan.remarks) request_.warn(remark);
    for (const LeftOut& left : plan.left_out) {
      request_.warn(fmt::format("{}: rows that are left out: {}: {}", left.file, left.rows, left.why));
    }
    for (const Case& one : plan.cases) {
      if (!one.predicted) request_.warn(fmt::format("{} is not predicted: {}", one.id, one.why_not_predicted));
    }
    return {.text = text};
  }

  // Writes the file of --out, and returns a line that tells its number of predictions and its digest.
  std::string written(const std::string& platform, const Validation& validation) const {
    nlohmann::ordered_json about{
        {"c3sim", request_.origin().version}, {"platform", platform}, {"set", options_.changes}};
    if (!platform.empty()) {
      about["platform_sha256"] = study::sha256(platform_named(platform, request_.assignments()).resolved);
    }
    sim::write_file(out_, to_text(std::move(about), all_predictions(validation)));
    const Predictions read = read_predictions(out_);
    return fmt::format("{} predictions in {}, sha256 {}", read.by_subject.size(), out_.string(), read.digest);
  }

  // Reads the predictions of --against or, if there are any, the goldens that are being replaced.
  Predictions predictions_before(const std::filesystem::path& file) const {
    std::error_code absent;
    if (file.empty() || (updates_ && !std::filesystem::exists(file, absent))) return {.is_summary = true};
    return read_predictions(file);
  }

  // Adds a table of what moved against the predictions of the file, and returns whether anything moved.
  bool add_moves(const std::filesystem::path& file, const Predictions& before, const Validation& validation,
                 study::Results& results) {
    if (file.empty()) return false;
    const std::vector<Move> moves = moves_between(before, validation, is_of_all() ? Compared::all : Compared::some);
    results.tables.push_back({"moves", fmt::format("Moved by more than 0.1 % against {}", file.string()),
                              move_table(moves), !moves.empty()});
    if (moves.empty()) {
      results.notes.push_back(fmt::format("Nothing moved by more than 0.1 % against {}.", file.string()));
    }
    if (updates_) {
      sim::write_file(file, to_text({}, summary_of(validation)));
      results.notes.push_back(fmt::format("{} values moved. Name the goldens by {} in a line of CHANGELOG.md.",
                                          moves.size(), short_digest(file)));
    }
    return !moves.empty();
  }

  // Returns whether all suites are compared, and all cases of each.
  bool is_of_all() const { return names_.empty() && options_.only.empty(); }

  study::Request& request_;
  const std::vector<std::string>& names_ = request_.texts("names");
  const std::filesystem::path report_folder_ = request_.text("report");
  const std::filesystem::path out_ = request_.text("out");
  const std::filesystem::path against_ = request_.text("against");
  const bool updates_ = request_.says("update_goldens");
  Options options_;
};

}  // namespace

study::Command validate_command() {
  using study::Said;
  return {
      "validate", "Hold predictions against measurements: shipped suites, or files of your own", validate_examples,
      std::vector<study::Option>{
          {"names", "SUITE|FILE...", "Suites by name (all unless given), or files of measurements", Said::all_in_place},
          {"list", "", "List the suites", Said::alone},
          {"report", "DIR",
           "Folder that gets a page for the browser (page.html), and all tables as CSV, JSON and Markdown"},
          {"tolerance", "PERCENT",
           "How far each prediction may be off, in percent of what was measured (for shares, in percentage points); "
           "unless given, each case has a band of its own"}} +
          study::jobs_option() + study::uncertainty_options() +
          std::vector<study::Option>{
              {"case", "TEXT", "Only the cases whose name holds this text"},
              {"mechanisms", "",
               "Also split the cost of running at once by mechanism of interference; this simulates each concurrent "
               "run some 16 times more",
               Said::alone},
              {"unprobed", "",
               "Also predict the cost of running at once without the parameters that were fitted to probes",
               Said::alone},
              {"predict", "FILE",
               "Table of runs that are not measured yet, whose predictions are written to the file of --out"},
              {"out", "FILE", "File that gets every prediction, and a digest of all, for --score and --against"},
              {"score", "FILE", "File that --out wrote, whose predictions are compared with the measured files"},
              {"against", "FILE",
               "File that --out or --update-goldens of another version wrote: show which predictions, or statistics, "
               "moved since"},
              {"update_goldens", "",
               "Write statistics of all suites, the worst rows and the claims to validate/goldens.json of this source "
               "tree",
               Said::alone}} +
          study::overwrite_option() +
          validation_options("Platform by its name or its file (unless given, that of each suite; for a file of "
                             "measurements that of the GPU it names, or mi300x)") +
          study::without_option(),
      [](study::Request& request) { return Comparison(request).answer(); }};
}

}  // namespace c3sim::validate
