#include "study/report/results_folder.h"

#include <sstream>

#include "sim/config/output_file.h"
#include "study/report/html_file.h"
#include "study/report/results_page.h"

namespace c3sim::study {

void save(const Results& results, const std::filesystem::path& directory) {
  save(results, results_page(results), directory);
}

void save(const Results& results, const Page& page, const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  for (const NamedTable& named : results.tables) {
    std::ostringstream csv;
    named.table.write_csv(csv);
    sim::write_file(directory / (named.key + ".csv"), csv.str());
  }
  std::ostringstream json;
  write(results, Format::json, json);
  sim::write_file(directory / "results.json", json.str());
  write_page(page, directory / "page.html");
}

}  // namespace c3sim::study
