#include "validate/ask/commands.h"

#include <algorithm>
#include <utility>

#include "study/config_folders.h"

namespace c3sim::validate {

std::vector<study::Command> all_commands() {
  return {study::c3_command(),    study::gemm_command(),   study::collective_command(),
          study::copy_command(),  study::kernel_command(), study::step_command(),
          study::serve_command(), study::run_command(),    study::schema_command(),
          study::sweep_command(), tune_command(),          study::platform_command(),
          read_command(),         replay_command(),        calibrate_command(),
          validate_command(),     compare_command()};
}

std::vector<study::Option> validation_options(std::string platform) {
  return study::base_options(std::move(platform)) +
         std::vector<study::Option>{{"set", "PATH=VALUE",
                                     "Change one parameter of the platform or, if there are several, of each; the "
                                     "value is checked as one in its file is (may be given again)",
                                     study::Said::again}};
}

namespace {

// Returns the folder of measurements and suites next to a folder of configurations.
std::filesystem::path validate_beside(const std::filesystem::path& configs) {
  std::error_code absent;
  return std::filesystem::weakly_canonical(configs, absent).parent_path() / "validate";
}

}  // namespace

Library library_of(const study::Request& request, study::Arguments& arguments) {
  request.check_options(arguments);
  const models::Mechanisms without = request.mechanisms_left_out(arguments);
  arguments.check();
  std::error_code absent;
  for (const std::filesystem::path& configs : study::config_folders()) {
    const std::filesystem::path data = validate_beside(configs);
    if (!std::filesystem::is_directory(configs / "formats", absent)) continue;
    if (!std::filesystem::is_directory(data, absent)) continue;
    const auto platforms = [without](const Machine& machine) {
      std::vector<std::string> assignments = machine.assignments;
      assignments.insert(assignments.end(), machine.changes.begin(), machine.changes.end());
      return study::beside(platform_named(machine.platform, assignments), {.without = without});
    };
    return {data / "reference",
            data / "suites",
            data / "claims.yaml",
            data / "deviations.yaml",
            configs / "formats",
            configs / "experiments",
            platforms,
            study::platform_names(study::config_folders())};
  }
  throw sim::ConfigError({{"validate", "",
                           "no folder configs with formats has a folder validate beside it: set C3SIM_CONFIGS to the "
                           "folder configs of a source tree"}});
}

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const std::filesystem::path& configs : study::config_folders()) {
    if (!names.empty()) break;
    names = suites_in(validate_beside(configs) / "suites");
  }
  return names;
}

study::Platform platform_named(const std::string& name, const std::vector<std::string>& assignments) {
  const std::vector<std::filesystem::path> folders = study::config_folders();
  return study::read_platform(study::find_platform(name, "--platform", folders), assignments, folders);
}

SuitesAndFiles suites_and_files(const Library& library, const std::vector<std::string>& names) {
  SuitesAndFiles sorted;
  const std::vector<std::string> known = suites_in(library.suites);
  for (const std::string& name : names) {
    std::error_code absent;
    const bool is_suite = std::ranges::count(known, name) > 0;
    const bool is_file = name.find_first_of("/.") != std::string::npos || std::filesystem::exists(name, absent);
    if (!is_suite && is_file) {
      sorted.files.emplace_back(name);
    } else {
      sorted.suites.push_back(name);
    }
  }
  return sorted;
}

}  // namespace c3sim::validate
