#include "calibrate/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "calibrate/trial_fields.h"
#include "sim/config_text.h"
#include "sim/nearest_name.h"

namespace calibrate {

namespace {

// What tables write where they have nothing to say.
bool says_nothing(std::string_view cell) {
  constexpr std::array<std::string_view, 7> nothing{"", "-", "nan", "NaN", "unset", "null", "N/A"};
  return std::ranges::find(nothing, cell) != nothing.end();
}

// The text with `cell_of` in place of every column; nothing where a cell is empty.
template <class CellOf>
std::optional<std::string> expand(const Template& form, const CellOf& cell_of) {
  std::string result;
  std::size_t at = 0;
  for (const Template::Hole& hole : form.holes()) {
    result += form.text.substr(at, hole.begin - at);
    const std::optional<std::string> cell = cell_of(hole.column);
    if (!cell || says_nothing(*cell) || !cell->starts_with(hole.prefix)) return {};
    result += cell->substr(hole.prefix.size());
    at = hole.end;
  }
  return result + form.text.substr(at);
}

bool compares(std::string_view cell, std::string_view word) {
  const bool or_equal = word.size() > 1 && word[1] == '=';
  const sim::Parsed<double> left = sim::parse_number(cell);
  const sim::Parsed<double> right = sim::parse_number(sim::trimmed(word.substr(or_equal ? 2 : 1)));
  if (!left.error.empty() || !right.error.empty()) return false;
  if (or_equal && left.value == right.value) return true;
  return word.front() == '<' ? left.value < right.value : left.value > right.value;
}

template <class CellOf>
bool meets(const std::vector<Condition>& conditions, const CellOf& cell_of, const CellOf& word_cell_of) {
  return std::ranges::all_of(conditions, [&](const Condition& condition) {
    const std::optional<std::string> cell = cell_of(condition.column);
    return std::ranges::any_of(condition.words, [&](const Template& form) {
      const std::optional<std::string> word = expand(form, word_cell_of);
      if (!word || !cell) return false;
      if (word->starts_with('<') || word->starts_with('>')) return compares(*cell, *word);
      if (word->ends_with('*')) return cell->starts_with(word->substr(0, word->size() - 1));
      return *cell == *word;
    });
  });
}

using CellOf = std::function<std::optional<std::string>(const std::string& column)>;

// One row, or one cell of a wide row, while it is being read.
class RowReader {
 public:
  RowReader(const CsvFile& file, std::size_t row, const TableFormat& format, const OtherTables& others,
            bool measured_only, Reading& reading)
      : file_(file), row_(row), format_(format), others_(others), measured_only_(measured_only), reading_(reading) {}

  void read() {
    if (format_.each.empty()) return read_cell();
    for (const auto& [column, label] : format_.each) {
      wide_column_ = &column;
      label_ = &label;
      read_cell();
    }
  }

 private:
  void read_cell() {
    const CellOf cells = [this](const std::string& column) { return cell(column); };
    for (const RowFormat& form : format_.rows) {
      if (!meets(form.where, cells, cells)) continue;
      if (form.leave_out.empty()) return read_as(form);
      return leave_out(form.leave_out);
    }
    fault(first_odd_column(), fmt::format("no row of this kind is known{}", known_words()));
  }

  std::optional<std::string> cell(const std::string& column) const {
    if (label_ != nullptr && column == "column") return *label_;
    if (label_ != nullptr && column == "cell") return file_.text(row_, *wide_column_);
    if (label_ != nullptr && column == "wide") return *wide_column_;
    const auto known = format_.words.find(column);
    if (known != format_.words.end()) return translated(column, known->second);
    if (file_.has(column)) return file_.text(row_, column);
    const auto lookup = std::ranges::find(format_.lookups, column, &Lookup::name);
    return lookup == format_.lookups.end() ? std::nullopt : found(*lookup);
  }

  std::optional<std::string> translated(const std::string& column, const Words& words) const {
    const bool in_place = words.of.empty() || words.of == column;
    std::optional<std::string> word;
    if (!in_place) {
      word = cell(words.of);
    } else if (file_.has(column)) {
      word = file_.text(row_, column);
    }
    if (!word) return {};
    const auto meaning = words.meaning.find(*word);
    if (meaning != words.meaning.end()) return meaning->second;
    return in_place ? word : std::nullopt;
  }

  std::optional<std::string> found(const Lookup& lookup) const {
    const CsvFile* const table = lookup.file.empty() ? &file_ : others_ ? others_(lookup.file) : nullptr;
    const CellOf own = [this](const std::string& column) { return cell(column); };
    for (std::size_t row = 0; table != nullptr && row < table->rows(); ++row) {
      const CellOf theirs = [&](const std::string& column) -> std::optional<std::string> {
        if (!table->has(column)) return {};
        return table->text(row, column);
      };
      if (meets(lookup.where, theirs, own)) return expand(lookup.column, theirs);
    }
    return {};
  }

  std::optional<std::string> filled(const Template& form) const {
    if (form.empty()) return {};
    return expand(form, [this](const std::string& column) { return cell(column); });
  }

  std::string where() const { return fmt::format("{}:{}", reading_.name, file_.line(row_)); }

  void leave_out(std::string why) {
    if (label_ != nullptr) why = fmt::format("{}: {}", *wide_column_, why);
    reading_.left_out.push_back({where(), std::move(why)});
  }

  void fault(std::string_view column, std::string what) {
    reading_.faults.push_back({file_.place(row_, column), std::string(column), std::move(what)});
  }

