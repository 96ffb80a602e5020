// Reads arbitrary bytes as summaries of a table: each has a cell in every column of every row, or there is a
// ConfigError.
#include "sim/config/config.h"
#include "study/report/table_summary.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim;

void fuzz(std::string_view text) {
  or_fault([&] {
    study::ResultTable results({{"maker", "maker", ""}, {"time_us", "time", "us"}});
    results.add_row({std::string("rccl"), 2.0});
    results.add_row({std::string("sdma"), 3.0});
    sim::Config config = sim::Config::from_text(text, "fuzz.yaml");
    sim::Section root = config.root();
    const std::vector<study::TableSummary> summaries = study::read_summaries(root, results.columns(), {});
    config.finish();
    const std::vector<study::NamedTable> tables = study::summarized(summaries, results);
    require(tables.size() == summaries.size());
    for (const study::NamedTable& named : tables) {
      for (const std::vector<study::Cell>& row : named.table.rows()) {
        require(row.size() == named.table.columns().size());
      }
    }
  });
}
