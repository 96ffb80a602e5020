#include "calibrate/readers/lookup_rows.h"

#include <algorithm>

#include "sim/config/config_text.h"

namespace c3sim::calibrate {

namespace {

constexpr char between_cells = '\x1f';  // no cell holds it

bool compares(std::string_view cell, std::string_view word, std::string_view number) {
  const sim::Parsed<double> left = sim::parse_number(cell);
  const sim::Parsed<double> right = sim::parse_number(number);
  if (!left.error.empty() || !right.error.empty()) return false;
  if (left.value == right.value) return word.substr(1).starts_with('=');
  return word.starts_with('<') ? left.value < right.value : left.value > right.value;
}

bool is_one_plain_word(const WantedWords::value_type& wanted) {
  const std::vector<std::string>& words = wanted.second;
  return words.size() == 1 && !words.front().ends_with('*') && !compared_with(words.front());
}

bool has_one_word(const Condition& condition) { return condition.words.size() == 1; }
// The same for every row that looks up.
bool is_constant(const Condition& condition) { return condition.words.front().holes().empty(); }

}  // namespace

bool is_word(std::string_view cell, std::string_view word) {
  return word.ends_with('*') ? cell.starts_with(word.substr(0, word.size() - 1)) : cell == word;
}

bool is_met(std::string_view cell, std::string_view word) {
  const std::optional<std::string_view> number = compared_with(word);
  return number ? compares(cell, word, *number) : is_word(cell, word);
}

// By the cells that differ from one who looks up to the next; of rows alone that have the others.
LookupRows::FirstRows LookupRows::rows_of(const sim::CsvFile& table, const Lookup& lookup, const WantedWords& wanted,
                                          const CellOf& cell_of) {
  FirstRows rows;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::string cells;
    bool is_meant = true;
    for (std::size_t i = 0; i < wanted.size() && is_meant; ++i) {
      const std::string_view cell = cell_of(row, wanted[i].first);
      if (is_constant(lookup.where[i])) {
        is_meant = cell == wanted[i].second.front();
      } else {
        cells.append(cell) += between_cells;
      }
    }
    if (is_meant) rows.try_emplace(std::move(cells), row);
  }
  return rows;
}

std::optional<std::size_t> LookupRows::first(const sim::CsvFile& table, const Lookup& lookup, const WantedWords& wanted,
                                             const CellOf& cell_of) {
  if (std::ranges::any_of(wanted, [](const auto& condition) { return condition.second.empty(); })) return {};
  if (std::ranges::all_of(wanted, is_one_plain_word) && std::ranges::all_of(lookup.where, has_one_word)) {
    auto known = known_.find(&lookup);
    if (known == known_.end()) known = known_.emplace(&lookup, rows_of(table, lookup, wanted, cell_of)).first;
    std::string cells;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!is_constant(lookup.where[i])) cells.append(wanted[i].second.front()) += between_cells;
    }
    const auto found = known->second.find(cells);
    return found == known->second.end() ? std::nullopt : std::optional(found->second);
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const bool is_it = std::ranges::all_of(wanted, [&](const auto& condition) {
      const std::string_view cell = cell_of(row, condition.first);
      return std::ranges::any_of(condition.second, [&](const std::string& word) { return is_met(cell, word); });
    });
    if (is_it) return row;
  }
  return {};
}

}  // namespace c3sim::calibrate
