#include "cli/progress_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

namespace c3sim::cli {

namespace {

constexpr int seconds_without_a_word = 2;
constexpr int seconds_between_lines = 10;

}  // namespace

ProgressLine::ProgressLine(std::ostream& out, bool is_terminal)
    : out_(out), is_terminal_(is_terminal), next_line_(seconds_between_lines), ticker_([this] { tick(); }) {}

ProgressLine::~ProgressLine() { finish(); }

void ProgressLine::report(std::size_t done, std::size_t of) {
  const std::lock_guard lock(mutex_);
  if (of_ == 0) {
    first_done_ = done;
    first_seconds_ = seconds_;
  }
  done_ = done;
  of_ = of;
  last_seconds_ = seconds_;
  draw();
  if (done < of) return;
  erase();
  of_ = 0;
}

void ProgressLine::write(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  erase();
  out_ << lines << std::flush;
}

void ProgressLine::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    erase();
  }
  finishing_.notify_all();
  if (ticker_.joinable()) ticker_.join();
}

void ProgressLine::tick() {
  // This thread blocks all signals: those that end the run must reach the thread that knows when it can be interrupted.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (!finishing_.wait_for(lock, std::chrono::seconds(1), [this] { return finished_; })) {
    ++seconds_;
    if (is_terminal_ && seconds_ >= seconds_without_a_word) draw();
    if (!is_terminal_ && seconds_ >= next_line_) write_line();
  }
}

void ProgressLine::write_line() {
  out_ << fmt::format("running for {} s", seconds_);
  if (of_ > 0) out_ << fmt::format(": {} of {} done{}", done_, of_, time_left());
  out_ << '\n' << std::flush;
  next_line_ = seconds_ + std::max(seconds_between_lines, seconds_ / 10);
}

std::string ProgressLine::time_left() const {
  const int seconds = last_seconds_ - first_seconds_;
  // The longest pieces of work come first, so that the first few tell nothing about the others.
  const bool too_few = done_ <= first_done_ || done_ - first_done_ < (of_ - first_done_) / 10;
  if (of_ == 0 || seconds < seconds_without_a_word || too_few) return {};
  const double left = static_cast<double>(of_ - done_) / static_cast<double>(done_ - first_done_);
  const double still = std::ceil(left * seconds) - (seconds_ - last_seconds_);
  return still > 0.0 ? fmt::format(", {:.0f} s left", still) : "";
}

void ProgressLine::draw() {
  if (finished_ || !is_terminal_) return;
  constexpr std::size_t width = 40;
  erase();
  if (of_ > 0) {
    const std::size_t filled = done_ * width / of_;
    out_ << fmt::format("\r[{:#<{}}{:.<{}}] {}/{}", "", filled, "", width - filled, done_, of_);
  }
  if (seconds_ >= seconds_without_a_word) out_ << fmt::format("{}{} s", of_ > 0 ? ", " : "\rrunning, ", seconds_);
  out_ << time_left() << std::flush;
  drawn_ = true;
}

void ProgressLine::erase() {
  if (drawn_) out_ << "\r\x1b[K" << std::flush;
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
