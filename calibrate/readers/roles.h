// What may be fitted to which measurements: the lists roles.csv that stand beside them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/measurement.h"
#include "sim/config/csv_file.h"

namespace c3sim::calibrate {

// The role that somebody may say by this name; nothing of other words.
std::optional<Role> role_named(std::string_view name);

// A list has columns file, rows, role and spread; the last two lines below are an example. The first line that names
// the file and whose condition a row meets tells its role; `rows` is empty for all, or COLUMN=WORD, where a word may
// end in * and several are separated by |. `spread` is how far repetitions of such a row lie from it, in percent, where
// it is known; it may be empty.
//
//   power.csv,phase=c3_*,predict,
//   power.csv,,calibrate,2
class Roles {
 public:
  // Of the folder that the file is in; without a list there, all is unlisted. Throws sim::ConfigError for a list that
  // cannot be read.
  static Roles beside(const std::filesystem::path& file);

  // Sets role and, where a figure has none, the spread of every measurement of a file. A condition on a column that the
  // file has not is a fault of the reading; a log, which is no table, has none.
  void apply(Reading& reading, const sim::CsvFile* table) const;
  // The columns of the file that the list looks at.
  std::vector<std::string> columns_asked_of(const std::string& file) const;

 private:
  struct Line {
    std::string file, column{};  // column: empty where it is of all rows
    std::vector<std::string> words{};
    Role role = Role::unlisted;
    std::optional<double> spread{};  // percent
    std::string place_of_rows{};

    bool holds(const Measurement& measurement, const sim::CsvFile* table) const;
  };

  std::vector<Line> lines_;
};

// What the runs were that a trace tells by name alone: the lists labels.csv that stand beside traces.

// A list has columns file, name, trial and fields; the first line that names the file and the runs tells which trial
// they are (calibrate/readers/trial_fields.h), whatever their name says by itself: it holds for what is read and for
// what is replayed. A name may begin and end in *, which stand for anything.
//
//   file,name,trial,fields
//   kernel_trace.csv,Cijk_Ailk_Bjlk_BBS*,gemm,gemm=8192x8192x8192
//   memory_copy_trace.csv,MEMORY_COPY_DEVICE_TO_DEVICE 4 to 5,copy,from=gpu0 to=gpu1 bytes=64MiB
class Labels {
 public:
  // Of the folder that the file is in; none without a list there. Throws sim::ConfigError for a list that cannot be
  // read.
  static Labels beside(const std::filesystem::path& file);

  // Makes measurements of named runs that a line tells of, and leaves the others out.
  void apply(Reading& reading) const;
  // What a run of that name in that file was, or null.
  const study::Trial* trial_of(const std::string& file, const std::string& name) const;

 private:
  struct Label {
    std::string file, name;
    study::Trial trial;
  };

  std::vector<Label> labels_;
};

}  // namespace c3sim::calibrate
