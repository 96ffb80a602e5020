// Turns the answers to the plain questions (study/ask/questions.h) into tables, and adds each word of a question to a
// table as a column, so that rows of several answers can be told apart. Programs that read CSV or JSON rely on the keys
// of the columns. Says how certain an answer is by asking the question of other machines: of all draws of what the
// platform may be, for intervals, and of machines at both ends of each parameter's range, for sensitivities.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "study/ask/questions.h"
#include "study/ask/words.h"
#include "study/play/platform_file.h"
#include "study/report/results.h"
#include "study/uncertainty/ensemble.h"
#include "study/uncertainty/fidelity.h"

namespace c3sim::study {

// Return a table with one row per result of `platform`. Text shows the phases of a copy only if the question does.
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

// Returns how far measurements back a result. Concurrent work is `extrapolated` at best, since nothing was fitted to
// it.
Fidelity fidelity_of(const WorkResult& result, const models::PlatformSpec& platform);
Fidelity fidelity_of(const C3Result& result, const models::PlatformSpec& platform);

// A NamedTime names a column of times: `key` is for programs, `heading` for people.
struct NamedTime {
  std::string key;
  std::string heading;
};
// Adds the interval of each time in each row: one column for people, two for programs; adds none if there are none.
void add_intervals(ResultTable& table, std::span<const Intervals> intervals,
                   const std::vector<NamedTime>& times = {{"time", "time"}});

// Adds the intervals of the results' times, and the ensemble's warnings, to an answer of the platform itself.
// Strategies that search (c3_rp and the like for CUs to reserve, c3_best for a strategy) search anew on every machine.
// Results that the platform was not fitted to get intervals at least as wide as its validation error. Uses `jobs`
// threads, or one per core if `jobs` is 0; the intervals do not depend on it.
template <class Result>
void add_intervals(Answer<Result>& answer, const Ensemble& ensemble, const models::PlatformSpec& platform,
                   const Progress& progress = {}, int jobs = 0);

// Asks a machine for the same answer again. Several threads call it at once, each with its own testbed.
using Again = std::function<Results(Testbed& testbed)>;

// Returns how much a quantity changes in each row at both ends of the range of each parameter that was assumed, fitted
// or probed; parameters that move it most come first, and those that move nothing visibly are counted. `quantity` is
// the key of a column that has a number in all rows of a table of the answer. Fractions change by points, without rows
// of strategy serial, and other quantities by percent. Throws sim::ConfigError if there is no such column.
NamedTable sensitivity_of(const std::string& quantity, const Platform& platform, const Again& ask,
                          const Progress& progress = {});

struct AskedWord {
  std::string name;
  std::string text;
  std::string untold;  // the text if the question does not say the word
  Cell cell;           // `text` as a truth value, a number or a text

  bool is_told() const { return text != untold; }
};

// Returns the text of a word as a cell: a truth value for a word without a value, a number for "COUNT" and "NUMBER".
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

// Returns the table with a column for each word that it lacks, after the column with the key `behind`. `of_rows` holds
// the words of each row's question; all questions are of one kind. Programs get all of these columns, and people those
// with a word that was said, and said alike, for all rows.
ResultTable with_question(ResultTable table, const std::vector<std::vector<AskedWord>>& of_rows,
                          std::string_view behind);

// Returns the words that were said, except those in `known`: "tp 8, graph".
std::string told_in_words(const std::vector<AskedWord>& asked, const std::vector<std::string_view>& known);

}  // namespace c3sim::study
