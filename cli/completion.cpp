#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace c3sim::cli {

namespace {

using study::Command;
using study::Option;
using study::Said;

constexpr auto program = "c3sim";
constexpr auto own_options = "--help --version";

std::vector<Option> options_of(const Command& command) {
  return std::vector<Option>{{"help", "", "Print this help message and exit", Said::alone}} + command.options;
}

std::string names_of(const std::vector<Option>& options) {
  std::string names;
  for (const Option& option : options) {
    if (option.has_name()) names += (names.empty() ? "" : " ") + option.typed();
  }
  return names;
}

// "table|csv|json" lists the values themselves: lower-case words. "NAME|FILE" and "MxNxK" say what they are.
std::vector<std::string_view> values_of(const std::string& form) {
  if (form.empty() || form.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_|") != std::string::npos) return {};
  return study::split(form, '|');
}

bool names_a_path(const std::string& form) { return form.find("FILE") != std::string::npos || form == "DIR"; }

// What `c3sim completion` lists of the names that a value may be; empty where there is no such list.
std::string_view names_behind(const Option& option) {
  if (option.form.find("SUITE") != std::string::npos) return "suites";
  if (option.form != "NAME|FILE") return "";
  return option.name == "model" ? "models" : "platforms";
}

// In zsh's single-quoted specifications, where brackets and colons have a meaning.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') result += '\\';
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return result;
}

// "all" among the values stands for a list of them.
bool takes_list(const std::vector<std::string_view>& values) {
  return std::ranges::find(values, "all") != values.end();
}

constexpr auto parameter_assignment = "PATH=VALUE";

std::string zsh_values(const Option& option) {
  const std::string& form = option.form;
  const std::vector<std::string_view> values = values_of(form);
  // Behind a blank an action is called as it is, without the arguments of others.
  if (!names_behind(option).empty()) return fmt::format(" _{}_names {}", program, names_behind(option));
  if (takes_list(values)) return fmt::format("_values -s , value {}", fmt::join(values, " "));
  if (!values.empty()) return fmt::format("({})", fmt::join(values, " "));
  if (form == parameter_assignment) return fmt::format("_{}_parameters", program);
  return names_a_path(form) ? "_files" : " ";
}

// What bash does behind an option, as the body of a case.
std::string bash_action(const Option& option, const std::string& others) {
  const std::vector<std::string_view> values = values_of(option.form);
  if (takes_list(values)) return fmt::format("_{}_list '{}'; return", program, fmt::join(values, " "));
  if (!values.empty()) {
    return fmt::format("words='{}{}'", fmt::join(values, " "), option.said == Said::maybe_alone ? ' ' + others : "");
  }
  if (option.form == parameter_assignment) return fmt::format("_{}_parameters; return", program);
  if (!names_behind(option).empty()) return fmt::format("_{}_names {}; return", program, names_behind(option));
  return names_a_path(option.form) ? fmt::format("_{}_files; return", program) : "return";
}

// The cases of one command: what follows each of its options, and what stands where none is due.
void append_bash_cases(const Command& command, std::string& behind, std::string& words) {
  const std::vector<Option> options = options_of(command);
  const std::string others = names_of(options);
  std::string open = fmt::format("words='{}'", others);
  for (const Option& option : options) {
    if (option.said == Said::alone) continue;
    const std::vector<std::string_view> known = values_of(option.form);
    if (option.has_name()) {
      const auto add = [&](const std::string& name) {
        behind += fmt::format("    '{} {}') {} ;;\n", command.name, name, bash_action(option, others));
      };
      add(option.typed());
      if (!option.also.empty()) add("--" + option.also);
    } else if (!known.empty()) {
      open = fmt::format("words='{} {}'", fmt::join(known, " "), others);
    } else if (names_a_path(option.form)) {
      open += " files=yes";
      if (!names_behind(option).empty()) open += fmt::format(" names={}", names_behind(option));
    }
  }
  words += fmt::format("    {}) {} ;;\n", command.name, open);
}

// One option among the specifications of zsh's _arguments.
std::string zsh_specification(const Option& option) {
  const std::string values = zsh_values(option);
  const bool many = option.said == Said::all_in_place;
  if (!option.has_name()) return fmt::format("{}:{}:{}", many ? "*" : "1", zsh_text(option.typed()), values);
  std::string text = fmt::format("{}[{}]", option.typed(), zsh_text(option.help));
  if (option.said == Said::alone) return text;
  return fmt::format("{}{}{}:{}", text, option.said == Said::maybe_alone ? "::" : ":", zsh_text(option.form), values);
}

// Functions that complete what words of a fixed list cannot. bash takes a word apart at "="; names of files may hold
// blanks, and only readline knows how to quote them. Outside of a completion compopt does not apply.
constexpr auto bash_functions = R"sh(_{0}_files() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}}
_{0}_names() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(
    compgen -W "$("${{COMP_WORDS[0]}}" completion "$1" 2>/dev/null)" -- "$word"
    compgen -f -- "$word"
  )
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
  local words='' files='' names=''
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
  [ -z "$names" ] || _{0}_names "$names"
  COMPREPLY+=($(compgen -W "$words" -- "$word"))
}}
complete -F _{0} {0}
)sh";

}  // namespace

