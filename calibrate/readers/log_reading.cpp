#include "calibrate/readers/log_reading.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/case_conv.hpp>
#include <charconv>
#include <filesystem>
#include <locale>
#include <tuple>

#include "sim/config/nearest_name.h"
#include "study/program/operation.h"
#include "study/report/statistics.h"

namespace c3sim::calibrate {

namespace {

using re2::RE2;

constexpr std::size_t most_shown = 40;
constexpr std::string_view blanks = " \t\r\v\f";

template <class T>
sim::Parsed<T> parse_printed(std::string_view text, std::string_view accepted) {
  constexpr std::size_t longest = 40;
  const std::string_view unsigned_text = text.substr(text.starts_with('+') || text.starts_with('-') ? 1 : 0);
  const std::string_view number = text.starts_with('-') ? text : unsigned_text;
  const bool is_begun =  // unlike "nan" and "+-1"
      !unsigned_text.empty() && (sim::is_digit(unsigned_text.front()) || unsigned_text.front() == '.');
  const char* const end = number.data() + number.size();
  sim::Parsed<T> parsed;
  const auto [read_to, error] = std::from_chars(number.data(), end, parsed.value);
  if (text.size() > longest || !is_begun || error != std::errc() || read_to != end) {
    parsed.error = fmt::format("{} is not {}", shown(text), accepted);
  }
  return parsed;
}

// Returns the end of a tag at the start of a line, after blanks; 0 if there is no tag.
std::size_t end_of(const LogPattern& tag, std::string_view line) {
  const std::size_t begin = line.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return 0;
  const LogCells found = tag.groups({line.substr(begin)});
  return found.empty() ? 0 : begin + found.front().text.size();
}

// Returns whether more than half of the first lines that are not blank begin with the tag.
bool is_in_front(const LogPattern& tag, std::string_view text) {
  constexpr std::size_t looked_at = 400;
  std::size_t lines = 0;
  std::size_t tagged = 0;
  for (LogLines each(text); lines < looked_at && each.next();) {
    const std::string_view line = each.line().text.substr(0, longest_log_line);
    if (line.find_first_not_of(blanks) == std::string_view::npos) continue;
    ++lines;
    tagged += end_of(tag, line) > 0 ? 1 : 0;
  }
  return lines > 1 && 2 * tagged > lines;
}

// Returns the parsed value if it is within its bounds. Otherwise records a fault, for which `beyond` returns the words
// about a value out of bounds, and returns nothing.
template <class T, class Beyond>
std::optional<T> checked(LogReading& log, const LogCell& cell, std::string_view path, const sim::Parsed<T>& parsed,
                         T low, T high, const Beyond& beyond) {
  if (parsed.ok() && parsed.value >= low && parsed.value <= high) return parsed.value;
  log.fault(cell, path, parsed.ok() ? shown(cell.text) + beyond() : parsed.error);
  return {};
}

template <class T>
std::optional<T> between(LogReading& log, const LogCell& cell, std::string_view path, const sim::Parsed<T>& parsed,
                         T low, T high) {
  return checked(log, cell, path, parsed, low, high,
                 [&] { return fmt::format(" must lie between {} and {}", low, high); });
}

}  // namespace

LogLines::LogLines(std::string_view text) : rest_(sim::without_byte_order_mark(text)) {}

bool LogLines::next() {
  if (rest_.empty()) return false;
  steps_.note();
  const std::size_t end = rest_.find('\n');
  is_ended_ = end != std::string_view::npos;
  line_.text = rest_.substr(0, end);
  rest_.remove_prefix(is_ended_ ? end + 1 : rest_.size());
  if (line_.text.ends_with('\r')) line_.text.remove_suffix(1);
  ++line_.line;
  return true;
}

LogPattern::LogPattern(const char* expression) : expression_(std::make_shared<const RE2>(expression, RE2::Latin1)) {}

bool LogPattern::is_valid() const { return expression_->ok(); }

bool LogPattern::is_in(std::string_view text) const { return RE2::PartialMatch(text, *expression_); }

LogCells LogPattern::groups(const LogCell& text) const {
  std::vector<re2::StringPiece> pieces(static_cast<std::size_t>(expression_->NumberOfCapturingGroups()) + 1);
  LogCells cells;
  if (!expression_->Match(text.text, 0, text.text.size(), RE2::UNANCHORED, pieces.data(),
                          static_cast<int>(pieces.size()))) {
    return cells;
  }
  for (const re2::StringPiece& piece : pieces) {
    const bool takes_part = piece.data() != nullptr;
    cells.push_back(takes_part ? text.from(static_cast<std::size_t>(piece.data() - text.text.data()), piece.size())
                               : text.from(0, 0));
  }
  return cells;
}

std::string LogPattern::erased_from(std::string text) const {
  RE2::GlobalReplace(&text, *expression_, "");
  return text;
}

bool has_text(std::string_view text, std::string_view part) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    sim::ask_interruption();
    if (text.substr(at, piece + part.size() - 1).find(part) != std::string_view::npos) return true;
  }
  return false;
}

