// The text of a log, line by line and cell by cell: every cell knows where it stands, so that faults can say it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_text.h"
#include "sim/interruption.h"

namespace re2 {
class RE2;
}

namespace c3sim::calibrate {

// A piece of a line, and where its first byte stands, from 1.
struct LogCell {
  std::string_view text;
  int line = 1;
  int column = 1;

  bool operator==(const LogCell&) const = default;
  bool holds(std::string_view part) const { return text.find(part) != std::string_view::npos; }
  // Without the bytes before `begin`, and of the rest at most so many.
  LogCell from(std::size_t begin, std::size_t size = std::string_view::npos) const {
    return {text.substr(begin, size), line, column + static_cast<int>(begin)};
  }
};
using LogCells = std::vector<LogCell>;

// No tool prints a longer line: beyond it, a file is no log.
inline constexpr std::size_t longest_log_line = std::size_t{64} << 10;

// Lines end in \n or \r\n, the last one perhaps in neither. A byte order mark before the first is no part of it.
class LogLines {
 public:
  explicit LogLines(std::string_view text);
  // Goes on to the next line; false where none is left.
  bool next();
  const LogCell& line() const { return line_; }
  // Whether an end of line follows it: without one, it may have been cut off.
  bool is_ended() const { return is_ended_; }

 private:
  std::string_view rest_;
  LogCell line_{.text = {}, .line = 0};
  bool is_ended_ = true;
  sim::ShortSteps steps_;
};

// A regular expression over bytes, as RE2 has them: in time linear in the text, whatever stands in it.
class LogPattern {
 public:
  explicit LogPattern(const char* expression);
  bool is_valid() const;

  // Whether it holds somewhere in the text.
  bool is_in(std::string_view text) const;
  // Where it holds first in the text, and what its groups hold there, the whole of it before them; none where it does
  // not hold. A group that took no part is empty.
  LogCells groups(const LogCell& text) const;
  std::string erased_from(std::string text) const;

 private:
  std::shared_ptr<const re2::RE2> expression_;
};

// Whether a log has such a line.
template <class IsSuch>
bool has_line(std::string_view text, const IsSuch& is_such) {
  LogLines lines(text);
  while (lines.next()) {
    if (lines.line().text.size() <= longest_log_line && is_such(lines.line())) return true;
  }
  return false;
}

// Whether such a part stands somewhere in a text, of up to gigabytes.
bool has_text(std::string_view text, std::string_view part);

// Without the blanks, tabs and carriage returns around it.
LogCell trimmed(const LogCell& cell);
// Without the escape sequences by which tools colour what they print (ECMA-48: CSI and OSC); lines stay what they are.
std::string without_escapes(std::string text);
// The words between blanks, tabs and whatever else separates.
LogCells words_of(const LogCell& line, std::string_view also_separate = "");
// What stands between separators, trimmed: one more than there are separators.
LogCells fields_of(const LogCell& line, std::string_view separator);
// The text with blanks in place of the tags that launchers put in front of every line, or nearly every one, and which
// say the rank, host, container or time of day: those of Open MPI ("[1,0]<stdout>:", "[prterun-host-1@1,0]<stdout>: "),
// MPICH ("[0] ", "rank 0: "), srun ("0: "), torchrun ("[rank0]:"), pdsh ("host: "), kubectl ("[pod/a/b] "), compose
// ("a-1  | ") and the like, also one behind the other. Cells keep their places.
std::string without_tags(std::string text);

// Numbers as printf writes them: beside what sim/config/config_text.h accepts, leading zeros, a plus sign, ".01" and
// "1.".
sim::Parsed<double> parse_printed_number(std::string_view text);
sim::Parsed<std::int64_t> parse_printed_integer(std::string_view text);

// As it can be shown to a person: the first 40 bytes, '?' for what is not printable ASCII.
std::string printable(std::string_view text);
// The same in quotes, with dots where more follows.
std::string shown(std::string_view text);

// Letters of ASCII in lower case, and all else as it is.
std::string lower_case(std::string_view text);

// The letters and digits, letters in lower case: "All-Reduce" and "all_reduce" are one name.
std::string plain_name(std::string_view text);

}  // namespace c3sim::calibrate
