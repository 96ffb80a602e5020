#include "study/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "models/platform/interference.h"
#include "sim/check.h"
#include "sim/overloaded.h"
#include "study/program/scenario.h"
#include "study/report/experiment_charts.h"
#include "study/report/page_parts.h"

namespace c3sim::study {

namespace {

using Json = nlohmann::ordered_json;

// Scripts represent integers up to this one exactly.
constexpr std::int64_t largest_number = std::int64_t{1} << 53;

Json number_json(double value, int decimals) {
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  if (!std::isfinite(value)) return text;
  const double rounded = std::strtod(text.c_str(), nullptr);
  return rounded == 0.0 ? 0.0 : rounded;  // a number that rounds to zero has no sign
}

Json cell_json(const Cell& cell, int decimals) {
  return std::visit(sim::Overloaded{[](std::monostate) { return Json(); }, [](const NoNumber&) { return Json(); },
                                    [](bool value) { return Json(value ? "yes" : "no"); },
                                    [](std::int64_t value) {
                                      return std::abs(value) <= largest_number ? Json(value)
                                                                               : Json(fmt::format("{}", value));
                                    },
                                    [=](double value) { return number_json(value, decimals); },
                                    [](const std::string& value) { return Json(value); }},
                    cell);
}

// Names returns the names that a chart shows in colours of their own.
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

// Returns, among the colours that the chart uses least, the one least used so far.
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

// Returns null for a value that is not finite, since JSON has no infinity.
Json optional_json(std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(); }

Json range_json(const std::optional<Interval>& range) { return range ? Json{range->low, range->high} : Json(); }

Json head(std::string_view kind, const std::string& id, const std::string& title, const std::string& caption) {
  return {{"kind", kind}, {"id", id}, {"title", title}, {"caption", caption}};
}

Json axis_json(const Axis& axis) {
  return {{"label", axis.label},
          {"unit", axis.unit},
          {"logarithmic", axis.logarithmic},
          {"low", optional_json(axis.low)},
          {"high", optional_json(axis.high)}};
}

Json point_json(const ScatterPoint& point) {
  Json json{{"x", point.x}, {"y", point.y}, {"label", point.label}};
  const std::array ends{std::pair{"x_low", point.x_low}, std::pair{"x_high", point.x_high},
                        std::pair{"y_low", point.y_low}, std::pair{"y_high", point.y_high}};
  for (const auto& [key, value] : ends) {
    if (value && std::isfinite(*value)) json[key] = *value;
  }
  if (point.marked) json["marked"] = true;
  return json;
}

Json bar_series_json(const BarChart& chart, std::size_t index) {
  Json values = Json::array();
  Json published = Json::array();
  Json reaches = Json::array();
  for (const Bar& bar : chart.bars) {
    values.push_back(optional_json(bar.values[index]));
    reaches.push_back(bar.reaches.empty() ? Json() : range_json(bar.reaches[index]));
    published.push_back(bar.published.empty() ? Json() : range_json(bar.published[index]));
  }
  Json json{{"name", chart.series[index]}, {"values", std::move(values)}, {"published", std::move(published)}};
  if (std::ranges::any_of(reaches, [](const Json& reach) { return !reach.is_null(); })) {
    json["reaches"] = std::move(reaches);
  }
  return json;
}

struct ToJson {
  Json operator()(const BarChart& chart) const {
    Json json = head("bars", chart.id, chart.title, chart.caption);
    json["axis"] = chart.value_axis;
    json["stacked"] = chart.layout == BarChart::Layout::stacked;
    json["baseline"] = chart.baseline;
    json["decimals"] = chart.decimals;
    for (const char* const list : {"labels", "series", "levels"}) json[list] = Json::array();
    for (const Bar& bar : chart.bars) {
      SIM_CHECK(bar.values.size() == chart.series.size());
      SIM_CHECK(bar.published.empty() || bar.published.size() == chart.series.size());
      SIM_CHECK(bar.reaches.empty() || bar.reaches.size() == chart.series.size());
      json["labels"].push_back(bar.label);
    }
    for (std::size_t i = 0; i < chart.series.size(); ++i) json["series"].push_back(bar_series_json(chart, i));
    for (const Level& level : chart.levels) json["levels"].push_back({{"name", level.name}, {"value", level.value}});
    return json;
  }

  Json operator()(const ScatterChart& chart) const {
    Json json = head("points", chart.id, chart.title, chart.caption);
    json["x"] = axis_json(chart.x);
    json["y"] = axis_json(chart.y);
    json["toggles"] = chart.toggles;
    json["joined"] = chart.joined;
    json["legend"] = chart.legend;
    json["marks"] = chart.marks;
    json["panel"] = chart.is_panel;
    for (const char* const list : {"series", "guides"}) json[list] = Json::array();
    for (const ScatterSeries& series : chart.series) {
      Json points = Json::array();
      for (const ScatterPoint& point : series.points) {
        if (std::isfinite(point.x) && std::isfinite(point.y)) points.push_back(point_json(point));
      }
      json["series"].push_back({{"name", series.name}, {"points", std::move(points)}});
    }
    for (const GuideLine& guide : chart.guides) {
      json["guides"].push_back({{"name", guide.name},
                                {"from", {{"x", guide.from_x}, {"y", guide.from_y}}},
                                {"to", {{"x", guide.to_x}, {"y", guide.to_y}}}});
    }
    return json;
  }

