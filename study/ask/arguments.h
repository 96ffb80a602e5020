// Describes the options of a command as data, from which command line, completion, help, sweeps and Python are made,
// and reads the texts that they were given, whose faults are collected, so that all are reported at once.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/platform/gemm_shape.h"
#include "sim/config/choice.h"
#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "sim/config/nearest_name.h"
#include "sim/units.h"
#include "study/program/operation.h"

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

// Arguments reads option values and collects faults. `option` is the name as the user typed it ("--bytes"), at which a
// fault is reported. A reader that finds a fault records it and returns a harmless value.
class Arguments {
 public:
  static constexpr std::size_t most_points = 1000;  // the most values of a list or range

  models::GemmShape gemm(std::string_view option, std::string_view text);
  sim::Bytes size(std::string_view option, std::string_view text, sim::Limits<sim::Bytes> limits = array_sizes);
  // Reads sizes and ranges, separated by commas, each size kept once. The range "1KiB:2GiB:x2" starts at its first size
  // and multiplies by its whole factor up to its second size.
  std::vector<sim::Bytes> sizes(std::string_view option, std::string_view text);
  // Reads a time from 0 to an hour, such as "100us".
  sim::Time time(std::string_view option, std::string_view text);
  // Returns the quantity in base units. `accepted` spells the limits for people: "0 to 10000000 GB/s".
  double quantity(std::string_view option, std::string_view text, sim::Dimension dimension, sim::Limits<double> limits,
                  std::string_view accepted);
  int integer(std::string_view option, std::string_view text, int low, int high);
  double number(std::string_view option, std::string_view text, double low, double high);
  // Reads whole numbers separated by commas, each kept once.
  std::vector<int> integers(std::string_view option, std::string_view text, int low, int high);
  // Reads "gpu0" or "0", where the number is below `gpus`.
  int gpu(std::string_view option, std::string_view text, int gpus, std::string_view also = "");
  // Reads a GPU or "host", for which it returns models::host_device.
  int device(std::string_view option, std::string_view text, int gpus);

  template <class T>
  T choice(std::string_view option, std::string_view text,
           const std::vector<sim::Choice<T>>& choices = sim::choices_of<T>());
  // Reads names separated by commas; a repeated name is a fault. "all" stands for every choice.
  template <class T>
  std::vector<T> choice_list(std::string_view option, std::string_view text,
                             const std::vector<sim::Choice<T>>& choices = sim::choices_of<T>());

  void fault(std::string_view option, std::string what);
  // Adds the faults of a question, which name options without their dashes, and then calls check().
  void check_with(const std::vector<sim::Fault>& faults_of_question);
  // Throws sim::ConfigError with the faults found so far, if there are any.
  void check() const;
  const std::vector<sim::Fault>& faults() const { return faults_; }

 private:
  // Returns the parts between commas, or none and a fault if there are more than `most_points`.
  std::vector<std::string_view> split_few(std::string_view option, std::string_view text, std::string_view what);
  void append_range(std::string_view option, std::string_view text, std::vector<sim::Bytes>& sizes);

  std::vector<sim::Fault> faults_;
};

// Returns the names of choices as help and completion show them: "table|csv|json".
template <class T>
std::string names_of(const std::vector<sim::Choice<T>>& choices = sim::choices_of<T>()) {
  std::string names;
  for (const auto& choice : choices) names.append(names.empty() ? "" : "|").append(choice.first);
  return names;
}

// Returns the parts between the separators; an empty text has one part, which is empty.
std::vector<std::string_view> split(std::string_view text, char separator);

using sim::in_quotes;

// Returns the values in their order, without repetitions.
template <class T>
std::vector<T> each_once(std::vector<T> values) {
  std::vector<T> once;
  for (T& value : values) {
    if (std::find(once.begin(), once.end(), value) == once.end()) once.push_back(std::move(value));
  }
  return once;
}

template <class T>
T Arguments::choice(std::string_view option, std::string_view text, const std::vector<sim::Choice<T>>& choices) {
  std::vector<std::string> known;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    known.emplace_back(name);
  }
  faults_.push_back({std::string(option), {}, in_quotes(text) + " is not known" + sim::name_hint(text, known), true});
  return choices.front().second;
}

template <class T>
std::vector<T> Arguments::choice_list(std::string_view option, std::string_view text,
                                      const std::vector<sim::Choice<T>>& choices) {
  std::vector<T> chosen;
  if (text == "all") {
    for (const auto& [name, value] : choices) chosen.push_back(value);
    return chosen;
  }
  for (const std::string_view name : split(text, ',')) {
    const std::size_t faults_before = faults_.size();
    const T value = choice(option, name, choices);
    if (faults_.size() > faults_before) continue;
    if (std::find(chosen.begin(), chosen.end(), value) != chosen.end()) {
      fault(option, in_quotes(name) + " is named twice");
    } else {
      chosen.push_back(value);
    }
  }
  return chosen;
}

}  // namespace c3sim::study
