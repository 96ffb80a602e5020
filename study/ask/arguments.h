// Describes the options of a command as data, from which command line, completion, help, sweeps and Python are made,
// and reads the texts that they were given, whose faults are collected, so that all are reported at once. A Value reads
// such a text into a member of a struct and writes the member back as a text.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/platform/platform_spec.h"
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
    if (std::ranges::count(once, value) == 0) once.push_back(std::move(value));
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
    if (std::ranges::count(chosen, value) > 0) {
      fault(option, in_quotes(name) + " is named twice");
    } else {
      chosen.push_back(value);
    }
  }
  return chosen;
}

struct Reading {
  Arguments& arguments;     // collect the faults
  std::string_view option;  // as typed; faults name it
  std::string_view text;
  const models::PlatformSpec* platform{};  // bounds numbers; null: the bounds of all platforms
};

struct Value {
  std::string form;  // Option::form
  std::function<void(const Reading&)> read;
  std::function<std::string()> text;  // reads back as the same value; empty if there is nothing to say
  Said said = Said::once;
  std::string alone = {};     // Option::alone
  bool of_platform = false;   // whether a platform bounds it
  std::string accepted = {};  // what is accepted if it is missing: "1B to 1TiB are accepted"; empty if the form says so
  std::string schema = {};    // JSON schema for files; empty if it follows from the form
  // Returns the texts of all values that one text names, each to be read by itself; null if a text names one value.
  std::function<std::vector<std::string>(const Reading&)> several = {};
};
inline constexpr std::string_view all_that_there_are = "all";

// `Highest` bounds a whole number from above: by what the platform has, by models::most_channels if no platform is
// given, or by the same number everywhere.
struct Highest {
  Highest(int most) : elsewhere(most) {}
  Highest(int (*has)(const models::PlatformSpec&)) : of(has) {}
  int on(const models::PlatformSpec* platform) const { return of && platform ? of(*platform) : elsewhere; }

  int (*of)(const models::PlatformSpec& platform) = nullptr;
  int elsewhere = models::most_channels;
};
inline constexpr int any_count = models::most_channels;
int all_cus(const models::PlatformSpec& platform);
int all_gpus_of(const models::PlatformSpec& platform);
int last_engine(const models::PlatformSpec& platform);

Value value_of(models::GemmShape& shape);
Value value_of(sim::Bytes& size, sim::Limits<sim::Bytes> limits = array_sizes);
Value value_of_each(sim::Bytes& size);  // also takes lists and ranges
Value value_of(sim::Time& time);
// Returns "10s" or "500ms" if the time is a whole number of these units, or else a number of microseconds.
std::string time_text(sim::Time time);
Value value_of(bool& flag);
Value word_of(std::string& word, std::string form);
Value device_of(int& device);
Value gpu_of(int& gpu);  // a device other than the host: "gpu0", or "0"
Value devices_of(std::vector<int>& devices);
Value number_of(double& number, double low, double high);
Value number_of(sim::Flops& number, double low, double high);
Value whole_of(int& number, int low, Highest high);
Value whole_of(std::int64_t& number, int low, Highest high);
Value count_of(std::optional<int>& count, int low, Highest high, std::string form = "COUNT");
Value count_of_each(std::optional<int>& count, int low, Highest high);

namespace detail {
template <class T>
std::string name_of(const std::optional<T>& value, const std::vector<sim::Choice<T>>& choices) {
  const auto found = std::ranges::find(choices, value, &sim::Choice<T>::second);
  return found == choices.end() ? "" : std::string(found->first);
}
// `Place` is a T or an optional T.
template <class Place, class T>
Value chosen(Place& value, const std::vector<sim::Choice<T>>& choices) {
  return {names_of(choices),
          [&value, choices](const Reading& in) { value = in.arguments.choice(in.option, in.text, choices); },
          [&value, choices] { return name_of<T>(value, choices); }};
}
}  // namespace detail

template <class T>
Value value_of(T& value, const std::vector<sim::Choice<T>>& choices = sim::choices_of<T>()) {
  return detail::chosen(value, choices);
}
template <class T>
Value value_of(std::optional<T>& value, const std::vector<sim::Choice<T>>& choices = sim::choices_of<T>()) {
  return detail::chosen(value, choices);
}

// Takes several choices, each read by itself; "all" stands for every choice.
template <class T>
Value value_of_each(T& value) {
  Value each = value_of(value);
  each.form.append("|").append(all_that_there_are);
  each.several = [](const Reading& in) {
    std::vector<std::string> names;
    for (const T& one : in.arguments.choice_list<T>(in.option, in.text))
      names.push_back(detail::name_of<T>(one, sim::choices_of<T>()));
    return names;
  };
  return each;
}

}  // namespace c3sim::study
