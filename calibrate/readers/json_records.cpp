#include "calibrate/readers/json_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/iterator/iterator_facade.hpp>
#include <charconv>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/config/config_text.h"
#include "sim/interruption.h"

namespace c3sim::calibrate {

namespace {

using Json = nlohmann::json;

// A JsonPlace is the position of the parser in a text. Lines and columns of values come from it.
struct JsonPlace {
  std::string_view text;  // the current piece, or the whole text
  MoreText more{};        // returns the following pieces; may be empty
  std::size_t at = 0;     // in the current piece
  std::size_t line_start = 0;
  int line = 1;

  // Columns are only right for a text in one piece.
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

// A JsonIterator reads on from a place and moves the place.
class JsonIterator : public boost::iterator_facade<JsonIterator, const char, boost::single_pass_traversal_tag> {
 public:
  explicit JsonIterator(JsonPlace* place) : place_(place) {}  // null: the end of any text

 private:
  friend class boost::iterator_core_access;
  const char& dereference() const { return place_->text[place_->at]; }
  void increment() { place_->advance(); }
  bool equal(const JsonIterator& other) const { return is_end() == other.is_end(); }
  bool is_end() const { return place_ == nullptr || place_->is_end(); }

  JsonPlace* place_;
};

// The Handler builds records from what the parser finds.
class Handler final : public Json::json_sax_t {
 public:
  Handler(const JsonPlace& place, bool is_trace, const std::function<void(const JsonRecord&)>& take)
      : place_(place), is_trace_(is_trace), take_(take) {}

