#include "cli/subcommand.h"

#include <string>
#include <utility>
#include <vector>

namespace c3sim::cli {

namespace {

using study::Option;
using study::Said;

std::string names_of(const Option& option) { return option.typed() + (option.also.empty() ? "" : ",--" + option.also); }

CLI::Option& add_option(CLI::App& command, const Option& option, study::Given& given) {
  const auto one = [&given, name = option.name](const std::string& text) { given[name] = {text}; };
  const auto several = [&given, name = option.name](const std::vector<std::string>& texts) { given[name] = texts; };
  const std::string names = names_of(option);
  switch (option.said) {
    case Said::alone:
      return *command.add_flag_callback(
          names, [one] { one(std::string(study::yes)); }, option.help);
    case Said::maybe_alone:
      return *command.add_option_function<std::string>(names, one, option.help)
                  ->expected(0, 1)
                  ->default_str(option.alone);
    case Said::again:
      return *command.add_option_function<std::vector<std::string>>(names, several, option.help)
                  ->allow_extra_args(false);
    case Said::listed:
      return *command.add_option_function<std::vector<std::string>>(names, several, option.help)->delimiter(',');
    case Said::all_in_place:
      return *command.add_option_function<std::vector<std::string>>(names, several, option.help);
    case Said::once:
    case Said::in_place:
      break;
  }
  CLI::Option& added = *command.add_option_function<std::string>(names, one, option.help);
  if (!option.otherwise.empty()) added.default_str(option.otherwise);
  return added;
}

}  // namespace

void add_subcommand(CLI::App& app, const study::Command& command, study::Given& given) {
  CLI::App& subcommand = *app.add_subcommand(command.name, command.about);
  subcommand.footer(command.notes);
  for (const Option& option : command.options) {
    CLI::Option& added = add_option(subcommand, option, given);
    if (option.said != Said::alone) added.type_name(option.form);
    added.required(option.required);
  }
}

}  // namespace c3sim::cli
