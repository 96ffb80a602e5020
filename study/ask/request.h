// A question as somebody asked it: what was said of each option, the platform that this names, and what is done with
// the answer beside showing it. Nothing of it outlives the question, so any number may be asked at once.
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
#include "study/ask/option.h"
#include "study/play/parallel.h"
#include "study/play/platform_file.h"
#include "study/play/testbed.h"
#include "study/report/results.h"
#include "study/report/results_folder.h"
#include "study/uncertainty/ensemble.h"

namespace c3sim::study {

// Thrown where somebody asked that a command end before it had its answer.
class Interrupted : public std::system_error {
 public:
  explicit Interrupted(std::string how_to_go_on)
      : std::system_error(std::make_error_code(std::errc::interrupted), how_to_go_on),
        how_to_go_on_(std::move(how_to_go_on)) {}
  // Returns what was kept, and what to do to have the rest.
  const std::string& how_to_go_on() const { return how_to_go_on_; }

 private:
  std::string how_to_go_on_;
};

// Keeps platforms as they were read, for whoever asks more than one question: reading one takes longer than many an
// answer. Any thread may ask. It gives what read_platform() would: where a file has changed since, all is read again.
class PlatformShelf {
 public:
  static constexpr std::size_t most = 256;  // that are kept; beyond, it starts anew

  // As read_platform(), which throws for it.
  Platform read(const std::filesystem::path& file, std::span<const std::string> assignments,
                std::span<const std::filesystem::path> config_folders);

 private:
  // When each file that a platform was read from was last written.
  using Written = std::map<std::filesystem::path, std::filesystem::file_time_type>;
  struct Kept {
    Platform platform;
    Written written;
  };
  static Written written(const Platform& platform);

  std::mutex mutex_;
  std::map<std::vector<std::string>, Kept> kept_;  // by file, assignments and folders
};

// Options of commands that name a platform, of those that read one and may save results, of those that simulate, of
// those that know mechanisms, of those that write a file, of those that predict C3, of those that tell what a quantity
// owes to parameters, of those that use threads and of those that give intervals.
std::vector<Option> base_options();
std::vector<Option> platform_options();
std::vector<Option> run_options();
std::vector<Option> timing_option();  // of commands that ask for one operation
std::vector<Option> without_option();
std::vector<Option> overwrite_option();
std::vector<Option> c3_options();
std::vector<Option> sensitivity_option(const std::string& quantity);
std::vector<Option> jobs_option();
std::vector<Option> uncertainty_options();
std::vector<Option> operator+(std::vector<Option> some, const std::vector<Option>& more);

// Who waits for the answer. Any of these may be empty.
struct Listener {
  std::function<void()> begins = {};                // options have been read: it may take a while
  Progress progress = {};                           // may throw, which ends the answer
  std::function<void(std::string_view)> warn = {};  // of what is not part of the answer
  std::function<std::function<bool()>()> interruptible =
      {};  // a wish to end is told by what it returns, while that lives
};

// A sentence for each assignment ("gpu.sdma.engines=32") that a later one of the same name stands instead of.
std::vector<std::string> overridden(const std::vector<std::string>& assignments, std::string_view option);

// It lives on the thread that answers it: all files that this thread reads meanwhile are the command's.
class Request {
 public:
  // `shelf`, if any, is where platforms are kept from one question to the next.
  Request(Given given, Origin origin, Listener listener, PlatformShelf* shelf = nullptr)
      : given_(std::move(given)), origin_(std::move(origin)), listener_(std::move(listener)), shelf_(shelf) {
    origin_.overwrites = says("overwrite");
  }

  const Given& given() const { return given_; }
  bool says(std::string_view option) const { return !text(option).empty(); }
  // What was said last; empty where nothing was.
  const std::string& text(std::string_view option) const;
  const std::vector<std::string>& texts(std::string_view option) const;
  std::vector<std::filesystem::path> files(std::string_view option) const;

