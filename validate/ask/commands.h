// The commands that see measurements, and what they share beside what study/ask/request.h has.
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

// Every command of c3sim, in the order of its help.
std::vector<study::Command> all_commands();

// Options of commands that compare with measurements.
std::vector<study::Option> validation_options();

// What validations are made of: the first folder of configurations that has formats of tables, and its neighbour
// validate. Checks the shared options and throws what `arguments` has gathered.
Library library_of(const study::Request& request, study::Arguments& arguments);

// The platform of that name, or file, with these assignments. Throws sim::ConfigError.
study::Platform platform_named(const std::string& name, const std::vector<std::string>& assignments);

// Of the shipped suites; none where no folder has them.
std::vector<std::string> suite_names();

// Names of suites are suites; others that are files, or look like it, are files; the rest are suites that there are
// not.
struct SuitesAndFiles {
  std::vector<std::string> suites;
  std::vector<std::filesystem::path> files;
};
SuitesAndFiles suites_and_files(const Library& library, const std::vector<std::string>& names);

}  // namespace c3sim::validate
