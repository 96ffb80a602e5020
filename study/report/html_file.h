// A page as one HTML file that needs nothing else and asks nothing of any network: charts are drawn by Chart.js, which
// is part of the file, tables sort and filter. Whatever comes from data is shown as text, never read as markup. The
// same page gives the same bytes.
#pragma once

#include <filesystem>
#include <string>

#include "study/report/page.h"

namespace c3sim::study {

std::string to_html(const Page& page);

// Throws std::system_error where the file cannot be written.
void write_page(const Page& page, const std::filesystem::path& file);

}  // namespace c3sim::study
