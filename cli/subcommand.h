// A command (study/ask/command.h) as a subcommand of the application: each of its options registered, and what a
// command line says of them gathered.
#pragma once

#include <CLI/App.hpp>

#include "study/ask/command.h"

namespace c3sim::cli {

// `given` outlives the parsing, which puts there what is said.
void add_subcommand(CLI::App& app, const study::Command& command, study::Given& given);

}  // namespace c3sim::cli
