// Runs a command line of c3sim, independently of the process: the caller passes the arguments and the output streams.
#pragma once

#include <cstddef>
#include <ostream>

namespace c3sim::cli {

// `check_failed` means that a command that checks found a failure, or that `run` got an experiment that never ends. A
// command that keeps its results when it is interrupted ends as shells say of commands that Ctrl-C kills.
enum class ExitCode { fine = 0, check_failed = 1, users_fault = 2, our_fault = 3, interrupted = 130 };

// Runs one command line, writes its results to `out` and everything else to `err`, and never throws. If `err` is a
// terminal, long commands may show their progress there. If `out` is a terminal, `out_columns` is its width, to which
// tables are wrapped; otherwise `out_columns` is 0.
ExitCode run_command_line(int argc, const char* const* argv, std::ostream& out, std::ostream& err,
                          bool shows_progress = false, std::size_t out_columns = 0);

}  // namespace c3sim::cli
