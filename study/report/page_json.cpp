#include "study/report/page_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "sim/check.h"

namespace c3sim::study {

namespace {

using Json = nlohmann::ordered_json;

// Scripts hold integers up to this exactly.
constexpr std::int64_t largest_number = std::int64_t{1} << 53;

struct CellJson {
  int decimals;

  Json operator()(std::monostate) const { return {}; }
  Json operator()(const NoNumber&) const { return {}; }
  Json operator()(bool value) const { return value ? "yes" : "no"; }
  Json operator()(std::int64_t value) const {
    return std::abs(value) <= largest_number ? Json(value) : Json(fmt::format("{}", value));
  }
  Json operator()(double value) const {
    const std::string text = fmt::format("{:.{}f}", value, decimals);
    if (!std::isfinite(value)) return text;
    const double rounded = std::strtod(text.c_str(), nullptr);
    return rounded == 0.0 ? 0.0 : rounded;  // what rounds to zero has no sign
  }
  Json operator()(const std::string& value) const { return value; }
};

Json column_json(const PageTable& table, std::size_t index) {
  const Column& column = table.table.columns()[index];
  bool numeric = false;
  bool fraction = false;  // what is counted has no decimals
  for (const auto& row : table.table.rows()) {
    numeric = numeric || is_number(row[index]);
    fraction = fraction || std::holds_alternative<double>(row[index]);
  }
  const bool choice = std::ranges::count(table.choices, column.key) > 0;
  return {{"heading", column.heading},
          {"unit", shown_unit(column, table.table.rows(), index).unit},
          {"numeric", numeric},
          {"decimals", fraction ? column.decimals : 0},
          {"command", column.key == "command"},
          {"choice", choice}};
}

Json section_json(const Section& section, const Colours& colours) {
  Json json{{"id", section.id}, {"heading", section.heading}, {"paragraphs", section.paragraphs}};
  for (const char* const list : {"charts", "tables"}) json[list] = Json::array();
  for (const Chart& chart : section.charts) json["charts"].push_back(chart_json(chart, colours));
  for (const PageTable& table : section.tables) json["tables"].push_back(table_json(table));
  return json;
}

}  // namespace

nlohmann::ordered_json table_json(const PageTable& table) {
  for (const std::string& key : table.choices) {
    SIM_CHECK(std::ranges::count(table.table.columns(), key, &Column::key) > 0);
  }
  Json json{{"id", table.id},
            {"caption", table.caption},
            {"sortable", table.sortable},
            {"filterable", table.filterable},
            {"first", table.first_rows}};
  const std::vector<Column>& columns = table.table.columns();
  std::vector<Json> rows(table.table.rows().size(), Json::array());
  for (const char* const list : {"columns", "rows"}) json[list] = Json::array();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c].in_text && !table.every_column) continue;
    json["columns"].push_back(column_json(table, c));
    const ShownUnit shown = shown_unit(columns[c], table.table.rows(), c);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      rows[r].push_back(std::visit(CellJson{columns[c].decimals}, shown.of(table.table.rows()[r][c])));
    }
  }
  for (Json& row : rows) json["rows"].push_back(std::move(row));
  return json;
}

nlohmann::ordered_json page_json(const Page& page) {
  const Colours colours = colours_of(page);
  Json json{{"title", page.title}, {"lead", page.lead}, {"sections", Json::array()}, {"headlines", Json::array()}};
  for (const Headline& one : page.headlines) {
    json["headlines"].push_back({{"label", one.label}, {"value", one.value}, {"beside", one.beside}});
  }
  json["version"] = page.version;
  json["command"] = page.command;
  for (const Section& section : page.sections) json["sections"].push_back(section_json(section, colours));
  return json;
}

std::string script_text(const nlohmann::ordered_json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (rest.front() == '<' || rest.front() == '>' || rest.front() == '&') {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(rest.front()));
    } else if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
      result += rest.starts_with("\u2028") ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      result += rest.front();
    }
  }
  return result;
}

namespace {

struct Names {
  std::vector<std::string> operator()(const BarChart& chart) const {
    if (chart.series.size() != 1) return chart.series;
    std::vector<std::string> names;
    for (const Bar& bar : chart.bars) names.push_back(bar.label);
    return names;
  }
  std::vector<std::string> operator()(const ScatterChart& chart) const {
    std::vector<std::string> names;
    for (const ScatterSeries& series : chart.series) names.push_back(series.name);
    return names;
  }
  std::vector<std::string> operator()(const BandChart&) const { return {}; }
  std::vector<std::string> operator()(const TimelineChart& chart) const { return chart.series; }
};

using Counts = std::array<int, colour_count>;

Counts uses_of(const std::vector<std::string>& names, const Colours& colours) {
  Counts uses{};
  for (const std::string& name : names) {
    const auto found = colours.find(name);
    if (found != colours.end() && found->second != grey) ++uses[static_cast<std::size_t>(found->second)];
  }
  return uses;
}

// Of those least used by the chart, the one least used so far.
int free_colour(const Counts& in_chart, const Counts& so_far) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < colour_count; ++i) {
    if (std::pair(in_chart[i], so_far[i]) < std::pair(in_chart[best], so_far[best])) best = i;
  }
  return static_cast<int>(best);
}

void add_chart(const std::vector<std::string>& names, std::vector<std::string>& seen, Colours& colours) {
  for (const std::string& name : names) {
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    if (!colours.contains(name)) {
      colours.emplace(name, free_colour(uses_of(names, colours), uses_of(seen, colours)));
    }
    seen.push_back(name);
  }
}

}  // namespace

std::vector<std::string> coloured_names(const Chart& chart) { return std::visit(Names{}, chart); }

Colours colours_of(const Page& page) {
  Colours colours;
  for (const std::vector<std::string>& beside : page.palette.first) {
    for (std::size_t i = 0; i < beside.size(); ++i) colours.emplace(beside[i], static_cast<int>(i) % colour_count);
  }
  for (const std::string& name : page.palette.grey) colours.insert_or_assign(name, grey);
  std::vector<std::string> seen;
  for (const Section& section : page.sections) {
    for (const Chart& chart : section.charts) add_chart(coloured_names(chart), seen, colours);
  }
  return colours;
}

}  // namespace c3sim::study
