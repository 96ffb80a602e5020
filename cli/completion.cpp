#include "cli/completion.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "cli/arguments.h"

namespace c3sim::cli {

namespace {

std::string long_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : "--" + option.get_lnames()[0];
}

// "table|csv|json" lists the values themselves: lower-case words. "NAME|FILE" and "MxNxK" say what they are.
std::vector<std::string> values_of(const std::string& type_name) {
  if (type_name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_|") != std::string::npos) return {};
  std::vector<std::string> values;
  for (const std::string_view value : split(type_name, '|')) values.emplace_back(value);
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

std::string zsh_values(const std::string& type_name) {
  const std::vector<std::string> values = values_of(type_name);
  if (!values.empty()) return fmt::format("({})", fmt::join(values, " "));
  return names_a_path(type_name) ? "_files" : " ";
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  std::string commands;
  std::string values;
  std::string options;
  for (const CLI::App* command : subcommands_of(app)) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    options += fmt::format("    {}) words='{}' ;;\n", command->get_name(), names_of(options_of(*command)));
    for (const CLI::Option* option : command->get_options()) {
      const std::string key = option->get_lnames().empty() ? "" : long_name(*option);
      const std::vector<std::string> known = values_of(option->get_type_name());
      if (takes_value(*option) && !known.empty()) {
        const std::string others = value_is_optional(*option) ? ' ' + names_of(options_of(*command)) : "";
        values +=
            fmt::format("    '{} {}') words='{}{}' ;;\n", command->get_name(), key, fmt::join(known, " "), others);
      } else if (takes_value(*option) && !key.empty() && !names_a_path(option->get_type_name())) {
        values += fmt::format("    '{} {}') return ;;\n", command->get_name(), key);
      } else if (takes_value(*option) && !key.empty()) {
        values +=
            fmt::format("    '{} {}') COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", command->get_name(), key);
      }
    }
  }
  const std::string& name = app.get_name();
  return fmt::format(
      "# bash completion of {0}\n"
      "_{0}() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} "
      "words=''\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{1} {2}' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$command $previous\" in\n{3}  esac\n"
      "  [ -n \"$words\" ] || case \"$command\" in\n{4}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  [ \"${{#COMPREPLY[@]}}\" -gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "}}\n"
      "complete -F _{0} {0}\n",
      name, commands, names_of(options_of(app)), values, options);
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
        cases += fmt::format(" \\\n        '1:{}:{}'", zsh_text(option->get_name()), zsh_values(type));
      } else if (takes_value(*option)) {
        cases += fmt::format(" \\\n        '{}[{}]{}{}:{}'", long_name(*option), zsh_text(option->get_description()),
                             value_is_optional(*option) ? "::" : ":", zsh_text(type), zsh_values(type));
      } else {
        cases += fmt::format(" \\\n        '{}[{}]'", long_name(*option), zsh_text(option->get_description()));
      }
    }
    cases += "\n      ;;\n";
  }
  const std::string& name = app.get_name();
  return fmt::format(
      "#compdef {0}\n"
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
