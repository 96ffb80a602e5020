// The one table of what the plain questions can be told (study/ask/words.cpp). The command line, completion, Python,
// the words of sweeps and the command that reproduces a row all follow from it: a new option is a line there, and its
// use in the model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "study/ask/option.h"
#include "study/ask/questions.h"
#include "study/ask/value.h"
#include "study/serve/serve_question.h"
#include "study/step/step_question.h"

namespace c3sim::study {

enum class Needed {
  never,
  at_points,  // where one answer is wanted: without it there are several
  always
};

template <class Question>
struct Word {
  std::string_view name;
  Value (*of)(Question& question);
  std::string_view help;
  Needed needed = Needed::never;
  std::string_view also = {};
};

// What is said of a kernel, before it is known which kind it is of.
struct KernelWords {
  std::string read, write, flops;
  std::string operator_name, elements, element;
  models::AttentionShape attention{.kv_heads = 0, .head_dim = 128};
  std::int64_t context = 0;
  bool bidirectional = false;
  std::string gpu, peers, bytes, access = "store";
  std::vector<int> cus;
};

// What is said of a step, before its model has been read.
struct StepWords {
  StepQuestion question;
  std::string model;
};

template <class Question>
using Words = std::vector<Word<Question>>;
const Words<GemmQuestion>& words_of(const GemmQuestion& question);
const Words<CollectiveQuestion>& words_of(const CollectiveQuestion& question);
const Words<CopyQuestion>& words_of(const CopyQuestion& question);
const Words<KernelWords>& words_of(const KernelWords& question);
const Words<C3Question>& words_of(const C3Question& question);
const Words<StepWords>& words_of(const StepWords& question);
const Words<ServeQuestion>& words_of(const ServeQuestion& question);  // study/ask/serve_command.cpp

template <class Question>
std::vector<Option> options_of() {
  std::vector<Option> options;
  Question question;
  for (const Word<Question>& word : words_of(question)) {
    Value value = word.of(question);
    options.push_back({.name = std::string(word.name),
                       .form = value.form,
                       .help = std::string(word.help),
                       .said = value.said,
                       .required = word.needed == Needed::always,
                       .alone = value.alone,
                       .also = std::string(word.also),
                       .otherwise = value.otherwise});
  }
  return options;
}

// Reads what was given of the words whose bounds are those of `platform`, or, without one, of the others.
template <class Question>
void read_words(Question& question, const Given& given, Arguments& arguments, const models::PlatformSpec* platform) {
  for (const Word<Question>& word : words_of(question)) {
    const auto said = given.find(word.name);
    if (said == given.end() || (said->second.back().empty() && word.needed != Needed::always)) continue;
    const Value value = word.of(question);
    if (value.of_platform != (platform != nullptr)) continue;
    const std::string typed = Option{.name = std::string(word.name), .form = {}, .help = {}}.typed();
    value.read({arguments, typed, said->second.back(), platform});
  }
}

// What is said of the question beyond what it is unless told: what reads back as the same.
template <class Question>
Given spelled(Question question) {
  Given given;
  Question untold;
  for (const Word<Question>& word : words_of(question)) {
    std::string text = word.of(question).text();
    if (word.needed != Needed::never || text != word.of(untold).text())
      given[std::string(word.name)] = {std::move(text)};
  }
  return given;
}

}  // namespace c3sim::study
