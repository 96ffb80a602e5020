// Reads arbitrary bytes as an experiment file: its expressions are evaluated, and it holds only what the platform can
// run, in an order in which nothing waits for what comes later; or there is a ConfigError.
#include "study/experiment/experiment.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mi300x_testbed.h"

using namespace c3sim;

void fuzz(std::string_view text) {
  or_fault([&] {
    sim::Config config = sim::Config::from_text(text, "fuzz.yaml");
    study::set_parameters(config, {});
    study::read_machine(config);
    const study::Schedule schedule = study::read_experiment(config, mi300x_testbed()).graph.schedule();
    require(!schedule.empty());
    for (std::size_t place = 0; place < schedule.size(); ++place) {
      const study::Operation& operation = schedule[place];
      require(mi300x_testbed().why_impossible(operation.work).empty());
      for (const std::size_t earlier : operation.after) require(earlier < place);
      require(operation.mask.begin <= operation.mask.end);
    }
  });
}
