#include "models/node.h"

#include <numeric>

#include "models/machine/activity_tag.h"

namespace c3sim::models {

Node::Node(sim::Simulator& simulator, const PlatformSpec& spec, const HostSpec& host, Symmetry symmetry)
    : simulator_(simulator),
      spec_(spec),
      network_(simulator, tenant_kinds,
               [](std::uint32_t tag) { return static_cast<std::size_t>(ActivityTag::of(tag).tenant); }),
      fabric_(spec.fabric, network_, symmetry == Symmetry::none ? spec.gpus : 1, spec.without),
      host_(host, simulator, spec.gpus) {
  const int simulated = symmetry == Symmetry::none ? spec.gpus : 1;
  for (int gpu = 0; gpu < simulated; ++gpu) {
    gpus_.push_back(std::make_unique<Gpu>(gpu, spec.gpu, network_, fabric_.ports(gpu), spec.without));
  }
  // Engines reach into the memories of all GPUs.
  std::vector<Memory*> memories;
  std::vector<PullService*> pulls;
  for (int i = 0; i < spec.gpus; ++i) {
    if (i < simulated) pulls_.push_back(std::make_unique<PullService>(spec.gpu.sdma, network_, device_name(i)));
    memories.push_back(&gpu(i).memory());
    pulls.push_back(pulls_[static_cast<std::size_t>(i < simulated ? i : 0)].get());
  }
  for (int gpu = 0; gpu < simulated; ++gpu) {
    sdma_.push_back(std::make_unique<SdmaComplex>(spec.gpu.sdma, gpu, network_, memories, pulls, fabric_));
    copy_engines_.push_back(sdma_.back().get());
  }
}

std::vector<int> Node::all_simulated() const {
  std::vector<int> gpus(gpus_.size());
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

}  // namespace c3sim::models
