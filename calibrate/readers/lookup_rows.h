// Which row of a table a lookup of a table's form means (calibrate/readers/table_format.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "calibrate/readers/table_format.h"
#include "sim/config/csv_file.h"

namespace c3sim::calibrate {

// Whether a cell is the word, or, where that ends in *, begins like it.
bool is_word(std::string_view cell, std::string_view word);
// Whether a cell is what the word of a condition asks for.
bool is_met(std::string_view cell, std::string_view word);

// The words that each column of a lookup's conditions may have.
using WantedWords = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Goes through a table once for all rows that look something up in it, not once for each of a million. One object
// serves one form, and tables that outlive it.
class LookupRows {
 public:
  using CellOf = std::function<std::string_view(std::size_t row, const std::string& column)>;

  // The first row whose cells are what is wanted; `wanted` are the conditions of the lookup, filled in.
  std::optional<std::size_t> first(const sim::CsvFile& table, const Lookup& lookup, const WantedWords& wanted,
                                   const CellOf& cell_of);

 private:
  using FirstRows = std::unordered_map<std::string, std::size_t>;
  static FirstRows rows_of(const sim::CsvFile& table, const Lookup& lookup, const WantedWords& wanted,
                           const CellOf& cell_of);

  std::map<const Lookup*, FirstRows> known_;
};

}  // namespace c3sim::calibrate
