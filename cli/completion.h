// What a shell may offer where a command line is not yet complete, made from the table of commands so that it cannot go
// stale, and the few lines by which each shell asks c3sim for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "study/ask/command.h"

namespace c3sim::cli {

// The words that the last word of `line`, which may be empty, can become, a line each. `line` begins with the name of
// the program. Nothing where a file is due: shells offer these themselves.
std::string offered_words(const std::vector<study::Command>& commands, std::string_view line);

// For bash 4 and later: it is sourced, or put where bash-completion looks.
std::string bash_completion();
// For zsh: it is saved as _c3sim in a folder of $fpath.
std::string zsh_completion();
// For fish: it is saved as c3sim.fish in ~/.config/fish/completions.
std::string fish_completion();

}  // namespace c3sim::cli
