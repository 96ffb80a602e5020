#include "study/report/table_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "sim/config/config_text.h"
#include "sim/config/nearest_name.h"

namespace c3sim::study {

namespace {

using ColumnFigure = TableSummary::ColumnFigure;

// Reports why columns have no such figure; `key` is where the file has what it is of.
void check(const TableFigure& figure, std::span<const Column> columns, sim::Section& section, std::string_view key) {
  if (columns.empty() || !section.is_sound(key)) return;  // a fault elsewhere left no columns
  for (const sim::Fault& fault : faults_of(figure, columns))
    section.fault(fault.path == "of" ? key : std::string_view(fault.path), fault.what);
}

void check_name(const std::string& name, std::span<const Column> columns, sim::Section& section, std::string_view key) {
  if (columns.empty() || std::ranges::count(columns, name, &Column::key) > 0) return;
  section.fault(key, fmt::format("'{}' is no column{}", name, sim::name_hint(name, columns, &Column::key)));
}

// Returns the columns that figures of the next column may name: those of the summarized table, then earlier ones that
// have figures, as what is published stands beside them in the end.
std::vector<Column> known_to(const TableSummary& summary, std::span<const Column> of) {
  std::vector<Column> known(of.begin(), of.end());
  if (of.empty()) return known;  // a fault elsewhere left no columns
  for (std::size_t c = 0; c < summary.figures.size(); ++c) {
    if (!summary.figures[c].is_none()) known.push_back(summary.columns[summary.words() + c]);
  }
  return known;
}

void read_column(sim::Section section, std::span<const Column> source, TableSummary& summary) {
  const std::vector<Column> of = known_to(summary, source);
  const std::string key = section.text("key");
  if (std::ranges::count(summary.columns, key, &Column::key) > 0) {
    section.fault("key", "a column '" + key + "' of this summary is there already");
  }
  Column& column = summary.columns.emplace_back();
  column.key = key;
  std::string heading = column.key;
  std::ranges::replace(heading, '_', ' ');
  column.heading = section.text("heading", heading);
  column.unit = section.text("unit", "");
  column.decimals = static_cast<int>(section.integer("decimals", 0, 9, 2));
  ColumnFigure& figure = summary.figures.emplace_back();
  using OfRow = ColumnFigure::OfRow;
  constexpr std::array<std::pair<std::string_view, OfRow>, 2> ends{
      {{"least", OfRow::least}, {"greatest", OfRow::greatest}}};
  figure.of_row = section.choice<OfRow>("row", ends, OfRow::no);
  if (figure.of_row != OfRow::no && section.has("by")) {
    figure.figure.by = section.text("by");
    check_name(figure.figure.by, of, section, "by");
  }
  if (section.has("nearest")) {
    figure.nearest = section.texts("nearest");
    for (const std::string& name : figure.nearest) check_name(name, of, section, "nearest");
    if (figure.nearest.empty()) section.fault("nearest", "at least one column is needed");
    figure.shows = section.text("shows");
    if (section.has("shows")) check_name(figure.shows, of, section, "shows");
    return;
  }
  if (section.has("word")) {
    figure.word = section.text("word");
    check_name(figure.word, of, section, "word");
    figure.figure = {.place = section.path(), .where = read_conditions(section), .of = {section.text("least")}};
    return check(figure.figure, of, section, "least");
  }
  if (figure.of_row != OfRow::no || !section.has("of")) return;
  figure.figure = read_table_figure(section);
  check(figure.figure, of, section, "of");
  if (!section.has("words")) return;
  figure.words = section.texts("words");
  figure.bounds = section.texts("bounds");
  for (const std::string& bound : figure.bounds) {
    for (const sim::Fault& fault : faults_of({.of = {bound}}, {}))
      section.fault("bounds", fault.what + "; bounds are numbers");
  }
  if (figure.bounds.size() + 1 == figure.words.size()) return;
  section.fault("bounds", "between two words a bound is needed: one fewer than words");
  figure.words.clear();
}

// Reads what an entry says of the columns without a figure.
void read_published(sim::Section& entry, TableSummary& summary) {
  TableSummary::PublishedFigure figure;
  for (std::size_t c = 0; c < summary.columns.size(); ++c) {
    const std::string& key = summary.columns[c].key;
    if (!entry.has(key)) continue;
    if (c < summary.words()) figure.words.emplace_back(c, entry.text(key));
    if (c < summary.words() || !summary.figures[c - summary.words()].is_none()) continue;
    figure.column = c;
    figure.value = entry.text(key);
    check({.of = {figure.value}}, summary.columns, entry, key);
    summary.published.push_back(figure);
  }
}

void read_rows(sim::Section& section, std::span<const Column> of, TableSummary& summary) {
  for (sim::Section row : section.list("rows")) {
    TableSummary::Row& one = summary.rows.emplace_back();
    for (std::size_t c = 0; c < summary.words(); ++c) one.words.push_back(row.text(summary.columns[c].key));
    if (row.has("of")) {
      one.figure = read_table_figure(row);
    } else {
      one.figure = {.place = row.path(), .where = read_conditions(row)};
    }
    check(one.figure, of, row, row.has("of") ? "of" : "where");
    read_published(row, summary);
  }
}

TableSummary::Bars read_bars(sim::Section section, std::span<const Column> columns) {
  TableSummary::Bars bars;
  bars.chart.id = section.name("id");
  bars.chart.title = section.text("title");
  bars.chart.value_axis = section.text("axis");
  bars.chart.decimals = static_cast<int>(section.integer("decimals", 0, 9, 0));
  bars.chart.caption = section.text("caption", "");
  if (section.has("levels")) {
    sim::Section levels = section.section("levels");
    for (const std::string& name : levels.keys()) bars.chart.levels.push_back({name, levels.number(name, -1e9, 1e9)});
  }
  bars.columns = section.texts("bars");
  for (const std::string& key : bars.columns) check_name(key, columns, section, "bars");
  bars.rows = {.place = section.path(), .where = read_conditions(section)};
  check(bars.rows, columns, section, "where");
  return bars;
}

TableSummary read_summary(sim::Section section, std::span<const Column> of) {
  TableSummary summary{.key = section.name("key"),
                       .title = section.text("title", ""),
                       .of = section.text("of", ""),
                       .in_text = section.flag("in_text", true)};
  for (const std::string& name : section.texts("by")) {
    const auto known = std::ranges::find(of, name, &Column::key);
    summary.columns.push_back(known == of.end() ? Column{name, name, ""} : *known);
    if (!section.has("rows")) check_name(name, of, section, "by");
  }
  for (sim::Section column : section.list("columns")) {
    read_column(column, of, summary);
    if (column.has("row") && !section.has("rows"))
      column.fault("row", "shows figures that rows have of their own: the summary needs rows");
  }
  if (section.has("rows")) read_rows(section, of, summary);
  if (section.has("published")) {
    for (sim::Section entry : section.list("published")) read_published(entry, summary);
  }
  if (!summary.published.empty()) section.text("source");  // for people; figures without a source are a fault
  if (section.has("charts")) {
    for (const sim::Section& chart : section.list("charts"))
      summary.charts.push_back(read_bars(chart, summary.columns));
  }
  return summary;
}

// A Set is the rows of the summarized table that one row of the summary is about.
struct Set {
  std::vector<Cell> words;
  ResultTable rows;
  TableFigure figure{};  // of the row itself
};

std::vector<Set> sets_of(const TableSummary& summary, const ResultTable& table) {
  std::vector<Set> sets;
  for (const TableSummary::Row& row : summary.rows) {
    sets.push_back(
        {std::vector<Cell>(row.words.begin(), row.words.end()), rows_that_meet(row.figure, table), row.figure});
  }
  if (!summary.rows.empty()) return sets;
  std::map<std::string, std::size_t> known;  // places of sets by their words
  for (const std::vector<Cell>& row : table.rows()) {
    std::vector<Cell> words;
    std::string joined;
    for (std::size_t c = 0; c < summary.words(); ++c) {
      words.push_back(row[place_of(table.columns(), summary.columns[c].key)]);
      joined += word_of(words.back()) + '\n';
    }
    const auto [set, is_new] = known.try_emplace(joined, sets.size());
    if (is_new) sets.push_back({words, ResultTable(table.columns())});
    sets[set->second].rows.add_row(row);
  }
  return sets;
}

// Returns the number that an expression gives for a row.
double number_of_row(const std::string& expression, const std::string& place, const std::vector<Column>& columns,
                     const std::vector<Cell>& row) {
  ResultTable one(columns);
  one.add_row(row);
  constexpr auto only = [](const std::vector<double>& values) { return values.front(); };
  return figure_of({.place = place, .of = {expression}, .fold = only}, one).front();
}

// Returns what `number` returns, or why it cannot be computed: one figure must not cost the answer.
template <class Number>
Cell number_or_reason(const Number& number) {
  try {
    return number();
  } catch (const sim::ConfigError& error) {
    return NoNumber{error.faults().front().what};
  }
}

// Returns the word of the row in which the figure is least.
Cell word_at_least(const ColumnFigure& column, const ResultTable& rows) {
  const ResultTable met = rows_that_meet(column.figure, rows);
  const auto number = [&](const std::vector<Cell>& row) {
    return number_of_row(column.figure.of.front(), column.figure.place, met.columns(), row);
  };
  const auto least = std::ranges::min_element(met.rows(), {}, number);
  return least == met.rows().end() ? Cell() : (*least)[place_of(met.columns(), column.word)];
}

Cell cell_of(const ColumnFigure& column, const Set& set) {
  if (!column.word.empty()) return word_at_least(column, set.rows);
  TableFigure figure = column.of_row == ColumnFigure::OfRow::no ? column.figure : set.figure;
  if (!column.figure.by.empty()) figure.by = column.figure.by;
  const std::vector<double> numbers = figure.of.empty() ? std::vector<double>() : figure_of(figure, set.rows);
  if (numbers.empty()) return {};
  const double number = column.of_row == ColumnFigure::OfRow::greatest ? numbers.back() : numbers.front();
  if (column.words.empty()) return number;
  const auto is_above = [&](const std::string& bound) { return number > number_of_row(bound, figure.place, {}, {}); };
  return column.words[static_cast<std::size_t>(std::ranges::count_if(column.bounds, is_above))];
}

// Returns the number in a column that all of a row's cells agree in, which may be a label; NaN where there is none.
double number_in(const Set& set, const std::string& column) {
  if (set.rows.rows().empty()) return std::nan("");
  const Cell& cell = set.rows.rows().front()[place_of(set.rows.columns(), column)];
  const sim::Parsed<double> label = sim::parse_number(word_of(cell));
  return number_of(cell).value_or(label.error.empty() ? label.value : std::nan(""));
}

// Returns the sum of squared logarithms of the ratios of two rows' numbers; NaN where one has no such number.
double distance(const ColumnFigure& column, const Set& one, const Set& other) {
  double sum = 0.0;
  for (const std::string& name : column.nearest) {
    const double ratio = std::log(number_in(one, name) / number_in(other, name));
    sum += ratio * ratio;
  }
  return sum;
}

// Returns what the nearest other row shows.
Cell cell_of_nearest(const ColumnFigure& column, const Set& own, const std::vector<Set>& sets) {
  const Set* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Set& other : sets) {
    const double away = distance(column, own, other);
    if (&other == &own || !(away < least)) continue;
    nearest = &other;
    least = away;
  }
  return nearest == nullptr ? Cell() : nearest->rows.rows().front()[place_of(nearest->rows.columns(), column.shows)];
}

// Adds a cell of the summary to its rows, where later figures find it.
void add_to_rows(Set& set, const Column& column, const Cell& cell) {
  set.rows.add_column(column, std::vector<Cell>(set.rows.rows().size(), cell));
}

std::vector<std::vector<Cell>> rows_of(const TableSummary& summary, std::vector<Set> sets) {
  std::vector<std::vector<Cell>> rows;
  for (const Set& set : sets) rows.push_back(set.words);
  for (std::size_t c = 0; c < summary.figures.size(); ++c) {
    const ColumnFigure& column = summary.figures[c];
    for (std::size_t r = 0; r < sets.size(); ++r) {
      rows[r].push_back(number_or_reason(
          [&] { return column.nearest.empty() ? cell_of(column, sets[r]) : cell_of_nearest(column, sets[r], sets); }));
    }
    for (std::size_t r = 0; r < sets.size(); ++r) {
      add_to_rows(sets[r], summary.columns[summary.words() + c], rows[r].back());
    }
  }
  return rows;
}

bool is_of(const TableSummary::PublishedFigure& figure, const std::vector<Cell>& row) {
  return std::ranges::all_of(figure.words,
                             [&row](const auto& word) { return word_of(row[word.first]) == word.second; });
}

// Sets what is published of a row, which is not empty.
void add_published(const TableSummary& summary, std::vector<Cell>& row) {
  for (const TableSummary::PublishedFigure& figure : summary.published) {
    if (!is_of(figure, row)) continue;
    row[figure.column] = number_or_reason(
        [&]() -> Cell { return number_of_row(figure.value, summary.key + ".published", summary.columns, row); });
  }
}

// Makes the numbers of a column whole if all of them are, as counts are.
void make_whole(std::vector<std::vector<Cell>>& rows, std::size_t place) {
  constexpr double largest = 0x1p53;  // up to here a double holds every whole number
  const auto is_fraction = [place](const std::vector<Cell>& row) {
    const auto* const number = std::get_if<double>(&row[place]);
    return number != nullptr && (*number != std::floor(*number) || std::abs(*number) > largest);
  };
  if (std::ranges::any_of(rows, is_fraction)) return;
  for (std::vector<Cell>& row : rows) {
    if (const auto* const number = std::get_if<double>(&row[place])) row[place] = static_cast<std::int64_t>(*number);
  }
}

BarChart chart_of(const TableSummary& summary, const TableSummary::Bars& bars, const ResultTable& table) {
  BarChart chart = bars.chart;
  const auto number = [&table](const std::vector<Cell>& row, const std::string& key) {
    const std::size_t place = place_of(table.columns(), key);
    return place < row.size() ? number_of(row[place]) : std::nullopt;
  };
  for (const std::string& key : bars.columns) {
    chart.series.push_back(table.columns()[place_of(table.columns(), key)].heading);
  }
  const ResultTable shown = rows_that_meet(bars.rows, table);
  for (const std::vector<Cell>& row : shown.rows()) {
    Bar bar;
    for (std::size_t c = 0; c < summary.words(); ++c) bar.label += (c == 0 ? "" : " ") + word_of(row[c]);
    for (const std::string& key : bars.columns) {
      bar.values.push_back(number(row, key));
      const std::optional<double> low = number(row, "published_" + key);
      const std::optional<double> high = number(row, "published_" + key + "_to");
      bar.published.push_back(low ? std::optional(Published{*low, high.value_or(*low)}) : std::nullopt);
    }
    const auto is_drawn = [](const std::optional<double>& value) { return value.has_value(); };
    if (std::ranges::any_of(bar.values, is_drawn)) chart.bars.push_back(std::move(bar));
  }
  return chart;
}

}  // namespace

