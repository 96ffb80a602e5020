#include "models/machine/memory_word.h"

#include <utility>

namespace c3sim::models {

bool Condition::holds_for(std::int64_t value) const {
  switch (comparison) {
    case Comparison::equal:
      return value == reference;
    case Comparison::at_least:
      return value >= reference;
    case Comparison::at_most:
      return value <= reference;
  }
  return false;
}

std::string to_string(const Condition& condition) {
  const char* sign = condition.comparison == Comparison::equal      ? "== "
                     : condition.comparison == Comparison::at_least ? ">= "
                                                                    : "<= ";
  return sign + std::to_string(condition.reference);
}

MemoryWord::MemoryWord(sim::Simulator& simulator, std::string name, std::int64_t value)
    : simulator_(simulator), name_(std::move(name)), value_(value) {}

void MemoryWord::write(std::int64_t value) {
  value_ = value;
  written_at_ = simulator_.now();
  for (const Watcher& watcher : watchers_) {
    if (meets(watcher.condition)) simulator_.schedule(simulator_.now(), watcher.go_on);
  }
  std::erase_if(watchers_, [this](const Watcher& watcher) { return meets(watcher.condition); });
}

}  // namespace c3sim::models
