// Describes the options of a command as data, from which command line, completion, help, sweeps and Python are made.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/choice.h"

namespace c3sim::study {

// `Said` says how an option is written on the command line.
enum class Said {
  once,         // --bytes 64MiB
  alone,        // --phases
  maybe_alone,  // --prelaunch, which stands for --prelaunch yes; or --prelaunch both
  again,        // --set a=1 --set b=2
  listed,       // --measured a.csv,b.csv
  in_place,     // FILE, without a name
  all_in_place  // FILE ..., any number of files
};

constexpr auto all_names(Said) {
  return sim::names("once", "alone", "maybe_alone", "again", "listed", "in_place", "all_in_place");
}

struct Option {
  std::string name;  // as in Python: "host_threads"; the command line has --host-threads, or HOST_THREADS if in place
  std::string form;  // what its value looks like: "MxNxK"; words of lower case are the values themselves: "rccl|sdma"
  std::string help;
  Said said = Said::once;
  bool required = false;
  std::string alone = {};  // for maybe_alone: the value if none is given

  bool has_name() const { return said != Said::in_place && said != Said::all_in_place; }
  // Returns the option as it is typed and as faults name it: "--host-threads", "FILE".
  std::string typed() const;
};
// Returns the name of an option as it is typed: "--host-threads" for "host_threads".
std::string typed_name(std::string name);

// `Given` maps the name of each option that was given to its texts; the text of an option without a value is "yes".
using Given = std::map<std::string, std::vector<std::string>, std::less<>>;
inline constexpr std::string_view yes = "yes";
// Returns whether the option was given a text that is not empty.
inline bool says(const Given& given, std::string_view option) {
  const auto said = given.find(option);
  return said != given.end() && !said->second.empty() && !said->second.back().empty();
}

// Returns the command line after "c3sim", quoted for a shell: "copy --from gpu0 --to gpu1 --bytes 1MiB".
std::string command_line(std::string_view command, const std::vector<Option>& options, const Given& given);
// Returns a word of a command line, in quotes if a shell needs them.
std::string shell_word(const std::string& word);

}  // namespace c3sim::study
