// The records of a JSON text one by one, each value with its place, and as far as they are whole: a file whose end is
// missing is read up to there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/log_text.h"

namespace c3sim::calibrate {

struct JsonValue {
  std::string key;   // of plain names: "outofplace.time"; of the elements of an array, that of the array
  std::string text;  // of a number as it is written, of a string without quotes; never of null
  int line = 1;
  int column = 1;

  LogCell cell() const { return {text, line, column}; }
};

// An object that is an element of an array, or the whole text. Objects within it are part of it.
struct JsonRecord {
  std::string path;  // for people: "results[3]"; empty for the whole text
  LogCell at;        // where it begins; of no text
  std::vector<JsonValue> values;
  bool is_whole = true;

  // The first of that key, or null.
  const JsonValue* find(std::string_view key) const;
  std::string_view text(std::string_view key) const;  // its text, empty where there is none
};

struct JsonFault {
  LogCell at;
  std::string what;
};

// Hands over every record when it ends; records that a fault cuts off last, inner ones first. Several texts may follow
// each other, with or without commas between them. Returns what is wrong with it as JSON.
std::optional<JsonFault> read_json_records(std::string_view text, const std::function<void(const JsonRecord&)>& take);

}  // namespace c3sim::calibrate
