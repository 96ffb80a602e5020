#include "cli/completion.h"

#include <algorithm>

#include "sim/config/config_error.h"
#include "study/run/platform_file.h"
#include "study/step/model_spec.h"
#include "study/work/config_folders.h"
#include "validate/ask/commands.h"

namespace c3sim::cli {

namespace {

using study::Command;
using study::Option;
using study::Said;
using Words = std::vector<std::string>;

// "table|csv|json" lists the values themselves: lower-case words. "NAME|FILE" and "MxNxK" say what they are.
std::vector<std::string_view> values_of(const std::string& form) {
  if (form.empty() || form.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_|") != std::string::npos) return {};
  return study::split(form, '|');
}

// Every parameter that the platform of the command line has, ready for its value.
Words parameters_of(const Words& line) {
  const auto option = std::ranges::find(line, "--platform");
  const std::string platform = option == line.end() || option + 1 == line.end() ? "mi300x" : *(option + 1);
  Words words;
  try {
    const std::vector<std::filesystem::path> folders = study::config_folders();
    const auto file = study::find_platform(platform, "--platform", folders);
    for (const sim::Parameter& parameter : study::read_platform(file, {}, folders).parameters) {
      words.push_back(parameter.path + '=');
    }
  } catch (const sim::ConfigError&) {  // the command itself will say what is wrong with the platform
  }
  return words;
}

// What the value of an option may be. Behind a comma a list of values goes on.
Words values_of(const Option& option, const Words& line) {
  if (option.form == "PATH=VALUE") return parameters_of(line);
  if (option.form.find("SUITE") != std::string::npos) return validate::suite_names();
  if (option.form == "NAME|FILE") {
    const std::vector<std::filesystem::path> folders = study::config_folders();
    return option.name == "model" ? study::model_names(folders) : study::platform_names(folders);
  }
  const std::vector<std::string_view> values = values_of(option.form);
  // "all" among the values stands for a list of them.
  const bool is_list = std::ranges::find(values, "all") != values.end();
  const std::string& current = line.back();
  const std::string before = is_list ? current.substr(0, current.rfind(',') + 1) : "";
  Words words;
  for (const std::string_view value : values) words.push_back(before + std::string(value));
  return words;
}

Words words_of_command(const Command& command, const Words& line) {
  std::vector<Option> options = command.options;
  options.push_back({"help", "", "", Said::alone});
  const std::string& previous = line[line.size() - 2];
  Words words;
  for (const Option& option : options) {
    const bool is_previous = previous == option.typed() || (!option.also.empty() && previous == "--" + option.also);
    if (!option.has_name() || option.said == Said::alone || !is_previous) continue;
    words = values_of(option, line);
    if (option.said != Said::maybe_alone) return words;
  }
  for (const Option& option : options) {
    const Words more = option.has_name() ? Words{option.typed()} : values_of(option, line);
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

}  // namespace

std::string offered_words(const std::vector<Command>& commands, std::string_view line) {
  // "--format=j" is "--format j".
  Words typed{""};
  for (const char c : line) {
    const bool is_equals = c == '=' && typed.back().starts_with("--");
    if (c != ' ' && !is_equals) {
      typed.back() += c;
    } else if (!typed.back().empty()) {
      typed.emplace_back();
    }
  }
  Words words;
  if (typed.size() == 2) {
    for (const Command& command : commands) words.push_back(command.name);
    words.insert(words.end(), {"--help", "--version"});
  } else if (typed.size() > 2) {
    const auto command = std::ranges::find(commands, typed[1], &Command::name);
    if (command != commands.end()) words = words_of_command(*command, typed);
  }
  std::string text;
  for (const std::string& word : words) {
    if (word.starts_with(typed.back())) text += word + '\n';
  }
  return text;
}

// Behind "=" bash replaces what follows it; a parameter's value and a list go on behind the word. Names of files may
// hold blanks, and only readline knows how to quote them: bash completes them where nothing else is offered.
std::string bash_completion() {
  return R"sh(# bash completion of c3sim
_c3sim() {
  mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" completion words --line "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  [[ ${COMPREPLY[0]} == *= || ${COMPREPLY[0]} == *,* ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o bashdefault -o default -F _c3sim c3sim
)sh";
}

std::string zsh_completion() {
  return R"sh(#compdef c3sim
_c3sim() {
  local -a offered=(${(f)"$(c3sim completion words --line "${(j: :)words[1,CURRENT]}" 2>/dev/null)"})
  compadd -- ${offered:#*=}
  compadd -S '' -- ${(M)offered:#*=}
  _files
}
_c3sim "$@"
)sh";
}

std::string fish_completion() {
  return R"sh(# fish completion of c3sim
complete -c c3sim -a '(c3sim completion words --line (commandline -cp | string collect))'
)sh";
}

}  // namespace c3sim::cli
