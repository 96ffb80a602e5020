// What was asked, beside the answer: each word of a question as a column of its table, so that rows of several answers
// can be told apart.
#pragma once

#include <string>
#include <vector>

#include "study/ask/words.h"
#include "study/report/result_table.h"

namespace c3sim::study {

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
