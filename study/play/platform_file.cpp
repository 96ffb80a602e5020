#include "study/play/platform_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/kernels/gemm.h"
#include "models/node.h"
#include "sim/config/nearest_name.h"
#include "sim/simulator.h"
#include "study/program/operators.h"

namespace c3sim::study {

namespace {

void apply(const Beside& asked, models::PlatformSpec& spec) {
  spec.without = asked.without;
  if (asked.protocol) spec.host.protocol = *asked.protocol;
  if (asked.kernel_time) spec.host.kernel_time = true;
  if (asked.launch) spec.host = spec.host.launched(*asked.launch);
  spec.gpu.gemm.profiles = asked.profiles;
}

models::PlatformSpec read_with(const Platform& platform, std::span<const std::string> assignments) {
  std::vector<std::string_view> sections;  // an empty one: an assignment may also affect values outside its section
  for (const std::string& assignment : assignments) sections.push_back(models::PlatformSpec::section_of(assignment));
  if (!sections.empty() && std::ranges::count(sections, std::string_view()) == 0) {
    try {
      sim::Config part = platform.config.part(sections);
      for (const std::string& assignment : assignments) part.set(assignment);
      models::PlatformSpec spec = platform.spec;
      spec.read_again(part, platform.kernels);
      return spec;
    } catch (const sim::ConfigError&) {  // reading the whole platform below gives the better message
    }
  }
  sim::Config config = platform.config;
  for (const std::string& assignment : assignments) config.set(assignment);
  models::PlatformSpec spec = models::PlatformSpec::read(config, platform.kernels);
  spec.correlations = platform.spec.correlations;
  spec.measured = platform.spec.measured;
  return spec;
}

// Finds fault with operators that the platform has rates of and that no operators.yaml of the folders has.
void check_operators(sim::Config& config, std::span<const std::filesystem::path> config_folders) {
  sim::Section root = config.root();
  if (!root.holds_section("gpu") || !root.section("gpu").holds_section("operator_cycles")) return;
  sim::Section section = root.section("gpu").section("operator_cycles");
  std::vector<std::string> unknown = section.keys();
  std::vector<ElementwiseOperator> known;
  for (const std::filesystem::path& folder : config_folders) {
    if (unknown.empty()) return;
    for (ElementwiseOperator& one : read_operators({&folder, 1})) known.push_back(std::move(one));
    std::erase_if(unknown, [&](const std::string& name) { return find_operator(known, name) != nullptr; });
  }
  if (known.empty()) return;
  for (const std::string& name : unknown) {
    section.fault(name, "no operator of operators.yaml has this name" + operator_hint(known, name));
  }
}

}  // namespace

std::filesystem::path find_platform(const std::string& name_or_path, const std::string& where,
                                    std::span<const std::filesystem::path> config_folders) {
  if (models::is_platform_path(name_or_path)) return name_or_path;
  if (std::optional<std::filesystem::path> file = models::named_platform(name_or_path, config_folders)) return *file;
  const std::vector<std::string> known = platform_names(config_folders);
  std::string what = "no platform is named '" + name_or_path.substr(0, 80) + "'" + sim::name_hint(name_or_path, known) +
                     "; a file is accepted too, by a path with '/' or '.yaml' in it";
  if (known.empty()) what += "; no folder of platforms was found: set C3SIM_CONFIGS to the folder configs of c3sim";
  throw sim::ConfigError({{where, "", std::move(what)}});
}

Platform read_platform(const std::filesystem::path& file, const Settings& settings,
                       std::span<const std::filesystem::path> config_folders) {
  sim::Config unread = models::platform_config(file, config_folders);
  for (const sim::PlacedText& assignment : settings) unread.set(assignment);
  sim::Config config = unread;
  check_operators(config, config_folders);
  models::GemmKernelTables kernels = models::GemmKernelTables::read(config, config_folders);
  models::PlatformSpec spec = models::PlatformSpec::read(config, kernels);
  std::vector<std::string> warnings;
  for (const sim::Fault& warning : config.warnings()) warnings.push_back(warning.where + ": " + warning.what);
  // Further assignments need neither correlations nor the ranges and sources of parameters.
  unread.leave_out("correlations");
  unread.keep_values_only();
  std::string title = spec.name + (file.stem() == spec.name ? "" : " (" + file.string() + ")");
  return {std::move(spec),     std::move(unread),
          config.parameters(), config.resolved(),
          std::move(warnings), {config_folders.begin(), config_folders.end()},
          std::move(kernels),  settings,
          std::move(title)};
}

Platform beside(Platform platform, Beside asked) {
  apply(asked, platform.spec);
  platform.asked = std::move(asked);
  return platform;
}

models::PlatformSpec reassign(const Platform& platform, std::span<const std::string> assignments) {
  models::PlatformSpec spec = read_with(platform, assignments);
  spec.what_if = platform.spec.what_if || !assignments.empty();
  for (const std::string& assignment : assignments)
    std::erase(spec.measured, assignment.substr(0, assignment.find('=')));
  Beside asked = platform.asked;
  const auto sets_protocol = [](const std::string& assignment) { return assignment.starts_with("host.protocol="); };
  if (std::ranges::any_of(assignments, sets_protocol)) asked.protocol.reset();
  apply(asked, spec);
  return spec;
}

namespace {

constexpr sim::Limits<sim::Bytes> traffic{sim::Bytes(1.0), sim::Bytes(1e18)};
constexpr sim::Limits<sim::Time> kernel_time{sim::Time(1), std::chrono::hours(1)};

sim::Task<> run_alone(models::Node& node, models::GemmShape shape, sim::Time& end) {
  co_await models::run_kernel(node, 0, models::gemm_kernel(node.spec().gpu, shape));
  end = node.simulator().now();
}

// Returns the simulated time of the kernel alone, without its launch by the host.
sim::Time time_alone(const models::PlatformSpec& platform, const models::GemmShape& shape) {
  sim::Simulator simulator;
  models::Node node(simulator, platform, models::Symmetry::all_alike);
  sim::Time end{0};
  simulator.spawn("profiled gemm", run_alone(node, shape, end));
  simulator.run();
  return end;
}

// Returns the time with all matrix pipes always busy, at the highest clock that the GPU reaches under matrix work.
sim::Seconds time_at_peak(const models::PlatformSpec& platform, const models::GemmShape& shape) {
  const double clock = platform.gpu.power.matrix_clock / platform.gpu.power.highest_clock;
  return shape.flops() / sim::FlopsPerSecond(platform.gpu.peak_flops() * clock);
}

// Sets the efficiency of a profile so that its kernel takes the measured time; returns the least possible time if it
// cannot. The estimate deals tiles to CUs in whole waves, whose last may be almost empty. A kernel that divides its
// work better has an efficiency above 1, at most that with no CU ever idle. The time is inversely proportional to the
// efficiency unless something else binds, so that the ratio of times gives the next step.
std::optional<sim::Time> match_time(models::GemmProfile& profile, models::PlatformSpec platform, sim::Time measured) {
  constexpr int most_steps = 60;
  constexpr double close_enough = 1e-5;
  platform.gpu.gemm.profiles.assign(1, profile);
  double& efficiency = platform.gpu.gemm.profiles.front().efficiency;
  const auto time_with = [&](double asked) {
    efficiency = asked;
    return time_alone(platform, profile.shape);
  };
  const sim::Seconds least = time_at_peak(platform, profile.shape);
  const double most = std::max(1.0, sim::to_seconds(time_with(1.0)) / least);
  const sim::Time fastest = std::max(time_with(most), sim::to_time(least));
  if (sim::to_seconds(measured) < sim::to_seconds(fastest) * (1.0 - close_enough)) return fastest;
  double asked = 1.0;
  for (int step = 0; step < most_steps; ++step) {
    const double ratio = sim::to_seconds(time_with(asked)) / sim::to_seconds(measured);
    profile.efficiency = asked;
    if (std::abs(ratio - 1.0) < close_enough) break;
    asked = std::min(most, asked * ratio);
  }
  return {};
}

// Returns the bytes of a level. Fewer than must pass the level or more than passed the previous level are a fault. A
// missing level returns those of the previous level, so that no fault is reported for the next one.
sim::Bytes read_level(sim::Section row, std::string_view key, sim::Bytes least, sim::Bytes level_before) {
  const sim::Bytes bytes = row.quantity(key, traffic);
  if (!row.has(key)) return level_before;
  if (bytes < least) {
    row.fault(key, fmt::format("{} is less than must pass this level: {} of A, B and C, less what the caches before it "
                               "can hold",
                               sim::to_string(bytes), sim::to_string(least)));
  } else if (bytes > level_before) {
    row.fault(key, fmt::format("{} is more than the {} that pass the level before it", sim::to_string(bytes),
                               sim::to_string(level_before)));
  }
  return bytes;
}

models::GemmProfile read_profile(sim::Section row, const models::MemorySpec& memory) {
  models::GemmProfile profile;
  const sim::Parsed<models::GemmShape> gemm = models::parse_gemm_shape(row.text("gemm"));
  if (!gemm.ok() && row.has("gemm")) row.fault("gemm", gemm.error);
  profile.shape = gemm.value;
  const sim::Bytes compulsory = profile.shape.compulsory_bytes();
  const sim::Bytes beyond_l2 = compulsory - static_cast<double>(memory.xcds) * memory.l2_capacity;
  profile.l2 = read_level(row, "l2", compulsory, traffic.high);
  profile.cache = read_level(row, "infinity_cache", beyond_l2, profile.l2);
  profile.hbm = read_level(row, "hbm", beyond_l2 - memory.cache_capacity, profile.cache);
  row.text("source");
  return profile;
}

}  // namespace

std::vector<models::GemmProfile> read_gemm_profiles(sim::Config config, const models::PlatformSpec& platform) {
  std::vector<sim::Section> rows = config.root().list("profiles");
  std::vector<models::GemmProfile> profiles;
  std::vector<sim::Time> times;
  for (sim::Section& row : rows) {
    models::GemmProfile profile = read_profile(row, platform.gpu.memory);
    if (std::ranges::count(profiles, profile.shape, &models::GemmProfile::shape) > 0) {
      row.fault("gemm", "has a profile already");
    }
    profiles.push_back(profile);
    times.push_back(row.time("time", kernel_time));
  }
  if (rows.empty() && config.root().has("profiles")) config.root().fault("profiles", "needs at least one GEMM");
  config.finish();
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const std::optional<sim::Time> fastest = match_time(profiles[i], platform, times[i]);
    if (!fastest) continue;
    rows[i].fault("time", fmt::format("{} is less than the platform takes for this work and these bytes at its full "
                                      "matrix rate: {} or more is accepted",
                                      sim::to_string(times[i]), sim::to_string(*fastest)));
  }
  config.finish();
  return profiles;
}

}  // namespace c3sim::study
