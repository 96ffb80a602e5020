#include "study/report/results.h"

#include <nlohmann/json.hpp>

namespace c3sim::study {

namespace {

void write_tables(const Results& results, std::ostream& out) {
  bool first = true;
  for (const NamedTable& named : results.tables) {
    if (!named.in_text) continue;
    if (!first) out << '\n';
    first = false;
    if (!named.title.empty()) out << named.title << '\n';
    named.table.write_text(out);
  }
  if (!results.notes.empty() && !first) out << '\n';
  for (const std::string& note : results.notes) out << note << '\n';
}

void write_json(const Results& results, std::ostream& out) {
  nlohmann::ordered_json object;
  object["platform"] = results.platform;
  for (const NamedTable& named : results.tables) object[named.key] = named.table.to_json();
  object["warnings"] = results.warnings;
  if (!results.notes.empty()) object["notes"] = results.notes;
  // A name in a file may hold bytes that are no UTF-8: they are replaced, so that the output stays JSON.
  out << object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace

void write(const Results& results, Format format, std::ostream& out) {
  switch (format) {
    case Format::table:
      return write_tables(results, out);
    case Format::csv:
      return results.tables.front().table.write_csv(out);
    case Format::json:
      return write_json(results, out);
  }
}

}  // namespace c3sim::study
