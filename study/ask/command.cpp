#include "study/ask/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <system_error>

#include "sim/config/config_text.h"
#include "sim/config/nearest_name.h"
#include "sim/config/output_file.h"
#include "sim/trace.h"
#include "study/config_folders.h"
#include "study/explain/explanation.h"
#include "study/report/page.h"
#include "study/report/results_folder.h"

namespace c3sim::study {

namespace {

constexpr int most_jobs = 1024;
constexpr auto library_parameter = "gpu.gemm.library=";

// Returns whether several options may write the file: a pipe, a terminal or the process's own output loses nothing.
bool is_special(const std::filesystem::path& file) {
  if (file.string().starts_with("/dev/") || file.string().starts_with("/proc/")) return true;
  std::error_code absent;
  return std::filesystem::exists(file, absent) && !std::filesystem::is_regular_file(file, absent);
}

// Returns when the files of a platform were last written. They are those of the configuration, and all tables of
// kernels in the folders where tables are looked for (models/platform/gpu_spec.h).
std::map<std::filesystem::path, std::filesystem::file_time_type> written(const Platform& platform) {
  std::map<std::filesystem::path, std::filesystem::file_time_type> written;
  std::error_code absent;
  std::vector<std::filesystem::path> folders = platform.config_folders;
  for (const std::filesystem::path file : platform.config.files()) {
    written[file] = std::filesystem::last_write_time(file, absent);
    folders.push_back(file.parent_path());
    folders.push_back(file.parent_path().parent_path());
  }
  for (const std::filesystem::path& folder : folders) {
    for (const auto& table : std::filesystem::directory_iterator(folder / "kernels", absent)) {
      written[table.path()] = table.last_write_time(absent);
    }
  }
  return written;
}

// Returns the first example in a command's notes, or an empty text if there is none.
std::string example_in(const std::string& notes) {
  constexpr std::string_view before = "Examples:\n";
  const std::size_t at = notes.find(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = notes.find_first_not_of(' ', at + before.size());
  return notes.substr(begin, notes.find('\n', begin) - begin);
}

struct KindOfFile {
  std::string_view key, what, reader;
  bool is_earlier = false;     // c3sim run read such files once, and nothing reads them any more
  std::string_view also_of{};  // command whose files may have this key, too
};
// The first key that a file has tells its kind.
constexpr std::array kinds_of_files{KindOfFile{"ask", "a study", "c3sim sweep"},
                                    KindOfFile{"operations", "an experiment", "c3sim run"},
                                    KindOfFile{"pairs",
                                               "an earlier study of pairs, which are cases of an axis now as in "
                                               "configs/studies/conccl.yaml",
                                               "c3sim sweep", true},
                                    KindOfFile{"sublayers",
                                               "an earlier study of sub-layers, which are points now as in "
                                               "configs/studies/t3.yaml",
                                               "c3sim sweep", true},
                                    KindOfFile{"axes", "a study", "c3sim sweep"},
                                    KindOfFile{"collectives", "a list of what to tune", "c3sim tune"},
                                    KindOfFile{"schedules",
                                               "an earlier study of schedules, which are points now as in "
                                               "configs/studies/ficco.yaml",
                                               "c3sim sweep", true, "tune"},
                                    KindOfFile{"fabric", "a platform", "--platform"},
                                    KindOfFile{"heads", "a model", "--model"},
                                    KindOfFile{"model_type", "a config.json of Hugging Face", "--model"},
                                    KindOfFile{"model", "a study of serving", "c3sim serve"}};

}  // namespace

std::vector<Option> operator+(std::vector<Option> some, const std::vector<Option>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

std::vector<Option> base_options(std::string platform) {
  return {{"platform", "NAME|FILE", std::move(platform)},
          {"format", names_of<Format>(), "How results are written on stdout; CSV has a block for each table"}};
}

std::vector<Option> platform_options() {
  return base_options() +
         std::vector<Option>{
             {"set", "PATH=VALUE",
              "Change one parameter of the platform, checked as the file is: --set gpu.sdma.engines=32 (may be given "
              "again)",
              Said::again},
             {"out", "DIR",
              "Folder that gets the results as CSV, JSON and a page for the browser, and the platform they are for"}} +
         overwrite_option();
}

std::vector<Option> run_options() {
  return platform_options() +
         std::vector<Option>{
             {"protocol", names_of<models::Protocol>(),
              "How runs are measured. By the host, launch and notice included: one of many after warm-up, as papers do "
              "(steady, unless given); once, from rest (shot); again and again behind a barrier (rounds). Launches "
              "hidden: back to back in one stream, as nccl-tests and rccl-tests do (stream), or in one captured graph "
              "(graph). Times are the same where the platform knows nothing that tells two of them apart"},
             {"trace", "FILE", "File for a trace of every run, to be opened with ui.perfetto.dev"},
             {"explain", "", "Add where the time went: what held the work back, who shared it, and the critical path",
              Said::alone}};
}

std::vector<Option> gemm_options() {
  return {{"library", "NAME",
           "Whose GEMM kernels run: rocblas (rocblas_nt, rocblas_tt where operands are transposed), hipblaslt, "
           "work_stealing, persistent or stream_k; cublas on the H200; opus_a2a_gemm, opus_gemm_a2a or "
           "opus_gemm_a2a_persistent on the MI355X; ck_blockscale for fp8 on the MI300X"},
          {"profiles", "FILE",
           "Measured GEMMs (time, bytes at L2, Infinity Cache and HBM) that stand in for the estimate; "
           "docs/model.md shows the form"}};
}

std::vector<Option> timing_option() {
  return {{"kernel_time", "",
           "Tell what a profiler or a tuner of kernels tells: the kernel's own time, without launch, gap and notice",
           Said::alone}};
}

std::vector<Option> without_option() {
  return {{"without", names_of<models::Mechanism>() + "|all",
           "Mechanisms of interference, separated by commas, that the machine is to be without, or all"}};
}

std::vector<Option> overwrite_option() {
  return {{"overwrite", "",
           "Replace files that options name although c3sim did not write them, or somebody has edited them since; of a "
           "folder of results those that c3sim wrote, edited or not",
           Said::alone}};
}

std::vector<Option> c3_options() { return without_option() + sensitivity_option("fraction_of_ideal"); }

std::vector<Option> sensitivity_option(const std::string& quantity) {
  return {{.name = "sensitivity",
           .form = "QUANTITY",
           .help = "Add how far a quantity of the answer, by its name in CSV (alone: " + quantity +
                   "), moves over the range of each assumed or fitted parameter: those that move it most first",
           .said = Said::maybe_alone,
           .alone = quantity}};
}

std::vector<Option> jobs_option() {
  return {{"jobs", "COUNT", "Threads that simulate (as many as there are cores unless given)"}};
}

std::vector<Option> uncertainty_options() {
  return {{.name = "uncertainty",
           .form = "DRAWS",
           .help = "Add where each prediction lies with 90 % probability, from so many draws (alone: 100) of what the "
                   "platform file tells of errors: of its parameters, and of the model's times of isolated work. "
                   "Interference has no error of its own in it: see docs/uncertainty.md",
           .said = Said::maybe_alone,
           .alone = "100"},
          {"seed", "N", "Of the draws of --uncertainty: the same seed, the same draws (1 unless given)"}};
}

const std::vector<std::string>& Request::texts(std::string_view option) const {
  static const std::vector<std::string> nothing;
  const auto said = given_.find(option);
  return said == given_.end() ? nothing : said->second;
}

const std::string& Request::text(std::string_view option) const {
  static const std::string nothing;
  const std::vector<std::string>& said = texts(option);
  return said.empty() ? nothing : said.back();
}

std::vector<std::filesystem::path> Request::files(std::string_view option) const {
  const std::vector<std::string>& said = texts(option);
  return {said.begin(), said.end()};
}

int Request::jobs(Arguments& arguments) const {
  if (!says("jobs")) return 0;  // for_each_index() takes 0 for one per core
  return arguments.integer("--jobs", text("jobs"), 1, most_jobs);
}

Format Request::format(Arguments& arguments) const {
  return says("format") ? arguments.choice<Format>("--format", text("format")) : Format::table;
}

std::optional<std::string> Request::platform_name() const {
  return says("platform") ? std::optional(text("platform")) : std::nullopt;
}

std::vector<std::string> Request::assignments() const {
  std::vector<std::string> all = texts("set");
  for (const std::string& library : texts("library")) all.push_back(library_parameter + library);
  return all;
}

std::optional<Sampling> Request::sampling(Arguments& arguments) const {
  constexpr int most_draws = 10000;
  const std::string& draws = text("uncertainty");
  if (draws.empty()) {
    if (says("seed")) arguments.fault("--seed", "goes with --uncertainty, whose draws it is of");
    return std::nullopt;
  }
  Sampling sampling;
  const int fewest = static_cast<int>(fewest_draws);
  if (draws.find_first_not_of("0123456789") != std::string::npos) {
    arguments.fault("--uncertainty", fmt::format("{}: a number of draws from {} to {}, or none, is accepted behind it; "
                                                 "names of suites and files go before it",
                                                 in_quotes(draws), fewest, most_draws));
    return sampling;
  }
  sampling.draws = static_cast<std::size_t>(arguments.integer("--uncertainty", draws, fewest, most_draws));
  if (says("seed")) {
    const int seed = arguments.integer("--seed", text("seed"), 0, std::numeric_limits<int>::max());
    sampling.seed = static_cast<std::uint64_t>(seed);
  }
  return sampling;
}

models::Mechanisms Request::mechanisms_left_out(Arguments& arguments) const {
  models::Mechanisms mechanisms;
  if (!says("without")) return mechanisms;
  for (const models::Mechanism mechanism : arguments.choice_list<models::Mechanism>("--without", text("without"))) {
    mechanisms.add(mechanism);
  }
  return mechanisms;
}

void Request::check_options(Arguments& arguments) const { static_cast<void>(format(arguments)); }

std::vector<std::string> overridden(const std::vector<std::string>& assignments, std::string_view option) {
  std::vector<std::string> sentences;
  std::map<std::string_view, std::string_view> last;
  for (const std::string& assignment : assignments) {
    const std::string_view name = sim::trimmed(std::string_view(assignment).substr(0, assignment.find('=')));
    const auto [before, is_first] = last.try_emplace(name, assignment);
    if (!is_first) {
      sentences.push_back(fmt::format("{0} {1} stands instead of {0} {2}, which was said before it", option,
                                      in_quotes(assignment), in_quotes(before->second)));
      before->second = assignment;
    }
  }
  return sentences;
}

void Request::check_not_read(Arguments& arguments, std::string_view option, const std::filesystem::path& file) const {
  std::error_code absent;
  if (!std::filesystem::is_regular_file(file, absent)) return;
  for (const std::filesystem::path& input : inputs_.files()) {
    if (!std::filesystem::equivalent(file, input, absent)) continue;
    arguments.fault(option, in_quotes(file.string()) + " is read by this command: another file is accepted");
    return;
  }
}

void Request::check_output(Arguments& arguments, std::string_view option, const std::filesystem::path& file) const {
  const std::size_t faults_before = arguments.faults().size();
  check_not_read(arguments, option, file);
  std::error_code absent;
  const bool is_file = std::filesystem::is_regular_file(file, absent) && !is_special(file);
  const bool may_go = says("overwrite") || arguments.faults().size() > faults_before;
  if (is_file && !may_go && !is_own_file(file)) {
    arguments.fault(option, in_quotes(file.string()) +
                                " is there, and c3sim did not write it, or it has been edited since: another file is "
                                "accepted, or --overwrite with it, which replaces it");
  }
}

void Request::write(std::string_view option, std::string_view text) const {
  Arguments arguments;
  const std::filesystem::path file = this->text(option);
  check_output(arguments, typed_name(std::string(option)), file);
  arguments.check();
  sim::write_file(file, text);
}

void Request::check_output_folder(Arguments& arguments, std::string_view option, const std::filesystem::path& folder,
                                  const std::vector<std::string>& names) const {
  if (folder.empty()) return;
  for (const std::string& name : files_of_earlier_answer(folder)) {
    check_not_read(arguments, option, folder / name);
  }
  for (const sim::Fault& fault : in_the_way(folder, names, origin_)) {
    arguments.fault(option, in_quotes(fault.where) + " " + fault.what);
  }
  if (FolderLock::is_taken(folder)) {
    arguments.fault(option, in_quotes(folder.string()) + ": " + FolderLock::taken);
  }
}

void Request::check_outputs(Arguments& arguments) const {
  std::error_code absent;
  const std::filesystem::path trace = text("trace");
  if (std::filesystem::is_directory(trace, absent)) {
    arguments.fault("--trace", in_quotes(trace.string()) + " is a folder: the name of a file is accepted");
  }
  const std::filesystem::path folder = out_folder();
  if (std::filesystem::exists(folder, absent) && !std::filesystem::is_directory(folder, absent)) {
    arguments.fault("--out", in_quotes(folder.string()) + " is a file: a folder, or a name for a new one, is accepted");
  }
}

void Request::check_not_in(Arguments& arguments, std::string_view option, const std::filesystem::path& file,
                           std::string_view folder_option, const std::filesystem::path& folder,
                           const std::vector<std::string>& names) const {
  if (file.empty() || folder.empty() || is_special(file)) return;
  if (is_same_place(file, folder)) {
    arguments.fault(option, fmt::format("{} is the folder of {}, too: another file is accepted",
                                        in_quotes(file.string()), folder_option));
  }
  const auto is_file = [&](const std::string& name) { return is_same_place(file, folder / name); };
  if (std::ranges::any_of(names, is_file) || std::ranges::any_of(files_of_earlier_answer(folder), is_file)) {
    arguments.fault(option, fmt::format("{} is a file of {}, too: another file is accepted", in_quotes(file.string()),
                                        folder_option));
  }
}

void Request::check_replaced(Arguments& arguments) const {
  const std::vector<std::string> of_folder{"results.json", "results.csv", "page.html", "platform.yaml"};
  check_output_folder(arguments, "--out", out_folder(), of_folder);
  std::string_view other;  // the option before, which names a file, too
  for (const std::string_view option : {"write", "trace"}) {
    if (!says(option)) continue;
    const std::filesystem::path file = text(option);
    const std::string typed = fmt::format("--{}", option);
    check_output(arguments, typed, file);
    if (!other.empty() && !is_special(file) && is_same_place(file, text(other))) {
      arguments.fault(
          typed, fmt::format("{} is the file of --{}, too: another file is accepted", in_quotes(file.string()), other));
    }
    check_not_in(arguments, typed, file, "--out", out_folder(), of_folder);
    other = option;
  }
}

std::filesystem::path Request::platform_file(const std::string& preset) {
  std::filesystem::path file = find_platform(platform_name().value_or(preset), "--platform", config_folders());
  reads(file);
  return file;
}

Platform Request::platform(Arguments& arguments, const std::string& preset, Beside asked, Settings settings) {
  asked.without = mechanisms_left_out(arguments);
  asked.kernel_time = says("kernel_time");
  if (says("protocol")) asked.protocol = arguments.choice<models::Protocol>("--protocol", text("protocol"));
  settings.insert(settings.end(), texts("set").begin(), texts("set").end());
  for (const std::string& library : texts("library")) {
    settings.emplace_back(library_parameter + library, "--library " + library);
  }
  check_options(arguments);
  check_outputs(arguments);
  try {
    const std::vector<std::filesystem::path> folders = config_folders();
    const std::filesystem::path named = platform_file(preset);
    Platform platform =
        shelf_ == nullptr ? read_platform(named, settings, folders) : shelf_->read(named, settings, folders);
    for (const std::string& file : platform.config.files()) reads(file);
    std::ranges::move(overridden(assignments(), "--set"), std::back_inserter(platform.warnings));
    if (says("profiles")) {
      reads(text("profiles"));
      asked.profiles = read_gemm_profiles(sim::Config::from_file(text("profiles")), platform.spec);
      for (const models::GemmProfile& profile : asked.profiles) {
        platform.warnings.push_back("GEMM " + models::to_string(profile.shape) + " follows its profile in " +
                                    text("profiles") + ", not the estimate");
      }
    }
    if (says("without")) {
      platform.warnings.push_back("--without " + text("without") +
                                  ": no real machine, but what one would be without it");
    }
    Platform whole = beside(std::move(platform), std::move(asked));
    check_replaced(arguments);
    return whole;
  } catch (const sim::ConfigError&) {
    check_replaced(arguments);
    arguments.check();  // faults of the command line are reported first
    throw;
  }
}

Results Request::finish(const Platform& platform, Results results, const FolderLock* held) const {
  results.warnings.insert(results.warnings.begin(), platform.warnings.begin(), platform.warnings.end());
  if (const std::filesystem::path folder = out_folder(); !folder.empty()) {
    Arguments arguments;  // all inputs have been read by now
    for (const std::string& name : files_of_earlier_answer(folder)) check_not_read(arguments, "--out", folder / name);
    arguments.check();
    results.files.push_back({"platform.yaml", platform.resolved});
    save(results, origin_, folder, held);
  }
  return results;
}

Results Request::finish(Testbed& testbed, const Platform& platform, Results results) const {
  ResultTable& answer = results.tables.front().table;
  for (const char* const option : {"library", "protocol", "kernel_time"}) {
    if (says(option)) answer.add_column(for_programs(option), std::vector<Cell>(answer.rows().size(), text(option)));
  }
  if (says("explain")) {
    results.tables.push_back({"explanation", "Where the time went", explain(testbed, results.runs)});
    for (NamedTable& table : critical_paths(testbed, results.runs)) results.tables.push_back(std::move(table));
    results.tables.push_back(slowdown_table(split_slowdowns(testbed.platform(), results.runs), title_of(results)));
  }
  if (says("trace")) {
    Arguments arguments;
    check_output(arguments, "--trace", text("trace"));
    arguments.check();
    sim::OutputFile file(text("trace"));
    {
      sim::PerfettoTrace trace(file.stream());
      trace_runs(testbed, results.runs, trace);
    }
    file.commit();
  }
  std::ranges::move(testbed.warnings(), std::back_inserter(results.warnings));
  return finish(platform, std::move(results));
}

Platform PlatformShelf::read(const std::filesystem::path& file, const Settings& settings,
                             std::span<const std::filesystem::path> config_folders) {
  std::vector<std::string> key{std::filesystem::absolute(file).string()};
  for (const sim::PlacedText& one : settings) key.insert(key.end(), {one.text, one.place});
  for (const std::filesystem::path& folder : config_folders) key.push_back(std::filesystem::absolute(folder).string());
  {
    const std::lock_guard lock(mutex_);
    const auto kept = kept_.find(key);
    if (kept != kept_.end() && written(kept->second.platform) == kept->second.written) return kept->second.platform;
  }
  Platform platform = read_platform(file, settings, config_folders);
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= most) kept_.clear();
  kept_.erase(key);
  kept_.emplace(std::move(key), Kept{platform, written(platform)});
  return platform;
}

void refuse_file_of_another(sim::Config& config, std::string_view command) {
  sim::Section root = config.root();
  const std::vector<std::string> keys = root.keys();
  const auto* const kind = std::ranges::find_if(kinds_of_files, [&](const KindOfFile& one) {
    return std::ranges::count(keys, one.key) > 0 && one.also_of != command;
  });
  if (kind == kinds_of_files.end()) return;
  const bool is_read_here = kind->reader.ends_with(command);
  if (is_read_here && !kind->is_earlier) return;
  root.fault(kind->key, fmt::format("this is a key of {}, which {} reads{}", kind->what, kind->reader,
                                    is_read_here ? "" : fmt::format(", not c3sim {}", command)));
  config.check();
}

std::string Command::missing(const Given& given) const {
  std::string missing;
  std::string accepted;
  for (const Option& option : options) {
    if (!option.required || given.contains(option.name)) continue;
    missing += (missing.empty() ? "" : ", ") + option.typed();
    if (option.has_name()) accepted += fmt::format("  {} {}\n", option.typed(), option.form);
  }
  if (missing.empty()) return {};
  const std::string example = example_in(notes);
  return fmt::format("error: {} needs {}\n{}{}", name, missing, accepted,
                     example.empty() ? "" : fmt::format("for example: {}\n", example));
}

void Command::check(const Given& given) const {
  Arguments arguments;
  for (const Option& option : options) {
    const auto said = given.find(option.name);
    if (said == given.end() || std::ranges::count(said->second, "") == 0) continue;
    arguments.fault(option.typed(), fmt::format("is empty: {} is accepted", option.form));
  }
  arguments.check();
}

std::string Command::unknown(const std::string& typed, std::vector<std::string> known) const {
  for (const Option& option : options) {
    if (option.has_name()) known.push_back(option.typed());
  }
  return fmt::format("{} is no option of {}{}", in_quotes(typed), name, sim::name_hint(typed, known));
}

}  // namespace c3sim::study
