// Sorts out measurements that must not count: those of another GPU, those out of order, repetitions, and, for a fit,
// what is to be predicted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// ScreenedFor is the machine for which measurements are read.
struct ScreenedFor {
  std::string platform;  // as requested, by name or file
  std::string machine;   // the platform's own name; may be empty
  int gpus = 0;          // number of GPUs of its node; 0: any number
  // `known` are the names of all platforms. If `is_asked`, the user chose this platform, which then also stands for
  // GPUs that no platform is named after.
  std::vector<std::string> known{};
  bool is_asked = false;
};

// Returns the known platform that is named after the GPU, or nothing: "h200" for "NVIDIA H200 NVL".
std::optional<std::string> platform_of_gpu(std::string_view gpu, std::span<const std::string> known);

// Returns the known platform on which a file was measured: by the GPU that it names, or else by its column `platform`
// if all rows agree. Returns nothing if the file does not say.
std::optional<std::string> platform_of(const Reading& reading, std::span<const std::string> known);

// Turns measurements of another machine into faults: single rows by their column `platform`, or the whole file if it
// names another GPU. `path` is the path of the file. A GPU whose name has no model ("AMD Radeon Graphics") is
// identified by its architecture ("gfx950"); if that is missing, too, it may be any GPU. If the user chose the
// platform, a GPU that no platform is named after is only a remark. Returns whether the whole file is of another GPU.
bool refuse_other_gpus(Reading& reading, const std::string& path, const ScreenedFor& target);

// Names measurements by their paths if files of the same name lie in different folders.
void keep_apart(Reading& reading, const std::filesystem::path& file, std::span<const std::filesystem::path> files);

// Leaves out collectives of more GPUs than the node has.
void leave_out_other_nodes(Reading& reading, const ScreenedFor& target);

// Turns GEMMs out of order into faults. GEMMs in series from rest (trials with `nth`) must stand in their order, one
// series after the other: a GEMM must not stand after a later one unless it begins a series. `path` is the file's path.
void refuse_disordered(Reading& reading, const std::string& path);

// Turns repeated rows into faults, except the first: rows whose text is the same word for word. Rows that differ in any
// cell all count, and so do equal rows of different files.
void refuse_repeated_rows(Reading& reading, std::string_view text, const std::string& path);

// Turns files into faults that only repeat earlier files, such as one log as text and as JSON.
void refuse_repeated_files(std::span<Reading> readings);

// A fit to the runs that the model is to predict would prove nothing: these functions guard it from them.

// Returns the reading with its isolated measurements and probes alone. Leaves out rows marked as predictions, and GEMMs
// in formats with a rate of their own (gpu.gemm.precisions), to which nothing is fitted, unless the table names the
// library that ran them. A concurrent run without either mark becomes a fault, like a row that cannot be read. A probe
// keeps only the ratios of its times to the times alone: how fast the machine is, isolated runs show.
Reading admit_to_fit(Reading reading);

// Returns why a reading has no measurement: each reason with its number of rows.
std::string why_nothing_is_left(const Reading& reading);

// Throws sim::ConfigError with every rejected row if no file has a measurement left.
void require_measurements(const std::vector<Reading>& files);

}  // namespace c3sim::calibrate
