// A page as one HTML file that needs nothing else and asks nothing of any network: charts are drawn by Chart.js, which
// is part of the file, tables sort and filter. Whatever comes from data is shown as text, never read as markup. The
// same page gives the same bytes.
#pragma once

#include <string>

#include "study/report/page.h"

namespace c3sim::study {

std::string to_html(const Page& page);

}  // namespace c3sim::study
