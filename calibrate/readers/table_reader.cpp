#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <stdexcept>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "calibrate/readers/table_format.h"
#include "calibrate/readers/trial_fields.h"
#include "sim/config/config_text.h"
#include "sim/config/expression.h"
#include "sim/config/nearest_name.h"
#include "sim/interruption.h"
#include "study/report/statistics.h"

namespace c3sim::calibrate {

namespace {

// Returns the part of a cell that a fault quotes, since a cell may have any length.
std::string shortened(std::string_view word) {
  constexpr std::size_t most = 40;
  return std::string(word.substr(0, most)) + (word.size() > most ? "..." : "");
}

// Returns the hint for a word: the nearest known word, or else all known words and comparisons.
std::string hint_of(std::string_view word, const std::vector<std::string>& known) {
  std::vector<std::string> names = known;
  std::erase_if(names, [](const std::string& one) { return compared_with(one).has_value(); });
  if (!sim::nearest_name(word, names).empty()) return sim::name_hint(word, names);
  return fmt::format("; known are: {}", fmt::join(known, ", "));
}

// Returns the text with `cell_of` in place of every column, or nothing if a cell is empty.
template <class CellOf>
std::optional<std::string> expand(const Template& form, const CellOf& cell_of) {
  std::string result;
  std::size_t at = 0;
  for (const Template::Hole& hole : form.holes()) {
    result += form.text().substr(at, hole.begin - at);
    const std::optional<std::string_view> cell = cell_of(hole.column);
    if (!cell || says_nothing(*cell) || !cell->starts_with(hole.prefix)) return {};
    result += cell->substr(hole.prefix.size());
    at = hole.end;
  }
  return result + form.text().substr(at);
}

// The numbers of tiles and of repetitions are no figures, but have bounds like them.
constexpr study::FigureForm tiles_of_a_gemm{{}, "", "", sim::Dimension::number, "", 1.0, 1.0, 1e9};
constexpr study::FigureForm repetitions{{}, "", "", sim::Dimension::number, "", 1.0, 1.0, 1e9};

// A RowReader reads a table row by row, and a wide row cell by cell.
class RowReader {
 public:
  RowReader(const sim::CsvFile& file, const TableFormat& format, const OtherTables& others, bool measured_only,
            Reading& reading)
      : file_(file), format_(format), others_(others), measured_only_(measured_only), reading_(reading) {}

  void read(std::size_t row) {
    row_ = row;
    faults_before_row_ = reading_.faults.size();
    found_.clear();
    if (format_.each.empty()) return read_cell();
    for (const auto& [column, label] : format_.each) {
      if (!file_.has(column)) continue;
      found_.clear();
      wide_column_ = &column;
      label_ = &label;
      read_cell();
    }
  }

 private:
  void read_cell() {
    for (const RowFormat& form : format_.rows) {
      if (met(form.where) < form.where.size()) continue;
      if (form.leave_out.empty()) return read_as(form);
      return leave_out(form.leave_out);
    }
    const std::size_t before = reading_.faults.size();
    tell_odd_word();
    reading_.odd_rows += reading_.faults.size() - before;
  }

  bool meets(const Condition& condition) const {
    const std::optional<std::string_view> here = cell(condition.column);
    return here && std::ranges::any_of(condition.words, [&](const Template& form) {
             if (form.holes().empty()) return is_met(*here, form.text());
             const std::optional<std::string> word = expand_own(form);
             return word && is_met(*here, *word);
           });
  }
  // Returns how many conditions are met before the first one that is not.
  std::size_t met(std::span<const Condition> conditions) const {
    const auto unmet = std::ranges::find_if(conditions, [this](const Condition& one) { return !meets(one); });
    return static_cast<std::size_t>(unmet - conditions.begin());
  }

