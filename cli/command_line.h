// The command line of c3sim, apart from the process it runs in.
#pragma once

#include <cstddef>
#include <ostream>

namespace c3sim::cli {

// Exit codes. A failed check (1) belongs to commands that check, and to `run` of an experiment that never ends.
enum class ExitCode { fine = 0, check_failed = 1, users_fault = 2, our_fault = 3 };

// Answers one command line: results go to `out`, everything else to `err`; a progress bar is drawn on `err` only where
// that is a terminal. Tables are wrapped to the columns of the terminal that `out` is, if it is one. Never throws.
ExitCode run_command_line(int argc, const char* const* argv, std::ostream& out, std::ostream& err,
                          bool err_is_terminal = false, std::size_t out_columns = 0);

}  // namespace c3sim::cli
