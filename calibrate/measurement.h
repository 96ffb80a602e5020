// Isolated measurements: what one row of a measurement file says was run, with the machine to itself, and what was
// seen. Reading them is also the guard of every fit: what ran concurrently, and what is marked as a prediction, never
// becomes a Measurement.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/csv_file.h"
#include "models/collective.h"
#include "models/gemm_shape.h"
#include "sim/units.h"

namespace calibrate {

enum class Subject {
  idle,               // nothing runs
  empty_kernel,       // a kernel that does nothing, on every GPU
  gemm,               // on every GPU
  kernel_collective,  // on CUs: RCCL, NCCL
  engine_collective,  // on copy engines, one copy per peer
  copy,               // from one GPU to one peer
  fan_out,            // copies from one GPU to several peers at once
  stream,             // a kernel on every GPU that reads two arrays and writes one (triad)
};

struct Measurement {
  std::string file;   // its name, without folders
  std::string where;  // file:line
  Subject subject = Subject::idle;

  models::GemmShape gemm;
  models::CollectiveKind collective = models::CollectiveKind::all_gather;
  sim::Bytes bytes;  // the whole array of one GPU, of each copy, or of all three arrays of a stream
  int limit = 0;     // CUs of a GEMM, workgroups of a collective, peers of a fan-out; 0: as many as there are

  // What was seen; what a file does not say is absent.
  std::optional<sim::Seconds> time;  // from before the first launch on a GPU until after its last work
  std::optional<sim::Watts> power;   // of one board, mean over the run
  std::optional<sim::Hertz> clock;   // of its engines, likewise
};

struct MeasurementFile {
  std::string name;  // without folders
  std::vector<Measurement> measurements;
  int concurrent = 0;  // rows left out since they ran computation and communication at once
  int unmodelled = 0;  // rows left out since no model stands for them: copies replayed from a graph
};

// Reads a file of runs (columns kind, gemm, collective, bytes, how, limit, all_us) or of board power by phase (phase,
// mean_power_W, mean_sm_clock_MHz); other columns are not looked at. Throws sim::ConfigError with all faults of the
// file, which are also
// - a file whose role in `roles.csv` beside it (columns file, role) is predict;
// - a row whose column `role` says predict;
// - a concurrent run: of kind c3 or dependent; or of computation beside a collective, unless roles.csv says of the file
//   that it may be fitted (calibrate): then such a row is left out and counted.
MeasurementFile read_measurements(const std::filesystem::path& path);

// The same for a file that is already read, of which roles.csv says `calibrate` (is_listed) or nothing.
MeasurementFile measurements_of(CsvFile file, bool is_listed);

}  // namespace calibrate