  std::optional<std::string_view> cell(const std::string& column) const {
    if (label_ != nullptr && column == "column") return *label_;
    if (label_ != nullptr && column == "cell") return file_.text(row_, *wide_column_);
    if (label_ != nullptr && column == "wide") return *wide_column_;
    const auto words = format_.words.find(column);
    return words == format_.words.end() ? as_written(column) : translated(column, words->second);
  }

  std::optional<std::string_view> as_written(const std::string& column) const {
    if (file_.has(column)) return file_.text(row_, column);
    const Lookup* const lookup = format_.lookup(column);
    if (lookup == nullptr) return {};
    auto known = found_.find(lookup);
    if (known == found_.end()) known = found_.emplace(lookup, found(*lookup)).first;
    return known->second;
  }

  std::optional<std::string_view> translated(const std::string& column, const Words& words) const {
    const bool in_place = words.is_in_place(column);
    const std::optional<std::string_view> word = in_place ? as_written(column) : cell(words.of);
    if (!word) return {};
    if (const std::string* const meaning = words.meaning_of(*word)) return *meaning;
    return in_place ? word : std::nullopt;
  }

  // Returns a cell of a row that a lookup examines. Words that replace others hold for all rows of the table itself.
  std::string_view cell_of(const sim::CsvFile& table, std::size_t row, const std::string& column) const {
    const std::string_view cell = table.text(row, column);
    const auto words = format_.words.find(column);
    if (&table != &file_ || words == format_.words.end() || !words->second.is_in_place(column)) return cell;
    const std::string* const meaning = words->second.meaning_of(cell);
    return meaning == nullptr ? cell : std::string_view(*meaning);
  }

  // WantedWords are the accepted words of each column in a lookup's conditions.
  using WantedWords = std::vector<std::pair<std::string, std::vector<std::string>>>;

  std::optional<std::string> found(const Lookup& lookup) const {
    const sim::CsvFile* const table = lookup.file.empty() ? &file_ : others_ ? others_(lookup.file) : nullptr;
    if (table == nullptr) return {};
    WantedWords wanted;
    for (const Condition& condition : lookup.where) {
      if (!table->has(condition.column)) return {};
      wanted.emplace_back(condition.column, std::vector<std::string>());
      for (const Template& form : condition.words) {
        if (std::optional<std::string> word = expand_own(form)) wanted.back().second.push_back(std::move(*word));
      }
      if (wanted.back().second.empty()) return {};
    }
    const std::optional<std::size_t> row = first_row(*table, lookup, wanted);
    if (!row) return {};
    return expand(lookup.column, [&](const std::string& column) -> std::optional<std::string_view> {
      if (!table->has(column)) return {};
      return cell_of(*table, *row, column);
    });
  }

  // Returns the first row of a table whose cells are wanted. If each column has one plain word, all rows that use the
  // lookup share one pass over the table: there may be a million.
  std::optional<std::size_t> first_row(const sim::CsvFile& table, const Lookup& lookup,
                                       const WantedWords& wanted) const {
    const auto is_plain = [](const std::string& word) { return !is_pattern(word) && !compared_with(word); };
    const bool is_by_words = std::ranges::all_of(
        wanted, [&](const auto& one) { return one.second.size() == 1 && is_plain(one.second.front()); });
    const bool has_one_word_each =
        std::ranges::all_of(lookup.where, [](const Condition& one) { return one.words.size() == 1; });
    if (!is_by_words || !has_one_word_each) {
      for (const std::size_t row : sim::short_steps(table.rows())) {
        const bool is_it = std::ranges::all_of(wanted, [&](const auto& condition) {
          const std::string_view cell = cell_of(table, row, condition.first);
          return std::ranges::any_of(condition.second, [&](const std::string& word) { return is_met(cell, word); });
        });
        if (is_it) return row;
      }
      return {};
    }
    const auto joined = [&wanted](const auto& text_of) {
      constexpr char between_cells = '\x1f';  // a character that no cell contains
      std::string all;
      for (const auto& condition : wanted) all.append(text_of(condition)) += between_cells;
      return all;
    };
    const auto [known, is_new] = first_rows_.try_emplace(&lookup);
    for (const std::size_t row : sim::short_steps(is_new ? table.rows() : 0))
      known->second.try_emplace(joined([&](const auto& one) { return cell_of(table, row, one.first); }), row);
    const auto first = known->second.find(joined([](const auto& one) { return one.second.front(); }));
    return first == known->second.end() ? std::nullopt : std::optional(first->second);
  }

