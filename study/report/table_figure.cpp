#include "study/report/table_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>
#include <string_view>

#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "sim/config/expression.h"
#include "sim/config/nearest_name.h"
#include "study/report/statistics.h"

namespace c3sim::study {

namespace {

using Values = std::vector<double>;  // must not be empty

double sum(const Values& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

double geomean(const Values& values) {
  double logs = 0.0;
  for (const double value : values) logs += std::log(value);
  return std::exp(logs / static_cast<double>(values.size()));
}

constexpr std::array<std::pair<std::string_view, TableFigure::Fold>, 9> folds{
    {{"one", [](const Values& values) { return values.front(); }},
     {"max", [](const Values& values) { return std::ranges::max(values); }},
     {"min", [](const Values& values) { return std::ranges::min(values); }},
     {"sum", sum},
     {"growth", [](const Values& values) { return values.back() - values.front(); }},
     {"count", [](const Values& values) { return static_cast<double>(values.size()); }},
     {"mean", [](const Values& values) { return mean(values); }},
     {"median", [](const Values& values) { return median(values); }},
     {"geomean", geomean}}};

// A TableReader evaluates expressions over rows of one table and reads each expression once.
class TableReader {
 public:
  TableReader(const TableFigure& figure, std::span<const Column> columns) : figure_(figure) {
    for (const Column& column : columns) names_.push_back(sim::underscored(column.key));
  }

  std::string word(const std::vector<Cell>& row, std::string_view name) const {
    try {
      return word_of(row[place_of(name)]);
    } catch (const std::runtime_error& unknown) {
      fail(unknown.what());
    }
  }

  double number(const std::vector<Cell>& row, const std::string& expression) {
    try {
      const sim::Expression& read = expressions_.try_emplace(expression, expression).first->second;
      const sim::Amount amount = read.amount([&](std::string_view name) { return value_of(row[place_of(name)]); });
      if (amount.powers == sim::Powers{} && std::isfinite(amount.value)) return amount.value;
    } catch (const sim::ExpressionError& error) {
      fail(sim::in_quotes(expression) + ": " + error.what());
    }
    fail(sim::in_quotes(expression) + " is no finite number without a unit");
  }

  bool meets(const std::vector<Cell>& row, const TableFigure::Condition& condition) {
    if (condition.sign.empty()) return number(row, condition.left) != 0.0;
    const std::string own = word(row, condition.left);
    const auto is_own = [&](const std::string& wanted) {
      if (wanted.ends_with('*')) return own.starts_with(wanted.substr(0, wanted.size() - 1));
      return own == (sim::has_expression(wanted) ? computed(row, wanted) : wanted);
    };
    return std::ranges::any_of(condition.right, is_own) == (condition.sign == "=");
  }

 private:
  static sim::NamedValue value_of(const Cell& cell) {
    if (const auto* const number = std::get_if<double>(&cell)) return sim::Amount{*number, {}};
    if (const auto* const yes = std::get_if<bool>(&cell)) return sim::Amount{*yes ? 1.0 : 0.0, {}};
    return sim::value_of_text(word_of(cell));
  }

  // Returns the index of the column that an expression calls `name`.
  std::size_t place_of(std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
    throw std::runtime_error(fmt::format("there is no column '{}'{}", name, sim::name_hint(name, names_)));
  }
  [[noreturn]] void fail(const std::string& what) const { throw sim::ConfigError({{figure_.place, "", what}}); }
  std::string computed(const std::vector<Cell>& row, const std::string& text) const {
    try {
      return sim::replaced(text, [&](std::string_view name) { return value_of(row[place_of(name)]); });
    } catch (const sim::ExpressionError& error) {
      fail(sim::in_quotes(text) + ": " + error.what());
    }
  }

  const TableFigure& figure_;
  std::vector<std::string> names_;  // of columns, as expressions call them
  std::map<std::string, sim::Expression> expressions_;
};

// Returns what belongs to these words, which come in the order of their appearance.
template <class Named>
auto& at_words(std::vector<Named>& all, const std::string& words) {
  const auto known = std::ranges::find(all, words, &Named::first);
  return known == all.end() ? all.emplace_back(words, typename Named::second_type()).second : known->second;
}

// What an expression, and the one that it is divided by, give for rows that share their words.
struct Group {
  Values of, per;
};
using Groups = std::vector<std::pair<std::string, Group>>;

// Returns what `then` makes of a folded value.
double then_of(const TableFigure& figure, double value) {
  if (figure.then.empty()) return value;
  return TableReader(figure, std::vector<Column>{{"fold", "fold", ""}}).number({value}, figure.then);
}

double folded(const TableFigure& figure, const Groups& groups) {
  const auto over_groups = [&](Values Group::*values) {
    Values folded;
    for (const auto& [words, group] : groups) folded.push_back(figure.fold(group.*values));
    return figure.within.empty() ? folded.front() : figure.fold(folded);
  };
  double value = over_groups(&Group::of);
  if (!figure.per.empty()) value /= over_groups(&Group::per);
  if (!std::isfinite(value)) {
    throw sim::ConfigError(
        {{figure.place, "", "the figure is not finite: a division by zero, or a logarithm of none"}});
  }
  return then_of(figure, value);
}

TableFigure::Condition condition_of(const std::string& text, sim::Section& section) {
  const std::size_t at = std::min(text.find_first_of("!=<>"), text.size());
  const std::string sign = text.substr(at, text.substr(at).starts_with('!') ? 2 : 1);
  if (sign == "<" || sign == ">") return {text, "", {}};
  const std::string right = text.substr(at + sign.size());
  const auto has = [&right](std::string_view other) { return right.find(other) != std::string::npos; };
  const bool is_more = right.starts_with('=') || std::ranges::any_of(std::array{" = ", " != ", "<", ">"}, has);
  TableFigure::Condition condition{std::string(sim::trimmed(text.substr(0, at))), sign, {}};
  std::istringstream words(right);
  for (std::string word; std::getline(words, word, '|');) condition.right.emplace_back(sim::trimmed(word));
  const bool is_of_words = (sign == "=" || sign == "!=") && !condition.right.empty();
  if (is_of_words && (!is_more || sim::has_expression(right))) return condition;
  section.fault("where", sim::in_quotes(text) +
                             " is no condition: COLUMN = WORD, COLUMN != WORD, or numbers with <, <=, > "
                             "or >= are accepted, and a list of several that all hold");
  return {"1", "", {}};
}

}  // namespace

std::vector<TableFigure::Condition> read_conditions(sim::Section& section) {
  std::vector<TableFigure::Condition> conditions;
  if (!section.has("where")) return conditions;
  for (const std::string& text : section.texts("where")) conditions.push_back(condition_of(text, section));
  return conditions;
}

TableFigure read_table_figure(sim::Section section) {
  TableFigure figure{.place = section.path(),
                     .of = section.texts("of"),
                     .per = section.text("per", ""),
                     .fold = section.choice<TableFigure::Fold>("fold", folds, folds.front().second),
                     .by = section.text("by", ""),
                     .then = section.text("then", "")};
  if (section.has("within")) figure.within = section.texts("within");
  figure.where = read_conditions(section);
  if (section.has("otherwise")) figure.otherwise = section.number("otherwise", -1e9, 1e9);
  return figure;
}

std::vector<sim::Fault> faults_of(const TableFigure& figure, std::span<const Column> columns) {
  constexpr double likely = 2.7;
  std::vector<Cell> row;  // numbers that differ, so that their differences divide
  for (std::size_t place = 0; place < columns.size(); ++place) row.emplace_back(likely + static_cast<double>(place));
  TableReader reader(figure, columns);
  std::vector<sim::Fault> faults;
  const auto check = [&faults](const char* key, const auto& read) {
    try {
      read();
    } catch (const sim::ConfigError& error) {
      faults.push_back({"", key, error.faults().front().what});
    }
  };
  if (!figure.by.empty()) check("by", [&] { reader.word(row, figure.by); });
  for (const std::string& name : figure.within) check("within", [&] { reader.word(row, name); });
  for (const TableFigure::Condition& one : figure.where) check("where", [&] { reader.meets(row, one); });
  for (const std::string& of : figure.of) check("of", [&] { reader.number(row, of); });
  if (!figure.per.empty()) check("per", [&] { reader.number(row, figure.per); });
  check("then", [&] { then_of(figure, likely); });
  return faults;
}

ResultTable rows_that_meet(const TableFigure& figure, const ResultTable& table) {
  TableReader reader(figure, table.columns());
  ResultTable rows(table.columns());
  for (const std::vector<Cell>& row : table.rows()) {
    if (std::ranges::all_of(figure.where, [&](const auto& one) { return reader.meets(row, one); })) rows.add_row(row);
  }
  return rows;
}

std::vector<double> figure_of(const TableFigure& figure, const ResultTable& table) {
  TableReader reader(figure, table.columns());
  const ResultTable rows = rows_that_meet(figure, table);
  Values numbers;
  for (const std::string& of : figure.of) {
    std::vector<std::pair<std::string, Groups>> sets;  // by word of `by`
    for (const std::vector<Cell>& row : rows.rows()) {
      std::string words;
      for (const std::string& name : figure.within) words += reader.word(row, name) + '\n';
      Group& group = at_words(at_words(sets, figure.by.empty() ? "" : reader.word(row, figure.by)), words);
      group.of.push_back(reader.number(row, of));
      if (!figure.per.empty()) group.per.push_back(reader.number(row, figure.per));
    }
    for (const auto& [word, groups] : sets) numbers.push_back(folded(figure, groups));
    if (sets.empty() && figure.otherwise) numbers.push_back(*figure.otherwise);
  }
  if (numbers.size() < 2) return numbers;
  return {std::ranges::min(numbers), std::ranges::max(numbers)};
}

}  // namespace c3sim::study
