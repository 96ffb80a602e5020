#include "calibrate/readers/table_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/iterator/counting_iterator.hpp>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "calibrate/readers/trial_fields.h"
#include "sim/config/config_text.h"
#include "sim/config/expression.h"
#include "sim/config/nearest_name.h"
#include "sim/interruption.h"
#include "study/report/statistics.h"

namespace c3sim::calibrate {

namespace {

// Returns whether a column is `column`, `wide` or `cell`, which replace a table's wide columns (TableFormat::each).
bool is_made_of_wide_ones(std::string_view column) {
  return column == "column" || column == "wide" || column == "cell";
}

// Returns what follows <, <=, > or >= at the start of a word; nothing for other words.
std::optional<std::string_view> compared_with(std::string_view word) {
  if (!word.starts_with('<') && !word.starts_with('>')) return {};
  return sim::trimmed(word.substr(word.substr(1).starts_with('=') ? 2 : 1));
}

bool is_pattern(std::string_view word) { return word.starts_with('*') || word.ends_with('*'); }

// Returns the text of a key that may name columns, and records a fault for wrong braces.
Template checked(sim::Section& section, std::string_view key, std::string text) {
  Template form{std::move(text)};
  if (std::string what = form.fault(); !what.empty()) section.fault(key, std::move(what));
  return form;
}
Template template_at(sim::Section& section, std::string_view key, std::optional<std::string> fallback = "") {
  return checked(section, key, section.text(key, std::move(fallback)));
}
constexpr std::nullopt_t required = std::nullopt;

std::vector<Condition> read_conditions(sim::Section section) {
  std::vector<Condition> conditions;
  for (const std::string& column : section.keys()) {
    Condition condition{column, {}};
    const std::vector<std::string> words = section.texts(column);
    if (words.empty() && !section.holds_section(column)) section.fault(column, "at least one word is needed");
    for (const std::string& word : words) {
      const std::optional<std::string_view> number = compared_with(word);
      if (number && number->find('{') == std::string_view::npos && !sim::parse_number(*number).error.empty()) {
        section.fault(column,
                      "'" + word + "' compares with no number: <, <=, > or >= before a decimal number is accepted");
      }
      condition.words.push_back(checked(section, column, word));
    }
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

SeenFormat read_seen(sim::Section& section, const std::string& key, study::Figure figure) {
  SeenFormat seen;
  seen.figure = figure;
  if (!section.holds_section(key)) {
    seen.measured = template_at(section, key, required);
    return seen;
  }
  sim::Section details = section.section(key);
  seen.measured = template_at(details, "measured", required);
  seen.low = template_at(details, "low");
  seen.high = template_at(details, "high");
  seen.runs = template_at(details, "runs");
  if (details.has("band")) seen.band = details.number("band", 0.0, 10.0);
  if (details.has("others")) {
    sim::Section others = details.section("others");
    for (const std::string& name : others.keys()) seen.others[name] = template_at(others, name, required);
  }
  return seen;
}

void read_see(sim::Section section, RowFormat& row) {
  for (const std::string& key : section.keys()) {
    if (const study::FigureForm* const form = study::figure_named(key)) {
      row.see.push_back(read_seen(section, key, form->figure));
    }
  }
  for (const study::FigureForm& form : study::all_figures())
    section.has(form.key);  // has() makes the key known as one that a misspelt key may mean
}

// Checks the names of fields only if the trial is known.
void read_fields(sim::Section section, bool is_known, RowFormat& row) {
  const std::vector<std::string_view> known = is_known ? fields_of(row.trial) : std::vector<std::string_view>();
  for (const std::string& key : section.keys()) {
    if (is_known && std::ranges::find(known, key) == known.end()) {
      section.fault(key, "no field of the trial '" + row.trial + "'" + sim::name_hint(key, known, std::identity()));
    }
    row.with[key] = template_at(section, key, required);
  }
}

RowFormat read_row(sim::Section section) {
  RowFormat row;
  if (section.has("where")) row.where = read_conditions(section.section("where"));
  row.leave_out = section.text("leave_out", "");
  if (!row.leave_out.empty()) return row;
  const std::vector<std::string_view> kinds = trial_kinds();
  row.trial = section.text("trial");
  const bool is_known = std::ranges::find(kinds, row.trial) != kinds.end();
  if (!is_known && !row.trial.empty()) {
    section.fault("trial", "'" + row.trial + "' is no trial" + sim::name_hint(row.trial, kinds, std::identity()));
  }
  row.group = template_at(section, "group");
  if (section.has("with")) read_fields(section.section("with"), is_known, row);
  sim::Section see = section.section("see");
  if (section.holds_section("see") && see.keys().empty()) section.fault("see", "at least one figure is needed");
  read_see(std::move(see), row);
  row.gemm_alone = template_at(section, "gemm_alone");
  row.collective_alone = template_at(section, "collective_alone");
  row.gemm_in_turn = template_at(section, "gemm_in_turn");
  row.collective_in_turn = template_at(section, "collective_in_turn");
  row.tiles = template_at(section, "tiles");
  row.decision = template_at(section, "decision");
  row.alternative = template_at(section, "alternative");
  if (row.alternative.empty() && !row.decision.empty()) section.fault("decision", "goes with alternative");
  if (row.decision.empty() && !row.alternative.empty()) section.fault("alternative", "goes with decision");
  return row;
}

Lookup read_lookup(sim::Section section, std::string name) {
  Lookup lookup;
  lookup.name = std::move(name);
  lookup.file = section.text("file", "");
  lookup.column = template_at(section, "column", required);
  lookup.where = read_conditions(section.section("where"));
  return lookup;
}

// Records a fault with the format's `root` if a column depends on itself, directly or not, or on too long a chain.
void tell_circle(const TableFormat& format, sim::Section root) {
  constexpr std::size_t most = 16;
  std::vector<std::string> open;  // columns whose chain of sources is not known to end yet
  for (const auto& [column, words] : format.words) open.push_back(column);
  for (const Lookup& lookup : format.lookups) open.push_back(lookup.name);
  for (std::size_t round = 0; round < most; ++round) {
    const std::vector<std::string> before = open;
    std::erase_if(open, [&](const std::string& column) {
      return std::ranges::none_of(format.sources_of(column), [&before](const std::string& source) {
        return std::ranges::find(before, source) != before.end();
      });
    });
  }
  for (const std::string& column : open) {
    std::string what = fmt::format("{} follows from itself, or from more than {} columns, one from the other: {}",
                                   column, most, fmt::join(format.sources_of(column), ", "));
    if (format.lookup(column) != nullptr) {
      root.section("lookups").fault(column, std::move(what));
    } else {
      root.section("words").section(column).fault("of", std::move(what));
    }
  }
}

// Returns the templates of an entry except its conditions; with Rows::all without those of measured results.
std::vector<const Template*> texts_of(const RowFormat& row, Rows rows) {
  std::vector<const Template*> texts{&row.group, &row.tiles, &row.decision, &row.alternative};
  for (const auto& [field, text] : row.with) texts.push_back(&text);
  if (rows == Rows::all) return texts;
  for (const SeenFormat& seen : row.see) {
    texts.insert(texts.end(), {&seen.measured, &seen.low, &seen.high, &seen.runs});
    for (const auto& [name, text] : seen.others) texts.push_back(&text);
  }
  texts.insert(texts.end(), {&row.gemm_alone, &row.collective_alone, &row.gemm_in_turn, &row.collective_in_turn});
  return texts;
}

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
constexpr study::FigureForm number_from_one{{}, "", "", sim::Dimension::number, "", 1.0, 1.0, 1e9};

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
    for (const auto& wide : format_.each) {
      if (!file_.has(wide.first)) continue;
      found_.clear();
      wide_ = &wide;
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
    if (wide_ != nullptr && column == "column") return wide_->second;
    if (wide_ != nullptr && column == "cell") return file_.text(row_, wide_->first);
    if (wide_ != nullptr && column == "wide") return wide_->first;
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

  void leave_out(std::string why) {
    if (wide_ != nullptr) why = fmt::format("{}: {}", wide_->first, why);
    reading_.left_out.push_back({fmt::format("{}:{}", reading_.name, file_.line(row_)), std::move(why)});
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

  void read_as(const RowFormat& form) {
    is_at_fault_ = false;
    Fields fields;
    for (const auto& [name, text] : form.with) {
      std::optional<std::string> value = filled(text);
      if (!value) continue;
      // What stands before the B of "{column}B" may be no number but say its unit itself, as 64MiB does.
      const std::string_view number = std::string_view(*value).substr(0, value->size() - 1);
      if (unit_behind(text) == "B" && !number.empty() && number.find_last_of("0123456789.") + 1 != number.size())
        value->pop_back();
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
                         .tiles = read_within(form.tiles, number_from_one),
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
    if (const std::optional<double> runs = read_within(format.runs, number_from_one))
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
    if (wide_ != nullptr && is_made_of_wide_ones(column)) return wide_->first;
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
  bool is_at_fault_ = false;                                           // the measurement that is being read has a fault
  const std::pair<std::string, std::string>* wide_ = nullptr;          // of TableFormat::each
  mutable std::map<const Lookup*, std::optional<std::string>> found_;  // results for this row, to which cells refer
  // Each lookup finds its first row by joined cells. The tables outlive this object.
  mutable std::map<const Lookup*, std::unordered_map<std::string, std::size_t>> first_rows_;
};

}  // namespace

Template::Template(std::string text) : text_(std::move(text)) {
  for (std::size_t at = text_.find('{'); at != std::string::npos; at = text_.find('{', at + 1)) {
    const std::size_t end = text_.find_first_of("{}", at + 1);
    if (end == std::string::npos || text_[end] == '{') continue;
    const std::string inside = text_.substr(at + 1, end - at - 1);
    const std::size_t bar = inside.find('|');
    holes_.push_back({at, end + 1, inside.substr(0, bar), bar == std::string::npos ? "" : inside.substr(bar + 1)});
  }
}

std::string Template::fault() const {
  std::string between = text_;
  for (auto hole = holes_.rbegin(); hole != holes_.rend(); ++hole) between.erase(hole->begin, hole->end - hole->begin);
  const bool are_paired = between.find_first_of("{}") == std::string::npos;
  if (are_paired && std::ranges::none_of(holes_, [](const Hole& hole) { return hole.column.empty(); })) return "";
  return fmt::format("the braces of '{}' are not pairs around columns: {{column}} or {{column|prefix}} is accepted",
                     text_);
}

bool is_word(std::string_view cell, std::string_view word) {
  const bool any_before = word.size() > 1 && word.starts_with('*');
  const bool any_behind = word.ends_with('*');
  if (any_before) word.remove_prefix(1);
  if (any_behind) word.remove_suffix(1);
  if (any_before) return any_behind ? cell.find(word) != std::string_view::npos : cell.ends_with(word);
  return any_behind ? cell.starts_with(word) : cell == word;
}

const std::string* Words::meaning_of(std::string_view word) const {
  if (const auto known = meaning.find(word); known != meaning.end()) return &known->second;
  const std::pair<const std::string, std::string>* closest = nullptr;
  for (const auto& one : meaning) {
    const bool is_alike = is_pattern(one.first) && is_word(word, one.first);
    if (is_alike && (closest == nullptr || one.first.size() > closest->first.size())) closest = &one;
  }
  return closest == nullptr ? nullptr : &closest->second;
}

TableFormat TableFormat::read(sim::Section section, std::string name) {
  TableFormat format;
  format.name = std::move(name);
  format.description = section.text("about", "");
  if (section.has("columns")) {
    sim::Section columns = section.section("columns");
    for (const std::string& column : columns.keys()) format.each.emplace_back(column, columns.text(column));
  }
  if (section.has("words")) {
    sim::Section words = section.section("words");
    for (const std::string& column : words.keys()) {
      sim::Section of_column = words.section(column);
      Words& known = format.words[column];
      known.of = of_column.text("of", "");
      for (const std::string& word : of_column.keys()) {
        if (word != "of") known.meaning[word] = of_column.text(word);
      }
    }
  }
  if (section.has("lookups")) {
    sim::Section lookups = section.section("lookups");
    for (const std::string& key : lookups.keys()) format.lookups.push_back(read_lookup(lookups.section(key), key));
  }
  if (section.has("set")) {
    for (std::string& assignment : section.texts("set")) {
      format.assignments.push_back(checked(section, "set", std::move(assignment)));
    }
  }
  for (const sim::Section& row : section.list("rows")) format.rows.push_back(read_row(row));
  if (section.has("rows") && format.rows.empty()) section.fault("rows", "at least one entry is needed");
  tell_circle(format, section);
  if (section.has("optional")) {
    format.optional = section.texts("optional");
    const std::vector<std::string> named = format.named_columns();
    for (const std::string& column : format.optional) {
      if (std::ranges::find(named, column) != named.end()) continue;
      section.fault("optional", "no entry names the column '" + column + "'" + sim::name_hint(column, named));
    }
  }
  if (section.has("ignored")) format.ignored = section.texts("ignored");
  return format;
}

bool TableFormat::is_of_one_machine() const {
  return std::ranges::any_of(assignments, [this](const Template& assignment) {
    const bool is_protocol = assignment.text().starts_with("host.protocol=");  // no property of a machine
    // A fixed number of GPUs does not bind a format to a machine unless the format is written for one table.
    const bool is_node = !is_of_one_table && assignment.text().starts_with("gpus=");
    return assignment.holes().empty() && !is_protocol && !is_node;
  });
}

const Lookup* TableFormat::lookup(std::string_view column) const {
  const auto found = std::ranges::find(lookups, column, &Lookup::name);
  return found == lookups.end() ? nullptr : &*found;
}

std::vector<std::string> TableFormat::sources_of(const std::string& column) const {
  const auto translated = words.find(column);
  if (translated != words.end() && !translated->second.is_in_place(column)) return {translated->second.of};
  std::vector<std::string> sources;
  const Lookup* const found = lookup(column);
  if (found == nullptr) return sources;
  for (const Condition& condition : found->where) {
    for (const Template& word : condition.words) {
      for (const Template::Hole& hole : word.holes()) sources.push_back(hole.column);
    }
  }
  return sources;
}

std::vector<std::string> TableFormat::named_columns(Rows which) const {
  std::set<std::string> asked, names;
  // A lookup in the table itself reads columns as they are written there, before words replace them.
  const std::function<void(const std::string&)> add = [&](const std::string& column) {
    if (!asked.insert(column).second || (!each.empty() && is_made_of_wide_ones(column))) return;
    const std::vector<std::string> sources = sources_of(column);
    for (const std::string& source : sources) add(source);
    const Lookup* const found = lookup(column);
    if (found == nullptr && sources.empty()) names.insert(column);
    if (found == nullptr || !found->file.empty()) return;
    for (const Condition& condition : found->where) names.insert(condition.column);
    for (const Template::Hole& hole : found->column.holes()) names.insert(hole.column);
  };
  const auto add_text = [&add](const Template& text) {
    for (const Template::Hole& hole : text.holes()) add(hole.column);
  };
  for (const RowFormat& row : rows) {
    for (const Condition& condition : row.where) {
      add(condition.column);
      std::ranges::for_each(condition.words, add_text);
    }
    for (const Template* const text : texts_of(row, which)) add_text(*text);
  }
  std::ranges::for_each(assignments, add_text);
  for (const auto& [column, label] : each) names.insert(column);
  return {names.begin(), names.end()};
}

std::vector<std::string> TableFormat::needed_columns(Rows which) const {
  std::vector<std::string> columns = named_columns(which);
  std::erase_if(columns,
                [this](const std::string& column) { return std::ranges::find(optional, column) != optional.end(); });
  return columns;
}

bool says_nothing(std::string_view cell) {
  constexpr std::array<std::string_view, 7> nothing{"", "-", "nan", "NaN", "unset", "null", "N/A"};
  return std::ranges::find(nothing, cell) != nothing.end();
}

std::string table_name(const std::string& file) {
  const std::filesystem::path path(file);
  return (path.extension() == ".gz" ? path.stem() : path).stem().string();
}

std::optional<std::size_t> row_at(const sim::CsvFile& table, int line) {
  const boost::counting_iterator<std::size_t> begin(0), end(table.rows());
  const std::size_t row = *std::partition_point(begin, end, [&](std::size_t at) { return table.line(at) < line; });
  return row == table.rows() || table.line(row) != line ? std::nullopt : std::optional(row);
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