  std::optional<std::string> expand_own(const Template& form) const {
    return expand(form, [this](const std::string& column) { return cell(column); });
  }
  // Returns nothing if the template is empty or names an empty cell.
  std::optional<std::string> filled(const Template& form) const {
    return form.empty() ? std::nullopt : expand_own(form);
  }

  std::string where() const { return fmt::format("{}:{}", reading_.name, file_.line(row_)); }

  void leave_out(std::string why) {
    if (label_ != nullptr) why = fmt::format("{}: {}", *wide_column_, why);
    reading_.left_out.push_back({where(), std::move(why)});
  }

  // Records a fault once, although the cells of a wide row share its other columns.
  void fault(std::string_view column, std::string what) {
    sim::Fault fault{file_.place(row_, column), std::string(column), std::move(what)};
    const auto begin = reading_.faults.begin() + static_cast<std::ptrdiff_t>(faults_before_row_);
    is_at_fault_ = true;
    if (std::find(begin, reading_.faults.end(), fault) == reading_.faults.end()) {
      reading_.faults.push_back(std::move(fault));
    }
  }

  // Whether what stands before the B of "{column}B" is no number but says its unit itself, as 64MiB does.
  static bool has_own_unit(std::string_view size) {
    return size.size() > 1 && std::string_view("0123456789.").find(size[size.size() - 2]) == std::string_view::npos;
  }

  void read_as(const RowFormat& form) {
    is_at_fault_ = false;
    Fields fields;
    for (const auto& [name, text] : form.with) {
      std::optional<std::string> value = filled(text);
      if (!value) continue;
      if (unit_behind(text) == "B" && has_own_unit(*value)) value->pop_back();
      fields.emplace(name, std::move(*value));
    }
    std::vector<sim::Fault> faults;
    Measurement measurement;
    measurement.trial = read_trial(form.trial, fields, faults);
    for (const sim::Fault& found : faults) {
      const auto text = form.with.find(found.where);
      const std::string column = text == form.with.end() ? "" : column_of(text->second);
      fault(column,
            column.empty() ? fmt::format("{} of the trial '{}' {}", found.where, form.trial, found.what) : found.what);
    }
    const study::FigureForm& time = study::form_of(study::Figure::time);
    measurement.alone = {.gemm = read_within(form.gemm_alone, time),
                         .collective = read_within(form.collective_alone, time),
                         .tiles = read_within(form.tiles, tiles_of_a_gemm),
                         .gemm_in_turn = read_within(form.gemm_in_turn, time),
                         .collective_in_turn = read_within(form.collective_in_turn, time)};
    for (const SeenFormat& format : form.see) {
      if (const std::optional<Seen> seen = read_seen(format)) measurement.seen.push_back(*seen);
      measurement.asked.push_back(format.figure);
    }
    if (is_at_fault_) return;
    if (measurement.seen.empty() && measured_only_) return leave_out("nothing was measured of what is compared");
    measurement.file = reading_.name;
    measurement.line = file_.line(row_);
    measurement.group = filled(form.group).value_or("");
    for (const Template& assignment : format_.assignments) {
      if (std::optional<std::string> text = filled(assignment)) measurement.assignments.push_back(std::move(*text));
    }
    measurement.decision = filled(form.decision).value_or("");
    measurement.alternative = filled(form.alternative).value_or("");
    reading_.measurements.push_back(std::move(measurement));
  }

