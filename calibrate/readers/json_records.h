// The records of a JSON text one by one, each value with its place, and as far as they are whole: a file whose end is
// missing is read up to there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/log_reading.h"

namespace c3sim::calibrate {

// Whether the first byte that is no blank begins an object or a list.
bool is_json(std::string_view text);

struct JsonValue {
  // Of plain names, "outofplace.time", or in a trace as they are written; of an array's elements, that of the array.
  std::string key;
  std::string text;  // of a number as it is written, of a string without quotes; never of null
  int line = 1;
  int column = 1;
  bool ends_list = false;  // of a trace: nothing but the end of a list within a list of that key

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
  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::string_view text(std::string_view key) const;  // its text, empty where there is none
  std::string path_of(std::string_view key) const;    // for people: "results[3].size"
};

// The whole number that a text is, written as JSON has it; nothing of others.
std::optional<std::int64_t> integer_of(std::string_view text);

struct JsonFault {
  LogCell at;
  std::string what;
  std::size_t byte = 0;            // how many were read
  bool lacks_end_of_list = false;  // of a list that is the whole text: all of its elements are there
};

// Hands over every record when it ends; records that a fault cuts off last, inner ones first. Several texts may follow
// each other, with or without commas between them. Returns what is wrong with it as JSON.
std::optional<JsonFault> read_json_records(std::string_view text, const std::function<void(const JsonRecord&)>& take);

// The next piece of a text, good until the next call; empty behind its end.
using MoreText = std::function<std::string_view()>;

// The same of a trace, which is one text of any size and depth: the first piece of it, and what hands over the others,
// if it has more than one. Columns are not told.
std::optional<JsonFault> read_json_trace(std::string_view first, const MoreText& more,
                                         const std::function<void(const JsonRecord&)>& take);

}  // namespace c3sim::calibrate
