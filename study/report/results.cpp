#include "study/report/results.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace c3sim::study {

namespace {

void write_tables(const Results& results, std::ostream& out, std::size_t width) {
  bool first = true;
  for (const NamedTable& named : results.tables) {
    if (!named.in_text) continue;
    if (!first) out << '\n';
    first = false;
    if (!named.title.empty()) out << named.title << '\n';
    named.table.write_text(out, width);
  }
  if (!results.notes.empty() && !first) out << '\n';
  for (const std::string& note : results.notes) out << note << '\n';
}

// Returns the text as a comment of one line.
std::string comment(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return "# " + text + "\n";
}

void write_csv(const Results& results, std::ostream& out) {
  if (!results.tables.empty()) results.tables.front().table.write_csv(out);
  for (std::size_t i = 1; i < results.tables.size(); ++i) {
    const NamedTable& named = results.tables[i];
    if (named.sums_up) continue;
    out << '\n' << comment(named.title.empty() ? named.key : named.key + ": " + named.title);
    named.table.write_csv(out);
  }
  if (!results.notes.empty()) out << '\n';
  for (const std::string& note : results.notes) out << comment(note);
}

}  // namespace

const NamedTable* Results::table(std::string_view key) const {
  const auto found = std::ranges::find(tables, key, &NamedTable::key);
  return found == tables.end() ? nullptr : &*found;
}

void write(const Results& results, Format format, std::ostream& out, std::size_t text_width) {
  if (!results.text.empty()) {
    out << results.text;
    return;
  }
  switch (format) {
    case Format::table:
      return write_tables(results, out, text_width);
    case Format::csv:
      return write_csv(results, out);
    case Format::json:
      out << json_text(to_json(results));
      return;
  }
}

nlohmann::ordered_json to_json(const Results& results) {
  nlohmann::ordered_json object;
  object["platform"] = results.platform;
  for (const NamedTable& named : results.tables) object[named.key] = named.table.to_json();
  object["warnings"] = results.warnings;
  if (!results.notes.empty()) object["notes"] = results.notes;
  return object;
}

std::string json_text(const nlohmann::ordered_json& object) {
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace c3sim::study
