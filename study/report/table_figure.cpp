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

std::string name_of(std::string key) {
  std::ranges::replace_if(
      key, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return key;
}

// A TableReader evaluates expressions over rows of one table and reads each expression once.
class TableReader {
 public:
  TableReader(const TableFigure& figure, std::span<const Column> columns) : figure_(figure) {
    for (const Column& column : columns) names_.push_back(name_of(column.key));
  }

  std::string word(const std::vector<Cell>& row, std::string_view name) const { return word_of(row[place_of(name)]); }

  double number(const std::vector<Cell>& row, const std::string& expression) {
    try {
      const auto known = expressions_.find(expression);
      const sim::Expression& read =
          known == expressions_.end() ? expressions_.emplace(expression, expression).first->second : known->second;
      const sim::NamedValue value = read.value([&](std::string_view name) { return value_of(row[place_of(name)]); });
      const auto* const amount = std::get_if<sim::Amount>(&value);
      if (amount != nullptr && amount->powers == sim::Amount().powers && std::isfinite(amount->value)) {
        return amount->value;
      }
    } catch (const sim::ExpressionError& error) {
      fail(in_text(expression), error.what());
    }
    fail(expression, "is '" + computed(row, in_text(expression)) + "', no number");
  }

  bool meets(const std::vector<Cell>& row, const TableFigure::Condition& condition) {
    const std::string& sign = condition.sign;
    if (sign == "=" || sign == "!=") {
      const std::string own = word(row, condition.left);
      const auto is_own = [&](const std::string& wanted) {
        if (wanted.ends_with('*')) return own.starts_with(wanted.substr(0, wanted.size() - 1));
        return own == (sim::has_expression(wanted) ? computed(row, wanted) : wanted);
      };
      return std::ranges::any_of(condition.right, is_own) == (sign == "=");
    }
    const double ratio = number(row, fmt::format("({}) / ({})", condition.left, condition.right.front()));
    return (sign.ends_with('=') && ratio == 1.0) || (sign.front() == '<' ? ratio < 1.0 : ratio > 1.0);
  }

 private:
  static std::string in_text(const std::string& expression) { return "$(" + expression + ")"; }
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
  [[noreturn]] void fail(const std::string& expression, const std::string& what) const {
    throw sim::ConfigError({{figure_.place, "", fmt::format("{}: {}", expression, what)}});
  }
  std::string computed(const std::vector<Cell>& row, const std::string& text) const {
    try {
      return sim::replaced(text, [&](std::string_view name) { return value_of(row[place_of(name)]); });
    } catch (const sim::ExpressionError& error) {
      fail(text, error.what());
    }
  }

  const TableFigure& figure_;
  std::vector<std::string> names_;  // of columns, as expressions call them
  std::map<std::string, sim::Expression> expressions_;
};

// What an expression, and the one that it is divided by, give for rows that share their words.
struct Group {
  std::string words;
  Values of, per;
};

Group& group_of(std::vector<Group>& groups, const std::string& words) {
  const auto known = std::ranges::find(groups, words, &Group::words);
  if (known != groups.end()) return *known;
  groups.push_back({words, {}, {}});
  return groups.back();
}

double folded(const TableFigure& figure, const std::vector<Group>& groups) {
  const auto over_groups = [&](Values Group::*values) {
    Values folded;
    for (const Group& group : groups) folded.push_back(figure.fold(group.*values));
    return figure.within.empty() ? folded.front() : figure.fold(folded);
  };
  double value = over_groups(&Group::of);
  if (!figure.per.empty()) value /= over_groups(&Group::per);
  if (!std::isfinite(value)) {
    throw sim::ConfigError(
        {{figure.place, "", "the figure is not finite: a division by zero, or a logarithm of none"}});
  }
  if (figure.then.empty()) return value;
  return TableReader(figure, std::vector<Column>{{"fold", "fold", ""}}).number({value}, figure.then);
}

TableFigure::Condition condition_of(const std::string& text, sim::Section& section) {
  for (const std::string_view sign : {"!=", "<=", ">=", "=", "<", ">"}) {
    const std::size_t at = text.find(sign);
    if (at == std::string::npos) continue;
    TableFigure::Condition condition{std::string(sim::trimmed(text.substr(0, at))), std::string(sign), {}};
    std::istringstream words(text.substr(at + sign.size()));
    for (std::string word; std::getline(words, word, '|');) condition.right.emplace_back(sim::trimmed(word));
    if (!condition.right.empty()) return condition;
  }
  section.fault("where", "'" + text + "' compares no two: =, !=, <, <=, > and >= are accepted");
  return {"", "=", {""}};
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
                     .table = section.text("table", "results"),
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

std::optional<sim::Fault> fault_of(const TableFigure& figure, std::span<const Column> columns) {
  std::vector<Cell> likely;  // numbers that differ, so that their differences divide
  for (std::size_t place = 0; place < columns.size(); ++place) likely.emplace_back(2.0 + static_cast<double>(place));
  const char* key = "by";
  try {
    TableReader reader(figure, columns);
    if (!figure.by.empty()) reader.word(likely, figure.by);
    key = "within";
    for (const std::string& name : figure.within) reader.word(likely, name);
    key = "where";
    for (const TableFigure::Condition& one : figure.where) reader.meets(likely, one);
    key = "of";
    for (const std::string& of : figure.of) reader.number(likely, of);
    key = "per";
    if (!figure.per.empty()) reader.number(likely, figure.per);
  } catch (const sim::ConfigError& error) {
    return sim::Fault{"", key, error.faults().front().what};
  } catch (const std::runtime_error& error) {
    return sim::Fault{"", key, error.what()};
  }
  return {};
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
    std::vector<std::pair<std::string, std::vector<Group>>> sets;  // by word of `by`, in order of appearance
    for (const std::vector<Cell>& row : rows.rows()) {
      const std::string word = figure.by.empty() ? "" : reader.word(row, figure.by);
      auto set = std::ranges::find(sets, word, &std::pair<std::string, std::vector<Group>>::first);
      if (set == sets.end()) set = sets.insert(sets.end(), {word, {}});
      std::string words;
      for (const std::string& name : figure.within) words += reader.word(row, name) + '\n';
      Group& group = group_of(set->second, words);
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
