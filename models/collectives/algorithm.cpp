#include "models/collectives/algorithm.h"

#include "models/collectives/direct.h"
#include "models/collectives/engine_back_to_back.h"
#include "models/collectives/engine_copies.h"
#include "models/collectives/engine_swaps.h"
#include "models/collectives/nvls.h"
#include "models/collectives/one_shot.h"
#include "models/collectives/ring.h"
#include "models/collectives/tree.h"
#include "models/collectives/two_shot.h"
#include "models/node.h"
#include "sim/check.h"

namespace c3sim::models {

namespace {

ChannelProgram program_of_ranks(Node& node, const CollectiveSpec& spec, const CuMask& mask) {
  switch (spec.backend) {
    case Backend::rccl:
      if (spec.kind == CollectiveKind::all_to_all) return direct(node, spec, mask);
      if (takes_nvls(spec, node.spec())) return nvls(node, spec);
      return takes_tree(spec, node.spec()) ? tree(node, spec, mask) : ring(node, spec, mask);
    case Backend::one_shot:
      return one_shot(node, spec);
    case Backend::two_shot:
      return two_shot(node, spec);
    case Backend::sdma:
      break;
  }
  SIM_CHECK(false);
  return {};
}

}  // namespace

ChannelProgram channel_program(Node& node, const CollectiveSpec& spec, const CuMask& mask) {
  ChannelProgram program = program_of_ranks(node, spec, mask);
  for (ChannelStep& step : program.steps) {
    for (ChannelTransfer& transfer : step.transfers) {
      transfer.gpu += spec.first;
      transfer.peer += spec.first;
    }
  }
  return program;
}

std::vector<CollectiveKind> sdma_steps(CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce) return {CollectiveKind::reduce_scatter, CollectiveKind::all_gather};
  return {kind};
}

std::vector<EngineProgram> sdma_programs(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma) {
  switch (spec.variant) {
    case SdmaVariant::pcpy:
      return engine_copies(step, spec, sdma, 1);
    case SdmaVariant::bcst:
      return engine_copies(step, spec, sdma, sdma.broadcast_width);
    case SdmaVariant::swap:
      return engine_swaps(step, spec, sdma);
    case SdmaVariant::b2b:
      return engine_back_to_back(step, spec, sdma);
  }
  return {};
}

}  // namespace c3sim::models
