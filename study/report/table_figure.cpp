#include "study/report/table_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
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

// Returns the index of the column that an expression calls `name`.
std::size_t place_of(std::string_view name, std::span<const Column> columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(name_of(column.key));
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw std::runtime_error(fmt::format("there is no column '{}'{}", name, sim::name_hint(name, names)));
}

// A NamedRow evaluates expressions over the cells of one row.
class NamedRow {
 public:
  NamedRow(const TableFigure& figure, const ResultTable& table, const std::vector<Cell>& row)
      : figure_(figure), columns_(table.columns()), row_(row) {}

  std::string word(const std::string& name) const { return word_of(row_[place_of(name, columns_)]); }

  double number(const std::string& expression) const {
    const std::string text = computed("$(" + expression + ")");
    const sim::NamedValue value = sim::value_of_text(text);
    const auto* const amount = std::get_if<sim::Amount>(&value);
    if (amount == nullptr || amount->powers != sim::Amount().powers) fail(expression, "is '" + text + "', no number");
    return amount->value;
  }

  bool meets(const TableFigure::Condition& condition) const {
    const std::string& sign = condition.sign;
    if (sign == "=" || sign == "!=") {
      const std::string own = word(condition.left);
      const auto is_own = [&](const std::string& wanted) {
        return wanted.ends_with('*') ? own.starts_with(wanted.substr(0, wanted.size() - 1)) : own == computed(wanted);
      };
      return std::ranges::any_of(condition.right, is_own) == (sign == "=");
    }
    const double ratio = number(fmt::format("({}) / ({})", condition.left, condition.right.front()));
    return (sign.ends_with('=') && ratio == 1.0) || (sign.front() == '<' ? ratio < 1.0 : ratio > 1.0);
  }

 private:
  [[noreturn]] void fail(const std::string& expression, const std::string& what) const {
    throw sim::ConfigError({{figure_.place, "", fmt::format("{}: {}", expression, what)}});
  }
  std::string computed(const std::string& text) const {
    try {
      return sim::replaced(text, [this](std::string_view name) {
        const Cell& cell = row_[place_of(name, columns_)];
        if (const auto* const number = std::get_if<double>(&cell)) return sim::NamedValue(sim::Amount{*number, {}});
        if (const auto* const yes = std::get_if<bool>(&cell)) return sim::NamedValue(sim::Amount{*yes ? 1.0 : 0.0, {}});
        return sim::value_of_text(word_of(cell));
      });
    } catch (const sim::ExpressionError& error) {
      fail(text, error.what());
    }
  }

  const TableFigure& figure_;
  const std::vector<Column>& columns_;
  const std::vector<Cell>& row_;
};

double folded(const TableFigure& figure, const Values& values) {
  const double value = figure.fold(values);
  if (figure.then.empty()) return value;
  ResultTable one({{"fold", "fold", ""}});
  one.add_row({value});
  return NamedRow(figure, one, one.rows().front()).number(figure.then);
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

TableFigure read_table_figure(sim::Section section) {
  TableFigure figure{.place = section.path(),
                     .table = section.text("table", "results"),
                     .of = section.texts("of"),
                     .fold = section.choice<TableFigure::Fold>("fold", folds, folds.front().second),
                     .by = section.text("by", ""),
                     .then = section.text("then", "")};
  if (section.has("where")) {
    for (const std::string& text : section.texts("where")) figure.where.push_back(condition_of(text, section));
  }
  if (section.has("otherwise")) figure.otherwise = section.number("otherwise", -1e9, 1e9);
  return figure;
}

std::string why_no_figure(const TableFigure& figure, std::span<const Column> columns) {
  ResultTable likely({columns.begin(), columns.end()});
  likely.add_row(std::vector<Cell>(columns.size(), Cell(1.0)));
  try {
    const NamedRow row(figure, likely, likely.rows().front());
    if (!figure.by.empty()) row.word(figure.by);
    for (const TableFigure::Condition& one : figure.where) row.meets(one);
    for (const std::string& of : figure.of) row.number(of);
  } catch (const sim::ConfigError& error) {
    return error.faults().front().what;
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

std::vector<double> figure_of(const TableFigure& figure, const ResultTable& table) {
  Values numbers;
  for (const std::string& of : figure.of) {
    std::vector<std::pair<std::string, Values>> groups;  // in order of appearance
    for (const std::vector<Cell>& cells : table.rows()) {
      const NamedRow row(figure, table, cells);
      if (!std::ranges::all_of(figure.where, [&](const auto& one) { return row.meets(one); })) continue;
      const std::string group = figure.by.empty() ? "" : row.word(figure.by);
      auto found = std::ranges::find(groups, group, &std::pair<std::string, Values>::first);
      if (found == groups.end()) found = groups.insert(groups.end(), {group, {}});
      found->second.push_back(row.number(of));
    }
    for (const auto& [group, values] : groups) numbers.push_back(folded(figure, values));
    if (groups.empty() && figure.otherwise) numbers.push_back(*figure.otherwise);
  }
  if (numbers.size() < 2) return numbers;
  return {std::ranges::min(numbers), std::ranges::max(numbers)};
}

}  // namespace c3sim::study
