// Helpers that read steps from words of a command line, ask them and read the answers.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "study/ask/words.h"
#include "study/program/layer_templates.h"
#include "study/step/step.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {

inline const models::PlatformSpec& mi300x_spec() {
  static const Platform platform = mi300x();
  return platform.spec;
}
inline const models::PlatformSpec& h200_spec() {
  static const Platform platform = h200();
  return platform.spec;
}
inline const LayerTemplates& layer_templates() {
  static const LayerTemplates templates(folders);
  return templates;
}
inline StepMachine step_machine(const models::PlatformSpec& platform = mi300x_spec()) {
  return {platform, layer_templates()};
}

inline StepMemory memory_of(const StepQuestion& question) { return memory_of(question, layer_templates()); }
// Returns the weights of a model, all of which one GPU has.
inline double parameters_of(const ModelSpec& model) {
  StepQuestion whole;
  whole.model = model;
  double sum = elements_of(end_weights(whole, layer_templates()));
  for (const LayerGroup& group : whole.groups()) {
    const auto layers = static_cast<double>(group.layers);
    sum += layers * elements_of(tensors_of_layer(group.question, layer_templates(), "weights"));
  }
  return sum;
}

// Returns the options of a command line without quotes.
inline Given given_in(const std::string& command) {
  Given given;
  std::istringstream words(command);
  std::string name;
  for (std::string word; words >> word;) {
    if (word.starts_with("--")) {
      name = word.substr(2);
      std::ranges::replace(name, '-', '_');
      given[name] = {std::string(yes)};
    } else if (!name.empty()) {
      given[name] = {word};
    }
  }
  return given;
}

// Returns the step, changed by options of `c3sim step`.
inline StepQuestion changed(StepQuestion question, const std::string& options) {
  StepWords words{std::move(question), {}};
  Arguments arguments;
  read_words(words, given_in(options), arguments, nullptr);
  arguments.check();
  if (!words.model_name.empty()) words.model = read_model(words.model_name, folders);
  return words;
}

// Returns the step that `c3sim step --graph` asks with these options.
inline StepQuestion step_of(const std::string& options) {
  StepQuestion question;
  question.graph = true;
  return changed(std::move(question), options);
}

inline StepResult ask_on(const models::PlatformSpec& platform, const StepQuestion& question,
                         std::int64_t simulated = simulated_layers) {
  return ask(step_machine(platform), question, {}, simulated);
}
inline StepResult ask_mi300x(const StepQuestion& question, std::int64_t simulated = simulated_layers) {
  return ask_on(mi300x_spec(), question, simulated);
}

// Returns the faults of a step, each with its place: "tp: ...".
inline std::vector<std::string> faults_on(const models::PlatformSpec& platform, const StepQuestion& question) {
  std::vector<std::string> sentences;
  for (const sim::Fault& fault : faults_of(question, step_machine(platform)))
    sentences.push_back(fault.where + ": " + fault.what);
  return sentences;
}

inline double in_us(sim::Time time) { return sim::to_microseconds(time); }
inline double us_of(const StepResult& result, Kind kind) { return in_us(result.time_of(kind)); }
inline double us_on_mi300x(const StepQuestion& question) { return in_us(ask_mi300x(question).time); }

}  // namespace c3sim::study
