// The files that every page is made of: those of study/report/page/ and Chart.js, as they were when c3sim was built.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace c3sim::study {

struct PagePart {
  std::string_view text;
  std::string hash;  // as a Content-Security-Policy names it: "sha256-..."
};

// The HTML around everything else; {{name}} stands for what a page fills in.
std::string_view page_frame();
PagePart page_style();
// In the order in which they run, Chart.js first.
std::vector<PagePart> page_scripts();

}  // namespace c3sim::study
