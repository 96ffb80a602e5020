#include "study/report/html_file.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/check.h"
#include "study/report/page_json.h"
#include "study/report/page_parts.h"

namespace c3sim::study {

namespace {

// The frame with each {{name}} replaced by its text; what a text holds is never looked at again.
std::string filled(std::string_view frame, const std::map<std::string, std::string, std::less<>>& texts) {
  std::string result;
  while (true) {
    const std::size_t open = frame.find("{{");
    result += frame.substr(0, open);
    if (open == std::string_view::npos) return result;
    const std::size_t close = frame.find("}}", open);
    SIM_CHECK(close != std::string_view::npos);
    const auto text = texts.find(frame.substr(open + 2, close - open - 2));
    SIM_CHECK(text != texts.end());
    result += text->second;
    frame.remove_prefix(close + 2);
  }
}

}  // namespace

std::string to_html(const Page& page) {
  const PagePart style = page_style();
  std::map<std::string, std::string, std::less<>> texts;
  texts["style"] = style.text;
  texts["style_hash"] = "'" + style.hash + "'";
  for (const PagePart& script : page_scripts()) {
    texts["script_hashes"] += (texts["script_hashes"].empty() ? "'" : " '") + script.hash + "'";
    texts["scripts"].append("<script>").append(script.text).append("</script>\n");
  }
  texts["data"] = script_text(page_json(page));
  return filled(page_frame(), texts);
}

}  // namespace c3sim::study
