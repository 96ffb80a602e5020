// A Command describes a command of c3sim by its options and the function that answers it. The command line (cli/) and
// Python (python/) offer every command from this description alone. A Request is a question as a user asked it: the
// texts of its options, the platform that they name, and the files that its answer is written to. A request leaves no
// state behind, so any number of them may be answered at once.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/config/files_read.h"
#include "study/ask/arguments.h"
#include "study/play/parallel.h"
#include "study/play/platform_file.h"
#include "study/play/testbed.h"
#include "study/report/results.h"
#include "study/report/results_folder.h"
#include "study/step/step.h"
#include "study/uncertainty/ensemble.h"

namespace c3sim::study {

// An Interrupted is thrown if a command was asked to end before it had its answer.
struct Interrupted : std::system_error {
  explicit Interrupted(const std::string& advice)
      : std::system_error(std::make_error_code(std::errc::interrupted), advice), how_to_go_on(advice) {}

  std::string how_to_go_on;  // what was kept, and what to do to have the rest
};

// A PlatformShelf keeps platforms for programs that ask many questions, since reading one often takes longer than the
// answer. It is thread-safe. If a file has changed, it reads the platform again, as read_platform() would.
class PlatformShelf {
 public:
  static constexpr std::size_t most = 256;  // platforms; a full shelf is emptied

  // Returns and throws what read_platform() does.
  Platform read(const std::filesystem::path& file, const Settings& settings,
                std::span<const std::filesystem::path> config_folders);

 private:
  struct Kept {
    Platform platform;
    std::map<std::filesystem::path, std::filesystem::file_time_type> written;  // when its files were last written
  };

  std::mutex mutex_;
  std::map<std::vector<std::string>, Kept> kept_;  // by file, assignments, their places and folders
};

// Return the options of commands that, in this order: name a platform (`platform` is its help), read one and may save
// results, simulate, run GEMMs, ask for one operation, switch off mechanisms, write files, predict C3, report how a
// quantity depends on parameters, use threads, and give intervals.
std::vector<Option> base_options(std::string platform = "Platform by its name or its file (mi300x unless given)");
std::vector<Option> platform_options();
std::vector<Option> run_options();
std::vector<Option> gemm_options();
std::vector<Option> timing_option();
std::vector<Option> without_option();
std::vector<Option> overwrite_option();
std::vector<Option> c3_options();
std::vector<Option> sensitivity_option(const std::string& quantity);
std::vector<Option> jobs_option();
std::vector<Option> uncertainty_options();
std::vector<Option> operator+(std::vector<Option> some, const std::vector<Option>& more);

// A Listener holds the callbacks of whoever waits for the answer. Any of them may be empty.
struct Listener {
  Progress progress = {};                           // may throw, which ends the answer
  std::function<void(std::string_view)> warn = {};  // called with warnings that are not part of the answer
  std::function<std::function<bool()>()> interruptible =
      {};  // returns a function that, while it lives, says whether the user wants to end
};

// Returns a sentence for each assignment ("gpu.sdma.engines=32") that a later one of the same name replaces.
std::vector<std::string> overridden(const std::vector<std::string>& assignments, std::string_view option);

// A Request lives on the thread that answers it: all files that this thread reads meanwhile count as its inputs.
class Request {
 public:
  // `shelf` may be null; it keeps platforms from one question to the next.
  Request(Given given, Origin origin, Listener listener, PlatformShelf* shelf = nullptr)
      : given_(std::move(given)), origin_(std::move(origin)), listener_(std::move(listener)), shelf_(shelf) {
    origin_.overwrites = says("overwrite");
  }

  const Given& given() const { return given_; }
  bool says(std::string_view option) const { return study::says(given_, option); }
  // Returns the last text that was given, or an empty text.
  const std::string& text(std::string_view option) const;
  const std::vector<std::string>& texts(std::string_view option) const;
  std::vector<std::filesystem::path> files(std::string_view option) const;

  // Returns the number of threads that simulate, 0 for one per core; results do not depend on it.
  int jobs(Arguments& arguments) const;
  std::optional<Sampling> sampling(Arguments& arguments) const;
  Format format(Arguments& arguments) const;

  // Checks the shared options and reads the platform that "platform" names, or `preset` without it. Throws
  // sim::ConfigError if it cannot be read. `arguments` collects all other faults, so that the caller can throw them,
  // with those that depend on the platform, before anything is written. The protocol is that of "protocol", or of
  // `asked` without it. Values of "set" take precedence over those in `settings`.
  Platform platform(Arguments& arguments, const std::string& preset = "mi300x", Beside asked = {},
                    Settings settings = {});
  // Finds the file without reading it. Throws sim::ConfigError if there is none.
  std::filesystem::path platform_file(const std::string& preset = "mi300x");
  // Return what "platform" names, and the assignments of "set" and "library".
  std::optional<std::string> platform_name() const;
  std::vector<std::string> assignments() const;
  void check_options(Arguments& arguments) const;
  // Returns the mechanisms that "without" names.
  models::Mechanisms mechanisms_left_out(Arguments& arguments) const;

