// What of readings does not count, though it can be read: what another GPU did, what is out of order, and what was said
// before.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// The machine that measurements are for.
struct ScreenedFor {
  std::string platform;  // as it was asked for, by name or file
  std::string machine;   // what the platform calls itself; may be empty
  int gpus = 0;          // of its node; 0: any number
  // The names of all platforms, and whether this one was asked for: GPUs that are none of them are then taken for it.
  std::vector<std::string> known{};
  bool is_asked = false;
};

// The platform of these that is called after the GPU: "h200" of "NVIDIA H200 NVL"; nothing where none is.
std::optional<std::string> platform_of_gpu(std::string_view gpu, std::span<const std::string> known);

// The one of these that a file says it was measured on: by the GPU that it names, or else by a column `platform` in
// which nothing else stands. Nothing where it does not say.
std::optional<std::string> platform_of(const Reading& reading, std::span<const std::string> known);

// Measurements of another machine become faults: of a row, in whose column `platform` another stands, or of the whole
// file, where it names another GPU. `path` is that of the file. A GPU without a model in its name ("AMD Radeon
// Graphics") is told by its architecture ("gfx950"), and may be any where that is not said either. One that no platform
// is called after is a remark where the platform was asked for, as nobody else could say what to compare with. Returns
// whether the whole file is of another GPU.
bool refuse_other_gpus(Reading& reading, const std::string& path, const ScreenedFor& target);

// Collectives of more GPUs than the node has are left out.
void leave_out_other_nodes(Reading& reading, const ScreenedFor& target);

// GEMMs that follow each other from rest (trials with `nth`) stand in their order, one series behind the other: one
// that comes before its predecessor, but does not begin a series, becomes a fault. `path` is that of the file.
void refuse_disordered(Reading& reading, const std::string& path);

// Rows of the file's text that say the same in the same words: all but the first become faults. Repetitions that differ
// in any cell all count, and so do those of other files that happen to agree.
void refuse_repeated_rows(Reading& reading, std::string_view text, const std::string& path);

// Files that say nothing but what those before them say, a log as text and as JSON: such a file is at fault as a whole.
void refuse_repeated_files(std::span<Reading> readings);

}  // namespace c3sim::calibrate
