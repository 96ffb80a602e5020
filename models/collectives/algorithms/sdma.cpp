// Copy engines do collectives by one of the algorithms that SdmaVariant names.
#include "models/collectives/algorithm.h"

namespace c3sim::models::algorithms {

Algorithm sdma() { return {.name = "sdma", .about = "copy engines", .place = 1}; }

}  // namespace c3sim::models::algorithms
