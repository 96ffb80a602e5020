#include "calibrate/readers/log_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <numeric>
#include <tuple>

#include "sim/interruption.h"
#include "study/report/statistics.h"
#include "study/work/operation.h"

namespace c3sim::calibrate {

LogReading::LogReading(std::string name, std::string_view text) : name_(std::move(name)), lines_(text) {
  reading_.name = std::filesystem::path(name_).filename().string();
}

bool LogReading::next() {
  while (lines_.next()) {
    const std::size_t size = line().text.size();
    if (size <= longest_log_line) return true;
    fault(line(), "", fmt::format("a line of {} bytes: no tool prints more than 64 KiB in one", size));
  }
  return false;
}

void LogReading::fault(const LogCell& at, std::string_view path, std::string what) {
  reading_.faults.push_back({fmt::format("{}:{}:{}", name_, at.line, at.column), std::string(path), std::move(what)});
}

void LogReading::remark(std::string_view path, std::string what) {
  sim::Fault remark{name_, std::string(path), std::move(what)};
  if (std::ranges::find(reading_.remarks, remark) == reading_.remarks.end())
    reading_.remarks.push_back(std::move(remark));
}

void LogReading::leave_out(int line, std::string why, std::string what, double seconds) {
  Omission omission{fmt::format("{}:{}", reading_.name, line), std::move(why), std::move(what), seconds};
  const auto words = [](const Omission& one) { return std::tie(one.where, one.why, one.what); };
  if (!reading_.left_out.empty() && words(reading_.left_out.back()) == words(omission)) return;
  reading_.left_out.push_back(std::move(omission));
}

void LogReading::add(Measurement measurement) {
  measurement.file = reading_.name;
  for (const Seen& seen : measurement.seen) measurement.asked.push_back(seen.figure);
  reading_.measurements.push_back(std::move(measurement));
}

void LogReading::add(int line, std::string group, study::Trial trial, const Seen& seen,
                     std::vector<std::string> assignments) {
  Measurement measurement;
  measurement.line = line;
  measurement.group = std::move(group);
  measurement.assignments = std::move(assignments);
  measurement.trial = std::move(trial);
  measurement.seen.push_back(seen);
  add(std::move(measurement));
}

template <class T, class Beyond>
std::optional<T> LogReading::checked(const LogCell& cell, std::string_view path, const sim::Parsed<T>& parsed,
                                     bool is_within, const Beyond& beyond) {
  if (parsed.error.empty() && is_within) return parsed.value;
  fault(cell, path, parsed.error.empty() ? shown(cell.text) + beyond() : parsed.error);
  return {};
}

std::optional<double> LogReading::figure(const LogCell& cell, study::Figure figure, std::string_view path) {
  const study::FigureForm& form = study::form_of(figure);
  sim::Parsed<double> parsed = parse_printed_number(cell.text);
  parsed.value *= form.per_unit;
  return checked(cell, path, parsed, parsed.value >= form.low && parsed.value <= form.high, [&] {
    return fmt::format(" cannot be: {} to {} {} are accepted", form.low / form.per_unit, form.high / form.per_unit,
                       form.unit);
  });
}

std::optional<double> LogReading::number(const LogCell& cell, double low, double high, std::string_view path) {
  const sim::Parsed<double> parsed = parse_printed_number(cell.text);
  return checked(cell, path, parsed, parsed.value >= low && parsed.value <= high,
                 [&] { return fmt::format(" must lie between {} and {}", low, high); });
}

std::optional<int> LogReading::integer(const LogCell& cell, int low, int high, std::string_view path) {
  const sim::Parsed<std::int64_t> parsed = parse_printed_integer(cell.text);
  return checked(cell, path, parsed, parsed.value >= low && parsed.value <= high,
                 [&] { return fmt::format(" must lie between {} and {}", low, high); });
}

std::optional<sim::Bytes> LogReading::bytes(const LogCell& cell, std::string_view path) {
  const sim::Parsed<std::int64_t> parsed = parse_printed_integer(cell.text);
  const double largest = study::largest_array.value();
  const auto bytes = checked(
      cell, path, parsed, parsed.value >= 1 && static_cast<double>(parsed.value) <= largest,
      [&] { return fmt::format(" is out of bounds: 1B to {} are accepted", sim::to_string(study::largest_array)); });
  return bytes ? std::optional(sim::Bytes(static_cast<double>(*bytes))) : std::nullopt;
}

void LogReading::set_gpu(std::string_view name) {
  if (reading_.gpu.empty()) reading_.gpu = printable(sim::trimmed(name));
}

Reading LogReading::take(std::string_view if_nothing) && {
  const bool is_empty =
      reading_.measurements.empty() && reading_.named.empty() && reading_.left_out.empty() && reading_.faults.empty();
  if (is_empty && !if_nothing.empty()) fault({}, "", std::string(if_nothing));
  return std::move(reading_);
}

Percentiles percentiles_of(std::vector<double> values) {
  std::ranges::sort(values, sim::as_short_steps(std::ranges::less()));
  const auto at = [&values](double share) {
    return study::value_at(values, share * static_cast<double>(values.size() - 1));
  };
  return {.median = at(0.5), .low = at(0.1), .high = at(0.9)};
}

// In the order in which they begin, each is held against the one of those before it that ends last: others that it
// meets lie within that one, and are beside it already.
std::vector<bool> is_beside_others(const std::vector<Stay>& stays) {
  constexpr double share = 0.01;
  std::vector<std::size_t> order(stays.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, sim::as_short_steps([&stays](std::size_t i) {
                      return std::tuple(stays[i].gpu, stays[i].begin, stays[i].end, i);
                    }));
  std::vector<double> shared(stays.size());
  std::size_t last = 0;
  sim::ShortSteps steps;
  for (std::size_t i = 0; i < order.size(); ++i) {
    steps.note();
    const std::size_t here = order[i];
    const bool is_first_of_gpu = i == 0 || stays[here].gpu != stays[last].gpu;
    const double both = std::min(stays[here].end, stays[last].end) - stays[here].begin;
    if (!is_first_of_gpu && both > 0.0) {
      shared[here] += both;
      shared[last] += both;
    }
    if (is_first_of_gpu || stays[here].end > stays[last].end) last = here;
  }
  std::vector<bool> beside(stays.size());
  for (std::size_t i = 0; i < stays.size(); ++i) beside[i] = shared[i] > share * (stays[i].end - stays[i].begin);
  return beside;
}

}  // namespace c3sim::calibrate