std::vector<TableSummary> read_summaries(sim::Section& section, std::span<const Column> columns,
                                         std::span<const std::string_view> taken) {
  std::vector<TableSummary> summaries;
  if (!section.has("summaries")) return summaries;
  for (sim::Section one : section.list("summaries")) {
    const std::string of = one.text("of", "");
    const auto known = of.empty() ? summaries.end() : std::ranges::find(summaries, of, &TableSummary::key);
    const bool is_unknown = !of.empty() && known == summaries.end();
    if (is_unknown) {
      one.fault("of", fmt::format("no summary before this one is named '{}'{}", of,
                                  sim::name_hint(of, summaries, &TableSummary::key)));
    }
    const std::span<const Column> own = is_unknown                 ? std::span<const Column>()
                                        : known == summaries.end() ? columns
                                                                   : std::span<const Column>(known->columns);
    TableSummary summary = read_summary(one, own);
    if (std::ranges::count(summaries, summary.key, &TableSummary::key) > 0) {
      one.fault("key", "a summary '" + summary.key + "' is there already");
    }
    if (std::ranges::count(taken, summary.key) > 0) {
      one.fault("key", "'" + summary.key + "' is what the answer has anyway: another key is accepted");
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::vector<NamedTable> summarized(std::span<const TableSummary> summaries, const ResultTable& results) {
  std::vector<NamedTable> tables;
  for (const TableSummary& summary : summaries) {
    const auto of = summary.of.empty() ? tables.end() : std::ranges::find(tables, summary.of, &NamedTable::key);
    ResultTable table(summary.columns);
    const std::vector<Set> sets = sets_of(summary, of == tables.end() ? results : of->table);
    std::vector<std::vector<Cell>> rows = rows_of(summary, sets);
    for (std::size_t r = 0; r < sets.size(); ++r) {
      // Published figures stand beside predicted ones alone.
      if (!sets[r].rows.rows().empty()) add_published(summary, rows[r]);
    }
    for (std::size_t place = summary.words(); place < summary.columns.size(); ++place) make_whole(rows, place);
    for (std::vector<Cell>& row : rows) table.add_row(std::move(row));
    std::vector<Chart> charts;
    for (const TableSummary::Bars& bars : summary.charts) charts.emplace_back(chart_of(summary, bars, table));
    constexpr std::size_t longest_text = 1000;  // rows
    const bool in_text = summary.in_text && table.rows().size() <= longest_text;
    tables.push_back({summary.key, summary.title, std::move(table), in_text, std::move(charts)});
  }
  return tables;
}

std::vector<std::string> published_of_no_row(std::span<const TableSummary> summaries,
                                             std::span<const NamedTable> tables) {
  std::vector<std::string> sentences;
  for (const TableSummary& summary : summaries) {
    const ResultTable& table = std::ranges::find(tables, summary.key, &NamedTable::key)->table;
    for (const TableSummary::PublishedFigure& figure : summary.published) {
      const auto is_beside = [&figure](const std::vector<Cell>& row) { return is_of(figure, row); };
      if (figure.words.empty() || std::ranges::any_of(table.rows(), is_beside)) continue;
      std::vector<std::string> words;
      for (const auto& [column, word] : figure.words)
        words.push_back(fmt::format("{} {}", summary.columns[column].key, word));
      std::string sentence = fmt::format("What is published of {} is not shown: the summary {} has no such row.",
                                         fmt::join(words, ", "), summary.key);
      if (sentences.empty() || sentences.back() != sentence) sentences.push_back(std::move(sentence));
    }
  }
  return sentences;
}

}  // namespace c3sim::study
