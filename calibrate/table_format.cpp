#include "calibrate/table_format.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "calibrate/trial_fields.h"
#include "sim/nearest_name.h"

namespace calibrate {

namespace {

std::vector<std::string> strings(std::span<const std::string_view> views) { return {views.begin(), views.end()}; }

Template template_at(sim::Section& section, std::string_view key) { return {section.text(key, "")}; }

std::vector<Condition> read_conditions(sim::Section section) {
  std::vector<Condition> conditions;
  for (const std::string& column : section.keys()) {
    Condition condition{column, {}};
    for (std::string& word : section.texts(column)) condition.words.push_back({std::move(word)});
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

const study::FigureForm* figure_named(std::string_view key) {
  const auto figures = study::all_figures();
  const auto found = std::ranges::find(figures, key, &study::FigureForm::key);
  return found == figures.end() ? nullptr : &*found;
}

SeenFormat read_seen(sim::Section& section, const std::string& key, study::Figure figure) {
  SeenFormat seen;
  seen.figure = figure;
  if (!section.holds_section(key)) {
    seen.measured.text = section.text(key);
    return seen;
  }
  sim::Section details = section.section(key);
  seen.measured.text = details.text("measured");
  constexpr std::array<std::pair<std::string_view, Over>, 2> divisors{
      {{"gemm_alone", Over::gemm_alone}, {"longer_alone", Over::longer_alone}}};
  seen.over = details.choice<Over>("over", divisors, Over::nothing);
  seen.low = template_at(details, "low");
  seen.high = template_at(details, "high");
  seen.scale = details.number("scale", 1e-12, 1e12, 1.0);
  if (details.has("band")) seen.band = details.number("band", 0.0, 10.0);
  return seen;
}

void read_see(sim::Section section, RowFormat& row) {
  std::vector<std::string> known;
  for (const study::FigureForm& form : study::all_figures()) known.emplace_back(form.key);
  for (const std::string& key : section.keys()) {
    if (const study::FigureForm* const form = figure_named(key)) {
      row.see.push_back(read_seen(section, key, form->figure));
    } else {
      section.fault(key, "no such figure" + sim::name_hint(key, known));
      section.has(key);
    }
  }
}

void read_fields(sim::Section section, RowFormat& row) {
  const std::vector<std::string> known = strings(fields_of(row.trial));
  for (const std::string& key : section.keys()) {
    if (std::ranges::find(known, key) == known.end()) {
      section.fault(key, "no field of the trial '" + row.trial + "'" + sim::name_hint(key, known));
    }
    row.with[key] = {section.text(key)};
  }
}

RowFormat read_row(sim::Section section) {
  RowFormat row;
  if (section.has("where")) row.where = read_conditions(section.section("where"));
  row.leave_out = section.text("leave_out", "");
  if (!row.leave_out.empty()) return row;
  const std::vector<std::string> kinds = strings(trial_kinds());
  row.trial = section.text("trial");
  if (std::ranges::find(kinds, row.trial) == kinds.end()) {
    section.fault("trial", "'" + row.trial + "' is no trial" + sim::name_hint(row.trial, kinds));
    row.trial = kinds.front();
  }
  row.group = template_at(section, "group");
  if (section.has("with")) read_fields(section.section("with"), row);
  read_see(section.section("see"), row);
  row.gemm_alone = template_at(section, "gemm_alone");
  row.collective_alone = template_at(section, "collective_alone");
  row.tiles = template_at(section, "tiles");
  row.decision = template_at(section, "decision");
  row.alternative = template_at(section, "alternative");
  if (row.decision.empty() != row.alternative.empty()) section.fault("decision", "goes with alternative");
  return row;
}

Lookup read_lookup(sim::Section section, std::string name) {
  Lookup lookup;
  lookup.name = std::move(name);
  lookup.file = section.text("file", "");
  lookup.column.text = section.text("column");
  lookup.where = read_conditions(section.section("where"));
  return lookup;
}

class Columns {
 public:
  void add(const Template& text) {
    for (Template::Hole& hole : text.holes()) names_.insert(std::move(hole.column));
  }
  void add(const std::vector<Condition>& conditions, bool of_this_table) {
    for (const Condition& condition : conditions) {
      if (of_this_table) names_.insert(condition.column);
      for (const Template& word : condition.words) add(word);
    }
  }
  void add(const RowFormat& row) {
    add(row.where, true);
    for (const auto& [field, text] : row.with) add(text);
    for (const SeenFormat& seen : row.see) {
      add(seen.measured);
      add(seen.low);
      add(seen.high);
    }
    for (const Template* const text :
         {&row.group, &row.gemm_alone, &row.collective_alone, &row.tiles, &row.decision, &row.alternative}) {
      add(*text);
    }
  }
  std::set<std::string> names_;
};

}  // namespace

std::vector<Template::Hole> Template::holes() const {
  std::vector<Hole> holes;
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) break;
    const std::string inside = text.substr(at + 1, end - at - 1);
    const std::size_t bar = inside.find('|');
    holes.push_back({at, end + 1, inside.substr(0, bar), bar == std::string::npos ? "" : inside.substr(bar + 1)});
  }
  return holes;
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
  if (section.has("optional")) format.optional = section.texts("optional");
  if (section.has("set")) {
    for (std::string& assignment : section.texts("set")) format.assignments.push_back({std::move(assignment)});
  }
  for (const sim::Section& row : section.list("rows")) format.rows.push_back(read_row(row));
  return format;
}

std::vector<std::string> TableFormat::needed_columns() const {
  Columns columns;
  for (const RowFormat& row : rows) columns.add(row);
  for (const Template& assignment : assignments) columns.add(assignment);
  for (const Lookup& lookup : lookups) {
    columns.add(lookup.where, lookup.file.empty());
    if (lookup.file.empty()) columns.add(lookup.column);
  }
  for (const auto& [column, label] : each) columns.names_.insert(column);
  for (const Lookup& lookup : lookups) columns.names_.erase(lookup.name);
  for (const auto& [column, known] : words) {
    if (!known.of.empty() && columns.names_.erase(column) > 0) columns.names_.insert(known.of);
  }
  for (const char* const made : {"column", "cell", "wide"}) {
    if (!each.empty()) columns.names_.erase(made);
  }
  for (const std::string& column : optional) columns.names_.erase(column);
  return {columns.names_.begin(), columns.names_.end()};
}

}  // namespace calibrate
