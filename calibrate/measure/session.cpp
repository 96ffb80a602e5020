#include "calibrate/measure/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <stop_token>
#include <system_error>
#include <thread>

#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view ledger_name = "progress.csv";
constexpr std::string_view ledger_columns = "table,item,state,bytes,why";
constexpr std::string_view table_mark = "# source: measured by c3sim-measure";

[[noreturn]] void refuse(const fs::path& file, std::string_view what) {
  throw UserError("{}: {}", file.string(), what);
}

[[noreturn]] void fail(const fs::path& file, const char* what) {
  refuse(file, fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

OpenFile open_to_append(const fs::path& name) {
  OpenFile file(std::fopen(name.c_str(), "ae"), std::fclose);
  if (!file) fail(name, "open");
  return file;
}

// On the disk when this returns.
void append(std::FILE* file, std::string_view text, const fs::path& name) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (!whole || std::fflush(file) != 0 || fsync(fileno(file)) != 0) fail(name, "write");
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// No comma, no line break: cells of our tables need no quotes.
std::string cell(std::string_view text) {
  std::string safe(text);
  std::ranges::replace_if(
      safe, [](char letter) { return letter == ',' || letter == '\n' || letter == '\r'; }, ';');
  return safe;
}

}  // namespace

ResultFolder::ResultFolder(fs::path folder, Circumstances circumstances)
    : folder_(std::move(folder)), circumstances_(std::move(circumstances)), ledger_(nullptr, std::fclose) {
  std::error_code fault;
  const fs::path ledger = folder_ / ledger_name;
  if (fs::exists(folder_, fault) && !fs::is_directory(folder_, fault)) refuse(folder_, "is a file, not a folder");
  if (fs::exists(folder_, fault) && !fs::is_empty(folder_, fault) && !fs::exists(ledger, fault)) {
    refuse(folder_, "holds files of someone else: a new or empty folder is accepted, or one that this program began");
  }
  fs::create_directories(folder_, fault);
  if (fault) refuse(folder_, "cannot be made: " + fault.message());
  ledger_ = open_to_append(ledger);
  if (flock(fileno(ledger_.get()), LOCK_EX | LOCK_NB) != 0) refuse(folder_, "another c3sim-measure is writing there");
  const std::string text = text_of(ledger);
  // A kill may have torn the head itself; nothing was measured then.
  if (std::count(text.begin(), text.end(), '\n') >= 4) {
    go_on(text);
    return;
  }
  if (ftruncate(fileno(ledger_.get()), 0) != 0) fail(ledger, "write");
  append(ledger_.get(),
         fmt::format("# what c3sim-measure has finished in this folder, and how long each table was then\n"
                     "# environment: {}\n# protocol: {}\n{}\n",
                     circumstances_.environment, circumstances_.protocol, ledger_columns),
         ledger);
}

void ResultFolder::go_on(const std::string& text) {
  const fs::path ledger = folder_ / ledger_name;
  std::vector<std::string> lines = split(text, '\n');
  lines.pop_back();  // what follows the last line's end: nothing, or a torn line
  const auto same = [&](std::size_t line, std::string_view what, const std::string& now) {
    const std::string mark = fmt::format("# {}: ", what);
    if (!lines[line].starts_with(mark)) refuse(ledger, "is no list of c3sim-measure");
    if (lines[line].substr(mark.size()) == now) return;
    refuse(folder_, fmt::format("was begun in another {}, name another folder for this one\n  then: {}\n  now:  {}",
                                what, lines[line].substr(mark.size()), now));
  };
  same(1, "environment", circumstances_.environment);
  same(2, "protocol", circumstances_.protocol);
  if (lines[3] != ledger_columns) refuse(ledger, "is no list of c3sim-measure");
  std::uintmax_t whole = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    whole += lines[i].size() + 1;
    if (i < 4) continue;
    const std::vector<std::string> cells = split(lines[i], ',');
    std::uintmax_t size = 0;
    const bool read = cells.size() == 5 && kind_of(cells[0]) != nullptr &&
                      std::from_chars(cells[3].data(), cells[3].data() + cells[3].size(), size).ec == std::errc();
    if (!read) refuse(ledger, fmt::format("line {} is none that c3sim-measure writes", i + 1));
    finished_.insert(cells[0] + " " + cells[1]);
    sizes_[cells[0]] = size;
  }
  std::error_code fault;
  for (const Kind& kind : kinds()) {
    const fs::path table = table_of(kind.name);
    const std::uintmax_t is = fs::exists(table, fault) ? fs::file_size(table, fault) : 0;
    const std::uintmax_t was = sizes_[kind.name];
    if (is < was) refuse(table, "is shorter than when it was written: someone changed it");
    if (is > was && !text_of(table).starts_with(table_mark)) refuse(table, "is a file of someone else");
  }
  for (const auto& [kind, size] : sizes_) {  // only now that nothing is refused
    const fs::path table = table_of(kind);
    if (fs::exists(table, fault)) fs::resize_file(table, size, fault);
    if (fault) refuse(table, "cannot be written: " + fault.message());
  }
  if (ftruncate(fileno(ledger_.get()), static_cast<off_t>(whole)) != 0) fail(ledger, "write");
}

void ResultFolder::add(const Item& item, const Rows& rows, int gpus) {
  const std::lock_guard lock(mutex_);
  const Kind& kind = *item.kind;
  std::uintmax_t& size = sizes_[kind.name];
  std::string text;
  if (size == 0) {
    text = fmt::format("{} on {}; {}\n# {}; {}\n# {}\n{}\n", table_mark, circumstances_.environment,
                       circumstances_.occasion, circumstances_.protocol, kind.times, kind.about, kind.columns);
  }
  for (Row row : rows) {
    row["gpus"] = std::to_string(gpus);
    for (const auto& [column, value] : item.arguments.cells()) row[column] = value;
    std::vector<std::string> cells;
    for (const std::string& column : split(std::string(kind.columns), ',')) {
      const auto found = row.find(column);
      cells.push_back(found == row.end() ? "" : cell(found->second));
    }
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  const fs::path name = table_of(kind.name);
  append(open_to_append(name).get(), text, name);
  size += text.size();
  note(item, "measured", "");
}

void ResultFolder::give_up(const Item& item, std::string_view why) {
  const std::lock_guard lock(mutex_);
  note(item, "given up", why);
}

void ResultFolder::note(const Item& item, std::string_view state, std::string_view why) {
  append(ledger_.get(),
         fmt::format("{},{},{},{},{}\n", item.kind->name, cell(item.arguments.spelled()), state,
                     sizes_[item.kind->name], cell(why)),
         folder_ / ledger_name);
  finished_.insert(cell(item.name()));
}

bool ResultFolder::has(const Item& item) const { return finished_.contains(cell(item.name())); }

namespace {

using Clock = std::chrono::steady_clock;

// How long an item may take beyond the patience with its work, and how many times what it is thought to take.
constexpr std::chrono::duration<double> grace{60.0};
constexpr double slack = 10.0;

// Calls `bite`, on a thread of its own, if that still lives after so long: a call that hangs in a driver cannot be
// interrupted.
std::jthread watchdog(std::chrono::duration<double> limit, std::function<void()> bite) {
  return std::jthread([limit, bite = std::move(bite)](const std::stop_token& end) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any ended;
    ended.wait_for(lock, end, limit, [] { return false; });
    if (!end.stop_requested()) bite();
  });
}

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
    const std::jthread watched =
        watchdog(lab_.protocol().patience + surroundings_.pace * (grace + thought), [&] { bite(item); });
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
