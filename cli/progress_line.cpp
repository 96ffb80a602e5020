#include "cli/progress_line.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

namespace c3sim::cli {

void ProgressLine::report(std::size_t done, std::size_t of) {
  constexpr std::size_t width = 40;
  constexpr std::chrono::duration<double> least{2.0};  // after which the time that is left is estimated
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (!drawn_) {
    first_done_ = done;
    began_ = now;
  }
  drawn_ = done < of;
  terminal_ << "\r\x1b[K";
  if (drawn_) {
    const std::size_t filled = done * width / of;
    terminal_ << fmt::format("[{:#<{}}{:.<{}}] {}/{}", "", filled, "", width - filled, done, of);
    // The longest pieces of work come first, so that the first few tell nothing about the others.
    const std::chrono::duration<double> taken = now - began_;
    if (taken >= least && 10 * (done - first_done_) >= of - first_done_) {
      const double left = static_cast<double>(of - done) / static_cast<double>(done - first_done_);
      terminal_ << fmt::format(", {:.0f} s left", std::ceil(left * taken.count()));
    }
  }
  terminal_ << std::flush;
}

void ProgressLine::write(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  terminal_ << (drawn_ ? "\r\x1b[K" : "") << lines << std::flush;
  drawn_ = false;
}

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
