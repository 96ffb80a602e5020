// The records of a JSON text one by one, each value with its place, and as far as they are whole: a file whose end is
// missing is read up to there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/log_text.h"

namespace c3sim::calibrate {

// Whether the first byte that is no blank begins an object or a list.
bool is_json(std::string_view text);

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
  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::string_view text(std::string_view key) const;  // its text, empty where there is none
  std::string path_of(std::string_view key) const;    // for people: "results[3].size"
};

struct JsonFault {
  LogCell at;
  std::string what;
};

// Hands over every record when it ends; records that a fault cuts off last, inner ones first. Several texts may follow
// each other, with or without commas between them. Returns what is wrong with it as JSON.
std::optional<JsonFault> read_json_records(std::string_view text, const std::function<void(const JsonRecord&)>& take);

// The next piece of a text, good until the next call; empty behind its end.
using MoreText = std::function<std::string_view()>;

// How far a text has been read: on its way through the parser, which knows lines and columns of it.
struct JsonPlace {
  std::string_view text;  // a piece of it, or the whole
  MoreText more{};        // what follows; none: nothing
  std::size_t at = 0;     // in the piece
  std::size_t line_start = 0;
  int line = 1;

  // Columns are told of a text in one piece.
  void advance() {
    if (text[at++] != '\n') return;
    ++line;
    line_start = at;
  }
  bool is_end() {
    if (at < text.size()) return false;
    if (!more) return true;
    text = more();
    at = 0;
    return text.empty();
  }
  int column() const { return static_cast<int>(std::min(at - line_start, longest_log_line)) + 1; }
};

// Reads on from a place and moves it.
class JsonIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit JsonIterator(JsonPlace* place) : place_(place) {}  // null: the end of any text
  reference operator*() const { return place_->text[place_->at]; }
  JsonIterator& operator++() {
    place_->advance();
    return *this;
  }
  bool operator==(const JsonIterator& other) const { return is_end() == other.is_end(); }

 private:
  bool is_end() const { return place_ == nullptr || place_->is_end(); }

  JsonPlace* place_;
};

}  // namespace c3sim::calibrate
