// A PlatformSpec has all parameters of a node, read from one file in which each has a unit, a source and a kind.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/correlation_group.h"
#include "models/platform/fabric_spec.h"
#include "models/platform/gpu_spec.h"
#include "models/platform/host_spec.h"
#include "models/platform/interference.h"
#include "models/platform/rccl_spec.h"
#include "models/platform/shot_spec.h"
#include "sim/config/config.h"
#include "sim/units.h"

namespace c3sim::models {

// A FittedRange names isolated work and the sizes of it that parameters were fitted to, on which predictions can rely.
struct FittedRange {
  std::string work;  // "copy", "sdma_all_gather", "rccl_all_reduce"
  sim::Bytes smallest;
  sim::Bytes largest;
  // `spread` is the relative standard deviation of measured over predicted times of this work: the model's own error,
  // which no parameter explains. 0 if the file does not give it.
  double spread = 0.0;
};

// Holds how far operations were off their predictions in measured concurrent runs: relative standard deviations beyond
// those of the operations alone. They affect only the width of a prediction's interval.
struct ConcurrentSpread {
  double kernels_beside_channels = 0.0;  // GEMMs and element-wise kernels beside a collective by kernels
  double kernels_beside_engines = 0.0;   // GEMMs and element-wise kernels beside copy engines
  double channels_beside_kernels = 0.0;
  double engines_beside_kernels = 0.0;

  bool any() const {
    return kernels_beside_channels + kernels_beside_engines + channels_beside_kernels + engines_beside_kernels > 0.0;
  }
};

struct PlatformSpec {
  std::string name;
  int gpus = 0;
  FabricSpec fabric;
  HostSpec host;
  GpuSpec gpu;
  RcclSpec rccl;
  ShotSpec shots;
  std::vector<FittedRange> fitted_to;
  std::vector<CorrelationGroup> correlations;
  ConcurrentSpread concurrent_spread;
  bool what_if = false;  // whether some parameter is not the file's
  Mechanisms without;    // mechanisms that are switched off; set by a study, never by a file

  // Reads and checks the whole platform. Throws sim::ConfigError with every fault.
  static PlatformSpec read(sim::Config& config, const GemmKernelTables& tables);
  // Reads the platform with tables that nothing else shares.
  static PlatformSpec read(sim::Config& config, std::span<const std::filesystem::path> config_folders = {});

  // Returns the section of the value at a path, such as "gpu.sdma", if nothing outside of the section depends on it;
  // otherwise an empty text.
  static std::string_view section_of(std::string_view path);
  // Reads again the sections that the configuration has, each one a result of section_of(). Throws sim::ConfigError
  // with every fault.
  void read_again(sim::Config& sections, const GemmKernelTables& tables) { read_sections(sections, tables, false); }

 private:
  void read_sections(sim::Config& config, const GemmKernelTables& tables, bool all);
};

}  // namespace c3sim::models
