#include "models/sdma/sdma_complex.h"

#include <string>

#include "models/platform/device.h"

namespace c3sim::models {

SdmaComplex::SdmaComplex(const SdmaSpec& spec, int gpu, sim::ResourceNetwork& network,
                         std::span<Memory* const> memories, std::span<PullService* const> pulls, const Fabric& fabric)
    : spec_(spec),
      gpu_(gpu),
      path_(spec, memories, pulls, fabric),
      pulls_(pulls.begin(), pulls.end()),
      own_thread_(network.simulator(), device_name(gpu) + ".submitter", spec.gpu_submission),
      network_(network),
      engines_(static_cast<std::size_t>(spec.engines)) {
  for (int index = 0; index < spec.engines; ++index) {
    identities_.push_back(SdmaEngine::add_to(network, spec, gpu, index));
  }
}

SdmaEngine& SdmaComplex::engine(int index) {
  const std::size_t place = static_cast<std::size_t>(index);
  std::unique_ptr<SdmaEngine>& engine = engines_[place];
  if (!engine) engine = std::make_unique<SdmaEngine>(spec_, identities_[place], network_, path_);
  return *engine;
}

SubmittingThread& SdmaComplex::submitter(Host& host) {
  return spec_.submitted_by == Initiator::gpu ? own_thread_ : host.thread_of(gpu_);
}

sim::Time SdmaComplex::doorbell_latency() const {
  return spec_.submitted_by == Initiator::gpu ? spec_.gpu_doorbell_latency : spec_.doorbell_latency;
}

sim::Task<> SdmaComplex::see_completion(Host& host, MemoryWord& word, Condition condition) {
  if (spec_.completion_seen_by == Initiator::gpu) return own_thread_.see(word, condition, sim::Time(0));
  return host.see(gpu_, word, condition);
}

const SubmittingThread& SdmaComplex::waiter(Host& host) {
  return spec_.completion_seen_by == Initiator::gpu ? own_thread_ : host.thread_of(gpu_);
}

}  // namespace c3sim::models
