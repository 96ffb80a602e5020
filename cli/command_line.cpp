#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <system_error>

#include "cli/progress_line.h"
#include "sim/config/nearest_name.h"
#include "study/config_folders.h"
#include "study/network/model_spec.h"
#include "study/play/platform_file.h"
#include "study/play/play.h"
#include "validate/ask/commands.h"

namespace c3sim::cli {

namespace {

constexpr auto about_c3sim =
    "Predicts how long GPU work takes on a node of eight MI300X when it computes and communicates at once.";
constexpr auto footer =
    "`c3sim COMMAND --help` shows a command's options with examples. There a word in capitals stands for a value, and\n"
    "a|b lists the words that are accepted. An option shown with DRAWS=100 or no|yes|both=yes may be given without a\n"
    "value, and then means 100 or yes. Three dots follow what may be given several times. Sizes carry their unit: KiB\n"
    "is 2^10 bytes, KB 10^3.\n"
    "c3sim looks for platforms, experiments, models and other configurations first in the folder that the environment\n"
    "variable C3SIM_CONFIGS names. The formats of measurements in its folder formats are used only if a folder\n"
    "validate, which has suites and reference data, lies beside the folder that C3SIM_CONFIGS names.\n"
    "Exit codes: 0 fine, 1 a check failed (validate), points did (sweep) or an experiment never ends (run), 2 the "
    "input is at\n"
    "fault, 3 c3sim is, 130 it was interrupted (Ctrl-C).";

constexpr auto completion_examples = R"(Examples:
  source <(c3sim completion bash)
  c3sim completion zsh > "${fpath[1]}/_c3sim"
  c3sim completion fish > ~/.config/fish/completions/c3sim.fish)";

// The following scripts let each shell ask c3sim for the words that it offers.

// This script is for bash 4 and later; a user sources it or saves it where bash-completion looks. Bash replaces only
// the text after "=". It adds no space after a word that ends in "=" or contains a comma, since these continue. Bash
// itself completes file names if nothing else is offered, since only readline can quote blanks in them.
constexpr auto bash_completion = R"sh(# bash completion of c3sim
_c3sim() {
  mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" completion words --line "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  [[ ${COMPREPLY[0]} == *= || ${COMPREPLY[0]} == *,* ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o bashdefault -o default -F _c3sim c3sim
)sh";

// The script is saved as _c3sim in a folder of $fpath.
constexpr auto zsh_completion = R"sh(#compdef c3sim
_c3sim() {
  local -a offered=(${(f)"$(c3sim completion words --line "${(j: :)words[1,CURRENT]}" 2>/dev/null)"})
  compadd -- ${offered:#*=}
  compadd -S '' -- ${(M)offered:#*=}
  _files
}
_c3sim "$@"
)sh";

// The script is saved as c3sim.fish in ~/.config/fish/completions.
constexpr auto fish_completion = R"sh(# fish completion of c3sim
complete -c c3sim -a '(c3sim completion words --line (commandline -cp | string collect))'
)sh";

using Commands = std::vector<study::Command>;
using Texts = std::vector<std::string>;

// Adds the command to the parser, which stores the given options in `given`; `given` must outlive the parsing.
void add_subcommand(CLI::App& app, const study::Command& command, study::Given& given) {
  using enum study::Said;
  CLI::App& subcommand = *app.add_subcommand(command.name, command.about);
  subcommand.footer(command.notes);
  for (const study::Option& option : command.options) {
    const auto one = [&given, name = option.name](const std::string& text) { given[name] = {text}; };
    const auto several = [&given, name = option.name](const Texts& texts) { given[name] = texts; };
    const auto flag = [one] { one(std::string(study::yes)); };
    const bool is_one = option.said == once || option.said == maybe_alone || option.said == in_place;
    CLI::Option& added = option.said == alone ? *subcommand.add_flag_callback(option.typed(), flag, option.help)
                         : is_one ? *subcommand.add_option_function<std::string>(option.typed(), one, option.help)
                                  : *subcommand.add_option_function<Texts>(option.typed(), several, option.help);
    if (option.said == maybe_alone) added.expected(0, 1)->default_str(option.alone);
    if (option.said == again) added.allow_extra_args(false);
    if (option.said == listed) added.delimiter(',');
    if (option.said != alone) added.type_name(option.form);
    added.required(option.required);
  }
}

// Returns the values that a form like "table|csv|json" lists, or nothing for one like "MxNxK", which describes a value.
std::vector<std::string_view> values_of(const std::string& form) {
  if (form.empty() || form.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_|") != std::string::npos) return {};
  return study::split(form, '|');
}

// Returns every parameter of the platform that the command line names, each with "=" appended.
Texts parameters_of(const Texts& line) {
  const auto option = std::ranges::find(line, "--platform");
  const std::string platform = option == line.end() || option + 1 == line.end() ? "mi300x" : *(option + 1);
  Texts words;
  try {
    const std::vector<std::filesystem::path> folders = study::config_folders();
    const auto file = study::find_platform(platform, "--platform", folders);
    for (const sim::Parameter& parameter : study::read_platform(file, {}, folders).parameters) {
      words.push_back(parameter.path + '=');
    }
  } catch (const sim::ConfigError&) {  // the command itself reports faults of the platform
  }
  return words;
}

// Returns the values that an option accepts. If it accepts a list, each follows the values before the last comma.
Texts values_of(const study::Option& option, const Texts& line) {
  if (option.form == "PATH=VALUE") return parameters_of(line);
  if (option.form.find("SUITE") != std::string::npos) return validate::suite_names();
  if (option.form == "NAME|FILE") {
    const std::vector<std::filesystem::path> folders = study::config_folders();
    return option.name == "model" ? study::model_names(folders) : study::platform_names(folders);
  }
  const std::vector<std::string_view> values = values_of(option.form);
  // An option that accepts "all" accepts a list of the other values.
  const bool is_list = std::ranges::find(values, "all") != values.end();
  const std::string& current = line.back();
  const std::string before = is_list ? current.substr(0, current.rfind(',') + 1) : "";
  Texts words;
  for (const std::string_view value : values) words.push_back(before + std::string(value));
  return words;
}

Texts words_of_command(const study::Command& command, const Texts& line) {
  std::vector<study::Option> options = command.options;
  options.push_back({"help", "", "", study::Said::alone});
  const std::string& previous = line[line.size() - 2];
  Texts words;
  for (const study::Option& option : options) {
    if (!option.has_name() || option.said == study::Said::alone || previous != option.typed()) continue;
    words = values_of(option, line);
    if (option.said != study::Said::maybe_alone) return words;
  }
  for (const study::Option& option : options) {
    const Texts more = option.has_name() ? Texts{option.typed()} : values_of(option, line);
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

// Returns the words that the last word of `line` (it may be empty) can become, one per line, for a shell to offer.
// `line` begins with the name of the program. The words come from the table of commands, so they cannot go stale. The
// result is empty if a file is expected, since shells complete file names themselves.
std::string offered_words(const std::vector<study::Command>& commands, std::string_view line) {
  // The option "--format=j" is split like "--format j".
  Texts typed{""};
  for (const char c : line) {
    const bool is_equals = c == '=' && typed.back().starts_with("--");
    if (c != ' ' && !is_equals) {
      typed.back() += c;
    } else if (!typed.back().empty()) {
      typed.emplace_back();
    }
  }
  Texts words;
  if (typed.size() == 2) {
    for (const study::Command& command : commands) words.push_back(command.name);
    words.insert(words.end(), {"--help", "--version"});
  } else if (typed.size() > 2) {
    const auto command = std::ranges::find(commands, typed[1], &study::Command::name);
    if (command != commands.end()) words = words_of_command(*command, typed);
  }
  std::string text;
  for (const std::string& word : words) {
    if (word.starts_with(typed.back())) text += word + '\n';
  }
  return text;
}

// Returns the command that completes all of `commands`, which must outlive it. The caller adds it to `commands`.
study::Command completion_command(const Commands& commands) {
  const std::vector<sim::Choice<std::string>> scripts{
      {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}, {"words", ""}};
  return {
      "completion", "Print a script by which a shell completes command lines of c3sim", completion_examples,
      std::vector<study::Option>{{"shell", study::names_of(scripts),
                                  "Shell that the script is for; or the words that a shell is to offer behind --line",
                                  study::Said::in_place, true},
                                 {"line", "TEXT", "Command line up to the cursor"}},
      [scripts, &commands](study::Request& request) {
        study::Arguments arguments;
        const std::string script = arguments.choice("SHELL", request.text("shell"), scripts);
        arguments.check();
        return study::Results{.text = script.empty() ? offered_words(commands, request.text("line")) : script};
      }};
}

// Returns a message about a word that the parser rejected: an unknown command or option.
std::string unknown_word(const std::string& word, const study::Command* command, const Commands& commands) {
  const bool is_option = !word.empty() && word.front() == '-';
  const std::string typed = study::in_quotes(is_option ? word.substr(0, word.find('=')) : word);
  if (command != nullptr) {
    if (is_option) return command->unknown(word.substr(0, word.find('=')));
    std::string taken;
    for (const study::Option& option : command->options) {
      if (!option.has_name()) taken += (taken.empty() ? ": it takes one " : " and one ") + option.typed();
    }
    return fmt::format("{} is not expected of {}{}", typed, command->name, taken);
  }
  if (is_option) return typed + " is no option" + sim::name_hint(word, std::vector<std::string>{"--help", "--version"});
  return typed + " is no command" + sim::name_hint(word, commands, &study::Command::name);
}

// Rewords what the parser says of an option that has two values, or none.
std::string reworded(const std::string& text) {
  constexpr std::string_view lacks = ": 1 required ", end = " missing";
  if (const std::size_t at = text.find(": At Most 1"); at != std::string::npos)
    return text.substr(0, at) + ": is given twice: it is accepted once";
  const std::size_t at = text.find(lacks);
  if (at == std::string::npos || !text.ends_with(end)) return text;
  const std::size_t form = at + lacks.size();
  return fmt::format("{}: its value is missing: {} is accepted", text.substr(0, at),
                     text.substr(form, text.size() - form - end.size()));
}

// Returns the list of commands, one per line.
std::string short_help(const Commands& commands) {
  std::string text = fmt::format("{}\n\nCommands:\n", about_c3sim);
  for (const study::Command& command : commands) text += fmt::format("  {:<12} {}\n", command.name, command.about);
  return text;
}

// Returns the command that the line names, or null if it names none.
const study::Command* asked_of(const CLI::App& app, const Commands& commands) {
  const std::vector<CLI::App*> named = app.get_subcommands();
  return named.empty() ? nullptr : &*std::ranges::find(commands, named.front()->get_name(), &study::Command::name);
}

ExitCode report_parse_error(const CLI::App& app, const CLI::ParseError& error, const Commands& commands,
                            const study::Given& given, std::ostream& out, std::ostream& err) {
  const study::Command* const asked = asked_of(app, commands);
  const std::vector<std::string> unknown = app.remaining(true);
  if (error.get_exit_code() == 0 && unknown.empty()) {  // --help and --version
    app.exit(error, out, err);
    if (out.flush()) return ExitCode::fine;
    err << "error: stdout: " << std::generic_category().message(errno) << '\n';
    return ExitCode::users_fault;
  }
  for (const std::string& word : unknown) err << "error: " << unknown_word(word, asked, commands) << '\n';
  if (unknown.empty()) {
    std::string text;
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
      text = asked == nullptr ? short_help(commands) : asked->missing(given);
    }
    err << (text.empty() ? fmt::format("error: {}\n", reworded(error.what())) : text);
  }
  err << "`c3sim --help` and `c3sim COMMAND --help` show what is accepted.\n";
  return ExitCode::users_fault;
}

ExitCode answer(const study::Command& asked, const study::Given& given, const study::Origin& origin, std::ostream& out,
                std::ostream& err, bool shows_progress, std::size_t out_columns) {
  ProgressLine line(err);
  const auto warn = [&line](std::string_view sentence) { line.write(fmt::format("warning: {}\n", sentence)); };
  study::Listener listener{.warn = warn, .interruptible = [] {
                             return [held = std::make_shared<Interruption>()] { return held->asked(); };
                           }};
  if (shows_progress) listener.progress = [&line](std::size_t done, std::size_t of) { line.report(done, of); };
  asked.check(given);
  study::Request request(given, origin, std::move(listener));
  const study::Results results = asked.answer(request);
  line.write({});
  for (const std::string& warning : results.warnings) warn(warning);
  study::Arguments checked;
  study::write(results, request.format(checked), out, out_columns > 0 ? out_columns : asked.text_width);
  if (!out.flush()) throw std::system_error(errno, std::generic_category(), "stdout");
  request.check_behind();
  return request.check_failed() ? ExitCode::check_failed : ExitCode::fine;
}

}  // namespace

ExitCode run_command_line(int argc, const char* const* argv, std::ostream& out, std::ostream& err, bool shows_progress,
                          std::size_t out_columns) {
  CLI::App app(about_c3sim, "c3sim");
  Commands commands = validate::all_commands();
  commands.push_back(completion_command(commands));
  study::Given given;  // holds the options of the one command that is asked
  try {
    app.set_version_flag("--version", "c3sim " C3SIM_VERSION);
    app.footer(footer);
    app.require_subcommand(1);
    for (const study::Command& command : commands) add_subcommand(app, command, given);
    app.parse(argc, argv);
    std::string command_text = "c3sim";  // as a shell reads it, for users who want to repeat it
    for (int i = 1; i < argc; ++i) command_text += ' ' + study::shell_word(argv[i]);
    return answer(*asked_of(app, commands), given, {C3SIM_VERSION, command_text}, out, err, shows_progress,
                  out_columns);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error, commands, given, out, err);
  } catch (const study::NeverEnds& error) {
    err << error.what() << '\n';
    return ExitCode::check_failed;
  } catch (const sim::ConfigError& error) {
    err << error.what() << '\n';
    return ExitCode::users_fault;
  } catch (const study::Interrupted& interrupted) {
    err << "interrupted: " << interrupted.how_to_go_on << '\n';
    return ExitCode::interrupted;
  } catch (const std::system_error& error) {
    err << "error: " << error.what() << '\n';
    return ExitCode::users_fault;
  } catch (const std::exception& error) {
    err << "internal error: " << error.what() << '\n';
    return ExitCode::our_fault;
  }
}

}  // namespace c3sim::cli
