// The answers to the plain questions (study/ask/questions.h) as tables, and what was asked beside them: each word of a
// question as a column, so that rows of several answers can be told apart. The columns are a contract with whoever
// reads CSV or JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "study/ask/questions.h"
#include "study/ask/words.h"
#include "study/report/results.h"
#include "study/uncertainty/fidelity.h"

namespace c3sim::study {

// One row per result. `platform`: the one that was asked. Text shows the phases of a copy only if asked to.
Results to_tables(const Question<C3Trial>& question, const Answer<C3Result>& answer,
                  const models::PlatformSpec& platform);
Results to_tables(const Question<GemmTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform);
Results to_tables(const Question<CollectiveTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform);
Results to_tables(const Question<CopyTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform);
Results to_tables(const Question<KernelTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform);

// How far a result is backed. Kernels, which no row of a platform's `fitted_to` is about, are assumed; what runs at
// once is extrapolated at best, as nothing was fitted to it, whatever it is made of.
Fidelity fidelity_of(const WorkResult& result, const models::PlatformSpec& platform);
Fidelity fidelity_of(const C3Result& result, const models::PlatformSpec& platform);

// A column of times, as programs and as people call it.
struct NamedTime {
  std::string key;
  std::string heading;
};
// Of each time and row its interval, for people in one column and for programs in two; nothing where there are none.
void add_intervals(ResultTable& table, std::span<const Intervals> intervals,
                   const std::vector<NamedTime>& times = {{"time", "time"}});

struct AskedWord {
  std::string name;
  std::string text;
  std::string untold;  // its text where nobody says it
  Cell cell;           // the same as a truth, a number, or a text

  bool is_told() const { return text != untold; }
};

// Of a text in the form that a word has: "COUNT", "NUMBER", or empty of one that is said alone.
Cell cell_of_word(const Value& value, const std::string& text);

template <class Question>
std::vector<AskedWord> asked_words(Question question) {
  Question untold;
  std::vector<AskedWord> asked;
  for (const Word<Question>& word : words_said(question)) {
    const Value value = word.of(question);
    std::string text = value.text();
    Cell cell = cell_of_word(value, text);
    asked.push_back({std::string(word.name), std::move(text), word.of(untold).text(), std::move(cell)});
  }
  return asked;
}

// The table with a column for each word that it has none of, behind the column with that key; of each row the words of
// its own question, all of the same kind. Programs get all of them, people those that all rows share and that were
// told.
ResultTable with_question(const ResultTable& table, const std::vector<std::vector<AskedWord>>& of_rows,
                          std::string_view behind);

// "tp 8, graph": what was told, but for words that are known already.
std::string told_in_words(const std::vector<AskedWord>& asked, const std::vector<std::string_view>& known);

}  // namespace c3sim::study
