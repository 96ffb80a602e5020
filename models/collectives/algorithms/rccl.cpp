// The library's kernels go around rings by default, along a tree or through the switch where these are faster, and
// exchange directly.
#include "models/collectives/rccl.h"

#include "models/collectives/algorithm.h"

namespace c3sim::models::algorithms {

Algorithm rccl() {
  return {.name = "rccl", .about = "kernels of RCCL or NCCL", .place = 0, .by_kernels = rccl_program};
}

}  // namespace c3sim::models::algorithms
