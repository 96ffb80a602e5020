#include "sim/config/csv_lexer.h"

#include <algorithm>

#include "sim/config/config_text.h"

namespace c3sim::sim {

CsvLexer::CsvLexer(std::string_view text) : text_(without_byte_order_mark(text)) {}

// From where the one before it ended.
void CsvLexer::begin_line() {
  at_ = line_start_ = next_line_;
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  next_line_ = std::min(end + 1, text_.size());
  line_end_ = end > at_ && text_[end - 1] == '\r' ? end - 1 : end;
  ++line_;
}

bool CsvLexer::next(CsvRow& row) {
  row.cells.clear();
  row.bad_quote.reset();
  rewritten_.clear();
  while (next_line_ < text_.size()) {
    begin_line();
    if (at_ == line_end_ || text_[at_] == '#') continue;
    row.line = line_;
    while (true) {
      row.cells.push_back(cell(row));
      if (at_ >= line_end_ || text_[at_] != ',') break;
      ++at_;
    }
    row.is_ended = text_[next_line_ - 1] == '\n';
    return true;
  }
  line_ = std::max(line_, 1);
  return false;
}

CsvCell CsvLexer::cell(CsvRow& row) {
  CsvCell cell{.text = {}, .line = line_, .column = column()};
  const std::string_view rest = text_.substr(at_, line_end_ - at_);
  const std::size_t blanks = std::min(rest.find_first_not_of(' '), rest.size());
  if (blanks < rest.size() && rest[blanks] == '"') {
    at_ += blanks;
    cell.text = quoted(row);
  } else {
    const std::string_view plain = rest.substr(0, rest.find(','));
    at_ += plain.size();
    cell.text = trimmed(plain);
  }
  return cell;
}

// From an opening quote up to behind the blanks that follow the closing one; where that is missing, all that is left.
std::string_view CsvLexer::quoted(CsvRow& row) {
  const CsvRow::BadQuote open{line_, column(), row.cells.size(), "the quote that begins here is never closed"};
  const std::size_t begin = ++at_;
  bool has_doubled = false;
  std::size_t end = text_.find('"', at_);
  while (end < text_.size() && text_.substr(end + 1).starts_with('"')) {
    has_doubled = true;
    end = text_.find('"', end + 2);
  }
  if (end == std::string_view::npos) {
    end = text_.size();
    if (!row.bad_quote) row.bad_quote = open;
  }
  while (next_line_ <= end && next_line_ < text_.size()) begin_line();
  at_ = std::min(end + 1, text_.size());
  line_end_ = std::max(line_end_, at_);
  if (end < text_.size()) skip_behind_quote(row);
  const std::string_view inside = text_.substr(begin, end - begin);
  if (!has_doubled) return inside;
  std::string& plain = rewritten_.emplace_back();
  for (std::size_t i = 0; i < inside.size(); ++i) {
    plain += inside[i];
    if (inside[i] == '"') ++i;
  }
  return plain;
}

void CsvLexer::skip_behind_quote(CsvRow& row) {
  std::string_view behind = text_.substr(at_, line_end_ - at_);
  behind = behind.substr(0, behind.find(','));
  if (!trimmed(behind).empty() && !row.bad_quote) {
    row.bad_quote = {line_, column(), row.cells.size(),
                     "text behind the closing quote: a quote that belongs to the cell is written twice"};
  }
  at_ += behind.size();
}

}  // namespace c3sim::sim