  bool null() override { return next_element(); }
  bool boolean(bool value) override { return add(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return add(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& written) override { return add(written); }
  bool string(string_t& value) override { return add(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(false); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    level().name = name;
    const std::size_t width = std::min(name.size() + 1, static_cast<std::size_t>(place_.column() - 1));
    key_ = {.text = {}, .line = place_.line, .column = place_.column() - static_cast<int>(width)};
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const Json::exception& error) override {
    const std::string_view what(error.what());
    const std::size_t reason = what.find(": ");
    set_fault(std::string(what.substr(reason == std::string_view::npos ? 0 : reason + 2)));
    fault_->byte = at;
    fault_->lacks_end_of_list =
        levels_.size() == 1 && level().is_array && what.find("unexpected end of input") != std::string_view::npos;
    return false;
  }

  const std::optional<JsonFault>& fault() const { return fault_; }
  // Hands over the incomplete records after a fault.
  void give_up() {
    for (; !records_.empty(); records_.pop_back()) {
      records_.back().is_whole = false;
      take_(records_.back());
    }
  }

 private:
  struct Level {
    bool is_array = false;
    bool is_record = false;
    std::size_t elements = 0;
    std::string name;  // of the current member of an object
  };

  Level& level() { return levels_.back(); }
  bool next_element() {
    steps_.note();
    if (!levels_.empty() && level().is_array) ++level().elements;
    return true;
  }
  LogCell here() const { return {.text = {}, .line = place_.line, .column = std::max(place_.column() - 1, 1)}; }
  void set_fault(std::string what) {
    constexpr std::size_t most = 160;
    std::ranges::replace_if(
        what, [](char c) { return c < ' ' || c > '~'; }, '?');
    fault_ = JsonFault{here(), "JSON is accepted: " + what.substr(0, most)};
  }

  bool open(bool is_array) {
    constexpr std::size_t deepest = 32;
    if (!is_trace_ && levels_.size() >= deepest) {
      set_fault(fmt::format("nested more than {} deep", deepest));
      return false;
    }
    const bool is_record = !is_array && (levels_.empty() || level().is_array);
    if (is_record) records_.push_back({.path = path(), .at = here(), .values = {}});
    levels_.push_back({.is_array = is_array, .is_record = is_record, .name = {}});
    return true;
  }
  bool close() {
    if (level().is_record) {
      take_(records_.back());
      records_.pop_back();
    }
    const bool is_array = level().is_array;
    levels_.pop_back();
    if (is_trace_ && is_array && !records_.empty() && level().is_array)
      records_.back().values.push_back({.key = key_in_record(), .text = {}, .ends_list = true});
    return next_element();
  }
  bool add(std::string text) {
    steps_.note();
    if (records_.empty()) return next_element();
    // What comes by the thousand are lists of what each request or repetition took, whose sums stand beside them.
    constexpr std::size_t most_elements = 4096;
    constexpr std::size_t most_values = 2 * most_elements;
    const std::size_t known = is_trace_ ? 0 : records_.back().values.size();
    if (known >= most_elements && level().is_array) return next_element();
    if (known >= most_values) {
      set_fault(fmt::format("more than {} values in one object", most_values));
      return false;
    }
    const LogCell at = level().is_array ? here() : key_;
    records_.back().values.push_back({key_in_record(), std::move(text), at.line, at.column});
    return next_element();
  }

  std::string path() const {
    std::string path;
    for (const Level& outer : levels_) {
      if (outer.is_array) {
        path += fmt::format("[{}]", outer.elements);
      } else {
        path += (path.empty() ? "" : ".") + printable(outer.name);
      }
    }
    return path;
  }
  std::string key_in_record() const {
    const auto record =
        std::find_if(levels_.rbegin(), levels_.rend(), [](const Level& outer) { return outer.is_record; });
    std::string key;
    for (auto inner = record.base() - 1; inner != levels_.end(); ++inner) {
      if (inner->is_array) continue;
      if (!key.empty()) key += '.';
      key += is_trace_ ? inner->name : plain_name(inner->name);
    }
    return key;
  }

  const JsonPlace& place_;
  bool is_trace_;
  const std::function<void(const JsonRecord&)>& take_;
  std::vector<Level> levels_;
  std::vector<JsonRecord> records_;  // records that have begun
  LogCell key_;
  std::optional<JsonFault> fault_;
  sim::ShortSteps steps_;
};

}  // namespace

bool is_json(std::string_view text) {
  text = sim::without_byte_order_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[');
}

const JsonValue* JsonRecord::find(std::string_view key) const {
  const auto found = std::ranges::find(values, key, &JsonValue::key);
  return found == values.end() ? nullptr : &*found;
}

std::string_view JsonRecord::text(std::string_view key) const {
  const JsonValue* const value = find(key);
  return value == nullptr ? std::string_view() : std::string_view(value->text);
}

std::string JsonRecord::path_of(std::string_view key) const {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

std::optional<JsonFault> read_json_records(std::string_view text, const std::function<void(const JsonRecord&)>& take) {
  text = sim::without_byte_order_mark(text);
  JsonPlace place{.text = text};
  const auto skip_between = [&place] {
    constexpr std::string_view between = " \t\r\n,";
    while (place.at < place.text.size() && between.find(place.text[place.at]) != std::string_view::npos)
      place.advance();
  };
  for (skip_between(); place.at < text.size(); skip_between()) {
    Handler handler(place, false, take);
    constexpr bool to_the_end = false;
    const bool parsed =
        Json::sax_parse(JsonIterator(&place), JsonIterator(nullptr), &handler, Json::input_format_t::json, to_the_end);
    handler.give_up();
    if (!parsed) return handler.fault();
  }
  return {};
}

std::optional<JsonFault> read_json_trace(std::string_view first, const MoreText& more,
                                         const std::function<void(const JsonRecord&)>& take) {
  // Whoever waits for the result is asked before each piece whether it is still wanted.
  constexpr std::size_t longest_piece = std::size_t{1} << 18;
  std::string_view rest = sim::without_byte_order_mark(first);
  const MoreText next = [&rest, &more] {
    sim::ask_interruption();
    if (rest.empty()) return more ? more() : std::string_view();
    const std::string_view piece = rest.substr(0, longest_piece);
    rest.remove_prefix(piece.size());
    return piece;
  };
  JsonPlace place{next(), next};
  Handler handler(place, true, take);
  Json::sax_parse(JsonIterator(&place), JsonIterator(nullptr), &handler);
  handler.give_up();
  return handler.fault();
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace c3sim::calibrate
