#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <system_error>

#include "cli/commands.h"

namespace c3sim::cli {

namespace {

constexpr auto about_c3sim =
    "Predicts how long GPU work takes on a node of eight MI300X when it computes and communicates at once.";
constexpr auto footer =
    "`c3sim COMMAND --help` shows a command's options with examples. Sizes carry their unit: KiB is 2^10 bytes, KB "
    "10^3.\n"
    "Platforms and other configurations are first looked for in the folder that C3SIM_CONFIGS (environment) names, "
    "which\n"
    "has the folders platforms, experiments and formats.\n"
    "Exit codes: 0 fine, 1 a check failed (validate) or points did (sweep), 2 the input is at fault, 3 c3sim is.";

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

// As a shell reads it: for whoever wants the same answer again.
std::string command_text(int argc, const char* const* argv) {
  std::string text = "c3sim";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      text += ' ' + word;
      continue;
    }
    text += " '";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

// The commands, a line each.
std::string short_help(const CLI::App& app) {
  std::string text = fmt::format("{}\n\nCommands:\n", about_c3sim);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    text += fmt::format("  {:<12} {}\n", command->get_name(), command->get_description());
  }
  return text;
}

// The first of the examples of a command's help; empty where there are none.
std::string example_of(const CLI::App& command) {
  constexpr std::string_view before = "Examples:\n";
  const std::string help = command.get_footer();
  const std::size_t at = help.find(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = help.find_first_not_of(' ', at + before.size());
  return help.substr(begin, help.find('\n', begin) - begin);
}

// All that a command cannot do without and that was not said, with the one example that has it; empty where nothing is
// missing.
std::string missing_options(const CLI::App& app) {
  const std::vector<CLI::App*> asked = app.get_subcommands();
  if (asked.empty()) return {};
  const CLI::App& command = *asked.front();
  std::string missing;
  std::string accepted;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    const bool is_positional = option->get_lnames().empty();
    const std::string name = is_positional ? option->get_name(true) : "--" + option->get_lnames().front();
    missing += (missing.empty() ? "" : ", ") + name;
    if (!is_positional) accepted += fmt::format("  {} {}\n", name, option->get_type_name());
  }
  if (missing.empty()) return {};
  const std::string example = example_of(command);
  return fmt::format("error: {} needs {}\n{}{}", command.get_name(), missing, accepted,
                     example.empty() ? "" : fmt::format("for example: {}\n", example));
}

std::string explanation(const CLI::App& app, const CLI::ParseError& error) {
  std::string text;
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    text = app.get_subcommands().empty() ? short_help(app) : missing_options(app);
  }
  return text.empty() ? fmt::format("error: {}\n", error.what()) : text;
}

ExitCode report_parse_error(const CLI::App& app, const CLI::ParseError& error, std::ostream& out, std::ostream& err) {
  if (error.get_exit_code() == 0) {  // --help and --version
    app.exit(error, out, err);
    if (out.flush()) return ExitCode::fine;
    err << "error: stdout: " << std::make_error_code(std::errc::io_error).message() << '\n';
    return ExitCode::users_fault;
  }
  const std::vector<std::string> unknown = app.remaining(true);
  for (const std::string& word : unknown) err << "error: " << unknown_word(app, word) << '\n';
  if (unknown.empty()) err << explanation(app, error);
  err << "`c3sim --help` and `c3sim COMMAND --help` show what is accepted.\n";
  return ExitCode::users_fault;
}

}  // namespace

ExitCode run_command_line(int argc, const char* const* argv, std::ostream& out, std::ostream& err, bool err_is_terminal,
                          std::size_t out_columns) {
  CLI::App app(about_c3sim, "c3sim");
  try {
    app.set_version_flag("--version", "c3sim " C3SIM_VERSION);
    app.footer(footer);
    app.require_subcommand(1);
    Session session(out, err, err_is_terminal, out_columns, {C3SIM_VERSION, command_text(argc, argv)});
    C3Command c3(app, session);
    GemmCommand gemm(app, session);
    CollectiveCommand collective(app, session);
    CopyCommand copy(app, session);
    KernelCommand kernel(app, session);
    StepCommand step(app, session);
    RunCommand run(app, session);
    SchemaCommand schema(app, session);
    SweepCommand sweep(app, session);
    TuneCommand tune(app, session);
    PlatformCommand platform(app, session);
    ReadCommand read(app, session);
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