  std::optional<Seen> read_seen(const SeenFormat& format) {
    const study::FigureForm& bounds = study::form_of(format.figure);
    const std::optional<double> value = read_within(format.measured, bounds);
    if (!value) return {};
    Seen seen{.figure = format.figure,
              .value = *value,
              .low = read_within(format.low, bounds),
              .high = read_within(format.high, bounds),
              .band = format.band};
    for (const auto& [name, form] : format.others) {
      if (const std::optional<double> predicted = read_within(form, bounds)) seen.others[name] = *predicted;
    }
    if (const std::optional<double> runs = read_within(format.runs, repetitions))
      seen.deviations = study::deviations_between(0.0, static_cast<std::size_t>(*runs));
    // Low and high may be two repetitions in any order.
    if (seen.low && seen.high && *seen.low > *seen.high) std::swap(seen.low, seen.high);
    return seen;
  }

  // Returns the value of the text or of its arithmetic. Records a fault for a value out of bounds.
  std::optional<double> read_within(const Template& form, const study::FigureForm& bounds) {
    const std::optional<std::string> text = filled(form);
    if (!text) return {};
    std::string value = *text;
    if (sim::has_expression(form.text())) {
      try {
        value = sim::replaced(*text, [](std::string_view name) -> sim::NamedValue {
          throw std::runtime_error(fmt::format("'{}' is no number", name));
        });
      } catch (const sim::ExpressionError& error) {
        fault(column_of(form), fmt::format("{}: {}", *text, error.what()));
        return {};
      }
    }
    const sim::ParsedQuantity parsed = sim::parse_quantity(value, bounds.dimension);
    if (parsed.ok() && parsed.value >= bounds.low && parsed.value <= bounds.high) return parsed.value;
    const std::string unit = unit_behind(form);
    const std::string cell = text->substr(0, text->size() - unit.size());
    const bool is_number = unit.empty() || sim::parse_number(cell).ok();
    fault(column_of(form),
          parsed.ok() ? fmt::format("'{}' cannot be: {} to {}{}{} are accepted", *text, bounds.low / bounds.per_unit,
                                    bounds.high / bounds.per_unit, bounds.unit.empty() ? "" : " ", bounds.unit)
          : is_number ? parsed.error
                      : fmt::format("'{}' is no number of {}: digits and a point are accepted, as 1700.5", cell, unit));
    return {};
  }

  // Returns the unit that a form such as "{time_us}us" puts behind the cell; empty if it puts none.
  static std::string unit_behind(const Template& form) {
    const bool is_plain = form.holes().size() == 1 && form.holes().front().begin == 0;
    return is_plain ? form.text().substr(form.holes().front().end) : std::string();
  }

  // Records a fault for the first condition that the row does not meet, and the words that would meet it, of the
  // nearest entry: the one with most conditions met before the first unmet one and then most conditions met in all.
  void tell_odd_word() {
    const RowFormat* nearest = nullptr;
    std::pair<std::size_t, std::ptrdiff_t> most;
    for (const RowFormat& form : format_.rows) {
      const auto all = std::ranges::count_if(form.where, [this](const Condition& one) { return meets(one); });
      const std::pair here(met(form.where), all);
      if (nearest != nullptr && here <= most) continue;
      nearest = &form;
      most = here;
    }
    if (nearest == nullptr) return fault("", "no row of this table is known");
    std::string beside;
    for (const Condition& condition : std::span(nearest->where).first(most.first)) {
      const std::string cell_there = shortened(cell(condition.column).value_or(""));
      beside += fmt::format("{} {} '{}'", beside.empty() ? " beside" : ",", condition.column, cell_there);
    }
    const std::string& column = nearest->where[most.first].column;
    const std::string own = in_table(column);
    const std::string_view word = cell(column).value_or(file_.has(own) ? file_.text(row_, own) : "");
    fault(own, fmt::format("'{}' is not known{}{}", shortened(word), beside, hint_of(word, words_known_of(column))));
  }

