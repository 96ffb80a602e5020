#include "study/report/palette.h"

#include <algorithm>
#include <array>

namespace c3sim::study {

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
