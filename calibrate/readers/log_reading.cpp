#include "calibrate/readers/log_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <tuple>

#include "sim/config/nearest_name.h"
#include "sim/interruption.h"
#include "study/program/operation.h"
#include "study/report/statistics.h"

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

void LogTable::take_heads(const LogCells& heads) {
  constexpr std::size_t most_columns = 256;  // no tool that is read has more than some thirty
  shown_.clear();
  names_.clear();
  has_all_ = true;
  for (const LogCell& head : heads) {
    if (shown_.size() >= most_columns) break;
    shown_.push_back(printable(head.text));
    names_.push_back(plain_name(head.text));
  }
  place_ = heads.front().from(0, 0);
}

LogTable::Column LogTable::require(std::string_view name) {
  const Column column = find(name);
  if (!column) log_.fault(place_, name, "this column is missing" + sim::name_hint(name, shown_));
  has_all_ &= column.has_value();
  return column;
}

bool LogTable::take_row(LogCells cells, bool is_ended) {
  row_ = std::move(cells);
  std::string what;
  if (row_.size() != names_.size()) {
    const std::string_view why = row_.size() < names_.size() ? ": cut short?" : "";
    what = fmt::format("{} cells where the columns are {}{}", row_.size(), names_.size(), why);
  } else if (!is_ended) {
    what = "the row is cut off: an end of line is accepted behind it";
  }
  if (what.empty()) return true;
  log_.fault(row_.front().from(0, 0), "", std::move(what));
  return false;
}

LogTable::Column LogTable::find(std::string_view name) const {
  const auto found = std::ranges::find(names_, plain_name(name));
  return found == names_.end() ? std::nullopt : Column(found - names_.begin());
}

CsvTable::CsvTable(std::string_view text, LogReading& log) : LogTable(log), log_(log), lexer_(text) {
  if (lexer_.next(row_)) take_heads(cells());
}

bool CsvTable::next() {
  while (is_readable() && lexer_.next(row_)) {
    steps_.note();
    if (const auto& quote = row_.bad_quote) {
      log_.fault({.text = {}, .line = quote->line, .column = quote->column}, "", std::string(quote->what));
      continue;
    }
    const auto name_of = [](const sim::CsvCell& cell) { return plain_name(cell.text); };
    if (std::ranges::equal(row_.cells, names(), {}, name_of)) continue;
    if (take_row(cells(), row_.is_ended)) return true;
  }
  return false;
}

LogCells CsvTable::cells() const {
  LogCells cells;
  for (const sim::CsvCell& cell : row_.cells) cells.push_back({cell.text, cell.line, cell.column});
  return cells;
}

bool has_columns(std::string_view text, std::initializer_list<std::string_view> names) {
  LogReading log("");
  const CsvTable table(text, log);
  return std::ranges::all_of(names, [&table](std::string_view name) { return table.find(name).has_value(); });
}

Percentiles percentiles_of(std::vector<double> values) {
  std::ranges::sort(values, sim::as_short_steps(std::ranges::less()));
  const auto at = [&values](double share) {
    return study::value_at(values, share * static_cast<double>(values.size() - 1));
  };
  return {.median = at(0.5), .low = at(0.1), .high = at(0.9)};
}

}  // namespace c3sim::calibrate
