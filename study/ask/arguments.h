// Reads the texts of command-line arguments and gathers what is wrong with them, so that all faults are told at once.
#pragma once

#include <algorithm>
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

// `option` is the name that the person typed ("--bytes"): the place of the fault. A reader that finds one records it
// and returns something harmless.
class Arguments {
 public:
  static constexpr std::size_t most_points = 1000;  // of a list or range

  models::GemmShape gemm(std::string_view option, std::string_view text);
  sim::Bytes size(std::string_view option, std::string_view text, sim::Limits<sim::Bytes> limits = array_sizes);
  // Sizes and ranges of them, separated by commas, each once: "1KiB:2GiB:x2" starts at the first and multiplies by the
  // (whole) factor up to the second.
  std::vector<sim::Bytes> sizes(std::string_view option, std::string_view text);
  // "100us", from 0 to an hour.
  sim::Time time(std::string_view option, std::string_view text);
  // In base units, of which `accepted` spells those that are, for people: "0 to 10000000 GB/s".
  double quantity(std::string_view option, std::string_view text, sim::Dimension dimension, sim::Limits<double> limits,
                  std::string_view accepted);
  int integer(std::string_view option, std::string_view text, int low, int high);
  double number(std::string_view option, std::string_view text, double low, double high);
  // Whole numbers separated by commas, each once.
  std::vector<int> integers(std::string_view option, std::string_view text, int low, int high);
  // "gpu0", or "0", up to the last of `gpus`.
  int gpu(std::string_view option, std::string_view text, int gpus, std::string_view also = "");
  // A GPU, or "host" (models::host_device).
  int device(std::string_view option, std::string_view text, int gpus);

  template <class T>
  T choice(std::string_view option, std::string_view text,
           const std::vector<sim::Choice<T>>& choices = sim::choices_of<T>());
  // Names separated by commas, each once; "all" stands for all of them.
  template <class T>
  std::vector<T> choice_list(std::string_view option, std::string_view text,
                             const std::vector<sim::Choice<T>>& choices = sim::choices_of<T>());

  // The values of a list without those that stand before them, too; of which the answer's warnings are to tell by what
  // `text_of` calls them.
  template <class T, class TextOf>
  std::vector<T> each_once(std::string_view option, std::vector<T> values, const TextOf& text_of);
  const std::vector<std::string>& warnings() const { return warnings_; }

  void fault(std::string_view option, std::string what);
  // Faults of a question, which name options without their dashes; throws what has been found so far, if anything.
  void check_with(const std::vector<sim::Fault>& faults_of_question);
  // Throws sim::ConfigError with the faults found so far, if there are any.
  void check() const;
  const std::vector<sim::Fault>& faults() const { return faults_; }

 private:
  // The parts between commas; none where they are too many.
  std::vector<std::string_view> split_few(std::string_view option, std::string_view text, std::string_view what);
  void append_range(std::string_view option, std::string_view text, std::vector<sim::Bytes>& sizes);
  void warn_of_repeated(std::string_view option, const std::vector<std::string>& texts);

  std::vector<sim::Fault> faults_;
  std::vector<std::string> warnings_;
};

// The names of choices as help and completion show them: "table|csv|json".
template <class T>
std::string names_of(const std::vector<sim::Choice<T>>& choices = sim::choices_of<T>()) {
  std::string names;
  for (const auto& choice : choices) names.append(names.empty() ? "" : "|").append(choice.first);
  return names;
}

// The parts between the separators; an empty text has one, empty part.
std::vector<std::string_view> split(std::string_view text, char separator);

using sim::in_quotes;

template <class T, class TextOf>
std::vector<T> Arguments::each_once(std::string_view option, std::vector<T> values, const TextOf& text_of) {
  std::vector<T> once;
  std::vector<std::string> repeated;
  for (T& value : values) {
    if (std::find(once.begin(), once.end(), value) == once.end()) {
      once.push_back(std::move(value));
    } else if (std::string text = text_of(value); std::find(repeated.begin(), repeated.end(), text) == repeated.end()) {
      repeated.push_back(std::move(text));
    }
  }
  if (!repeated.empty()) warn_of_repeated(option, repeated);
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