// The sequences are: ESC [ parameters letter; ESC ] words, then BEL or ESC \; ESC and one letter. None spans lines.
std::string without_escapes(std::string text) {
  if (text.find('\x1b') == std::string::npos) return text;
  static const LogPattern escape(R"(\x1b(?:\[[ -?]*[@-\x7f]?|\][^\a\x1b\n]*(?:\a|\x1b\\)?|[ -Z\\^-\x7f])?)");
  return escape.erased_from(std::move(text));
}

LogCell trimmed(const LogCell& cell) {
  const std::size_t begin = cell.text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return cell.from(0, 0);
  return cell.from(begin, cell.text.find_last_not_of(blanks) - begin + 1);
}

LogCells words_of(const LogCell& line, std::string_view also_separate) {
  const std::string separators = std::string(blanks) + std::string(also_separate);
  LogCells words;
  for (std::size_t at = 0; (at = line.text.find_first_not_of(separators, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.text.find_first_of(separators, at), line.text.size());
    words.push_back(line.from(at, end - at));
    at = end;
  }
  return words;
}

LogCells fields_of(const LogCell& line, std::string_view separator) {
  LogCells fields;
  for (std::size_t at = 0, end = 0; end != std::string_view::npos; at = end + separator.size()) {
    end = line.text.find(separator, at);
    fields.push_back(trimmed(line.from(at, std::min(end, line.text.size()) - at)));
  }
  return fields;
}

std::string without_tags(std::string text) {
  static const std::array tags{
      LogPattern(R"(^\[[^\]\s]*\d+,\d+\]<std(?:out|err|diag)>:)"),
      LogPattern(R"(^\[\d+\] )"),
      LogPattern(R"(^\d+: )"),
      LogPattern(R"(^\[?(?i:rank|default|proc|process)[ _-]?\d+\]?[:|])"),
      LogPattern(R"(^\[pod/[^\]\s]+\])"),
      LogPattern(R"(^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)? )"),
      LogPattern(R"(^[A-Za-z][\w.-]*\s+\| )"),
      LogPattern(R"(^[A-Za-z0-9][\w.-]*:(?: |$))"),
  };
  constexpr int most_layers = 3;
  for (int layer = 0; layer < most_layers; ++layer) {
    const auto tag = std::ranges::find_if(tags, [&text](const LogPattern& one) { return is_in_front(one, text); });
    if (tag == tags.end()) return text;
    sim::ShortSteps lines;
    for (std::size_t begin = text.size() - sim::without_byte_order_mark(text).size(); begin < text.size();) {
      lines.note();
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::size_t size = end_of(*tag, std::string_view(text).substr(begin, end - begin));
      std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(begin), size, ' ');
      begin = end + 1;
    }
  }
  return text;
}

sim::Parsed<double> parse_printed_number(std::string_view text) {
  return parse_printed<double>(text, "a decimal number such as 16.61 or 1e-3");
}

sim::Parsed<std::int64_t> parse_printed_integer(std::string_view text) {
  return parse_printed<std::int64_t>(text, "a whole decimal number such as 16");
}

