#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/check.h"
#include "study/report/page_json.h"

namespace c3sim::study {

namespace {

using Json = nlohmann::ordered_json;

// What is no number is not there: JSON has no infinity.
Json optional_json(std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(); }

Json published_json(const std::optional<Published>& published) {
  return published ? Json{published->low, published->high} : Json();
}

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
    const std::optional<Reach> reach = bar.reaches.empty() ? std::nullopt : bar.reaches[index];
    reaches.push_back(reach ? Json{reach->low, reach->high} : Json());
    published.push_back(bar.published.empty() ? Json() : published_json(bar.published[index]));
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

  Json operator()(const BandChart& chart) const {
    Json json = head("bands", chart.id, chart.title, chart.caption);
    json["rows"] = Json::array();
    for (const BandRow& row : chart.rows) {
      SIM_CHECK(row.low <= row.high && std::isfinite(row.high - row.low) && std::isfinite(row.predicted));
      json["rows"].push_back({{"name", row.name},
                              {"low", row.low},
                              {"high", row.high},
                              {"published", published_json(row.published)},
                              {"predicted", row.predicted},
                              {"unit", row.unit},
                              {"holds", row.holds()}});
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

}  // namespace

nlohmann::ordered_json chart_json(const Chart& chart, const Colours& colours) {
  Json json = std::visit(ToJson{}, chart);
  json["colours"] = Json::array();
  for (const std::string& name : coloured_names(chart)) json["colours"].push_back(colours.at(name));
  return json;
}

}  // namespace c3sim::study
