#include "calibrate/readers/log_reading.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "study/work/operation.h"

namespace c3sim::calibrate {

LogReading::LogReading(std::string name) : name_(std::move(name)) {
  reading_.name = std::filesystem::path(name_).filename().string();
}

void LogReading::fault(const LogCell& at, std::string_view path, std::string what) {
  reading_.faults.push_back({fmt::format("{}:{}:{}", name_, at.line, at.column), std::string(path), std::move(what)});
}

void LogReading::leave_out(int line, std::string why, std::string what, double seconds) {
  Omission omission{fmt::format("{}:{}", reading_.name, line), std::move(why), std::move(what), seconds};
  const bool is_said = !reading_.left_out.empty() && reading_.left_out.back().where == omission.where &&
                       reading_.left_out.back().why == omission.why && reading_.left_out.back().what == omission.what;
  if (!is_said) reading_.left_out.push_back(std::move(omission));
}

void LogReading::add(Measurement measurement) {
  measurement.file = reading_.name;
  for (const Seen& seen : measurement.seen) measurement.asked.push_back(seen.figure);
  reading_.measurements.push_back(std::move(measurement));
}

std::optional<double> LogReading::figure(const LogCell& cell, study::Figure figure, std::string_view path) {
  const study::FigureForm& form = study::form_of(figure);
  const sim::Parsed<double> parsed = parse_printed_number(cell.text);
  const double value = parsed.value * form.per_unit;
  if (!parsed.error.empty()) {
    fault(cell, path, parsed.error);
  } else if (value < form.low || value > form.high) {
    fault(cell, path,
          fmt::format("{} cannot be: {} to {} {} are accepted", shown(cell.text), form.low / form.per_unit,
                      form.high / form.per_unit, form.unit));
  } else {
    return value;
  }
  return {};
}

std::optional<double> LogReading::number(const LogCell& cell, double low, double high, std::string_view path) {
  const sim::Parsed<double> parsed = parse_printed_number(cell.text);
  if (!parsed.error.empty()) {
    fault(cell, path, parsed.error);
  } else if (parsed.value < low || parsed.value > high) {
    fault(cell, path, fmt::format("{} must lie between {} and {}", shown(cell.text), low, high));
  } else {
    return parsed.value;
  }
  return {};
}

std::optional<int> LogReading::integer(const LogCell& cell, int low, int high, std::string_view path) {
  const sim::Parsed<std::int64_t> parsed = parse_printed_integer(cell.text);
  if (!parsed.error.empty()) {
    fault(cell, path, parsed.error);
  } else if (parsed.value < low || parsed.value > high) {
    fault(cell, path, fmt::format("{} must lie between {} and {}", shown(cell.text), low, high));
  } else {
    return static_cast<int>(parsed.value);
  }
  return {};
}

std::optional<sim::Bytes> LogReading::bytes(const LogCell& cell, std::string_view path) {
  const sim::Parsed<std::int64_t> parsed = parse_printed_integer(cell.text);
  const sim::Bytes bytes(static_cast<double>(parsed.value));
  if (!parsed.error.empty()) {
    fault(cell, path, parsed.error);
  } else if (parsed.value < 1 || bytes > study::largest_array) {
    fault(cell, path,
          fmt::format("{} is out of bounds: 1B to {} are accepted", shown(cell.text),
                      sim::to_string(study::largest_array)));
  } else {
    return bytes;
  }
  return {};
}

bool LogReading::accepts(const LogCell& line) {
  if (line.text.size() <= longest_log_line) return true;
  fault(line, "", fmt::format("a line of {} bytes: no tool prints more than 64 KiB in one", line.text.size()));
  return false;
}

void LogReading::set_gpu(std::string_view name) {
  if (reading_.gpu.empty()) reading_.gpu = printable(sim::trimmed(name));
}

bool LogReading::empty() const {
  return reading_.measurements.empty() && reading_.named.empty() && reading_.left_out.empty() &&
         reading_.faults.empty();
}

}  // namespace c3sim::calibrate
