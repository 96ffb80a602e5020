// Shell scripts that complete command lines, made from the application's own description so that they cannot go stale.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace c3sim::cli {

// For bash 4 and later: source it, or put it where bash-completion looks.
std::string bash_completion(const CLI::App& app);

// For zsh: save it as _c3sim in a folder of $fpath.
std::string zsh_completion(const CLI::App& app);

}  // namespace c3sim::cli