  // How many threads simulate, 0 for one per core; what comes out is the same.
  int jobs(Arguments& arguments) const;
  std::optional<Sampling> sampling(Arguments& arguments) const;
  // How the answer is to be written.
  Format format(Arguments& arguments) const;

  // Checks the shared options and reads the platform that was asked for: by "platform", or `preset` without it. Throws
  // sim::ConfigError where it cannot be read; all else that is wrong `arguments` gathers, for the caller to throw with
  // what the platform has bounds for, before anything is written. The protocol is that of "protocol", or of `asked`
  // without it. Values that `assigned` gives to parameters lie under those of "set".
  Platform platform(Arguments& arguments, const std::string& preset = "mi300x", Beside asked = {},
                    std::vector<std::string> assigned = {});
  // Only finds the file. Throws sim::ConfigError where there is none.
  std::filesystem::path platform_file(const std::string& preset = "mi300x");
  // As asked for by "platform" and by "set" and "library".
  std::optional<std::string> platform_name() const;
  std::vector<std::string> assignments() const;
  void check_options(Arguments& arguments) const;
  // Of "without".
  models::Mechanisms mechanisms_left_out(Arguments& arguments) const;

  // Remembers a file that the command reads, or is about to: whatever it may write must be another. What is read by
  // sim/config/ is remembered without being told.
  void reads(const std::filesystem::path& file) { inputs_.add(file); }
  // Faults where the file of an option is one that is read, however it is spelled or linked.
  void check_not_read(Arguments& arguments, std::string_view option, const std::filesystem::path& file) const;
  // The same, and where one stands there that c3sim did not write, unless "overwrite" says that it may go.
  void check_output(Arguments& arguments, std::string_view option, const std::filesystem::path& file) const;
  // Writes a text to the file of an option, which is checked once more: by now all that is read has been.
  void write(std::string_view option, std::string_view text) const;
  // The same of a folder that is to get files of these names, none of which may be somebody else's: save().
  void check_output_folder(Arguments& arguments, std::string_view option, const std::filesystem::path& folder,
                           const std::vector<std::string>& names) const;
  // Faults where the file of an option is another option's folder, one of these files in it, or one that an answer left
  // there.
  void check_not_in(Arguments& arguments, std::string_view option, const std::filesystem::path& file,
                    std::string_view folder_option, const std::filesystem::path& folder,
                    const std::vector<std::string>& names) const;
  const Origin& origin() const { return origin_; }
  // The folder of "out"; empty without it.
  std::filesystem::path out_folder() const { return text("out"); }
  // Of a command that has read an option of its own, which others mean something else by.
  void take(std::string_view option) { given_.erase(std::string(option)); }

  const Progress& progress() const { return listener_.progress; }
  void warn(std::string_view sentence) const {
    if (listener_.warn) listener_.warn(sentence);
  }
  std::function<bool()> interruptible() const {
    return listener_.interruptible ? listener_.interruptible() : [] { return false; };
  }

  // The answer with what "explain" adds, and with "trace" and "out" written.
  Results finish(Testbed& testbed, const Platform& platform, Results results) const;
  // The same for an answer that no simulation gave, by a command that may hold the lock of its folder.
  Results finish(const Platform& platform, Results results, const FolderLock* held = nullptr) const;

  // The answer is given, but what was checked does not hold; or it is, and nothing can be done with it.
  void fail_check() { check_failed_ = true; }
  bool check_failed() const { return check_failed_; }
  void fault_behind(sim::Fault fault) { behind_ = std::move(fault); }
  void check_behind() const {
    if (behind_) throw sim::ConfigError({*behind_});
  }

 private:
  Platform read(const std::string& preset, const std::vector<std::string>& assigned, Beside asked);
  void check_outputs(Arguments& arguments) const;   // are what they are to be
  void check_replaced(Arguments& arguments) const;  // and nobody else's

  Given given_;
  Origin origin_;
  Listener listener_;
  PlatformShelf* shelf_;
  sim::FilesRead inputs_;
  bool check_failed_ = false;
  std::optional<sim::Fault> behind_;
};

}  // namespace c3sim::study
