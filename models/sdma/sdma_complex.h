// An SdmaComplex has the SDMA engines of one GPU, and a thread of the GPU that submits commands or waits for them if
// the host does not.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/machine/host.h"
#include "models/sdma/sdma_engine.h"

namespace c3sim::models {

class SdmaComplex {
 public:
  // `memories` and `pulls` are those of all GPUs of the node, by index.
  SdmaComplex(const SdmaSpec& spec, int gpu, sim::ResourceNetwork& network, std::span<Memory* const> memories,
              std::span<PullService* const> pulls, const Fabric& fabric);
  SdmaComplex(const SdmaComplex&) = delete;
  SdmaComplex& operator=(const SdmaComplex&) = delete;

  const SdmaSpec& spec() const { return spec_; }
  int gpu() const { return gpu_; }
  PullService& pulls_of(int gpu) { return *pulls_[static_cast<std::size_t>(gpu)]; }
  SdmaEngine& engine(int index);

  // These return the thread that writes packets for the engines, and the latency of their doorbells.
  SubmittingThread& submitter(Host& host);
  sim::Time doorbell_latency() const;
  // Waits for a completion word, on a host thread or on the GPU itself as the platform says.
  sim::Task<> see_completion(Host& host, MemoryWord& word, Condition condition);
  // Returns the thread that see_completion() occupies.
  const SubmittingThread& waiter(Host& host);

 private:
  const SdmaSpec& spec_;
  int gpu_;
  SdmaDataPath path_;
  std::vector<PullService*> pulls_;
  SubmittingThread own_thread_;
  sim::ResourceNetwork& network_;
  std::vector<SdmaDataPath::Engine> identities_;      // by index
  std::vector<std::unique_ptr<SdmaEngine>> engines_;  // by index; null until asked for: most are never used
};

}  // namespace c3sim::models
