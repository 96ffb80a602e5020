// The library's kernels go around rings by default, along a tree or through the switch where these are faster, and
// exchange directly.
#include "models/collectives/algorithm.h"
#include "models/collectives/direct.h"
#include "models/collectives/nvls.h"
#include "models/collectives/ring.h"
#include "models/collectives/tree.h"
#include "models/node.h"

namespace c3sim::models::algorithms {

Algorithm rccl() {
  return {.name = "rccl",
          .about = "kernels of RCCL or NCCL",
          .place = 0,
          .by_kernels = [](Node& node, const CollectiveSpec& spec, const CuMask& mask) {
            if (spec.kind == CollectiveKind::all_to_all) return direct(node, spec, mask);
            if (takes_nvls(spec, node.spec())) return nvls(node, spec);
            return takes_tree(spec, node.spec()) ? tree(node, spec, mask) : ring(node, spec, mask);
          }};
}

}  // namespace c3sim::models::algorithms
