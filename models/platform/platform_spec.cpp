#include "models/platform/platform_spec.h"

#include <algorithm>
#include <array>
#include <utility>

#include "models/platform/limits.h"
#include "sim/config/nearest_name.h"

namespace c3sim::models {
namespace {

FabricSpec read_fabric(sim::Section section, int gpus) {
  FabricSpec spec;
  spec.gpus = gpus;
  spec.topology = section.choice<Topology>("topology", sim::choices_of<Topology>());
  spec.link_rate = section.quantity("link_rate", limits::rate);
  spec.peak_link_rate = section.quantity("peak_link_rate", limits::rate);
  spec.reverse_share = section.number("reverse_share", 0.0, 1.0);
  spec.write_cost = section.number("write_cost", 0.5, 2.0, 1.0);
  spec.read_cost = section.number("read_cost", 0.1, 10.0);
  spec.reads_in_flight = section.quantity("reads_in_flight", limits::capacity);
  spec.latency = section.time("latency", limits::latency);
  spec.queueing = section.number("queueing", 0.0, 100.0);
  sim::Section host = section.section("host");
  spec.host_to_device_rate = host.quantity("to_device_rate", limits::rate);
  spec.device_to_host_rate = host.quantity("from_device_rate", limits::rate);
  spec.host_latency = host.time("latency", limits::latency);
  return spec;
}

StreamSpec read_streams(sim::Section section) {
  StreamSpec spec;
  spec.in_flight = section.quantity<sim::Bytes>("in_flight", {sim::Bytes(1.0), sim::Bytes(16777216.0)});
  spec.latency = section.time("latency", limits::latency);
  spec.rows = section.quantity<sim::Bytes>("rows", {sim::Bytes(1.0), sim::Bytes(16777216.0)}, 0.25 * spec.in_flight);
  spec.reduction = section.time("reduction", limits::latency, sim::Time(0));
  spec.least_row = section.number("least_row", 0.0, 1.0);
  spec.row_workgroups = section.number("row_workgroups", 1.0, 64.0);
  spec.pass_cycles = section.number("pass_cycles", 0.0, 1e6, 0.0);
  spec.bytes_per_cycle = section.number("bytes_per_cycle", 0.0, 1e6, 0.0);
  spec.queue_knee = read_knee(section, "queue_knee");
  spec.knee = read_knee(section, "knee");
  spec.efficiency = section.number("efficiency", 0.01, 1.0, 1.0);
  spec.indexing = section.time("indexing", limits::latency, sim::Time(0));
  return spec;
}

std::map<std::string, double, std::less<>> read_operator_cycles(sim::Section section) {
  std::map<std::string, double, std::less<>> cycles;
  for (const std::string& name : section.keys()) cycles[name] = section.number(name, 0.0, 1e6);
  return cycles;
}

DispatchSpec read_dispatch(sim::Section section) {
  return {.policy = section.choice<DispatchPolicy>("policy", sim::choices_of<DispatchPolicy>()),
          .quantum = section.time("quantum", limits::latency),
          .workgroup_launch = section.time("workgroup_launch", limits::latency),
          .shader_engines = static_cast<int>(section.integer("shader_engines", 1, 64))};
}

ShotSpec read_shots(sim::Section section, const CuResources& cu) {
  ShotSpec spec;
  spec.workgroups = static_cast<int>(section.integer("workgroups", 1, most_channels));
  spec.workgroup = CuResources::read(section);
  check_fits(section, spec.workgroup, cu);
  spec.pass = section.quantity("pass", limits::capacity);
  spec.loop_latency = section.time("loop_latency", limits::latency);
  spec.flag_latency = section.time("flag_latency", limits::latency);
  spec.fence_latency = section.time("fence_latency", limits::latency);
  return spec;
}

// Reads the values in which libraries of attention differ. A missing key leaves its value unchanged.
void read_attention_library(sim::Section section, AttentionSpec& spec) {
  spec.next_free = section.flag("next_free", spec.next_free);
  spec.tile_cycles = section.number("tile_cycles", 0.0, 1e6, spec.tile_cycles);
  spec.start = section.time("start", limits::latency, spec.start);
  spec.append_share = section.number("append_share", 0.0, 1.0, spec.append_share);
  spec.exposed = section.number("exposed", 0.0, 10.0, spec.exposed);
  spec.decode_start = section.time("decode_start", limits::latency, spec.decode_start);
  spec.decode_tile = section.time("decode_tile", limits::latency, spec.decode_tile);
  spec.decode_combine = section.time("decode_combine", limits::latency, spec.decode_combine);
}

// Reads the kernels of the library in use, if the platform names any.
void read_attention_libraries(sim::Section section, AttentionSpec& spec) {
  const AttentionSpec common = spec;
  spec.library = section.name("library");
  for (sim::Section row : section.list("libraries")) {
    AttentionSpec own = common;
    const std::string name = row.name("name");
    read_attention_library(row, own);
    spec.libraries.push_back(name);
    if (name != spec.library) continue;
    own.library = name;
    own.libraries = std::move(spec.libraries);
    spec = std::move(own);
  }
  if (std::ranges::find(spec.libraries, spec.library) == spec.libraries.end()) {
    section.fault("library", "no library of attention is named '" + spec.library.substr(0, 80) + "'" +
                                 sim::name_hint(spec.library, spec.libraries));
  }
}

AttentionSpec read_attention(sim::Section section) {
  AttentionSpec spec;
  spec.tile_queries = static_cast<int>(section.integer("tile_queries", 16, 1024));
  spec.tile_keys = static_cast<int>(section.integer("tile_keys", 16, 1024));
  spec.efficiency = section.number("efficiency", 0.01, 1.0);
  spec.vector_efficiency = section.number("vector_efficiency", 0.01, 1.0, spec.efficiency);
  spec.score_flops = section.number("score_flops", 0.0, 1000.0);
  spec.backward_flops = section.number("backward_flops", 0.0, 1000.0);
  spec.dropout_flops = section.number("dropout_flops", 0.0, 1000.0);
  spec.dropout_backward_flops = section.number("dropout_backward_flops", 0.0, 1000.0);
  spec.vector_dropout_flops = section.number("vector_dropout_flops", 0.0, 1000.0, spec.dropout_flops);
  spec.vector_dropout_backward_flops =
      section.number("vector_dropout_backward_flops", 0.0, 1000.0, spec.dropout_backward_flops);
  spec.decode_rows = static_cast<int>(section.integer("decode_rows", 1, 1024));
  read_attention_library(section, spec);
  if (section.has("libraries")) read_attention_libraries(section, spec);
  return spec;
}

std::vector<FittedRange> read_fitted_ranges(sim::Section root) {
  std::vector<FittedRange> ranges;
  if (!root.has("fitted_to")) return ranges;
  for (sim::Section row : root.list("fitted_to")) {
    FittedRange range;
    range.work = row.name("name");
    range.smallest = row.quantity("smallest", limits::capacity);
    range.largest = row.quantity("largest", limits::capacity);
    const bool known = row.is_sound("smallest") && row.is_sound("largest");
    if (known && range.largest < range.smallest) row.fault("largest", "is below the smallest");
    range.spread = row.number("spread", 0.0, 10.0, 0.0);
    ranges.push_back(std::move(range));
  }
  return ranges;
}

ConcurrentSpread read_concurrent_spread(sim::Section section) {
  return {.kernels_beside_channels = section.number("kernels_beside_channels", 0.0, 1.0),
          .kernels_beside_engines = section.number("kernels_beside_engines", 0.0, 1.0),
          .channels_beside_kernels = section.number("channels_beside_kernels", 0.0, 1.0),
          .engines_beside_kernels = section.number("engines_beside_kernels", 0.0, 1.0)};
}

// Reads all sections of a GPU or, without `all`, those that the configuration has; the others stay unchanged.
void read_gpu(sim::Section section, int gpus, const GemmKernelTables& tables, bool all, GpuSpec& gpu) {
  if (all) {
    gpu.memory.xcds = static_cast<int>(section.integer("xcds", 1, 64));
    gpu.cus_per_xcd = static_cast<int>(section.integer("cus_per_xcd", 1, 1024));
    gpu.vector_flops_per_cycle_per_cu = section.number("vector_flops_per_cycle_per_cu", 0.0, 1e6, 0.0);
  }
  const auto is_due = [&](std::string_view key) { return all || section.has(key); };
  if (is_due("memory")) gpu.memory = MemorySpec::read(section.section("memory"), gpu.memory.xcds);
  if (is_due("streams")) gpu.streams = read_streams(section.section("streams"));
  if (section.has("operator_cycles")) gpu.operator_cycles = read_operator_cycles(section.section("operator_cycles"));
  if (is_due("dispatch")) gpu.dispatch = read_dispatch(section.section("dispatch"));
  if (is_due("cu")) gpu.cu = CuResources::read(section.section("cu"));
  if (is_due("gemm")) gpu.gemm = GemmSpec::read(section.section("gemm"), gpu.cu, tables);
  if (section.has("attention")) gpu.attention = read_attention(section.section("attention"));
  if (is_due("power")) gpu.power = PowerSpec::read(section.section("power"));
  if (is_due("sdma")) gpu.sdma = SdmaSpec::read(section.section("sdma"), gpus);
}

}  // namespace

PlatformSpec PlatformSpec::read(sim::Config& config, std::span<const std::filesystem::path> config_folders) {
  return read(config, GemmKernelTables::read(config, config_folders));
}

PlatformSpec PlatformSpec::read(sim::Config& config, const GemmKernelTables& tables) {
  sim::Section root = config.root();
  PlatformSpec spec;
  spec.name = root.name("name");
  spec.gpus = static_cast<int>(root.integer("gpus", 1, 64));
  spec.read_sections(config, tables, true);
  for (const sim::Parameter* const parameter : config.parameters_in_place()) {
    spec.what_if = spec.what_if || parameter->kind == "what_if";
    if (parameter->kind == "measured" || parameter->kind == "fitted") spec.measured.push_back(parameter->path);
  }
  return spec;
}

void PlatformSpec::read_sections(sim::Config& config, const GemmKernelTables& tables, bool all) {
  sim::Section root = config.root();
  const auto is_due = [&](std::string_view key) { return all || root.has(key); };
  if (is_due("fabric")) fabric = read_fabric(root.section("fabric"), gpus);
  if (is_due("host")) host = HostSpec::read(root.section("host"));
  if (is_due("gpu")) read_gpu(root.section("gpu"), gpus, tables, all, gpu);
  if (is_due("rccl")) rccl = RcclSpec::read(root.section("rccl"), gpu.cu);
  if (is_due("shots")) shots = read_shots(root.section("shots"), gpu.cu);
  if (is_due("fitted_to")) fitted_to = read_fitted_ranges(root);
  if (all) correlations = CorrelationGroup::read(config);
  if (is_due("concurrent_spread")) concurrent_spread = read_concurrent_spread(root.section("concurrent_spread"));
  if (root.has("unfitted_errors")) {
    // The simulation does not use these errors; interval estimates read them from the platform's parameters.
    sim::Section errors = root.section("unfitted_errors");
    for (const char* const work : {"alone", "beside", "steps"}) errors.number(work, 0.0, 10.0);
  }
  config.finish();
}

std::string_view PlatformSpec::section_of(std::string_view path) {
  constexpr std::array<std::string_view, 14> apart{"fabric",       "host",        "rccl",
                                                   "shots",        "fitted_to",   "concurrent_spread",
                                                   "gpu.memory",   "gpu.streams", "gpu.operator_cycles",
                                                   "gpu.dispatch", "gpu.gemm",    "gpu.attention",
                                                   "gpu.power",    "gpu.sdma"};
  const auto* const section =
      std::ranges::find_if(apart, [path](std::string_view one) { return sim::is_below(path, one); });
  return section == apart.end() ? std::string_view() : *section;
}

}  // namespace c3sim::models
