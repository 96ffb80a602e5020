#include "study/ask/question_columns.h"

#include <algorithm>
#include <utility>

#include "sim/check.h"
#include "sim/config/config_text.h"

namespace c3sim::study {

Cell cell_of_word(const Value& value, const std::string& text) {
  if (value.said == Said::alone) return text == yes;
  if (text.empty()) return {};
  if (value.form == "COUNT") {
    if (const sim::Parsed<std::int64_t> count = sim::parse_integer(text); count.ok()) return count.value;
  }
  if (value.form == "NUMBER") {
    if (const sim::Parsed<double> number = sim::parse_number(text); number.ok()) return number.value;
  }
  return text;
}

ResultTable with_question(const ResultTable& table, const std::vector<std::vector<AskedWord>>& of_rows,
                          std::string_view behind) {
  SIM_CHECK(of_rows.size() == table.rows().size());
  if (of_rows.empty()) return table;
  const std::vector<Column>& known = table.columns();
  std::vector<std::size_t> words;
  std::vector<Column> columns;
  for (std::size_t w = 0; w < of_rows.front().size(); ++w) {
    const AskedWord& first = of_rows.front()[w];
    if (std::ranges::count(known, first.name, &Column::key) > 0) continue;
    const bool shared = std::ranges::all_of(of_rows, [&](const auto& asked) { return asked[w].text == first.text; });
    words.push_back(w);
    columns.push_back({first.name, first.name, "", 3, shared && first.is_told()});
  }
  const auto found = std::ranges::find(known, behind, &Column::key);
  const std::ptrdiff_t place = found == known.end() ? 0 : found - known.begin() + 1;
  std::vector<Column> all = known;
  all.insert(all.begin() + place, columns.begin(), columns.end());
  ResultTable result(std::move(all));
  for (std::size_t r = 0; r < of_rows.size(); ++r) {
    std::vector<Cell> asked;
    for (const std::size_t w : words) asked.push_back(of_rows[r][w].cell);
    std::vector<Cell> cells = table.rows()[r];
    cells.insert(cells.begin() + place, asked.begin(), asked.end());
    result.add_row(std::move(cells));
  }
  return result;
}

std::string told_in_words(const std::vector<AskedWord>& asked, const std::vector<std::string_view>& known) {
  std::string text;
  for (const AskedWord& word : asked) {
    if (!word.is_told() || std::ranges::count(known, word.name) > 0) continue;
    const bool alone = std::holds_alternative<bool>(word.cell);
    text += (text.empty() ? "" : ", ") + word.name + (alone ? "" : " " + word.text);
  }
  return text;
}

}  // namespace c3sim::study
