#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <system_error>

#include "cli/commands.h"

namespace c3sim::cli {

namespace {

constexpr auto description =
    "Predicts how long GPU work takes on a node of eight MI300X when it computes and communicates at once.";
constexpr auto footer =
    "`c3sim COMMAND --help` shows a command's options with examples. Sizes carry their unit: KiB is 2^10 bytes, KB "
    "10^3.\n"
    "Exit codes: 0 fine, 1 a check failed (validate), 2 the input is at fault, 3 c3sim is.";

// The word that the application could not place: an unknown command or option.
std::string unknown_word(const CLI::App& app, const std::string& word) {
  const bool has_command = !app.get_subcommands().empty();
  const CLI::App& command = has_command ? *app.get_subcommands().front() : app;
  const bool is_option = !word.empty() && word.front() == '-';
  std::vector<std::string> known;
  if (is_option) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  } else if (!has_command) {
    for (const CLI::App* subcommand : app.get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(subcommand->get_name());
    }
  }
  const std::string typed = is_option ? word.substr(0, word.find('=')) : word;
  return in_quotes(typed) +
         (is_option     ? " is no option"
          : has_command ? " is not expected"
                        : " is no command") +
         (has_command ? " of " + command.get_name() : "") + sim::name_hint(typed, known);
}

ExitCode report_parse_error(const CLI::App& app, const CLI::ParseError& error, std::ostream& out, std::ostream& err) {
  if (error.get_exit_code() == 0) {  // --help and --version
    app.exit(error, out, err);
    return ExitCode::fine;
  }
  const std::vector<std::string> unknown = app.remaining(true);
  for (const std::string& word : unknown) err << "error: " << unknown_word(app, word) << '\n';
  if (unknown.empty()) err << "error: " << error.what() << '\n';
  err << "`c3sim --help` and `c3sim COMMAND --help` show what is accepted.\n";
  return ExitCode::users_fault;
}

}  // namespace

ExitCode run_command_line(int argc, const char* const* argv, std::ostream& out, std::ostream& err,
                          bool err_is_terminal) {
  CLI::App app(description, "c3sim");
  try {
    app.set_version_flag("--version", "c3sim " C3SIM_VERSION);
    app.footer(footer);
    app.require_subcommand(1);
    Session session(out, err, err_is_terminal);
    C3Command c3(app, session);
    GemmCommand gemm(app, session);
    CollectiveCommand collective(app, session);
    CopyCommand copy(app, session);
    KernelCommand kernel(app, session);
    RunCommand run(app, session);
    PlatformCommand platform(app, session);
    CalibrateCommand calibrate(app, session);
    ValidateCommand validate(app, session);
    CompletionCommand completion(app, session);
    app.parse(argc, argv);
    return session.check_failed() ? ExitCode::check_failed : ExitCode::fine;
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error, out, err);
  } catch (const sim::ConfigError& error) {
    err << error.what() << '\n';
    return ExitCode::users_fault;
  } catch (const std::system_error& error) {
    err << "error: " << error.what() << '\n';
    return ExitCode::users_fault;
  } catch (const std::exception& error) {
    err << "internal error: " << error.what() << '\n';
    return ExitCode::our_fault;
  }
}

}  // namespace c3sim::cli
