// Declares the two lists that may stand beside measurement files: roles.csv says what may be fitted to which rows, and
// labels.csv says which trials the named runs of a trace are.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/measurement.h"
#include "sim/config/csv_file.h"

namespace c3sim::calibrate {

// Returns the role that a list may give by this name; nothing for other words.
std::optional<Role> role_named(std::string_view name);

// A list has columns file, rows, role and spread, as in the example below. It names a file with or without the `.gz` of
// a compressed one. The first line that names the file and whose
// condition a row meets gives the row its role. `rows` is empty for all rows, or COLUMN=WORD, where a word may end in *
// and | separates several words. `spread` is how far repetitions of the row differ from it in percent; it may be empty.
//
//   power.csv,phase=c3_*,predict,
//   power.csv,,calibrate,2
class Roles {
 public:
  // Reads the list in the folder of `file`; without one all rows are unlisted. Throws sim::ConfigError if that fails.
  static Roles beside(const std::filesystem::path& file);

  // Sets the role, and the spread of figures without one, of the measurements that a line covers. Records a fault for a
  // condition on a column that the file does not have. `table` is null for a log, which has no columns.
  void apply(Reading& reading, const sim::CsvFile* table) const;
  // Returns the columns of the file that the list names.
  std::vector<std::string> columns_asked_of(const std::string& file) const;

 private:
  struct Line {
    std::string file, column{};  // column: empty if the line is for all rows
    std::vector<std::string> words{};
    Role role = Role::unlisted;
    std::optional<double> spread{};  // percent
    std::string place_of_rows{};

    bool holds(const Measurement& measurement, const sim::CsvFile* table) const;
  };

  std::vector<Line> lines_;
};

// A trace may tell runs only by their names: these are why such runs, or what a list says of them, do not count.
inline constexpr auto unlabelled = "what it worked on is not said: a line of labels.csv beside the file is accepted";
inline constexpr auto beyond_reason = "its figures are beyond reason";

// Lists labels.csv beside traces say what runs were that a trace tells only by their names. A list has columns file,
// name, trial and fields, and names files as a list of roles does. The first line that names the file and the run tells
// its trial (calibrate/readers/trial_fields.h), both in readings and in replays, whatever the run's name suggests. A
// name may begin and end in *, which stands for any text.
//
//   file,name,trial,fields
//   kernel_trace.csv,Cijk_Ailk_Bjlk_BBS*,gemm,gemm=8192x8192x8192
//   memory_copy_trace.csv,MEMORY_COPY_DEVICE_TO_DEVICE 4 to 5,copy,from=gpu0 to=gpu1 bytes=64MiB
class Labels {
 public:
  // Reads the list in the folder of `file`; returns no labels without one. Throws sim::ConfigError if that fails.
  static Labels beside(const std::filesystem::path& file);

  // Returns the trial of a run in a file, or null.
  const study::Trial* trial_of(const std::string& file, const std::string& name) const;

 private:
  struct Label {
    std::string file, name;
    study::Trial trial;
  };

  std::vector<Label> labels_;
};

}  // namespace c3sim::calibrate
