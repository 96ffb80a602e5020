#include "study/report/page_parts.h"

#include <charconv>

// Embeds a file into the program through the assembler; a literal of 200 kB would cost the compiler much more.
#define EMBED(name, file)                                   \
  asm(".pushsection .rodata\n1: .incbin \"" file            \
      "\"\n2:\n.popsection\n"                               \
      ".pushsection .data.rel.ro,\"aw\"\n.balign 8\n" #name \
      ": .quad 1b, 2b\n"                                    \
      ".popsection\n");                                     \
  extern "C" const c3sim::study::EmbeddedText name

namespace c3sim::study {

struct EmbeddedText {
  const char* begin;
  const char* end;
};

}  // namespace c3sim::study

// CMakeLists.txt defines the macros C3SIM_PAGE_..., which are paths and SHA-256 digests in hexadecimal digits.
EMBED(c3sim_page_html, C3SIM_PAGE_HTML);
EMBED(c3sim_page_css, C3SIM_PAGE_CSS);
EMBED(c3sim_page_library, C3SIM_PAGE_LIBRARY);
EMBED(c3sim_page_table, C3SIM_PAGE_TABLE);
EMBED(c3sim_page_charts, C3SIM_PAGE_CHARTS);
EMBED(c3sim_page_bars, C3SIM_PAGE_BARS);
EMBED(c3sim_page_points, C3SIM_PAGE_POINTS);
EMBED(c3sim_page_timeline, C3SIM_PAGE_TIMELINE);
EMBED(c3sim_page_script, C3SIM_PAGE_SCRIPT);

namespace c3sim::study {

namespace {

std::string_view text_of(const EmbeddedText& embedded) { return {embedded.begin, embedded.end}; }

// Encodes 32 bytes. Three hexadecimal digits make two of base64, and the last two of 66 digits are padding.
std::string base64(std::string hexadecimal) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  hexadecimal += "00";
  std::string result;
  for (std::size_t i = 0; i < hexadecimal.size(); i += 3) {
    unsigned value = 0;
    std::from_chars(hexadecimal.data() + i, hexadecimal.data() + i + 3, value, 16);
    result += digits[value / 64];
    result += digits[value % 64];
  }
  result.back() = '=';
  return result;
}

PagePart part(const EmbeddedText& embedded, const char* sha256) {
  return {text_of(embedded), "sha256-" + base64(sha256)};
}

}  // namespace

std::string_view page_frame() { return text_of(c3sim_page_html); }

PagePart page_style() { return part(c3sim_page_css, C3SIM_PAGE_CSS_SHA256); }

std::vector<PagePart> page_scripts() {
  return {part(c3sim_page_library, C3SIM_PAGE_LIBRARY_SHA256), part(c3sim_page_table, C3SIM_PAGE_TABLE_SHA256),
          part(c3sim_page_charts, C3SIM_PAGE_CHARTS_SHA256),   part(c3sim_page_bars, C3SIM_PAGE_BARS_SHA256),
          part(c3sim_page_points, C3SIM_PAGE_POINTS_SHA256),   part(c3sim_page_timeline, C3SIM_PAGE_TIMELINE_SHA256),
          part(c3sim_page_script, C3SIM_PAGE_SCRIPT_SHA256)};
}

}  // namespace c3sim::study
