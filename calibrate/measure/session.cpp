#include "calibrate/measure/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

namespace {

using Clock = std::chrono::steady_clock;

// How long an item may take beyond the patience with its work, and how many times what it is thought to take.
constexpr std::chrono::duration<double> grace{60.0};
constexpr double slack = 10.0;

class Session {
 public:
  Session(Lab& lab, ResultFolder& folder, std::optional<double> time_limit, const Surroundings& surroundings)
      : lab_(lab), folder_(folder), time_limit_(time_limit), surroundings_(surroundings) {}

  SessionEnd run(const std::vector<Item>& plan) {
    std::vector<const Item*> open;
    double seconds = 0.0;
    for (const Item& item : plan) {
      if (folder_.has(item)) continue;
      open.push_back(&item);
      seconds += item.seconds;
    }
    end_.already = plan.size() - open.size();
    Progress progress(surroundings_.err, surroundings_.terminal, open.size(), seconds);
    progress_ = &progress;
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < open.size() && !end_.broken; ++i) {
      const double taken = std::chrono::duration<double>(Clock::now() - start).count();
      if (time_limit_ && taken > 60.0 * *time_limit_) {
        end_.left = open.size() - i;
        break;
      }
      measure(*open[i]);
      if (end_.broken) end_.left = open.size() - i - 1;
    }
    progress.close();
    return end_;
  }

 private:
  void measure(const Item& item) {
    progress_->begin(item.kind->name, item.arguments.spelled());
    if (const std::optional<Rows> rows = rows_of(item)) {
      folder_.add(item, *rows, lab_.gpus());
      ++end_.measured;
    }
    progress_->end(item.seconds);
  }

  // None where it went wrong, which has been told then.
  std::optional<Rows> rows_of(const Item& item) {
    const std::chrono::duration<double> thought(slack * item.seconds);
    const Watchdog watchdog(lab_.protocol().patience + surroundings_.pace * (grace + thought), [&] { bite(item); });
    try {
      return item.kind->measure(lab_, item.arguments);
    } catch (const GpuError& error) {
      fail(item, error);
      return {};
    }
  }

  void fail(const Item& item, const GpuError& error) {
    ++end_.left_out;
    switch (error.kind()) {
      case GpuError::Kind::unsupported:
        // A reason once; but of pairs, which people ask for one by one, each that is missing.
        if (told_.insert(error.what()).second || item.kind->name == "pairs") {
          progress_->say(fmt::format("left out: {}: {}", item.name(), error.what()));
        }
        return;
      case GpuError::Kind::failed:
        progress_->say(fmt::format("failed: {}: {}", item.name(), error.what()));
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
    progress_->say(why);
  }

  // On the watchdog's thread, while the other hangs in a call.
  void bite(const Item& item) {
    folder_.give_up(item, "a call never came back");
    surroundings_.abandon(
        fmt::format("{} hangs in a call that never comes back; it is not tried again in this folder", item.name()));
  }

  Lab& lab_;
  ResultFolder& folder_;
  std::optional<double> time_limit_;
  const Surroundings& surroundings_;
  SessionEnd end_;
  Progress* progress_ = nullptr;
  std::set<std::string> told_;
};

}  // namespace

SessionEnd carry_out(const std::vector<Item>& plan, Lab& lab, ResultFolder& folder, std::optional<double> time_limit,
                     const Surroundings& surroundings) {
  return Session(lab, folder, time_limit, surroundings).run(plan);
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
