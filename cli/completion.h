// Shell scripts that complete command lines, made from the table of commands so that they cannot go stale.
#pragma once

#include <string>
#include <vector>

#include "study/ask/command.h"

namespace c3sim::cli {

// For bash 4 and later: source it, or put it where bash-completion looks.
std::string bash_completion(const std::vector<study::Command>& commands);

// For zsh: save it as _c3sim in a folder of $fpath.
std::string zsh_completion(const std::vector<study::Command>& commands);

// For fish: save it as c3sim.fish in ~/.config/fish/completions.
std::string fish_completion(const std::vector<study::Command>& commands);

}  // namespace c3sim::cli
