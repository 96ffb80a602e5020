// Reads experiment files: what they include, the values of their parameters, the machine that they are for, and the
// graph of operations that they stand for. docs/experiments.md describes the language.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/config.h"
#include "study/experiment/experiment.h"
#include "study/play/platform_file.h"
#include "study/play/testbed.h"

namespace c3sim::study {

// Reads a file and lays it over those that it includes (`include: FILE`, or a list): files next to it, below it or
// among the experiments of config_folders(); others are faults. Maps merge, lists are replaced, and an earlier include
// precedes a later one. Throws sim::ConfigError, also for files that include each other in a circle.
sim::Config experiment_config(const std::filesystem::path& file);

// Gives parameters other values, such as "tokens=16384", and declares all parameters. The configuration records faults.
// Call it once, before the configuration is read; copies made before may get other values.
void set_parameters(sim::Config& config, std::span<const std::string> assignments);

// An ExperimentMachine is what an experiment says of its machine: a platform, values for it (`set:
// [gpu.sdma.engines=32]`), a protocol, and how kernels are launched (by default as the platform's own program does).
struct ExperimentMachine {
  std::string platform;
  Settings settings;
  std::optional<models::Protocol> protocol;
  std::optional<models::LaunchMode> launch;

  Beside beside() const { return {.protocol = protocol, .launch = launch}; }
  auto operator<=>(const ExperimentMachine&) const = default;
};
// Throws sim::ConfigError with all faults found so far.
ExperimentMachine read_machine(sim::Config& config);

// Defines `gpus` and `cus` of the machine in expressions and evaluates all parameters. Throws sim::ConfigError with all
// faults found so far.
void resolve_parameters(sim::Config& config, const models::PlatformSpec& platform);

// Reads the operations for the platform of the testbed, after read_machine(). Throws sim::ConfigError with all faults
// of the configuration.
Experiment read_experiment(sim::Config& config, const Testbed& testbed);

}  // namespace c3sim::study
