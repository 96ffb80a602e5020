// A Value reads a text into a member of a struct and writes the member back as a text, so that it can be an option.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/platform_spec.h"
#include "study/ask/arguments.h"

namespace c3sim::study {

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
