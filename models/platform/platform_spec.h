// A PlatformSpec has all parameters of a node, read from one file in which each has a unit, a source and a kind.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/cu_resources.h"
#include "models/platform/gpu_spec.h"
#include "models/platform/host_spec.h"
#include "models/platform/interference.h"
#include "models/platform/rccl_spec.h"
#include "sim/config/choice.h"
#include "sim/config/config.h"
#include "sim/loaded_latency.h"
#include "sim/units.h"

namespace c3sim::models {

enum class Topology { mesh, fabric_switch };
constexpr auto all_names(Topology) { return sim::names("mesh", "switch"); }

// A FabricSpec describes the links between GPUs and to the host.
struct FabricSpec {
  Topology topology = Topology::mesh;
  int gpus = 0;
  sim::BytesPerSecond link_rate;       // payload in one direction, of a mesh link or of a GPU's port to the switch
  sim::BytesPerSecond peak_link_rate;  // signalling rate of the link, used only in rooflines
  double reverse_share = 0.0;  // bytes the opposite direction carries per payload byte (acknowledgements, requests)
  double write_cost = 1.0;     // link bytes per byte that a kernel writes, relative to a copy engine
  double read_cost = 1.0;      // link bytes per byte read, relative to a byte written
  sim::Bytes reads_in_flight;  // bytes that the kernels of one GPU can have requested from others and not yet received
  sim::Time latency{0};        // time from the memory system of one GPU to that of another, one way
  double queueing = 0.0;       // stores over a link with load u wait for latency * queueing * u^2 / (1 - u) more
  sim::BytesPerSecond host_to_device_rate;
  sim::BytesPerSecond device_to_host_rate;
  sim::Time host_latency{0};

  // Returns the latency of a link that kernels store over, which grows like a queue's up to the load at which buffers
  // hold senders back. It is zero without queueing, as the kernel's own latency then includes it.
  sim::LoadedLatency link_latency() const { return {queueing > 0.0 ? latency : sim::Time(0), queueing, 2.0, 0.8}; }

  // Returns the rate at which one GPU could send to all others at once at the peak rate of its links.
  sim::BytesPerSecond peak_rate_out() const {
    return topology == Topology::fabric_switch ? peak_link_rate : (gpus - 1) * peak_link_rate;
  }
};

// A ShotSpec describes one-shot and two-shot kernels: collectives whose workgroups load from all peers' memory at once.
struct ShotSpec {
  int workgroups = 0;          // most workgroups of a kernel, unless it is asked for another number
  CuResources workgroup;       // resources that a workgroup needs on its CU
  sim::Bytes pass;             // bytes that a workgroup loads from a peer per pass of its loop: one load per lane
  sim::Time loop_latency{0};   // latency of a pass beyond the round trip to the peer and the peer's memory
  sim::Time flag_latency{0};   // time until every GPU has seen the flags of all others, which are set at the same time
  sim::Time fence_latency{0};  // time until others can load what was stored before
};

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

// The errors of fitted parameters correlate, as parameters that were fitted to the same runs err together.
//
//   correlations:
//     - {first: gpu.power.matrix_energy, second: gpu.power.voltage_exponent,
//        correlation: {value: -0.83, source: power_steady.csv, kind: fitted, range: [-1, 1]}}
//
// A group holds parameters that pairs link directly or through others. Pairs that the file omits are uncorrelated.
struct CorrelationGroup {
  std::vector<std::string> parameters;      // paths of the parameters
  std::vector<std::vector<double>> matrix;  // symmetric, 1 on the diagonal, positive definite

  // Reads the list `correlations` of a platform file, which may be absent, after everything else was read. Each path
  // must name a parameter. A pair is left out if one of its parameters has no error or its list has no such row; a
  // warning tells so unless an assignment or a file that extends the pair's file replaced the value or list.
  static std::vector<CorrelationGroup> read(sim::Config& config);
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
  bool what_if = false;               // whether some parameter is not the file's
  std::vector<std::string> measured;  // paths of the parameters that were measured, or fitted to measurements
  Mechanisms without;                 // mechanisms that are switched off; set by a study, never by a file

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
