// Tables in Markdown, as GitHub reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace c3sim::study {

// In one line, with no character that would end a cell or be markup.
std::string markdown_text(std::string_view text);

// A table of cells in Markdown already, as many in each row as headings.
std::string markdown_table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows);

}  // namespace c3sim::study
