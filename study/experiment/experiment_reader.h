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

// The file with those that it includes (`include: FILE`, or a list of them, beside it, below it or among the
// experiments of config_folders(); others are faults), over which it lies: maps merge, lists are replaced, and of what
// is included the first counts. Throws sim::ConfigError, for files that include each other in a circle too.
sim::Config experiment_config(const std::filesystem::path& file);

// Gives parameters other values, "tokens=16384" each, and declares all of them. What is wrong is recorded with the
// configuration. To be called once, before the configuration is read; copies from before may get other values.
void set_parameters(sim::Config& config, std::span<const std::string> assignments);

// What an experiment says of the machine: a platform, values of it (`set: [gpu.sdma.engines=32]`), a protocol and how
// kernels are launched (as the platform's own program does unless said otherwise).
struct ExperimentMachine {
  std::string platform;
  std::vector<std::string> assignments;
  std::optional<models::Protocol> protocol;
  std::optional<models::LaunchMode> launch;

  Beside beside() const { return {.protocol = protocol, .launch = launch}; }
  auto operator<=>(const ExperimentMachine&) const = default;
};
// Throws sim::ConfigError with what is wrong so far.
ExperimentMachine read_machine(sim::Config& config);

// Gives expressions the machine's `gpus` and `cus` and evaluates all parameters. Throws sim::ConfigError with what is
// wrong so far.
void resolve_parameters(sim::Config& config, const models::PlatformSpec& platform);

// Reads the operations for the platform of the testbed; the machine has been read. Throws sim::ConfigError with all
// that is wrong with the configuration.
Experiment read_experiment(sim::Config& config, const Testbed& testbed);

}  // namespace c3sim::study
