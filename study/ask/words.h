// Declares the one table of what users can say in questions and in the work of experiments. Its entries are in
// study/ask/words.cpp. The command line, completion, Python, words of
// sweeps, fields of tables, operations of experiments with their JSON schema, and the command that reproduces a row are
// all made from this table: a new option is one entry there, and its use in the model.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "study/ask/arguments.h"
#include "study/ask/questions.h"
#include "study/network/step_question.h"
#include "study/program/operators.h"
#include "study/serve/serve_question.h"

namespace c3sim::study {

enum class Needed {
  never,
  at_points,  // needed for a single answer; without it there are several
  always
};

enum class Whom {
  everybody,
  commands,
  tables,  // tables of measurements
  files    // operations in experiment files
};

template <class Question>
struct Word {
  std::string_view name;
  std::function<Value(Question& question)> of;
  std::string_view help;
  Needed needed = Needed::never;
  Whom whom = Whom::everybody;
  std::string_view in_files = {};  // name in experiment files, if different

  std::string_view key() const { return in_files.empty() ? name : in_files; }
  bool is_of_files() const { return whom == Whom::everybody || whom == Whom::files; }
};

// A NamedKernel is a kernel that goes through arrays, with the name of its operator.
struct NamedKernel {
  std::string name, elements;
  sim::Bytes element = usual_element;
  int workgroups = 0;
};
// Adds faults of the words to `faults`; if there are any, the returned kernel is meaningless.
models::ElementwiseSpec kernel_of(const NamedKernel& asked, std::vector<sim::Fault>& faults);

// KernelWords holds what was said of a kernel before its kind is known.
struct KernelWords {
  models::ElementwiseSpec elementwise{};
  NamedKernel named{};
  models::AttentionShape attention{.kv_heads = 0, .head_dim = 128};
  std::int64_t context = 0;
  bool bidirectional = false;
  models::RemoteKernelSpec remote{};
  std::optional<int> cus{};
  std::optional<Operands> operands{};
};

// Reads "fp8", or formats by part, "weights=fp8,cache=fp8", to which the format of products may be added.
Value dtypes_of(StepQuestion& question);

template <class Question>
using Words = std::vector<Word<Question>>;
const Words<GemmTrial>& words_of(const GemmTrial& question);
const Words<CollectiveTrial>& words_of(const CollectiveTrial& question);
const Words<CopyTrial>& words_of(const CopyTrial& question);
const Words<KernelWords>& words_of(const KernelWords& question);
const Words<C3Trial>& words_of(const C3Trial& question);
const Words<StepWords>& words_of(const StepWords& question);
const Words<ServeQuestion>& words_of(const ServeQuestion& question);  // study/sweep/serve_command.cpp

// Returns the trial that the words ask for; `given` tells which words were said. Adds faults to `faults`, in which
// `where` is an option as in faults_of().
KernelTrial trial_in(const KernelWords& asked, const Given& given, std::vector<sim::Fault>& faults);
const GemmTrial& trial_in(const GemmTrial& asked, const Given& given, std::vector<sim::Fault>& faults);
const StepWords& trial_in(const StepWords& asked, const Given& given, std::vector<sim::Fault>& faults);
template <class Asked>
const Asked& trial_in(const Asked& asked, const Given&, std::vector<sim::Fault>&) {
  return asked;
}
template <class Asked>
auto question_in(const Question<Asked>& asked, const Given& given, std::vector<sim::Fault>& faults) {
  std::vector<std::decay_t<decltype(trial_in(asked.points.front(), given, faults))>> points;
  std::vector<sim::Fault> same;
  for (const Asked& point : asked.points) points.push_back(trial_in(point, given, points.empty() ? faults : same));
  return Question(std::move(points), asked.those_possible);
}

// These words describe work in experiment files.
inline constexpr models::AttentionShape untold_attention{.kv_heads = 0, .keys = 0};  // 0: as many as queries
const Words<models::GemmShape>& words_of(const models::GemmShape& shape);
const Words<models::AttentionShape>& words_of(const models::AttentionShape& shape);
const Words<models::ElementwiseSpec>& words_of(const models::ElementwiseSpec& kernel);
const Words<NamedKernel>& words_of(const NamedKernel& kernel);
const Words<models::RemoteKernelSpec>& words_of(const models::RemoteKernelSpec& kernel);
const Words<models::FusedSpec>& words_of(const models::FusedSpec& fused);  // also for tables of measurements
const Words<models::SdmaPacketList>& words_of(const models::SdmaPacketList& list);
const Words<StoredRange>& words_of(const StoredRange& range);

// Returns the words that commands take, without those of tables or files alone.
template <class Question>
Words<Question> words_said(const Question& question) {
  Words<Question> words = words_of(question);
  std::erase_if(words, [](const Word<Question>& word) { return word.whom >= Whom::tables; });
  return words;
}

template <class Question>
std::vector<Option> options_of() {
  std::vector<Option> options;
  Question question;
  for (const Word<Question>& word : words_said(question)) {
    Value value = word.of(question);
    options.push_back({.name = std::string(word.name),
                       .form = value.form,
                       .help = std::string(word.help),
                       .said = value.said,
                       .required = word.needed == Needed::always,
                       .alone = value.alone});
  }
  return options;
}

// Reads the given words that the platform bounds or, if `platform` is null, all others. If a word names several values,
// the question gets a point for each combination of values, those of later words varying slowest. A word that is needed
// at points and was not given names all its values.
template <class Asked>
void read_words(Question<Asked>& question, const Given& given, Arguments& arguments,
                const models::PlatformSpec* platform) {
  for (const Word<Asked>& word : words_of(Asked{})) {
    const Value value = word.of(question.points.front());
    if (value.of_platform != (platform != nullptr)) continue;
    const auto said = given.find(word.name);
    const bool is_told = said != given.end() && (!said->second.back().empty() || word.needed == Needed::always);
    if (!is_told && !(word.needed == Needed::at_points && value.several)) continue;
    const std::string text(is_told ? said->second.back() : all_that_there_are);
    const std::string typed = typed_name(std::string(word.name));
    std::vector<std::string> texts{text};
    if (value.several) {
      texts = value.several({arguments, typed, text, platform});
      question.those_possible = question.those_possible || text == all_that_there_are;
    }
    std::vector<Asked> points;
    for (const std::string& one : texts) {
      Arguments same;  // holds faults that the first point has reported
      bool first = true;
      for (Asked point : question.points) {
        word.of(point).read({std::exchange(first, false) ? arguments : same, typed, one, platform});
        points.push_back(std::move(point));
      }
    }
    if (!points.empty()) question.points = std::move(points);
  }
}

// Reads a question in which each word names one value.
template <class Asked>
void read_words(Asked& asked, const Given& given, Arguments& arguments, const models::PlatformSpec* platform) {
  Question<Asked> one(asked);
  read_words(one, given, arguments, platform);
  asked = std::move(one.points.front());
}

// Reads the words in a section of a file; words that the section leaves out keep their values.
template <class Question>
void read_words(Question& question, sim::Section section, const models::PlatformSpec& platform) {
  for (const Word<Question>& word : words_of(question)) {
    if (!word.is_of_files() || (word.needed != Needed::always && !section.has(word.key()))) continue;
    const std::string text = fmt::format("{}", fmt::join(section.texts(word.key()), ","));
    if (!section.is_sound(word.key())) continue;
    Arguments arguments;
    word.of(question).read({arguments, word.key(), text, &platform});
    for (const sim::Fault& fault : arguments.faults()) section.fault_value(word.key(), fault.what, fault.is_word);
  }
}

// Returns the words in which `question` and `untold` differ, as files say them: "gemm: 8192x8192x8192, dtype: fp8".
template <class Question>
std::string in_section(Question question, Question untold = {}) {
  std::string text;
  for (const Word<Question>& word : words_of(question)) {
    if (!word.is_of_files()) continue;
    const std::string said = word.of(question).text();
    if (word.needed != Needed::always && said == word.of(untold).text()) continue;
    const bool is_list = said.find(',') != std::string::npos;
    const std::string written = said.empty() ? "false" : said == yes ? "true" : is_list ? "[" + said + "]" : said;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", word.key(), written);
  }
  return text;
}

// Returns all needed words and those in which the question differs from a default one; they read back as the same.
template <class Question>
Given spelled(Question question) {
  Given given;
  Question untold;
  for (const Word<Question>& word : words_said(question)) {
    std::string text = word.of(question).text();
    if (word.needed != Needed::never || text != word.of(untold).text())
      given[std::string(word.name)] = {std::move(text)};
  }
  return given;
}

}  // namespace c3sim::study
