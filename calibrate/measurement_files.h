// Reads files of measurements, sorts out what must not count, which are those of another GPU, those out of order and,
// for a fit, what is to be predicted, and reports how the files were understood: which rows were read, which not, and
// why.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/reader.h"
#include "study/report/results.h"

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

// A fit to the runs that the model is to predict would prove nothing: these functions guard it from them.

// Returns the reading with its isolated measurements and probes alone. Leaves out rows marked as predictions, other
// concurrent runs, and GEMMs in formats with a rate of their own (gpu.gemm.precisions), to which nothing is fitted,
// unless the table names the library that ran them. A probe keeps only the ratios of its times to the times alone: how
// fast the machine is, isolated runs show.
Reading admit_to_fit(Reading reading);

// Returns why a reading has no measurement: each reason with its number of rows.
std::string why_nothing_is_left(const Reading& reading);

// Throws sim::ConfigError with every rejected row if no file has a measurement left.
void require_measurements(const std::vector<Reading>& files);

struct MeasurementFiles {
  std::vector<Reading> readings;       // one for each file that could be read
  std::vector<sim::Fault> unreadable;  // why other files could not be read, or were given twice
  std::size_t files = 0;               // each counted once, readable or not

  // Returns whether any measurement is left.
  bool is_usable() const;
};

// Throws sim::ConfigError that names every missing or unreadable file: a typo in one of several names must not pass for
// a measurement that was compared.
void require_files(std::span<const std::filesystem::path> files);

// Returns each file once, whatever names lead to it. Adds a fault to `twice` for each repetition.
std::vector<std::filesystem::path> each_once(std::span<const std::filesystem::path> files,
                                             std::vector<sim::Fault>& twice);

// Reads and screens all files, each once. Measurements of another machine, rows out of order and, unless they count,
// files that repeat others become faults of their readings. `target_of` returns the machine that a reading is for.
using TargetOf = std::function<ScreenedFor(const Reading& reading)>;
enum class Repeats { refused, counted };
MeasurementFiles read_measurement_files(const Reader& reader, std::span<const std::filesystem::path> files,
                                        const TargetOf& target_of, Repeats repeats = Repeats::refused);

// Returns tables of the contents of files, by file and kind of run, of rows left out, by reason, and of faults; warns
// of remarks and the first faults. With `rows` the text also shows every measurement and every row left out.
study::Results report(const MeasurementFiles& files, bool rows);

}  // namespace c3sim::calibrate
