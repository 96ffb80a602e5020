#include "calibrate/readers/table_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <span>

#include "calibrate/readers/trial_fields.h"
#include "sim/config/config_text.h"
#include "sim/config/nearest_name.h"

namespace c3sim::calibrate {

namespace {

std::vector<std::string> strings(std::span<const std::string_view> views) { return {views.begin(), views.end()}; }

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
    if (words.empty() && !section.holds_section(column)) section.fault(column, "at least one word is due");
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
  const std::vector<std::string> known = is_known ? strings(fields_of(row.trial)) : std::vector<std::string>();
  for (const std::string& key : section.keys()) {
    if (is_known && std::ranges::find(known, key) == known.end()) {
      section.fault(key, "no field of the trial '" + row.trial + "'" + sim::name_hint(key, known));
    }
    row.with[key] = template_at(section, key, required);
  }
}

bool read_trial_form(sim::Section& section, RowFormat& row) {
  const std::vector<std::string> kinds = strings(trial_kinds());
  row.trial = section.text("trial");
  const bool is_known = std::ranges::find(kinds, row.trial) != kinds.end();
  if (!is_known && !row.trial.empty()) {
    section.fault("trial", "'" + row.trial + "' is no trial" + sim::name_hint(row.trial, kinds));
  }
  return is_known;
}

RowFormat read_row(sim::Section section) {
  RowFormat row;
  if (section.has("where")) row.where = read_conditions(section.section("where"));
  row.leave_out = section.text("leave_out", "");
  if (!row.leave_out.empty()) return row;
  const bool is_known = read_trial_form(section, row);
  row.group = template_at(section, "group");
  if (section.has("with")) read_fields(section.section("with"), is_known, row);
  sim::Section see = section.section("see");
  if (section.holds_section("see") && see.keys().empty()) section.fault("see", "at least one figure is due");
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

void read_optional(sim::Section& section, TableFormat& format) {
  format.optional = section.texts("optional");
  const std::vector<std::string> named = format.named_columns();
  for (const std::string& column : format.optional) {
    if (std::ranges::find(named, column) != named.end()) continue;
    section.fault("optional", "no entry names the column '" + column + "'" + sim::name_hint(column, named));
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

bool is_made_of_wide_ones(std::string_view column) {
  return column == "column" || column == "wide" || column == "cell";
}

std::optional<std::string_view> compared_with(std::string_view word) {
  if (!word.starts_with('<') && !word.starts_with('>')) return {};
  return sim::trimmed(word.substr(word.substr(1).starts_with('=') ? 2 : 1));
}

bool is_pattern(std::string_view word) { return word.starts_with('*') || word.ends_with('*'); }

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
  if (section.has("rows") && format.rows.empty()) section.fault("rows", "at least one entry is due");
  tell_circle(format, section);
  if (section.has("optional")) read_optional(section, format);
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

}  // namespace c3sim::calibrate
