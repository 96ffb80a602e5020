// What the runs were that a trace tells by name alone: the lists labels.csv that stand beside traces.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

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
