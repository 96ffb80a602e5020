// Reads the sample logs under tests/data, and checks what becomes of a text that is damaged in every place.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/reader.h"
#include "tests/calibrate/readers/log_bounds.h"
#include "tests/text_file.h"

namespace c3sim::calibrate {

inline std::string sample(const std::string& name) {
  return content(std::string(C3SIM_SOURCE_DIR) + "/tests/data/" + name);
}

// Returns the format that recognises the text: empty if none does, and "several" if more than one does.
inline std::string_view format_of(std::string_view text) {
  std::string_view name;
  for (const LogFormat& format : log_formats()) {
    if (!format.recognises(text)) continue;
    if (!name.empty()) return "several";
    name = format.name;
  }
  return name;
}

inline Reading read_as(std::string_view format, std::string_view text, const std::string& name = "folder/f.log") {
  for (const LogFormat& known : log_formats()) {
    if (known.name == format) return known.read(text, name);
  }
  return {};
}

// Returns "where: path: what" of every fault, and "where: what: why" of every omission, a line each.
inline std::string faults_of(const Reading& reading) {
  std::string text;
  for (const sim::Fault& fault : reading.faults) text += fault.where + ": " + fault.path + ": " + fault.what + "\n";
  return text;
}
inline std::string left_out_of(const Reading& reading) {
  std::string text;
  for (const Omission& omission : reading.left_out) {
    text += omission.where + ": " + omission.what + (omission.what.empty() ? "" : ": ") + omission.why + "\n";
  }
  return text;
}

inline std::string words_of_trial(const Reading& reading, std::size_t i) {
  return study::to_string(reading.measurements.at(i).trial);
}
inline double seen_in(const Reading& reading, std::size_t i) { return reading.measurements.at(i).seen.at(0).value; }

inline void expect_sane(const Reading& reading) {
  for (const Measurement& measurement : reading.measurements) {
    EXPECT_EQ(why_absurd(measurement), "") << measurement.where() << ": " << study::to_string(measurement.trial);
  }
}

// Cuts the log off after every byte: the prefix says nothing that the whole does not say, and its measurements are the
// first ones of the whole, in the same lines.
inline void expect_prefixes_read_the_same(std::string_view format, const std::string& text) {
  const Reading whole = read_as(format, text);
  for (std::size_t size = 0; size < text.size(); ++size) {
    const Reading part = read_as(format, std::string_view(text).substr(0, size));
    ASSERT_LE(part.measurements.size(), whole.measurements.size()) << "of " << size << " bytes";
    for (std::size_t i = 0; i < part.measurements.size(); ++i) {
      const Measurement& there = whole.measurements[i];
      const Measurement& here = part.measurements[i];
      ASSERT_TRUE(here.trial == there.trial && here.line == there.line &&
                  here.seen.at(0).value == there.seen.at(0).value)
          << "of " << size << " bytes, " << here.where() << ": " << study::to_string(here.trial);
    }
  }
}

// Replaces each byte in turn by others that a slip or a broken disk may leave there.
inline void expect_damage_is_survived(std::string_view format, const std::string& text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char c : {'\0', '\xFF', '-', '9', '\n', 'x', '|'}) {
      std::string damaged = text;
      damaged[at] = c;
      expect_sane(read_as(format, damaged));
    }
  }
}

}  // namespace c3sim::calibrate