  void read_as(const RowFormat& form);
  bool read_seen(const RowFormat& form, Measurement& measurement);
  std::optional<double> divisor(Over over, const Alone& alone) const;
  std::optional<double> read_quantity(const Template& form, sim::Dimension dimension);
  std::string column_of(const Template& form) const;
  std::string first_odd_column() const;
  std::string known_words() const;

  const CsvFile& file_;
  std::size_t row_;
  const TableFormat& format_;
  const OtherTables& others_;
  bool measured_only_;
  Reading& reading_;
  const std::string* wide_column_ = nullptr;
  const std::string* label_ = nullptr;
};

// The column of the table that a text is about.
std::string RowReader::column_of(const Template& form) const {
  for (Template::Hole& hole : form.holes()) {
    if (hole.column == "cell" && wide_column_ != nullptr) return *wide_column_;
    if (file_.has(hole.column)) return std::move(hole.column);
  }
  return "";
}

// The first column that entries look at and whose word none of them knows.
std::string RowReader::first_odd_column() const {
  for (const RowFormat& form : format_.rows) {
    for (const Condition& condition : form.where) {
      const std::optional<std::string> here = cell(condition.column);
      const bool known = std::ranges::any_of(format_.rows, [&](const RowFormat& other) {
        return std::ranges::any_of(other.where, [&](const Condition& its) {
          return its.column == condition.column &&
                 std::ranges::any_of(its.words, [&](const Template& word) { return here == filled(word); });
        });
      });
      if (!known) return condition.column;
    }
  }
  return "";
}

std::string RowReader::known_words() const {
  const std::string column = first_odd_column();
  std::vector<std::string> known;
  for (const RowFormat& form : format_.rows) {
    for (const Condition& condition : form.where) {
      if (condition.column != column) continue;
      for (const Template& word : condition.words) known.push_back(word.text);
    }
  }
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return known.empty()
             ? ""
             : ": '" + cell(column).value_or("").substr(0, 40) + "'" + sim::name_hint(cell(column).value_or(""), known);
}

std::optional<double> RowReader::read_quantity(const Template& form, sim::Dimension dimension) {
  const std::optional<std::string> text = filled(form);
  if (!text) return {};
  const sim::ParsedQuantity parsed = sim::parse_quantity(*text, dimension);
  if (parsed.ok()) return parsed.value;
  fault(column_of(form), parsed.error);
  return {};
}

// Nothing where the row does not tell the time that figures are divided by.
std::optional<double> RowReader::divisor(Over over, const Alone& alone) const {
  switch (over) {
    case Over::nothing:
      return 1.0;
    case Over::gemm_alone:
      return alone.gemm;
    case Over::longer_alone:
      break;
  }
  if (!alone.gemm || !alone.collective) return {};
  return std::max(*alone.gemm, *alone.collective);
}

// False where any figure is at fault.
bool RowReader::read_seen(const RowFormat& form, Measurement& measurement) {
  const std::size_t faults_before = reading_.faults.size();
  for (const SeenFormat& format : form.see) {
    const study::FigureForm& figure = study::form_of(format.figure);
    const std::optional<double> by = divisor(format.over, measurement.alone);
    if (!by) continue;
    const auto read = [&](const Template& text) {
      const auto dimension = format.over == Over::nothing ? figure.dimension : sim::Dimension::time;
      std::optional<double> number = read_quantity(text, dimension);
      if (number) *number *= format.scale / *by;
      return number;
    };
    const std::optional<double> measured = read(format.measured);
    if (!measured) continue;
    if (*measured < figure.low || *measured > figure.high) {
      fault(column_of(format.measured),
            fmt::format("'{}' cannot be: {} to {} {} are accepted", filled(format.measured).value_or(""),
                        figure.low / figure.per_unit, figure.high / figure.per_unit, figure.unit));
      continue;
    }
    measurement.seen.push_back({format.figure, *measured, read(format.low), read(format.high), format.band});
  }
  return reading_.faults.size() == faults_before;
}

void RowReader::read_as(const RowFormat& form) {
  Fields fields;
  for (const auto& [name, text] : form.with) {
    if (std::optional<std::string> value = filled(text)) fields.emplace(name, std::move(*value));
  }
  std::vector<FieldFault> faults;
  Measurement measurement;
  measurement.trial = read_trial(form.trial, fields, faults);
  for (FieldFault& found : faults) {
    const auto text = form.with.find(found.field);
    fault(text == form.with.end() ? "" : column_of(text->second), std::move(found.what));
  }
  measurement.alone = {.gemm = read_quantity(form.gemm_alone, sim::Dimension::time),
                       .collective = read_quantity(form.collective_alone, sim::Dimension::time),
                       .tiles = read_quantity(form.tiles, sim::Dimension::number)};
  if (!read_seen(form, measurement) || !faults.empty()) return;
  if (measurement.seen.empty() && measured_only_) return leave_out("nothing was measured of what is compared");
  for (const SeenFormat& format : form.see) measurement.asked.push_back(format.figure);
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

}  // namespace

std::optional<std::string> fill_in(const Template& text, const CsvFile& file, std::size_t row) {
  return expand(text, [&](const std::string& column) -> std::optional<std::string> {
    if (!file.has(column)) return {};
    return file.text(row, column);
  });
}

Reading read_table(const CsvFile& file, const TableFormat& format, const OtherTables& others, Rows rows) {
  Reading reading;
  reading.name = std::filesystem::path(file.name()).filename().string();
  reading.format = format.name;
  reading.faults = file.faults();
  for (std::size_t row = 0; row < file.rows(); ++row) {
    RowReader(file, row, format, others, rows == Rows::measured, reading).read();
  }
  return reading;
}

}  // namespace calibrate
