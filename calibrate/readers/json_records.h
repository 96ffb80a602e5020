// Reads the records of a JSON text one by one, each value with its place in the text. A text whose end is missing is
// read as far as it goes.
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

// Returns whether the first character after blanks opens an object or an array.
bool is_json(std::string_view text);

struct JsonValue {
  // Keys are plain names ("outofplace.time"); those of a trace stay as written. Elements of an array have its key.
  std::string key;
  std::string text;  // a number as written, a string without quotes; null makes no value
  int line = 1;
  int column = 1;
  bool ends_list = false;  // in a trace: a mark without text, for the end of an array within the array of this key

  LogCell cell() const { return {text, line, column}; }
};

// A JsonRecord is an object that is an element of an array, or the whole text. Nested objects are part of their record.
struct JsonRecord {
  std::string path;  // for people: "results[3]"; empty for the whole text
  LogCell at;        // where the record begins; has no text
  std::vector<JsonValue> values;
  bool is_whole = true;

  // Returns the first value of that key, or null.
  const JsonValue* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::string_view text(std::string_view key) const;  // empty if there is no such value
  std::string path_of(std::string_view key) const;    // for people: "results[3].size"
};

// Returns the integer that a text spells as JSON does, or nothing if it is none.
std::optional<std::int64_t> integer_of(std::string_view text);

struct JsonFault {
  LogCell at;
  std::string what;
  std::size_t byte = 0;            // number of bytes read so far
  bool lacks_end_of_list = false;  // the text is an array that lacks only its end: all elements are there
};

// Calls `take` with every record when the record ends; records that a fault cuts off come last, inner ones first. Of a
// record's lists, elements beyond some thousands are left out. The text may hold several JSON values in a row, with or
// without commas between them. Returns the JSON error, if any.
std::optional<JsonFault> read_json_records(std::string_view text, const std::function<void(const JsonRecord&)>& take);

// Returns the next piece of a text, which is valid until the next call; returns an empty piece after the end.
using MoreText = std::function<std::string_view()>;

// Reads a trace like read_json_records(). A trace is one JSON value of any size and depth, given as its first piece and
// a function that returns the others (or an empty function). Columns are not counted.
std::optional<JsonFault> read_json_trace(std::string_view first, const MoreText& more,
                                         const std::function<void(const JsonRecord&)>& take);

}  // namespace c3sim::calibrate