std::string printable(std::string_view text) {
  std::string result(text.substr(0, most_shown));
  std::ranges::replace_if(
      result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

std::string shown(std::string_view text) { return "'" + printable(text) + (text.size() > most_shown ? "...'" : "'"); }

std::string lower_case(std::string_view text) {
  return boost::to_lower_copy(std::string(text), std::locale::classic());
}

std::string plain_name(std::string_view text) {
  std::string name = lower_case(text);
  std::erase_if(name, [](char c) { return !sim::is_digit(c) && !sim::is_letter(c); });
  return name;
}

LogReading::LogReading(std::string name, std::string_view text) : name_(std::move(name)), lines_(text) {
  reading_.name = std::filesystem::path(name_).filename().string();
}

bool LogReading::next() {
  while (lines_.next()) {
    const std::size_t size = line().text.size();
    if (size <= longest_log_line) return true;
    fault(line(), "", fmt::format("a line of {} bytes: no tool prints more than 64 KiB in one", size));
  }
  return false;
}

void LogReading::fault(const LogCell& at, std::string_view path, std::string what) {
  reading_.faults.push_back({fmt::format("{}:{}:{}", name_, at.line, at.column), std::string(path), std::move(what)});
}

void LogReading::remark(std::string_view path, std::string what) {
  sim::Fault remark{name_, std::string(path), std::move(what)};
  if (std::ranges::find(reading_.remarks, remark) == reading_.remarks.end())
    reading_.remarks.push_back(std::move(remark));
}

void LogReading::leave_out(int line, std::string why, std::string what, double seconds) {
  Omission omission{fmt::format("{}:{}", reading_.name, line), std::move(why), std::move(what), seconds};
  const auto words = [](const Omission& one) { return std::tie(one.where, one.why, one.what); };
  if (!reading_.left_out.empty() && words(reading_.left_out.back()) == words(omission)) return;
  reading_.left_out.push_back(std::move(omission));
}

void LogReading::add(Measurement measurement) {
  measurement.file = reading_.name;
  reading_.measurements.push_back(std::move(measurement));
}

std::optional<double> LogReading::figure(const LogCell& cell, study::Figure figure, std::string_view path) {
  const study::FigureForm& form = study::form_of(figure);
  sim::Parsed<double> parsed = parse_printed_number(cell.text);
  parsed.value *= form.per_unit;
  return checked(*this, cell, path, parsed, form.low, form.high, [&] {
    return fmt::format(" cannot be: {} to {} {} are accepted", form.low / form.per_unit, form.high / form.per_unit,
                       form.unit);
  });
}

std::optional<double> LogReading::number(const LogCell& cell, double low, double high, std::string_view path) {
  return between(*this, cell, path, parse_printed_number(cell.text), low, high);
}

std::optional<std::int64_t> LogReading::whole(const LogCell& cell, std::int64_t low, std::int64_t high,
                                              std::string_view path) {
  return between(*this, cell, path, parse_printed_integer(cell.text), low, high);
}

std::optional<int> LogReading::integer(const LogCell& cell, int low, int high, std::string_view path) {
  const std::optional<std::int64_t> number = whole(cell, low, high, path);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::optional<sim::Bytes> LogReading::bytes(const LogCell& cell, std::string_view path) {
  const auto largest = static_cast<std::int64_t>(study::largest_array.value());
  const auto bytes = checked(*this, cell, path, parse_printed_integer(cell.text), std::int64_t{1}, largest, [] {
    return fmt::format(" is out of bounds: 1B to {} are accepted", sim::to_string(study::largest_array));
  });
  return bytes ? std::optional(sim::Bytes(static_cast<double>(*bytes))) : std::nullopt;
}

void LogReading::set_gpu(std::string_view name) {
  if (reading_.gpu.empty()) reading_.gpu = printable(sim::trimmed(name));
}

Reading LogReading::take(std::string_view if_nothing) && {
  const bool is_empty = reading_.measurements.empty() && reading_.left_out.empty() && reading_.faults.empty();
  if (is_empty && !if_nothing.empty()) fault({}, "", std::string(if_nothing));
  return std::move(reading_);
}

void LogTable::take_heads(const LogCells& heads) {
  constexpr std::size_t most_columns = 256;  // the tools that are read have about 30 at most
  shown_.clear();
  names_.clear();
  has_all_ = true;
  for (const LogCell& head : heads) {
    if (shown_.size() >= most_columns) break;
    shown_.push_back(printable(head.text));
    names_.push_back(plain_name(head.text));
  }
  place_ = heads.front().from(0, 0);
}

LogTable::Column LogTable::require(std::string_view name) {
  const Column column = find(name);
  if (!column) log_.fault(place_, name, "this column is missing" + sim::name_hint(name, shown_));
  has_all_ &= column.has_value();
  return column;
}

bool LogTable::take_row(LogCells cells, bool is_ended) {
  row_ = std::move(cells);
  std::string what;
  if (row_.size() != names_.size()) {
    const std::string_view why = row_.size() < names_.size() ? ": cut short?" : "";
    what = fmt::format("{} cells where the columns are {}{}", row_.size(), names_.size(), why);
  } else if (!is_ended) {
    what = "no line end follows the row: if it is not cut off, add one";
  }
  if (what.empty()) return true;
  log_.fault(row_.front().from(0, 0), "", std::move(what));
  return false;
}

LogTable::Column LogTable::find(std::string_view name) const {
  const auto found = std::ranges::find(names_, plain_name(name));
  return found == names_.end() ? std::nullopt : Column(found - names_.begin());
}

CsvTable::CsvTable(std::string_view text, LogReading& log) : LogTable(log), log_(log), lexer_(text) {
  if (lexer_.next(row_)) take_heads(cells());
}

bool CsvTable::next() {
  while (is_readable() && lexer_.next(row_)) {
    steps_.note();
    if (const auto& quote = row_.bad_quote) {
      log_.fault({.text = {}, .line = quote->line, .column = quote->column}, "", std::string(quote->what));
      continue;
    }
    const auto name_of = [](const sim::CsvCell& cell) { return plain_name(cell.text); };
    if (std::ranges::equal(row_.cells, names(), {}, name_of)) continue;
    if (take_row(cells(), row_.is_ended)) return true;
  }
  return false;
}

LogCells CsvTable::cells() const {
  LogCells cells;
  for (const sim::CsvCell& cell : row_.cells) cells.push_back({cell.text, cell.line, cell.column});
  return cells;
}

bool has_columns(std::string_view text, std::initializer_list<std::string_view> names) {
  LogReading log("");
  const CsvTable table(text, log);
  return std::ranges::all_of(names, [&table](std::string_view name) { return table.find(name).has_value(); });
}

Percentiles percentiles_of(std::vector<double> values) {
  std::ranges::sort(values, sim::as_short_steps(std::ranges::less()));
  const auto at = [&values](double share) {
    return study::value_at(values, share * static_cast<double>(values.size() - 1));
  };
  return {
      .median = at(0.5), .low = at(0.1), .high = at(0.9), .deviations = study::deviations_between(0.1, values.size())};
}

}  // namespace c3sim::calibrate
