// With a CompletionSignal an engine tells a waiter that all queued work is done, in the way of the platform: by an
// ATOMIC or a FENCE on a polled word, and a TRAP if the host sleeps.
#pragma once

#include <string>
#include <vector>

#include "models/machine/host.h"
#include "models/sdma/sdma_complex.h"

namespace c3sim::models {

// The signal must outlive its packets.
class CompletionSignal {
 public:
  // `engines` are those on which the work is queued.
  CompletionSignal(Host& host, SdmaComplex& engines, const std::string& name);

  // Appends the packets that follow the last one of the work.
  void append_to(std::vector<SdmaCommand>& commands);
  // Ends when the waiter knows of the completion.
  sim::Task<> see();

 private:
  bool sleeps() const;

  Host& host_;
  SdmaComplex& engines_;
  MemoryWord word_;
  MemoryWord event_;
};

}  // namespace c3sim::models
