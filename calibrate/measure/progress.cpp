#include "calibrate/measure/progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace c3sim::measure {

namespace {

std::string clock_time(double seconds) {
  const auto whole = static_cast<long>(std::max(0.0, seconds));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(std::ostream& out, bool terminal, std::size_t items, double seconds)
    : out_(out), terminal_(terminal), items_(items), planned_(seconds) {}

void Progress::begin(std::string_view kind, const std::string& item) {
  item_ = item;
  if (kind != kind_ && !terminal_) {
    out_ << fmt::format("{:3.0f} %  {}, {} left\n",
                        items_ == 0 ? 100.0 : 100.0 * static_cast<double>(done_) / static_cast<double>(items_), kind,
                        clock_time(left()))
         << std::flush;
  }
  kind_ = kind;
  if (terminal_) draw();
}

void Progress::end(double seconds) {
  ++done_;
  planned_done_ += seconds;
}

void Progress::say(const std::string& line) {
  if (drawn_) out_ << "\r\033[K";
  drawn_ = false;
  out_ << line << '\n' << std::flush;
}

void Progress::close() {
  if (drawn_) out_ << "\r\033[K" << std::flush;
  drawn_ = false;
}

void Progress::draw() {
  constexpr std::size_t width = 24;
  const double share = planned_ > 0.0 ? std::min(1.0, planned_done_ / planned_) : 1.0;
  const auto filled = static_cast<std::size_t>(share * width);
  out_ << fmt::format("\r\033[K[{}{}] {}/{}, {} left  {} {}", std::string(filled, '#'),
                      std::string(width - filled, '.'), done_, items_, clock_time(left()), kind_, item_.substr(0, 60))
       << std::flush;
  drawn_ = true;
}

// What was planned, corrected by how long what is done took.
double Progress::left() const {
  const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double pace = planned_done_ > 0.0 ? taken / planned_done_ : 1.0;
  return (planned_ - planned_done_) * pace;
}

}  // namespace c3sim::measure
