#include "calibrate/measure/program.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>

#include "calibrate/measure/plan.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view ledger_name = "progress.txt";
constexpr std::string_view ledger_columns = "table,item,state,bytes,why";
constexpr std::string_view table_mark = "# source: measured by c3sim-measure";

[[noreturn]] void refuse(const fs::path& file, std::string_view what) {
  throw UserError("{}: {}", file.string(), what);
}

[[noreturn]] void fail(const fs::path& file, const char* what) {
  refuse(file, fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

using OpenFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

OpenFile open_to_append(const fs::path& name) {
  OpenFile file(std::fopen(name.c_str(), "ae"), std::fclose);
  if (!file) fail(name, "open");
  return file;
}

// Writes text, which is on the disk when this returns.
void append(std::FILE* file, std::string_view text, const fs::path& name) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (!whole || std::fflush(file) != 0 || fsync(fileno(file)) != 0) fail(name, "write");
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Replaces commas and line breaks: cells of our tables need no quotes.
std::string cell(std::string_view text) {
  std::string safe(text);
  std::ranges::replace_if(
      safe, [](char letter) { return letter == ',' || letter == '\n' || letter == '\r'; }, ';');
  return safe;
}

// Circumstances are written down with the rows of a folder, which all have the same environment and protocol.
struct Circumstances {
  std::string environment;  // GPUs, driver, libraries
  std::string protocol;     // warm-ups, repetitions
  std::string occasion;     // date and command; may differ when a session is continued
};

// A ResultFolder holds a CSV for each kind of measurement and progress.txt, which says what is finished and how long
// each table was then. After a kill tables are cut back to that, so that no row is torn and none is measured twice.
class ResultFolder {
 public:
  // Takes a new or empty folder, or one begun under the same circumstances; else throws UserError and touches nothing.
  ResultFolder(fs::path folder, Circumstances circumstances)
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

  bool has(const Item& item) const { return finished_.contains(cell(item.name())); }

  // Writes all rows of an item, which are on the disk when this returns.
  void add(const Item& item, const Rows& rows, int gpus) {
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
      for (const auto& [column, value] : item.arguments.cells) row[column] = value;
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

  // Notes that an item is not tried again in this folder. Any thread may call it.
  void give_up(const Item& item, std::string_view why) {
    const std::lock_guard lock(mutex_);
    note(item, "given up", why);
  }

 private:
  void go_on(const std::string& text) {
    const fs::path ledger = folder_ / ledger_name;
    std::vector<std::string> lines = split(text, '\n');
    lines.pop_back();  // drops what follows the last line's end: nothing, or a torn line
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

  void note(const Item& item, std::string_view state, std::string_view why) {
    append(ledger_.get(),
           fmt::format("{},{},{},{},{}\n", item.kind->name, cell(item.arguments.spelled()), state,
                       sizes_[item.kind->name], cell(why)),
           folder_ / ledger_name);
    finished_.insert(cell(item.name()));
  }

  fs::path table_of(std::string_view kind) const { return folder_ / (std::string(kind) + ".csv"); }

  fs::path folder_;
  Circumstances circumstances_;
  std::mutex mutex_;
  std::set<std::string> finished_;
  std::map<std::string, std::uintmax_t> sizes_;  // of tables, in bytes
  OpenFile ledger_;                              // locked, so that nobody else writes there
};

using Clock = std::chrono::steady_clock;

// Progress shows how far a session is: a bar that is redrawn on a terminal, a line now and then elsewhere.
class Progress {
 public:
  // `seconds` is the estimated duration of all items.
  Progress(std::ostream& out, bool terminal, std::size_t items, double seconds)
      : out_(out), terminal_(terminal), items_(items), planned_(seconds) {}

  void begin(std::string_view kind, const std::string& item) {
    if (terminal_) {
      constexpr std::size_t width = 24;
      const double share = planned_ > 0.0 ? std::min(1.0, planned_done_ / planned_) : 1.0;
      const auto filled = static_cast<std::size_t>(share * width);
      out_ << fmt::format("\r\033[K[{}{}] {}/{}, {} left  {} {}", std::string(filled, '#'),
                          std::string(width - filled, '.'), done_, items_, left(), kind, item.substr(0, 60))
           << std::flush;
      drawn_ = true;
    } else if (kind != kind_) {
      const double share = items_ == 0 ? 1.0 : static_cast<double>(done_) / static_cast<double>(items_);
      out_ << fmt::format("{:3.0f} %  {}, {} left\n", 100.0 * share, kind, left()) << std::flush;
    }
    kind_ = kind;
  }
  void end(double seconds) {  // the estimate of the item
    ++done_;
    planned_done_ += seconds;
  }
  // Prints a line that stays, in place of the bar.
  void say(const std::string& line) {
    close();
    out_ << line << '\n' << std::flush;
  }
  // Wipes the bar away.
  void close() {
    if (drawn_) out_ << "\r\033[K" << std::flush;
    drawn_ = false;
  }

 private:
  // Returns the estimated time left, corrected by how long the finished items took, in minutes and seconds.
  std::string left() const {
    const double taken = std::chrono::duration<double>(Clock::now() - start_).count();
    const double pace = planned_done_ > 0.0 ? taken / planned_done_ : 1.0;
    const auto whole = static_cast<long>(std::max(0.0, (planned_ - planned_done_) * pace));
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
  }

  std::ostream& out_;
  bool terminal_;
  std::size_t items_;
  std::size_t done_ = 0;
  double planned_, planned_done_ = 0.0;
  Clock::time_point start_ = Clock::now();
  std::string kind_;
  bool drawn_ = false;
};

constexpr int fine = 0, trouble = 1, wrong = 2;

// An item may take this long beyond the patience with its work, and this many times its estimate.
constexpr std::chrono::duration<double> grace{60.0};
constexpr double slack = 10.0;

// Calls `bite`, on a thread of its own, if the returned thread still lives after `limit`: a call that hangs in a driver
// cannot be interrupted.
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
  Session(const std::vector<Item>& plan, Lab& lab, ResultFolder& folder, const Surroundings& surroundings)
      : lab_(lab), folder_(folder), surroundings_(surroundings) {
    double seconds = 0.0;
    for (const Item& item : plan) {
      if (folder.has(item)) continue;
      open_.push_back(&item);
      seconds += item.seconds;
    }
    already_ = plan.size() - open_.size();
    progress_.emplace(surroundings.err, surroundings.terminal, open_.size(), seconds);
  }

  // Measures the open items; none begins after `time_limit` minutes. Tells what became of them in one line that begins
  // with `name`, and returns the exit code.
  int run(std::optional<double> time_limit, const std::string& name) {
    const Clock::time_point start = Clock::now();
    std::size_t left = open_.size();
    for (const Item* const item : open_) {
      const double taken = std::chrono::duration<double>(Clock::now() - start).count();
      if (is_broken_ || (time_limit && taken > 60.0 * *time_limit)) break;
      --left;
      measure(*item);
    }
    progress_->close();
    std::string text = fmt::format("{}: {} measured", name, measured_);
    if (already_ > 0) text += fmt::format(", {} were there already", already_);
    if (left_out_ > 0) text += fmt::format(", {} left out", left_out_);
    if (left > 0) text += fmt::format(", {} not begun: the same command goes on with them", left);
    if (is_broken_) {
      surroundings_.abandon(text);
      return trouble;
    }
    surroundings_.err << text << '\n';
    return fine;
  }

 private:
  void measure(const Item& item) {
    progress_->begin(item.kind->name, item.arguments.spelled());
    const std::chrono::duration<double> thought(slack * item.seconds);
    const std::jthread watched =
        watchdog(lab_.protocol().patience + surroundings_.pace * (grace + thought), [&] { bite(item); });
    try {
      folder_.add(item, item.kind->measure(lab_, item.arguments), lab_.gpus());
      ++measured_;
    } catch (const GpuError& error) {
      fail(item, error);
    }
    progress_->end(item.seconds);
  }

  void fail(const Item& item, const GpuError& error) {
    ++left_out_;
    switch (error.kind()) {
      case GpuError::Kind::unsupported:
        // Each reason is reported once, but of pairs, which people ask for one by one, every missing one is reported.
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
    is_broken_ = true;
    progress_->say(why);
  }

  // Runs on the watchdog's thread, while the other one hangs in a call.
  void bite(const Item& item) {
    folder_.give_up(item, "a call never came back");
    surroundings_.abandon(
        fmt::format("{} hangs in a call that never comes back; it is not tried again in this folder", item.name()));
  }

  Lab& lab_;
  ResultFolder& folder_;
  const Surroundings& surroundings_;
  std::vector<const Item*> open_;
  std::optional<Progress> progress_;
  std::size_t already_ = 0;  // in the folder before
  std::size_t measured_ = 0;
  std::size_t left_out_ = 0;  // unsupported here, or failed
  bool is_broken_ = false;    // GPUs no longer answer: nothing of them may be touched, not even to release it
  std::set<std::string> told_;
};

struct Options {
  bool list = false;
  bool dry_run = false;
  Wish wish;
  std::filesystem::path out;
  std::filesystem::path pairs;  // a file of them; empty: none
  int gpus = 0;                 // 0: all
  Protocol protocol;
  std::optional<double> time_limit;  // min
  std::vector<std::string> library_folders;
  std::string command = "c3sim-measure";  // as it was typed
};

constexpr const char* about =
    "Measures, on the GPUs of this machine, what c3sim's parameters are fitted to, and concurrent runs to compare "
    "with.\n"
    "A session that was killed goes on where it was when the same command is given again.";

constexpr const char* examples =
    "Examples:\n"
    "  c3sim-measure --out measured                      all kinds, on all GPUs: 3 minutes on four H200s\n"
    "  c3sim-measure --out measured --quick              the most needed rows: a third of that\n"
    "  c3sim-measure --out measured --only gemms,copies  two kinds; others can follow in the same folder\n"
    "  c3sim-measure --out probes --only probes          what running at once costs: under a minute\n"
    "  c3sim-measure --out test --pairs pairs.csv        these concurrent runs and no others\n"
    "  c3sim-measure --dry-run --quick                   what would be measured, and how long it may take";

// Fills in the options, or returns the help that is to be printed instead. Throws UserError that says what is wrong.
std::optional<std::string> read_options(int argc, const char* const* argv, Options& options) {
  std::vector<std::string> kind_names, shapes;
  for (const Kind& kind : kinds()) kind_names.emplace_back(kind.name);
  CLI::App app(about, "c3sim-measure");
  app.footer(examples);
  app.add_flag("--list", options.list, "Print the kinds of measurements and their tables, and end");
  app.add_flag("--dry-run", options.dry_run,
               "Print what would be measured on the GPUs of this machine and how long it may take, and end; this needs "
               "the GPUs, too, as the plan depends on them");
  app.add_option("--out", options.out, "Folder for the tables: new, empty, or one to go on with")->type_name("FOLDER");
  app.add_option("--only", options.wish.only, "These kinds alone, see --list")
      ->delimiter(',')
      ->type_name("KIND")
      ->check(CLI::IsMember(kind_names));
  app.add_flag("--quick", options.wish.quick, "The most needed rows alone, with fewer repetitions");
  app.add_option("--gpus", options.gpus, "So many GPUs, the first ones; all unless said otherwise")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  const CLI::Option* const repetitions =
      app.add_option("--repetitions", options.protocol.counted, "Runs that count, of each row")
          ->type_name("N")
          ->check(CLI::Range(1, 1000));
  app.add_option("--shapes", shapes, "GEMMs to measure instead of the plan's, MxNxK")
      ->delimiter(',')
      ->type_name("SHAPE");
  app.add_option("--pairs", options.pairs,
                 "Concurrent runs to measure, and nothing else unless --only asks for it: a CSV with columns gemm, "
                 "collective, bytes, strategy, and channels, reserved_cus, variant, prelaunch where they matter")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  app.add_option("--time-limit", options.time_limit,
                 "Begin nothing after so many minutes; the same command goes on later")
      ->type_name("MIN")
      ->check(CLI::Range(0.01, 1440.0));
  app.add_option("--library-path", options.library_folders, "Folders to look for the GPU's libraries in first")
      ->delimiter(',')
      ->type_name("FOLDER");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    std::ostringstream text, fault;
    if (app.exit(end, text, fault) == 0) return text.str();
    throw UserError("{}; c3sim-measure --help lists what is accepted", end.what());
  }
  for (const std::string& shape : shapes) options.wish.shapes.push_back(parse_shape(shape));
  if (!options.list && !options.dry_run && options.out.empty()) {
    throw UserError("--out FOLDER is missing: where the tables go");
  }
  if (options.wish.quick) {
    if (repetitions->count() == 0) options.protocol.counted = 5;
    options.protocol.hot_warm_up /= 2;
  }
  for (int i = 1; i < argc; ++i) options.command += fmt::format(" {}", argv[i]);
  return {};
}

// Returns the first runtime that has a GPU. Throws UserError, in one line, where there is none.
std::unique_ptr<Runtime> open_runtime(const Options& options, const std::vector<Backend>& backends) {
  std::string why;
  for (const Backend& backend : backends) {
    try {
      std::unique_ptr<Runtime> runtime = backend.open(options.library_folders);
      if (runtime->gpus() > 0) return runtime;
      why += fmt::format("; {}: no GPU", backend.name);
    } catch (const GpuError& error) {
      why += fmt::format("; {}: {}", backend.name, error.what());
    }
  }
  throw UserError("no GPU to measure was found{}", why);
}

std::vector<std::unique_ptr<Gpu>> open_gpus(Runtime& runtime, int wanted) {
  const int there = runtime.gpus();
  if (wanted > there) throw UserError("--gpus: {} are wanted and {} are there", wanted, there);
  std::vector<std::unique_ptr<Gpu>> gpus;
  for (int number = 0; number < (wanted == 0 ? there : wanted); ++number) gpus.push_back(runtime.open(number));
  return gpus;
}

Machine machine_of(Lab& lab) {
  Machine machine{.gpus = lab.gpus(), .device = lab.gpu(0).device(), .peers = {}};
  for (int peer = 0; peer < lab.gpus(); ++peer) {
    machine.peers.push_back(peer == 0 ? std::vector<int>{} : lab.gpu(0).copy_engines(lab.gpu(peer)));
  }
  return machine;
}

std::vector<Arguments> pairs_of(const std::filesystem::path& file, int gpus) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw UserError("{}: cannot be read", file.string());
  return read_pairs(text, file.string(), gpus);
}

std::string environment_of(Lab& lab, const Runtime& runtime) {
  const Device& device = lab.gpu(0).device();
  for (int gpu = 1; gpu < lab.gpus(); ++gpu) {
    if (lab.gpu(gpu).device().name != device.name) {
      throw UserError("GPU 0 is a {}, GPU {} a {}: equal ones are accepted, --gpus takes the first", device.name, gpu,
                      lab.gpu(gpu).device().name);
    }
  }
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  std::string text = fmt::format("{} x {} ({}, {} CUs, {:.0f} GiB", lab.gpus(), device.name, device.architecture,
                                 device.cus, static_cast<double>(device.memory) / gib);
  if (device.power_cap) text += fmt::format(", power cap {:.0f} W", *device.power_cap);
  if (device.top_clock) text += fmt::format(", highest clock {:.0f} MHz", *device.top_clock);
  text += ")";
  for (const std::string& version : runtime.versions()) text += ", " + version;
  return text;
}

std::string protocol_of(const Protocol& protocol) {
  return fmt::format(
      "one host thread per GPU, all behind a barrier before each run; {} runs and {} s of warm-up at least, {} s with "
      "GEMMs, then {} runs that count; median, 10th and 90th percentile",
      protocol.least_warm_ups, protocol.warm_up.count(), protocol.hot_warm_up.count(), protocol.counted);
}

void print_plan(const std::vector<Item>& plan, std::ostream& out) {
  double all = 0.0;
  for (const Kind& kind : kinds()) {
    double seconds = 0.0;
    std::size_t rows = 0;
    for (const Item& item : plan) {
      if (item.kind != &kind) continue;
      out << item.name() << '\n';
      seconds += item.seconds;
      ++rows;
    }
    if (rows > 0) out << fmt::format("# {}: {} measurements, some {:.0f} s\n", kind.name, rows, seconds);
    all += seconds;
  }
  out << fmt::format("# all: {} measurements, some {:.1f} min\n", plan.size(), all / 60.0);
}

int measure(Options& options, const Surroundings& surroundings) {
  const std::unique_ptr<Runtime> runtime = open_runtime(options, surroundings.backends);
  Protocol& protocol = options.protocol;
  for (auto* const time : {&protocol.warm_up, &protocol.hot_warm_up, &protocol.rest, &protocol.patience}) {
    *time *= surroundings.pace;
  }
  for (const std::string& line : runtime->missing()) surroundings.err << "note: " << line << '\n';
  protocol.brevity = (options.wish.quick ? 0.6 : 1.0) * surroundings.pace;
  Lab lab(open_gpus(*runtime, options.gpus), protocol, *runtime);
  if (!options.pairs.empty()) options.wish.pairs = pairs_of(options.pairs, lab.gpus());
  const std::vector<Item> plan = make_plan(options.wish, machine_of(lab), protocol);
  if (options.dry_run) {
    print_plan(plan, surroundings.out);
    return fine;
  }
  ResultFolder folder(options.out, {.environment = environment_of(lab, *runtime),
                                    .protocol = protocol_of(protocol),
                                    .occasion = fmt::format("{:%Y-%m-%d}, command: {}", fmt::gmtime(std::time(nullptr)),
                                                            options.command)});
  return Session(plan, lab, folder, surroundings).run(options.time_limit, options.out.string());
}

}  // namespace

int run_program(int argc, const char* const* argv, const Surroundings& surroundings) {
  Options options;
  try {
    if (const auto help = read_options(argc, argv, options)) {
      surroundings.out << *help;
      return fine;
    }
    if (options.list) {
      for (const Kind& kind : kinds()) surroundings.out << fmt::format("{:13} {}\n", kind.name, kind.about);
      return fine;
    }
    return measure(options, surroundings);
  } catch (const UserError& fault) {
    surroundings.err << "error: " << fault.what() << '\n';
    return wrong;
  } catch (const GpuError& fault) {
    surroundings.err << "error: " << fault.what() << '\n';
    return fault.kind() == GpuError::Kind::unsupported ? wrong : trouble;
  }
}

}  // namespace c3sim::measure
