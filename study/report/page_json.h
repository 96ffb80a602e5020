// What a page shows, as study/report/page/ reads it: JSON. Numbers of tables have the decimals of their column.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "study/report/page.h"
#include "study/report/palette.h"

namespace c3sim::study {

nlohmann::ordered_json page_json(const Page& page);
nlohmann::ordered_json chart_json(const Chart& chart, const Colours& colours);
nlohmann::ordered_json table_json(const PageTable& table);

// As text that may stand inside <script>: nothing in it ends the element or a line of it. Bytes that are no UTF-8 are
// replaced.
std::string script_text(const nlohmann::ordered_json& json);

}  // namespace c3sim::study
