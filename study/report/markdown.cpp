#include "study/report/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace c3sim::study {

namespace {

std::string line(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("|<*_`[\\").find(c) != std::string_view::npos) result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

std::string markdown_table(const std::vector<std::string>& headings,
                           const std::vector<std::vector<std::string>>& rows) {
  std::string text = line(headings) + line(std::vector<std::string>(headings.size(), "---"));
  for (const std::vector<std::string>& row : rows) text += line(row);
  return text;
}

}  // namespace c3sim::study
