// The command line of c3sim, apart from the process it runs in.
#pragma once

#include <cstddef>
#include <ostream>

namespace c3sim::cli {

// Exit codes. A failed check (1) belongs to commands that check, and to `run` of an experiment that never ends. What
// keeps its results when it is interrupted ends as shells say of commands that Ctrl-C kills.
enum class ExitCode { fine = 0, check_failed = 1, users_fault = 2, our_fault = 3, interrupted = 130 };

// What a long answer shows of itself on `err`: nothing, a line now and then, or a bar, as on a terminal.
enum class ShownProgress { none, lines, bar };

// Answers one command line: results go to `out`, everything else to `err`. Tables are wrapped to the columns of the
// terminal that `out` is, if it is one. Never throws.
ExitCode run_command_line(int argc, const char* const* argv, std::ostream& out, std::ostream& err,
                          ShownProgress progress = ShownProgress::none, std::size_t out_columns = 0);

}  // namespace c3sim::cli