std::string bash_completion(const std::vector<Command>& commands) {
  std::string known;
  std::string behind;
  std::string words;
  for (const Command& command : commands) {
    known += (known.empty() ? "" : " ") + command.name;
    append_bash_cases(command, behind, words);
  }
  return fmt::format("# bash completion of {0}\n", program) + fmt::format(bash_functions, program) +
         fmt::format(bash_main, program, known, own_options, behind, words);
}

std::string zsh_completion(const std::vector<Command>& commands) {
  std::string known;
  std::string cases;
  for (const Command& command : commands) {
    known += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.about));
    cases += fmt::format("    {})\n      _arguments", command.name);
    for (const Option& option : options_of(command)) {
      cases += fmt::format(" \\\n        '{}'", zsh_specification(option));
    }
    cases += "\n      ;;\n";
  }
  return fmt::format(
      "#compdef {0}\n"
      "_{0}_parameters() {{\n"
      "  local -a parameters=(${{(f)\"$({0} platform --format csv 2>/dev/null | sed -n '2,$s/,.*//p')\"}})\n"
      "  compadd -S = -a parameters\n"
      "}}\n"
      "_{0}_names() {{\n"
      "  local -a names=(${{(f)\"$({0} completion $1 2>/dev/null)\"}})\n"
      "  compadd -a names\n"
      "  _files\n"
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
      program, known, cases, own_options);
}

namespace {

// In single quotes, as fish reads them.
std::string fish_text(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + '\'';
}

// What fish offers as the value of an option, or where a name is due.
std::string fish_values(const Option& option) {
  const std::vector<std::string_view> values = values_of(option.form);
  if (!values.empty()) return fmt::format(" -f -a {}", fish_text(fmt::format("{}", fmt::join(values, " "))));
  if (!names_behind(option).empty()) return fmt::format(" -F -a '({} completion {})'", program, names_behind(option));
  return names_a_path(option.form) ? " -F" : " -f";
}

}  // namespace

std::string fish_completion(const std::vector<Command>& commands) {
  std::string script = fmt::format("# fish completion of {}\n", program);
  const auto add = [&script](std::string_view when, const std::string& what) {
    script += fmt::format("complete -c {} -n '{}'{}\n", program, when, what);
  };
  for (const Command& command : commands) {
    add("__fish_use_subcommand", fmt::format(" -f -a {} -d {}", command.name, fish_text(command.about)));
    const std::string behind = "__fish_seen_subcommand_from " + command.name;
    for (const Option& option : options_of(command)) {
      if (!option.has_name()) {
        add(behind, fish_values(option));
      } else {
        const bool has_value = option.said != Said::alone && option.said != Said::maybe_alone;
        add(behind, fmt::format(" -l {}{} -d {}", option.typed().substr(2),
                                has_value ? " -r" + fish_values(option) : " -f", fish_text(option.help)));
      }
    }
  }
  return script;
}

}  // namespace c3sim::cli
