#include "study/report/experiment_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace c3sim::study {

namespace {

std::string row_name(const GraphNode& node, int gpus) {
  std::string name = node.operation.stream;
  if (node.gpus.size() == static_cast<std::size_t>(gpus)) return name;
  return fmt::format("{}, GPU {}", name, fmt::join(node.gpus, " "));
}

// A row with more bars, each about a pixel wide, is split into one row per colour.
constexpr std::size_t most_bars_of_a_row = 120;

void part_crowded_rows(TimelineChart& chart) {
  std::vector<TimelineRow> rows;
  for (TimelineRow& row : chart.rows) {
    if (row.bars.size() <= most_bars_of_a_row) {
      rows.push_back(std::move(row));
      continue;
    }
    for (std::size_t series = 0; series < chart.series.size(); ++series) {
      TimelineRow part{fmt::format("{}: {}", row.name, chart.series[series])};
      std::ranges::copy_if(row.bars, std::back_inserter(part.bars),
                           [series](const TimelineBar& bar) { return bar.series == series; });
      if (!part.bars.empty()) rows.push_back(std::move(part));
    }
  }
  chart.rows = std::move(rows);
}

std::size_t place_of(std::vector<std::string>& all, const std::string& name) {
  const auto known = std::ranges::find(all, name);
  const auto place = static_cast<std::size_t>(known - all.begin());
  if (known == all.end()) all.push_back(name);
  return place;
}

}  // namespace

TimelineChart stream_chart(const OperationGraph& graph, std::span<const Span> spans, int gpus) {
  TimelineChart chart{.id = "timeline", .title = "Streams over time"};
  chart.caption =
      "A bar lasts from when the turn of an operation has come in its stream to when it is over there: what the host "
      "takes to launch a kernel and to notice its end is left out. Draw a frame around a stretch of time to look "
      "closer.";
  for (std::size_t place = 0; place < spans.size(); ++place) {
    const GraphNode& node = graph.nodes()[place];
    const Operation& operation = node.operation;
    const std::string name = row_name(node, gpus);
    auto row = std::ranges::find(chart.rows, name, &TimelineRow::name);
    if (row == chart.rows.end()) row = chart.rows.insert(row, {name});
    const char* const doer = doers[static_cast<std::size_t>(doer_of(operation.work))];
    row->bars.push_back({sim::to_microseconds(spans[place].start), sim::to_microseconds(spans[place].end),
                         place_of(chart.series, doer), operation.name, to_string(operation.work)});
  }
  part_crowded_rows(chart);
  return chart;
}

BarChart operation_chart(std::span<const TimeBeside> operations) {
  BarChart chart{.id = "operations_us",
                 .title = "Operations in this run and alone",
                 .value_axis = "time on their queues, all of a name together [us]",
                 .series = {"in this run", yardsticks[0]}};
  for (const TimeBeside& one : operations) {
    const std::optional<double> beside = one.beside ? std::optional(sim::to_microseconds(*one.beside)) : std::nullopt;
    chart.bars.push_back({one.name, {sim::to_microseconds(one.time), beside}});
  }
  return chart;
}

BarChart makespan_chart(sim::Time makespan, sim::Time serial) {
  return {
      .id = "makespan_us",
      .title = "Makespan",
      .value_axis = "time [us]",
      .series = {"makespan"},
      .bars = {{"this schedule", {sim::to_microseconds(makespan)}}, {yardsticks[1], {sim::to_microseconds(serial)}}}};
}

}  // namespace c3sim::study
