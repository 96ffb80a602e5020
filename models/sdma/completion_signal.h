// How an engine tells a waiter that it has come to the end of what was queued, in the way of the platform: an ATOMIC or
// a FENCE on a word that is polled, and a TRAP where the host sleeps.
#pragma once

#include <string>
#include <vector>

#include "models/machine/host.h"
#include "models/sdma/sdma_complex.h"

namespace c3sim::models {

// Must outlive the packets.
class CompletionSignal {
 public:
  // Of what is queued on `engines`.
  CompletionSignal(Host& host, SdmaComplex& engines, const std::string& name);

  // The packets that follow the last one of the work.
  void append_to(std::vector<SdmaCommand>& commands);
  // Ends when whoever waits knows.
  sim::Task<> see();

 private:
  bool sleeps() const;

  Host& host_;
  SdmaComplex& engines_;
  MemoryWord word_;
  MemoryWord event_;
};

}  // namespace c3sim::models
