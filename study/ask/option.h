// What a command can be told, as data: the command line, its completion and help, sweeps and Python are made from it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/choice.h"

namespace c3sim::study {

// How an option is said on the command line.
enum class Said {
  once,         // --bytes 64MiB
  alone,        // --phases
  maybe_alone,  // --prelaunch, which stands for --prelaunch yes; or --prelaunch both
  again,        // --set a=1 --set b=2
  listed,       // --measured a.csv,b.csv
  in_place,     // FILE, without a name
  all_in_place  // FILE ..., as many as there are
};

constexpr auto all_names(Said) {
  return sim::names("once", "alone", "maybe_alone", "again", "listed", "in_place", "all_in_place");
}

struct Option {
  std::string name;  // in Python: "host_threads"; on the command line --host-threads, or by its place HOST_THREADS
  std::string form;  // what its value looks like: "MxNxK"; words of lower case are the values themselves: "rccl|sdma"
  std::string help;
  Said said = Said::once;
  bool required = false;
  std::string alone = {};  // the value of maybe_alone where none is given
  std::string also = {};   // a second name

  bool has_name() const { return said != Said::in_place && said != Said::all_in_place; }
  // As it is typed, and as faults name it: "--host-threads", "FILE".
  std::string typed() const;
};
// The same of an option with a name.
std::string typed_name(std::string name);

// What was said: by the name of the option its texts, "yes" of what is said alone.
using Given = std::map<std::string, std::vector<std::string>, std::less<>>;
inline constexpr std::string_view yes = "yes";

// The command line that says it, behind "c3sim", as a shell reads it: "copy --from gpu0 --to gpu1 --bytes 1MiB".
std::string command_line(std::string_view command, const std::vector<Option>& options, const Given& given);
// A word of a command line, in quotes where a shell asks for them.
std::string shell_word(const std::string& word);

}  // namespace c3sim::study
