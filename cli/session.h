// What all commands share: the options that each of them has, the platform these name, and where answers go.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/readers/reader.h"
#include "cli/arguments.h"
#include "cli/progress_line.h"
#include "study/ensemble.h"
#include "study/parallel.h"
#include "study/platform_file.h"
#include "study/report/results.h"
#include "study/report/results_folder.h"
#include "study/testbed.h"
#include "validate/validation.h"

namespace c3sim::cli {

class Session {
 public:
  // `out_columns`: of the terminal that results go to; 0 where they go elsewhere.
  Session(std::ostream& out, std::ostream& err, bool err_is_terminal, std::size_t out_columns, study::Origin origin)
      : out_(out), err_(err), err_is_terminal_(err_is_terminal), text_width_(out_columns), origin_(std::move(origin)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // For what is no table of results.
  std::ostream& out() {
    progress_line_.reset();
    return out_;
  }

  // Options of commands that name a platform file, those of commands that read one, and those of commands that
  // simulate.
  void add_base_options(CLI::App& command);
  void add_platform_options(CLI::App& command);
  void add_run_options(CLI::App& command);
  // Options of commands that know mechanisms, and of those that predict C3.
  void add_without_option(CLI::App& command);
  void add_c3_options(CLI::App& command);

  // How many threads simulate; what comes out is the same.
  static constexpr int most_jobs = 1024;
  void add_jobs_option(CLI::App& command);
  int jobs(Arguments& arguments) const;

  // Options of commands that give intervals, and what they ask for.
  void add_uncertainty_options(CLI::App& command);
  std::optional<study::Sampling> sampling(Arguments& arguments) const;

  // Checks the shared options, throws what `arguments` has gathered, and reads the platform that was asked for: by
  // --platform, or `preset` without it. Throws sim::ConfigError.
  // The protocol is that of --protocol, or `protocol` without it.
  // Values that `assigned` gives to parameters lie under those of --set.
  study::Platform platform(Arguments& arguments, const std::string& preset = "mi300x",
                           std::optional<models::Protocol> protocol = {}, std::vector<std::string> assigned = {});
  // The same, without reading the file.
  std::filesystem::path platform_file(Arguments& arguments, const std::string& preset = "mi300x");

  // Remembers a file that the command reads: whatever it may write must be another. Tell it before platform().
  void reads(const std::filesystem::path& file) { inputs_.push_back(file); }
  // Faults where the file of an option is one that is read, however it is spelled or linked.
  void check_output(Arguments& arguments, std::string_view option, const std::filesystem::path& file) const;
  // The same of a folder that is to get files of these names, none of which may be somebody else's: study::save().
  void check_output_folder(Arguments& arguments, std::string_view option, const std::filesystem::path& folder,
                           const std::vector<std::string>& names) const;
  const study::Origin& origin() const { return origin_; }

  // Options of commands that compare with measurements.
  void add_validation_options(CLI::App& command);

  // What validations are made of: the first folder of configurations that has formats of tables, and its neighbour
  // validate. Checks the shared options and throws what `arguments` has gathered.
  validate::Library library(Arguments& arguments);
  // As asked for by --platform and --set.
  std::optional<std::string> platform_name() const;
  const std::vector<std::string>& assignments() const { return assignments_; }
  bool is_without_some() const { return !without_.empty(); }
  // The platform file as resolved with --set.
  std::string platform_text(const std::string& name) const;

  // The answer is given, but what was checked does not hold: exit code 1.
  void fail_check() { check_failed_ = true; }
  bool check_failed() const { return check_failed_; }

  // Reads measurements in all formats, those of tables in configs/formats among them.
  static calibrate::Reader reader();

  // Shows how far a long answer is, where the person can see it.
  study::Progress progress();

  void warn(std::string_view sentence);

  // Writes the answer as --format says and --out asks, and adds what --explain and --trace ask for.
  void answer(study::Testbed& testbed, const study::Platform& platform, study::Results results);
  // The same for an answer that no simulation gave, by a command that may hold the lock of its folder, and for one that
  // no platform as a whole is behind.
  void answer(const study::Platform& platform, study::Results results, const study::FolderLock* held = nullptr);
  void answer(const study::Results& results);

  // Tables of texts are wrapped even where no terminal says how wide it is.
  void wrap_text(std::size_t columns) {
    if (text_width_ == 0) text_width_ = columns;
  }

  bool explains() const { return explain_; }
  bool tries_sensitivity() const { return sensitivity_; }
  // The folder of --out; empty without it.
  const std::filesystem::path& out_folder() const { return out_folder_; }
  // This process writes nothing into it, as another one does.
  void leave_out_folder() { out_folder_.clear(); }

 private:
  void check_options(Arguments& arguments);
  void check_outputs(Arguments& arguments) const;
  models::Mechanisms mechanisms_left_out(Arguments& arguments) const;
  void explain_slowdowns(const models::PlatformSpec& platform, study::Results& results);

  std::ostream& out_;
  std::ostream& err_;
  bool err_is_terminal_;
  std::size_t text_width_;                     // 0: any
  std::optional<ProgressLine> progress_line_;  // from when options are read until the answer, on a terminal
  study::Origin origin_;
  std::vector<std::filesystem::path> inputs_;

  std::string platform_;
  std::vector<std::string> assignments_;
  std::string without_;
  std::string protocol_;
  std::string jobs_;
  std::string draws_;
  std::string seed_;
  std::string format_name_ = "table";
  study::Format format_ = study::Format::table;
  std::filesystem::path out_folder_;
  std::filesystem::path trace_file_;
  std::filesystem::path profiles_file_;
  bool explain_ = false;
  bool sensitivity_ = false;
  bool check_failed_ = false;
};

// Names of suites are suites; others that are files, or look like it, are files; the rest are suites that there are
// not.
struct SuitesAndFiles {
  std::vector<std::string> suites;
  std::vector<std::filesystem::path> files;
};
SuitesAndFiles suites_and_files(const validate::Library& library, const std::vector<std::string>& names);

}  // namespace c3sim::cli
