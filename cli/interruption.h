// Ctrl-C and requests to end, asked about instead of dying of them: what is under way can be finished and kept.
#pragma once

#include <csignal>

namespace c3sim::cli {

// From its construction SIGINT and SIGTERM wait, for this thread and those that it starts; afterwards they are
// forgotten, and as deadly as before.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool asked() const;

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

}  // namespace c3sim::cli
