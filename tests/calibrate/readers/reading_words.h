// Puts what is read of a file into words, a line for each thing that was found.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "calibrate/readers/measurement.h"
#include "sim/config/config_error.h"

namespace c3sim::calibrate {

inline std::string words_of(const Seen& seen) {
  std::string text = fmt::format("{} {:.6g}", study::form_of(seen.figure).key, seen.value);
  if (seen.low) text += fmt::format(", low {:.6g}", *seen.low);
  if (seen.high) text += fmt::format(", high {:.6g}", *seen.high);
  if (seen.low && seen.deviations != Seen::of_many) text += fmt::format(", {:.3g} deviations apart", seen.deviations);
  if (seen.band) text += fmt::format(", band {:.6g}", *seen.band);
  return text;
}

inline std::string words_of(const Measurement& one) {
  std::string text = fmt::format("{}: {}", one.where(), study::to_string(one.trial));
  for (const Seen& seen : one.seen) text += "; " + words_of(seen);
  if (!one.assignments.empty()) text += fmt::format("; with {}", fmt::join(one.assignments, " "));
  if (!one.group.empty()) text += fmt::format("; group '{}'", one.group);
  if (one.role != Role::unlisted) text += fmt::format("; {}", to_string(one.role));
  if (!one.platform.empty()) text += fmt::format("; on {}", one.platform);
  if (!one.decision.empty()) text += fmt::format("; choice '{}' is '{}'", one.decision, one.alternative);
  if (one.alone.gemm) text += fmt::format("; GEMM alone {:.6g}", *one.alone.gemm);
  if (one.alone.collective) text += fmt::format("; collective alone {:.6g}", *one.alone.collective);
  if (one.alone.gemm_in_turn) text += fmt::format("; GEMM in turn {:.6g}", *one.alone.gemm_in_turn);
  if (one.alone.collective_in_turn) text += fmt::format("; collective in turn {:.6g}", *one.alone.collective_in_turn);
  if (one.alone.tiles) text += fmt::format("; tiles {:.6g}", *one.alone.tiles);
  if (one.holds_waits) text += "; holds waits";
  return text + '\n';
}

inline std::string words_of(const std::vector<sim::Fault>& faults, const char* kind) {
  std::string text;
  for (const sim::Fault& fault : faults)
    text += fmt::format("{}: {}: {}: {}\n", kind, fault.where, fault.path, fault.what);
  return text;
}

inline std::string full_words_of(const Reading& reading) {
  std::string text = reading.format + '\n';
  if (!reading.gpu.empty()) text += fmt::format("gpu: {}\n", reading.gpu);
  for (const std::string& line : reading.header) text += fmt::format("header: {}\n", line);
  for (const Measurement& one : reading.measurements) text += words_of(one);
  for (const Omission& one : reading.left_out) {
    text += fmt::format("left out: {}: {}{}{}\n", one.where, one.what, one.what.empty() ? "" : ": ", one.why);
  }
  return text + words_of(reading.remarks, "remark") + words_of(reading.faults, "fault");
}

}  // namespace c3sim::calibrate
