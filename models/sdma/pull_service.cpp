#include "models/sdma/pull_service.h"

#include "models/machine/resource_kind.h"

namespace c3sim::models {

namespace {
constexpr double unlimited = 1e9;  // factor on the rate: even a turn for a single byte then takes no time
}

PullService::PullService(const SdmaSpec& spec, sim::ResourceNetwork& network, const std::string& name)
    : spec_(spec),
      network_(network),
      rate_(add_resource(network, ResourceKind::pulls, name + ".sdma_pulls", unlimited * spec.pull_rate.value())) {}

double PullService::cost(sim::Bytes pulled) const {
  return 1.0 + spec_.pull_rate * sim::to_seconds(spec_.pull_turn) / pulled;
}

void PullService::change(Side side, int by) {
  (side == Side::reader ? reading_ : read_from_) += by;
  const bool in_turns = reading_ > 1 || read_from_ > 1;
  network_.set_capacity(rate_, (in_turns ? 1.0 : unlimited) * spec_.pull_rate.value());
}

}  // namespace c3sim::models
