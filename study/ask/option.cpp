#include "study/ask/option.h"

#include <algorithm>
#include <cctype>

namespace c3sim::study {

std::string typed_name(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

std::string Option::typed() const {
  if (has_name()) return typed_name(name);
  std::string text = name;
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string shell_word(const std::string& word) {
  constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + '\'';
}

std::string command_line(std::string_view command, const std::vector<Option>& options, const Given& given) {
  std::string text(command);
  for (const Option& option : options) {
    const auto found = given.find(option.name);
    if (found == given.end()) continue;
    for (const std::string& value : found->second) {
      if (option.has_name()) text += ' ' + option.typed();
      const bool names_itself =
          option.said == Said::alone || (option.said == Said::maybe_alone && value == option.alone);
      if (!names_itself) text += ' ' + shell_word(value);
    }
  }
  return text;
}

}  // namespace c3sim::study
