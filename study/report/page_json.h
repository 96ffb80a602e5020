// What a page shows, as study/report/page/ reads it: JSON. Numbers of tables have the decimals of their column.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "study/report/page.h"

namespace c3sim::study {

// Which colour each series of a page has, as an index into the colours of study/report/page/page.css.
inline constexpr int colour_count = 12;
inline constexpr int grey = -1;

using Colours = std::map<std::string, int>;

// The names that a chart shows in colours of their own.
std::vector<std::string> coloured_names(const Chart& chart);

// By name. Names that no palette fixes get, one after the other, the colour that is least used so far among those that
// their chart does not have yet: two series of a chart differ as long as it has no more than there are colours.
Colours colours_of(const Page& page);

nlohmann::ordered_json page_json(const Page& page);
nlohmann::ordered_json chart_json(const Chart& chart, const Colours& colours);
nlohmann::ordered_json table_json(const PageTable& table);

// As text that may stand inside <script>: nothing in it ends the element or a line of it. Bytes that are no UTF-8 are
// replaced.
std::string script_text(const nlohmann::ordered_json& json);

}  // namespace c3sim::study
