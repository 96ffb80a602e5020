// Reads arbitrary text as a table of pairs for c3sim-measure: four GPUs can measure every pair, or a fault is told.
#include <string>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/plan.h"
#include "calibrate/measure/words.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim::measure;

void fuzz(std::string_view text) {
  constexpr int gpus = 4;
  try {
    for (const Arguments& pair : read_pairs(std::string(text), "pairs.csv", gpus)) {
      require(pair.shape() == parse_shape(to_string(pair.shape())));
      require(pair.bytes() > 0 && pair.bytes() % gpus == 0);
      parse_collective(pair.text("collective"));
      require(pair.number("channels") >= 0);
    }
  } catch (const UserError& fault) {
    require(std::string(fault.what()).starts_with("pairs.csv"));
  }
}
