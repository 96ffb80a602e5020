#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "study/ask/arguments.h"

namespace c3sim::cli {

namespace {

std::string long_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : "--" + option.get_lnames()[0];
}

// "table|csv|json" lists the values themselves: lower-case words. "NAME|FILE" and "MxNxK" say what they are.
std::vector<std::string> values_of(const std::string& type_name) {
  if (type_name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_|") != std::string::npos) return {};
  std::vector<std::string> values;
  for (const std::string_view value : study::split(type_name, '|')) values.emplace_back(value);
  return type_name.empty() ? std::vector<std::string>{} : values;
}

bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0; }

// A flag that may be given a value.
bool value_is_optional(const CLI::Option& option) { return option.get_expected_min() == 0; }

bool names_a_path(const std::string& type_name) {
  return type_name.find("FILE") != std::string_view::npos || type_name == "DIR";
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return !option->get_lnames().empty(); });
}

std::string names_of(const std::vector<const CLI::Option*>& options) {
  std::string names;
  for (const CLI::Option* option : options) names += (names.empty() ? "" : " ") + long_name(*option);
  return names;
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// In zsh's single-quoted specifications, where brackets and colons have a meaning.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':') result += '\\';
      result += c;
    }
  }
  return result;
}

// "all" among the values stands for a list of them.
bool takes_list(const std::vector<std::string>& values) {
  return std::find(values.begin(), values.end(), "all") != values.end();
}

constexpr auto parameter_assignment = "PATH=VALUE";

std::string zsh_values(const std::string& type_name, const std::string& program) {
  const std::vector<std::string> values = values_of(type_name);
  if (takes_list(values)) return fmt::format("_values -s , value {}", fmt::join(values, " "));
  if (!values.empty()) return fmt::format("({})", fmt::join(values, " "));
  if (type_name == parameter_assignment) return fmt::format("_{}_parameters", program);
  return names_a_path(type_name) ? "_files" : " ";
}

// What bash does behind an option, as the body of a case.
std::string bash_action(const CLI::Option& option, const std::string& others, const std::string& program) {
  const std::string type_name = option.get_type_name();
  const std::vector<std::string> values = values_of(type_name);
  if (takes_list(values)) return fmt::format("_{}_list '{}'; return", program, fmt::join(values, " "));
  if (!values.empty()) {
    return fmt::format("words='{}{}'", fmt::join(values, " "), value_is_optional(option) ? ' ' + others : "");
  }
  if (type_name == parameter_assignment) return fmt::format("_{}_parameters; return", program);
  return names_a_path(type_name) ? fmt::format("_{}_files; return", program) : "return";
}

// The cases of one command: what follows each of its options, and what stands where none is due.
void append_bash_cases(const CLI::App& command, const std::string& program, std::string& behind, std::string& words) {
  const std::string others = names_of(options_of(command));
  std::string open = fmt::format("words='{}'", others);
  for (const CLI::Option* option : command.get_options()) {
    if (!takes_value(*option)) continue;
    if (!option->get_lnames().empty()) {
      for (const std::string& name : option->get_lnames()) {
        behind +=
            fmt::format("    '{} --{}') {} ;;\n", command.get_name(), name, bash_action(*option, others, program));
      }
      continue;
    }
    const std::vector<std::string> known = values_of(option->get_type_name());
    if (!known.empty()) open = fmt::format("words='{} {}'", fmt::join(known, " "), others);
    if (names_a_path(option->get_type_name())) open += " files=yes";
  }
  words += fmt::format("    {}) {} ;;\n", command.get_name(), open);
}

// Functions that complete what words of a fixed list cannot. bash takes a word apart at "="; names of files may hold
// blanks, and only readline knows how to quote them. Outside of a completion compopt does not apply.
constexpr auto bash_functions = R"sh(_{0}_files() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}}
_{0}_list() {{
  local before=
  [[ $word == *,* ]] && before=${{word%,*}},
  compopt -o nospace 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${{word##*,}}")
}}
_{0}_parameters() {{
  local i platform=()
  for ((i = 2; i < COMP_CWORD; ++i)); do
    [[ ${{COMP_WORDS[i - 1]}} == --platform ]] && platform=("${{COMP_WORDS[i]}}")
  done
  compopt -o nospace 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -S = -W "$("${{COMP_WORDS[0]}}" platform "${{platform[@]}}" --format csv 2>/dev/null |
    sed -n '2,$s/,.*//p')" -- "$word")
}}
)sh";

constexpr auto bash_main = R"sh(_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}}
  local words='' files=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{1} {2}' -- "$word"))
    return
  fi
  if [ "$word" = = ]; then
    word=
  elif [ "$previous" = = ]; then
    previous=${{COMP_WORDS[COMP_CWORD-2]}}
    [[ $previous == --* ]] || return
  fi
  case "$command $previous" in
{3}  esac
  [ -n "$words" ] || case "$command" in
{4}  esac
  [ -z "$files" ] || _{0}_files
  COMPREPLY+=($(compgen -W "$words" -- "$word"))
}}
complete -F _{0} {0}
)sh";

}  // namespace

std::string bash_completion(const CLI::App& app) {
  const std::string& name = app.get_name();
  std::string commands;
  std::string behind;
  std::string words;
  for (const CLI::App* command : subcommands_of(app)) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    append_bash_cases(*command, name, behind, words);
  }
  return fmt::format("# bash completion of {0}\n", name) + fmt::format(bash_functions, name) +
         fmt::format(bash_main, name, commands, names_of(options_of(app)), behind, words);
}

std::string zsh_completion(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const CLI::App* command : subcommands_of(app)) {
    commands += fmt::format("    '{}:{}'\n", command->get_name(), zsh_text(command->get_description()));
    cases += fmt::format("    {})\n      _arguments", command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      const std::string type = option->get_type_name();
      if (option->get_lnames().empty()) {
        cases += fmt::format(" \\\n        '1:{}:{}'", zsh_text(option->get_name()), zsh_values(type, app.get_name()));
      } else if (takes_value(*option)) {
        cases += fmt::format(" \\\n        '{}[{}]{}{}:{}'", long_name(*option), zsh_text(option->get_description()),
                             value_is_optional(*option) ? "::" : ":", zsh_text(type), zsh_values(type, app.get_name()));
      } else {
        cases += fmt::format(" \\\n        '{}[{}]'", long_name(*option), zsh_text(option->get_description()));
      }
    }
    cases += "\n      ;;\n";
  }
  const std::string& name = app.get_name();
  return fmt::format(
      "#compdef {0}\n"
      "_{0}_parameters() {{\n"
      "  local -a parameters=(${{(f)\"$({0} platform --format csv 2>/dev/null | sed -n '2,$s/,.*//p')\"}})\n"
      "  compadd -S = -a parameters\n"
      "}}\n"
      "_{0}() {{\n"
      "  local -a commands=(\n{1}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    _arguments {3}\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n{2}  esac\n"
      "}}\n"
      "_{0} \"$@\"\n",
      name, commands, cases, names_of(options_of(app)));
}

}  // namespace c3sim::cli
