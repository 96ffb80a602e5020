#include "calibrate/measure/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

namespace c3sim::measure {

namespace {

using Clock = std::chrono::steady_clock;

// How long an item may take beyond the patience with its work, and how many times what it is thought to take.
constexpr std::chrono::duration<double> grace{60.0};
constexpr double slack = 10.0;

// Acts when something takes longer than it ever should: a call that hangs in a driver cannot be interrupted.
class Watchdog {
 public:
  // `bite` is called, on a thread of its own, if this still lives after so long.
  Watchdog(std::chrono::duration<double> limit, std::function<void()> bite)
      : thread_([limit, bite = std::move(bite)](const std::stop_token& end) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any ended;
          ended.wait_for(lock, end, limit, [] { return false; });
          if (!end.stop_requested()) bite();
        }) {}

 private:
  std::jthread thread_;
};

class Session {
 public:
  Session(Lab& lab, ResultFolder& folder, const Surroundings& surroundings, Progress& progress)
      : lab_(lab), folder_(folder), surroundings_(surroundings), progress_(progress) {}

  SessionEnd run(const std::vector<const Item*>& open, std::optional<double> time_limit) {
    const Clock::time_point start = Clock::now();
    end_.left = open.size();
    for (const Item* const item : open) {
      const double taken = std::chrono::duration<double>(Clock::now() - start).count();
      if (end_.broken || (time_limit && taken > 60.0 * *time_limit)) break;
      --end_.left;
      measure(*item);
    }
    progress_.close();
    return end_;
  }

 private:
  void measure(const Item& item) {
    progress_.begin(item.kind->name, item.arguments.spelled());
    const std::chrono::duration<double> thought(slack * item.seconds);
    const Watchdog watchdog(lab_.protocol().patience + surroundings_.pace * (grace + thought), [&] { bite(item); });
    try {
      folder_.add(item, item.kind->measure(lab_, item.arguments), lab_.gpus());
      ++end_.measured;
    } catch (const GpuError& error) {
      fail(item, error);
    }
    progress_.end(item.seconds);
  }

  void fail(const Item& item, const GpuError& error) {
    ++end_.left_out;
    switch (error.kind()) {
      case GpuError::Kind::unsupported:
        // A reason once; but of pairs, which people ask for one by one, each that is missing.
        if (told_.insert(error.what()).second || item.kind->name == "pairs") {
          progress_.say(fmt::format("left out: {}: {}", item.name(), error.what()));
        }
        return;
      case GpuError::Kind::failed:
        progress_.say(fmt::format("failed: {}: {}", item.name(), error.what()));
        if (!all_answer()) stop("a GPU answers no more");
        return;
      case GpuError::Kind::hang:
        folder_.give_up(item, error.what());
        return stop(fmt::format("{} hangs: {}; it is not tried again in this folder", item.name(), error.what()));
      case GpuError::Kind::lost:
        return stop(fmt::format("lost in {}: {}", item.name(), error.what()));
    }
  }

  bool all_answer() {
    try {
      lab_.each([this](int gpu) { lab_.finish(gpu, lab_.stream(gpu, 0)); });
      return true;
    } catch (const GpuError&) {
      return false;
    }
  }

  void stop(const std::string& why) {
    end_.broken = true;
    progress_.say(why);
  }

  // On the watchdog's thread, while the other hangs in a call.
  void bite(const Item& item) {
    folder_.give_up(item, "a call never came back");
    surroundings_.abandon(
        fmt::format("{} hangs in a call that never comes back; it is not tried again in this folder", item.name()));
  }

  Lab& lab_;
  ResultFolder& folder_;
  const Surroundings& surroundings_;
  Progress& progress_;
  SessionEnd end_;
  std::set<std::string> told_;
};

}  // namespace

SessionEnd carry_out(const std::vector<Item>& plan, Lab& lab, ResultFolder& folder, std::optional<double> time_limit,
                     const Surroundings& surroundings) {
  std::vector<const Item*> open;
  double seconds = 0.0;
  for (const Item& item : plan) {
    if (folder.has(item)) continue;
    open.push_back(&item);
    seconds += item.seconds;
  }
  Progress progress(surroundings.err, surroundings.terminal, open.size(), seconds);
  SessionEnd end = Session(lab, folder, surroundings, progress).run(open, time_limit);
  end.already = plan.size() - open.size();
  return end;
}

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
