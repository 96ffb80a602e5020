// Declares the commands that read measurements, and what they share in addition to study/ask/command.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "study/ask/command.h"
#include "validate/validation.h"

namespace c3sim::validate {

study::Command validate_command();
study::Command calibrate_command();
study::Command read_command();
study::Command replay_command();
study::Command tune_command();
study::Command compare_command();

// Returns every command of c3sim, in the order of its help.
std::vector<study::Command> all_commands();

// Returns the options of commands that compare with measurements; `platform` is the help of --platform.
std::vector<study::Option> validation_options(std::string platform);

// Returns the library of the first folder of configurations that has formats of tables and a neighbour `validate`.
// Checks the shared options and throws the faults that `arguments` has gathered.
Library library_of(const study::Request& request, study::Arguments& arguments);

// Returns the platform with this name or file and with these assignments. Throws sim::ConfigError.
study::Platform platform_named(const std::string& name, const std::vector<std::string>& assignments);

// Returns the names of the shipped suites, or none if no folder has suites.
std::vector<std::string> suite_names();

// SuitesAndFiles are sorted names. A name of a suite is a suite, another name that is a file or looks like a path is a
// file, and all others count as suites that do not exist.
struct SuitesAndFiles {
  std::vector<std::string> suites;
  std::vector<std::filesystem::path> files;
};
SuitesAndFiles suites_and_files(const Library& library, const std::vector<std::string>& names);

}  // namespace c3sim::validate
