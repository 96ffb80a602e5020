// Reads arbitrary bytes as the log of every tool, unpacked from gzip and without colours: no reader throws, every
// measurement is within bounds, and every fault and omission has its place.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/reader.h"
#include "sim/config/measurement_text.h"
#include "tests/calibrate/readers/log_bounds.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim;

namespace {

// Returns whether `where` names a line that the text has, "f.log:3" or "f.log:3:7", or the file as a whole.
bool is_place(std::string_view where, std::string_view file, int lines) {
  if (where == file) return true;
  if (!where.starts_with(file) || !where.substr(file.size()).starts_with(':')) return false;
  const int line = std::atoi(std::string(where.substr(file.size() + 1)).c_str());
  return line >= 1 && line <= lines;
}

// Returns nothing if the bytes are refused as no text.
std::optional<std::string> text_of(const std::string& written) {
  constexpr std::size_t most = std::size_t{1} << 20;
  try {
    const int file = memfd_create("log", 0);
    require(file >= 0 && ::write(file, written.data(), written.size()) == static_cast<ssize_t>(written.size()));
    sim::MeasurementStream stream("/proc/self/fd/" + std::to_string(file), std::max(most, written.size()));
    ::close(file);
    std::string text;
    for (std::string_view piece = stream.next(); !piece.empty(); piece = stream.next()) text += piece;
    return calibrate::without_escapes(std::move(text));
  } catch (const sim::ConfigError& error) {
    require(!error.faults().empty());
    return {};
  }
}

}  // namespace

void fuzz(std::string_view bytes) {
  const std::optional<std::string> read = text_of(std::string(bytes));
  if (!read) return;
  const std::string_view text = *read;
  int lines = 1;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  for (const calibrate::LogFormat& format : calibrate::log_formats()) {
    format.recognises(text);
    const calibrate::Reading reading = format.read(text, "logs/all_reduce");
    for (const calibrate::Measurement& measurement : reading.measurements) {
      require(calibrate::why_absurd(measurement).empty());
      require(measurement.file == "all_reduce" && measurement.line <= lines);
      require(!study::to_string(measurement.trial).empty());
    }
    for (const calibrate::Omission& omission : reading.left_out) {
      require(is_place(omission.where, "all_reduce", lines) && !omission.why.empty());
    }
    for (const sim::Fault& fault : reading.faults) {
      require(is_place(fault.where, "logs/all_reduce", lines) && !fault.what.empty() && fault.what.size() < 400);
    }
    require(!reading.measurements.empty() || !reading.left_out.empty() || !reading.faults.empty());
  }
}
