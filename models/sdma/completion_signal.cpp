#include "models/sdma/completion_signal.h"

namespace c3sim::models {

CompletionSignal::CompletionSignal(Host& host, SdmaComplex& engines, const std::string& name)
    : host_(host),
      engines_(engines),
      word_(host.simulator(), "completion of " + name, 1),
      event_(host.simulator(), "interrupt of " + name, 0) {}

bool CompletionSignal::sleeps() const {
  return host_.spec().wait == HostWait::interrupt && engines_.spec().completion_seen_by == Initiator::host;
}

void CompletionSignal::append_to(std::vector<SdmaCommand>& commands) {
  if (engines_.spec().completion == SdmaCompletion::atomic) {
    commands.emplace_back(AtomicCommand{&word_, -1});
  } else {
    commands.emplace_back(FenceCommand{&word_, 0});
  }
  if (sleeps()) commands.emplace_back(TrapCommand{&event_});
}

sim::Task<> CompletionSignal::see() {
  const Condition woken{Comparison::equal, 1};
  const Condition done{Comparison::equal, 0};
  return engines_.see_completion(host_, sleeps() ? event_ : word_, sleeps() ? woken : done);
}

}  // namespace c3sim::models