  // Records a file that the command reads or is about to read, so that it cannot also be written. Files that
  // sim/config/ reads are recorded automatically.
  void reads(const std::filesystem::path& file) { inputs_.add(file); }
  // Adds a fault if the file of an option is one that the command reads, however it is spelled or linked.
  void check_not_read(Arguments& arguments, std::string_view option, const std::filesystem::path& file) const;
  // Adds a fault as check_not_read() does, and, without "overwrite", if c3sim did not write the file or it was edited.
  void check_output(Arguments& arguments, std::string_view option, const std::filesystem::path& file) const;
  // Checks the file of an option once more, since all inputs are known by now, and writes the text to it.
  void write(std::string_view option, std::string_view text) const;
  // Adds a fault if save() could not put files of these names into the folder: a file that c3sim did not write is
  // there, an input would be replaced, or another run holds the folder.
  void check_output_folder(Arguments& arguments, std::string_view option, const std::filesystem::path& folder,
                           const std::vector<std::string>& names) const;
  // Adds a fault if the file of an option is another option's folder, one of the files `names` in it, or a file that an
  // earlier answer left there.
  void check_not_in(Arguments& arguments, std::string_view option, const std::filesystem::path& file,
                    std::string_view folder_option, const std::filesystem::path& folder,
                    const std::vector<std::string>& names) const;
  const Origin& origin() const { return origin_; }
  // Returns the folder of "out", or an empty path.
  std::filesystem::path out_folder() const { return text("out"); }
  // Removes an option that the command has read itself, since other commands give its name another meaning.
  void take(std::string_view option) { given_.erase(std::string(option)); }

  const Progress& progress() const { return listener_.progress; }
  void warn(std::string_view sentence) const {
    if (listener_.warn) listener_.warn(sentence);
  }
  std::function<bool()> interruptible() const {
    return listener_.interruptible ? listener_.interruptible() : [] { return false; };
  }

  // Returns the answer with the tables of "explain" and, in columns for programs, what was said of library and times,
  // after writing the files of "trace" and "out".
  Results finish(Testbed& testbed, const Platform& platform, Results results) const;
  // Returns an answer that no simulation gave. `held` is the lock of its folder, if the command holds that.
  Results finish(const Platform& platform, Results results, const FolderLock* held = nullptr) const;

  // fail_check() marks an answer whose checks do not hold; fault_behind() sets a fault to report after the answer.
  void fail_check() { check_failed_ = true; }
  bool check_failed() const { return check_failed_; }
  void fault_behind(sim::Fault fault) { behind_ = std::move(fault); }
  void check_behind() const {
    if (behind_) throw sim::ConfigError({*behind_});
  }

 private:
  void check_outputs(Arguments& arguments) const;   // adds a fault if --trace is a folder or --out a file
  void check_replaced(Arguments& arguments) const;  // adds a fault if a file of somebody else would be replaced

  Given given_;
  Origin origin_;
  Listener listener_;
  PlatformShelf* shelf_;
  sim::FilesRead inputs_;
  bool check_failed_ = false;
  std::optional<sim::Fault> behind_;
};

struct Command {
  std::string name;
  std::string about;  // one line of help
  std::string notes;  // further help, with examples
  std::vector<Option> options;
  std::function<Results(Request& request)> answer;  // throws sim::ConfigError
  std::size_t text_width = 0;                       // width of text tables if there is no terminal; 0: unlimited

  // Returns a message with all required options that are missing and an example; empty if no option is missing.
  std::string missing(const Given& given) const;
  // Throws sim::ConfigError if an option was given an empty text, as in --out "", since no option accepts one.
  void check(const Given& given) const;
  // Returns a message that no option is named `typed`, and which is nearest; `known` adds names to the command's own.
  std::string unknown(const std::string& typed, std::vector<std::string> known = {"--help"}) const;
};

// Throws sim::ConfigError if the file is one of another command or option, known by a key that only its files have.
void refuse_file_of_another(sim::Config& config, std::string_view command);
// Reads the options of c3sim step and their model. `arguments` collects faults, and `remarks` what a model ignores.
StepQuestion read_step(const Request& request, Arguments& arguments, std::vector<std::string>* remarks = nullptr);
// Returns the step as an experiment that c3sim run takes and that lasts as long. `machine_lines` describe its machine;
// without them, the experiment names the platform. Throws sim::ConfigError if the step exceeds the limits of run.
std::string experiment_text(const StepQuestion& question, const StepMachine& machine,
                            const std::string& machine_lines = {});

Command c3_command();
Command gemm_command();
Command collective_command();
Command copy_command();
Command kernel_command();
Command step_command();
Command serve_command();
Command run_command();
Command schema_command();
Command sweep_command();
Command platform_command();

}  // namespace c3sim::study
