// Provides the files that every page contains: those of study/report/page/ and Chart.js, as of the build of c3sim.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace c3sim::study {

struct PagePart {
  std::string_view text;
  std::string hash;  // as a Content-Security-Policy names it: "sha256-..."
};

// Returns the HTML frame of a page, in which {{name}} stands for a text that the page fills in.
std::string_view page_frame();
PagePart page_style();
// Returns the scripts in the order in which they run, Chart.js first.
std::vector<PagePart> page_scripts();

}  // namespace c3sim::study
