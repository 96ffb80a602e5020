// Reads arbitrary bytes as a file of a suite: it has what a suite must have, or there is a ConfigError.
#include "sim/config/config.h"
#include "tests/fuzz/fuzz.h"
#include "validate/validation.h"

using namespace c3sim;

void fuzz(std::string_view text) {
  or_fault([&] {
    const validate::Suite suite = validate::read_suite(sim::Config::from_text(text, "f.yaml"), "f", {}, {});
    require(!suite.tables.empty() || !suite.claims.empty());
    for (const validate::SuiteTable& table : suite.tables) {
      require(!table.file.empty());
      require(0.0 <= table.band && table.band <= 10.0);
      require(!table.format.rows.empty());
      static_cast<void>(table.format.needed_columns());
    }
  });
}