  // Returns the words of a column in the entries that the row meets up to that column.
  std::vector<std::string> words_known_of(const std::string& column) const {
    std::vector<std::string> known;
    for (const RowFormat& form : format_.rows) {
      const std::size_t reached = std::min(met(form.where) + 1, form.where.size());
      for (const Condition& condition : std::span(form.where).first(reached)) {
        for (const Template& word : condition.words) {
          const bool is_new = std::ranges::find(known, word.text()) == known.end();
          if (condition.column == column && is_new) known.push_back(word.text());
        }
      }
    }
    return known;
  }

  // Returns the column of the table that a column is, or from which it follows; empty if there is none.
  std::string in_table(const std::string& column) const {
    if (wide_column_ != nullptr && is_made_of_wide_ones(column)) return *wide_column_;
    if (file_.has(column)) return column;
    for (const std::string& source : format_.sources_of(column)) {
      if (std::string own = in_table(source); !own.empty()) return own;
    }
    return "";
  }

  // Returns the column of the table that a text is about, for faults.
  std::string column_of(const Template& form) const {
    for (const Template::Hole& hole : form.holes()) {
      if (std::string own = in_table(hole.column); !own.empty()) return own;
    }
    return "";
  }

  const sim::CsvFile& file_;
  const TableFormat& format_;
  const OtherTables& others_;
  bool measured_only_;
  Reading& reading_;
  std::size_t row_ = 0;
  std::size_t faults_before_row_ = 0;
  bool is_at_fault_ = false;  // the measurement that is being read has a fault
  const std::string* wide_column_ = nullptr;
  const std::string* label_ = nullptr;
  mutable std::map<const Lookup*, std::optional<std::string>>
      found_;  // lookup results of this row, to which cells refer
  // Each lookup finds its first row by joined cells. The tables outlive this object.
  mutable std::map<const Lookup*, std::unordered_map<std::string, std::size_t>> first_rows_;
};

}  // namespace

bool says_nothing(std::string_view cell) {
  constexpr std::array<std::string_view, 7> nothing{"", "-", "nan", "NaN", "unset", "null", "N/A"};
  return std::ranges::find(nothing, cell) != nothing.end();
}

std::string table_name(const std::string& file) {
  const std::filesystem::path path(file);
  return (path.extension() == ".gz" ? path.stem() : path).stem().string();
}

std::optional<std::size_t> row_at(const sim::CsvFile& table, int line) {
  std::size_t low = 0;
  for (std::size_t high = table.rows(); low < high;) {
    const std::size_t middle = (low + high) / 2;
    if (table.line(middle) < line) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == table.rows() || table.line(low) != line ? std::nullopt : std::optional(low);
}

std::optional<sim::CsvFile> list_beside(const std::filesystem::path& file, std::string_view name,
                                        const std::vector<std::string>& columns) {
  const std::filesystem::path path = file.parent_path() / name;
  std::error_code absent;
  if (!std::filesystem::exists(path, absent)) return {};
  sim::CsvFile list = sim::CsvFile::from_file(path);
  list.require(columns);
  list.check();
  return list;
}

Reading read_table(const sim::CsvFile& file, const TableFormat& format, const OtherTables& others, Rows rows) {
  Reading reading;
  reading.name = std::filesystem::path(file.name()).filename().string();
  reading.format = format.name;
  reading.faults = file.faults();
  RowReader reader(file, format, others, rows == Rows::measured, reading);
  for (std::size_t row = 0; row < file.rows(); ++row) {
    sim::ask_interruption();
    reader.read(row);
  }
  return reading;
}

bool is_met(std::string_view cell, std::string_view word) {
  const std::optional<std::string_view> number = compared_with(word);
  if (!number) return is_word(cell, word);
  const sim::Parsed<double> left = sim::parse_number(cell);
  const sim::Parsed<double> right = sim::parse_number(*number);
  if (!left.error.empty() || !right.error.empty()) return false;
  if (left.value == right.value) return word.substr(1).starts_with('=');
  return word.starts_with('<') ? left.value < right.value : left.value > right.value;
}

}  // namespace c3sim::calibrate
