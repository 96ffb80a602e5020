// A text of JSON on its way through the parser, which knows lines and columns of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "calibrate/readers/log_text.h"

namespace c3sim::calibrate {

// How far a text has been read.
struct JsonPlace {
  std::string_view text;
  std::size_t at = 0;
  std::size_t line_start = 0;
  int line = 1;

  void advance() {
    if (text[at++] != '\n') return;
    ++line;
    line_start = at;
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
  bool operator!=(const JsonIterator& other) const { return !(*this == other); }

 private:
  bool is_end() const { return place_ == nullptr || place_->at == place_->text.size(); }

  JsonPlace* place_;
};

}  // namespace c3sim::calibrate
