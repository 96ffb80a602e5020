#include "cli/interruption.h"

#include <ctime>

namespace c3sim::cli {

Interruption::Interruption() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

Interruption::~Interruption() {
  const timespec at_once{0, 0};
  while (sigtimedwait(&signals_, nullptr, &at_once) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Interruption::asked() const {
  sigset_t waiting;
  sigpending(&waiting);
  return sigismember(&waiting, SIGINT) == 1 || sigismember(&waiting, SIGTERM) == 1;
}

}  // namespace c3sim::cli
