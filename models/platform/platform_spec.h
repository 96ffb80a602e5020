// A platform: every parameter of a node, read from one file in which each has a unit, a source and a kind.
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

// Which isolated work a platform's parameters were fitted to, and over which sizes: what a prediction can lean on.
struct FittedRange {
  std::string work;  // "copy", "sdma_all_gather", "rccl_all_reduce"
  sim::Bytes smallest;
  sim::Bytes largest;
  // Relative standard deviation of measured over predicted times of this work: the model's own error, which no
  // parameter explains. 0 where the file does not say.
  double spread = 0.0;
};

// How far operations were off their predictions when they ran at once with others: relative standard deviations beyond
// those alone, learnt from measured concurrent runs. No prediction follows from them, only how wide its interval is.
struct ConcurrentSpread {
  double kernels_beside_channels = 0.0;  // GEMMs and element-wise kernels beside a collective by kernels
  double kernels_beside_engines = 0.0;   // beside copies by engines
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
  bool what_if = false;  // some parameter is not the file's
  Mechanisms without;    // that are switched off; in no file: a question, not a machine

  // Reads and checks all of it: throws sim::ConfigError with every fault.
  static PlatformSpec read(sim::Config& config, const GemmKernelTables& tables);
  // The same with tables that nobody else needs.
  static PlatformSpec read(sim::Config& config, std::span<const std::filesystem::path> config_folders = {});

  // The section that the value at such a path is of, where nothing outside of it depends on the value: "gpu.sdma". Else
  // empty.
  static std::string_view section_of(std::string_view path);
  // Reads sections anew, those that the configuration has, all of them ones that section_of names. Throws
  // sim::ConfigError with every fault.
  void read_again(sim::Config& sections, const GemmKernelTables& tables) { read_sections(sections, tables, false); }

 private:
  void read_sections(sim::Config& config, const GemmKernelTables& tables, bool all);
};

}  // namespace c3sim::models
