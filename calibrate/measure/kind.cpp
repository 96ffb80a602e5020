#include "calibrate/measure/kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

std::vector<Kind> read_kinds() {
  const std::map<std::string_view, Kind::Measure*> measures{{"launches", measure_launch},
                                                            {"gemms", measure_gemm},
                                                            {"copies", measure_copy},
                                                            {"fan_outs", measure_links},
                                                            {"collectives", measure_collective},
                                                            {"streams", measure_stream},
                                                            {"loads", measure_load},
                                                            {"series", measure_series},
                                                            {"steady", measure_steady},
                                                            {"duty_cycles", measure_steady},
                                                            {"phases", measure_phase},
                                                            {"pairs", measure_pair},
                                                            {"probes", measure_probe},
                                                            {"dependent", measure_dependent},
                                                            {"copy_phases", measure_copy_phases},
                                                            {"engines", measure_engine},
                                                            {"back_to_back", measure_copy},
                                                            {"links", measure_links},
                                                            {"dispatch", measure_dispatch},
                                                            {"link_power", measure_link_power},
                                                            {"matrix_power", measure_steady}};
  std::vector<Kind> kinds;
  std::string usual_times;
  for (const auto& [key, value] : entries_of(kinds_text())) {
    if (key == "times") {
      (kinds.empty() ? usual_times : kinds.back().times) = value;
    } else if (key == "columns") {
      kinds.back().columns = value;
    } else {
      kinds.push_back({key, value, "", usual_times, measures.at(key)});
    }
  }
  return kinds;
}

}  // namespace

const std::string& Arguments::text(std::string_view column) const {
  static const std::string nothing;
  const auto found = std::ranges::find(cells_, column, &std::pair<std::string, std::string>::first);
  return found == cells_.end() ? nothing : found->second;
}

std::int64_t Arguments::number(std::string_view column) const {
  const std::string& cell = text(column);
  return cell.empty() ? 0 : parse_count(cell, 0, std::numeric_limits<std::int64_t>::max());
}

GemmShape Arguments::shape() const { return parse_shape(text("gemm")); }

std::string Arguments::spelled() const {
  std::string all;
  for (const auto& [column, cell] : cells_) all += fmt::format("{}{}={}", all.empty() ? "" : " ", column, cell);
  return all;
}

std::span<const Kind> kinds() {
  static const std::vector<Kind> all = read_kinds();
  return all;
}

const Kind* kind_of(std::string_view name) {
  const auto found = std::ranges::find(kinds(), name, &Kind::name);
  return found == kinds().end() ? nullptr : &*found;
}

Row row_of(std::string_view name, const Summary& summary, double count) {
  return {{fmt::format("{}_us", name), spelled(summary.median / count)},
          {fmt::format("{}_p10_us", name), spelled(summary.low / count)},
          {fmt::format("{}_p90_us", name), spelled(summary.high / count)},
          {"n", std::to_string(summary.count)}};
}

Row row_of(const Timing& timing, double count, std::string_view name) {
  Row row = row_of(name, timing.wall, count);
  row["event_us"] = spelled(timing.all.median / count);
  return row;
}

Row row_of(const BoardMean& mean, const std::string& power, const std::string& clock) {
  return {{power, fmt::format("{:.1f}", mean.state.power)},
          {clock, fmt::format("{:.0f}", mean.state.clock)},
          {"samples", std::to_string(mean.samples)}};
}

}  // namespace c3sim::measure