  Json operator()(const TimelineChart& chart) const {
    Json json = head("timeline", chart.id, chart.title, chart.caption);
    json["series"] = chart.series;
    json["rows"] = Json::array();
    for (const TimelineRow& row : chart.rows) {
      Json bars = Json::array();
      for (const TimelineBar& bar : row.bars) {
        SIM_CHECK(bar.series < chart.series.size() && bar.start <= bar.end);
        bars.push_back({bar.start, bar.end, bar.series, bar.label, bar.detail});
      }
      json["rows"].push_back({{"name", row.name}, {"bars", std::move(bars)}});
    }
    return json;
  }
};

// Returns the frame with each {{name}} replaced by its text. Names inside inserted texts are not replaced.
std::string filled(std::string_view frame, const std::map<std::string, std::string, std::less<>>& texts) {
  std::string result;
  while (true) {
    const std::size_t open = frame.find("{{");
    result += frame.substr(0, open);
    if (open == std::string_view::npos) return result;
    const std::size_t close = frame.find("}}", open);
    SIM_CHECK(close != std::string_view::npos);
    const auto text = texts.find(frame.substr(open + 2, close - open - 2));
    SIM_CHECK(text != texts.end());
    result += text->second;
    frame.remove_prefix(close + 2);
  }
}

constexpr std::size_t long_table = 20;    // number of rows from which on a reader may want to filter
constexpr std::size_t first_rows = 25;    // number of rows shown before the reader asks for more
constexpr std::size_t most_choices = 32;  // limit of what a drop-down should hold

// Returns whether a column consists of a few texts that recur.
bool is_choice(const ResultTable& table, std::size_t column) {
  std::set<std::string> texts;
  for (const std::vector<Cell>& row : table.rows()) {
    if (std::holds_alternative<std::monostate>(row[column])) continue;
    const std::string* const text = std::get_if<std::string>(&row[column]);
    if (text == nullptr) return false;
    texts.insert(*text);
  }
  return texts.size() >= 2 && texts.size() <= most_choices;
}

// Returns the places of the columns that a page shows, in their order.
std::vector<std::size_t> places_on_page(const NamedTable& named) {
  const std::vector<Column>& columns = named.table.columns();
  std::vector<std::size_t> places;
  for (const std::string& key : named.on_page) places.push_back(place_of(columns, key));
  for (std::size_t c = 0; c < columns.size() && named.on_page.empty(); ++c) {
    if (columns[c].in_text || !named.in_text) places.push_back(c);
  }
  return places;
}

Json column_json(const ResultTable& table, std::size_t index, bool is_filtered) {
  const Column& column = table.columns()[index];
  bool numeric = false;
  bool fraction = false;  // counts have no decimals
  for (const auto& row : table.rows()) {
    numeric = numeric || is_number(row[index]);
    fraction = fraction || std::holds_alternative<double>(row[index]);
  }
  return {{"heading", column.heading},
          {"unit", shown_unit(column, table.rows(), index).unit},
          {"numeric", numeric},
          {"decimals", fraction ? column.decimals : 0},
          {"command", column.key == "command"},
          {"choice", is_filtered && is_choice(table, index)}};
}

// Returns the title without what the title of the page says already.
std::string heading_of(const std::string& title, const std::string& page_title) {
  if (title.empty() || title == page_title) return "Results";
  const std::string repeated = page_title + ": ";
  return title.starts_with(repeated) ? title.substr(repeated.size()) : title;
}

Json section_json(const std::string& id, const std::string& heading, const std::vector<Chart>& charts,
                  const Colours& colours) {
  Json json{{"id", id}, {"heading", heading}, {"charts", Json::array()}};
  for (const Chart& chart : charts) json["charts"].push_back(chart_json(chart, colours));
  return json;
}

// Returns the tables in the order of the page, without those that have nothing to show.
std::vector<const NamedTable*> in_order(const Results& results) {
  std::vector<const NamedTable*> tables;
  for (const bool in_text : {true, false}) {
    for (const NamedTable& named : results.tables) {
      const bool is_empty = named.table.rows().empty() && named.charts.empty();
      if (named.in_text == in_text && !is_empty) tables.push_back(&named);
    }
  }
  return tables;
}

// Returns the JSON as text that may stand inside <script>: the text cannot end the element. Bytes that are not UTF-8
// are replaced.
std::string script_text(const Json& json) {
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

}  // namespace

nlohmann::ordered_json table_json(const NamedTable& named) {
  const ResultTable& table = named.table;
  const bool is_filtered = table.rows().size() > long_table;
  Json json{{"id", named.key + "_table"}, {"filterable", is_filtered}, {"first", first_rows}};
  std::vector<Json> rows(table.rows().size(), Json::array());
  for (const char* const list : {"columns", "rows"}) json[list] = Json::array();
  for (const std::size_t place : places_on_page(named)) {
    const Column& column = table.columns()[place];
    json["columns"].push_back(column_json(table, place, is_filtered));
    const ShownUnit shown = shown_unit(column, table.rows(), place);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      rows[r].push_back(cell_json(shown.of(table.rows()[r][place]), column.decimals));
    }
  }
  for (Json& row : rows) json["rows"].push_back(std::move(row));
  return json;
}

nlohmann::ordered_json page_json(const Results& results, const std::string& version, const std::string& command) {
  const Colours colours = colours_of(results);
  const std::string title = title_of(results);
  const std::string of_platform = "What c3sim predicts for the platform " + results.platform + ".";
  Json lead = Json::array({results.about.empty() ? of_platform : results.about});
  for (const std::string& note : results.notes) lead.push_back(note);
  for (const std::string& warning : results.warnings) lead.push_back("Warning: " + warning);
  Json json{{"title", title},     {"lead", std::move(lead)}, {"sections", Json::array()}, {"headlines", Json::array()},
            {"version", version}, {"command", command}};
  for (const Headline& one : results.headlines) {
    json["headlines"].push_back({{"label", one.label}, {"value", one.value}, {"beside", one.beside}});
  }
  Json& sections = json["sections"];
  if (!results.charts.empty()) sections.push_back(section_json("overview", "Overview", results.charts, colours));
  for (const NamedTable* const named : in_order(results)) {
    sections.push_back(section_json(named->key, heading_of(named->title, title), named->charts, colours));
    sections.back()["table"] = table_json(*named);
  }
  return json;
}

Colours colours_of(const Results& results, const Palette& palette) {
  Colours colours;
  for (const std::vector<std::string>& beside : palette.first) {
    for (std::size_t i = 0; i < beside.size(); ++i) colours.emplace(beside[i], static_cast<int>(i) % colour_count);
  }
  for (const std::string& name : palette.grey) colours.insert_or_assign(name, grey);
  std::vector<std::string> seen;
  const auto add = [&](const std::vector<Chart>& charts) {
    for (const Chart& chart : charts) add_chart(std::visit(Names{}, chart), seen, colours);
  };
  add(results.charts);
  for (const NamedTable* const named : in_order(results)) add(named->charts);
  return colours;
}

nlohmann::ordered_json chart_json(const Chart& chart, const Colours& colours) {
  Json json = std::visit(ToJson{}, chart);
  json["colours"] = Json::array();
  for (const std::string& name : std::visit(Names{}, chart)) json["colours"].push_back(colours.at(name));
  return json;
}

std::string to_html(const Results& results, const std::string& version, const std::string& command) {
  const PagePart style = page_style();
  std::map<std::string, std::string, std::less<>> texts;
  texts["style"] = style.text;
  texts["style_hash"] = "'" + style.hash + "'";
  for (const PagePart& script : page_scripts()) {
    texts["script_hashes"] += (texts["script_hashes"].empty() ? "'" : " '") + script.hash + "'";
    texts["scripts"].append("<script>").append(script.text).append("</script>\n");
  }
  texts["data"] = script_text(page_json(results, version, command));
  return filled(page_frame(), texts);
}

Palette study_palette() {
  using models::Mechanism;
  Palette palette;
  std::vector<std::string>& strategies = palette.first.emplace_back();
  for (const Strategy strategy : {Strategy::conccl, Strategy::c3_base, Strategy::conccl_rp, Strategy::c3_sp,
                                  Strategy::c3_best, Strategy::c3_rp, Strategy::heuristic, Strategy::c3_sp_rp}) {
    strategies.emplace_back(to_string(strategy));
  }
  std::vector<std::string>& mechanisms = palette.first.emplace_back();
  for (const Mechanism mechanism :
       {Mechanism::cu_loss, Mechanism::dispatch_wait, Mechanism::clock, Mechanism::hbm, Mechanism::loaded_latency,
        Mechanism::infinity_cache, Mechanism::l2, Mechanism::link, Mechanism::awake, Mechanism::cold,
        Mechanism::undershoot, Mechanism::shader_engines}) {
    mechanisms.emplace_back(to_string(mechanism));
  }
  palette.first.emplace_back(doers.begin(), doers.end());
  palette.grey = {std::string(to_string(Strategy::serial)), "ideal", "rest"};
  palette.grey.insert(palette.grey.end(), yardsticks.begin(), yardsticks.end());
  return palette;
}

std::string title_of(const Results& results) {
  if (!results.title.empty()) return results.title;
  const std::string& first = results.tables.front().title;
  return first.empty() ? "Predicted for " + results.platform : first;
}

}  // namespace c3sim::study
