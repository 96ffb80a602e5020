// What all_reduce_perf and its siblings (rccl-tests, nccl-tests) print: comments that describe the test, a table with
// the times of every size, and in between what MPI, the library and the shell had to say.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/readers/log_formats.h"
#include "calibrate/readers/rccl_test.h"

namespace c3sim::calibrate {

namespace {

// The words of a comment without the sign before them; none for other lines.
LogCells comment_words(const LogCell& line) {
  const LogCell text = trimmed(line);
  return text.text.starts_with('#') ? words_of(text.from(1)) : LogCells{};
}

bool names(const LogCells& words, std::size_t at, std::string_view name) {
  return at < words.size() && words[at].text == name;
}

const LogCell* behind(const LogCells& words, std::string_view name) {
  const auto found = std::ranges::find(words, name, &LogCell::text);
  return found == words.end() || found + 1 == words.end() ? nullptr : &*(found + 1);
}

// Of the table: "size count type redop root", "time algbw busbw #wrong" out of place and in place, and perhaps the time
// of day. Old versions have no redop and root, or one of them alone, or leave them blank; and they print the largest
// relative error instead of how many elements are wrong.
struct Heads {
  static constexpr std::size_t per_run = 4;
  static constexpr std::size_t never_blank = 3;
  std::size_t before = 0;  // columns before the first time
  std::size_t runs = 0;    // 2: out of place, in place
  bool of_host_time = false;
  bool of_errors = false;
  bool with_time_of_day = false;
  std::size_t columns() const { return before + runs * per_run; }
};

bool are_heads(const LogCells& words) {
  return names(words, 0, "size") && names(words, 1, "count") && names(words, 2, "type");
}

std::optional<Heads> heads_of(const LogCells& words) {
  Heads heads{.before = Heads::never_blank};
  for (const std::string_view optional : {"redop", "root"}) {
    if (names(words, heads.before, optional)) ++heads.before;
  }
  while (names(words, heads.columns() + 1, "algbw") && names(words, heads.columns() + 2, "busbw")) {
    const std::string_view time = words[heads.columns()].text;
    const bool of_errors = names(words, heads.columns() + 3, "error");
    if (time != "time" && time != "cputime") return {};
    if (!of_errors && !names(words, heads.columns() + 3, "#wrong")) return {};
    heads.of_host_time = time == "cputime";
    heads.of_errors = of_errors;
    ++heads.runs;
  }
  heads.with_time_of_day = names(words, heads.columns(), "timestamp");
  const std::size_t all = heads.columns() + (heads.with_time_of_day ? 1 : 0);
  if (heads.runs < 1 || heads.runs > 2 || all != words.size()) return {};
  return heads;
}

// As the library calls it in words or, by older versions, in numbers: NVLS, and NVLS with a tree.
models::RcclAlgorithm algorithm_called(std::string_view name) {
  const bool in_switch = lower_case(name).starts_with("nvls") || name == "4" || name == "5";
  return in_switch ? models::RcclAlgorithm::nvls : models::RcclAlgorithm::ring;
}

// Two of size, count and type suffice, so that a damaged row is one still.
bool looks_like_row(const LogCells& words) {
  static const LogPattern element_type("^(?:u?int|char|float|half|double|bfloat|fp8|f8|long)");
  if (words.size() < 2) return false;
  int known = words.size() > 2 && element_type.is_in(words[2].text) ? 1 : 0;
  for (std::size_t i = 0; i < 2; ++i) known += parse_printed_integer(words[i].text).error.empty() ? 1 : 0;
  return known >= 2;
}

class RcclTextReader {
 public:
  RcclTextReader(std::string_view text, const std::string& name) : log_(name, text) {}

  Reading read() && {
    while (log_.next()) take_line(log_.line());
    end_row();
    end_test();
    return std::move(log_).take("no row of results: a table under '# size count type ...' is accepted");
  }

 private:
  // What NCCL_DEBUG has the library say goes to the same output, whole lines or within rows, whose cells are printed as
  // they become known: what is before it in its line goes on in the next that is the test's own.
  void take_line(const LogCell& line) {
    const std::optional<std::size_t> message = message_of_library(line);
    const LogCell own = message ? line.from(0, *message) : line;
    if (trimmed(own).text.empty() && (message || row_)) return;
    if (row_) {
      const LogCells words = words_of(own);
      const bool goes_on = !looks_like_row(words) && std::ranges::all_of(words, [](const LogCell& word) {
        return word.text == "N/A" || parse_printed_number(word.text).error.empty();
      });
      if (!goes_on) end_row();
    }
    if (row_) {
      joined_.push_back(std::string(row_->text) + " " + std::string(own.text));
      row_->text = joined_.back();
    } else if (!in_table_ || !looks_like_row(words_of(own))) {
      return read_line(own);
    } else {
      row_ = own;
    }
    if (words_of(*row_).size() >= heads_->columns()) end_row();
  }

  // The row is read as far as it goes.
  void end_row() {
    if (const std::optional<LogCell> row = std::exchange(row_, {})) read_line(*row);
  }

  // Where a message of the library begins ("host:1375:1375 [0] NCCL INFO ...", perhaps with the time of day before
  // it). The name of a host directly behind a number is known from lines above.
  std::optional<std::size_t> message_of_library(const LogCell& line) {
    static const LogPattern message(
        R"((?:\[\d{4}-\d\d-\d\d[^\]]*\] )?([A-Za-z][\w.-]*|^[ \t]*[\w.-]+):\d+:\d+ \[\d+\] (?:\S+:\d+ )?(?:N|R)CCL [A-Z]+ ?(.*))");
    static const LogPattern algorithm("(?i)algo(?:rithm)? +([0-9a-z_]+)");
    if (!line.holds("NCCL ") && !line.holds("RCCL ")) return {};
    const LogCells found = message.groups(line);
    if (found.empty()) return {};
    if (const LogCells named = algorithm.groups(found[2]); !named.empty() && found[2].holds("Bytes"))
      test_.algorithm = algorithm_called(named[1].text);
    std::size_t begin = static_cast<std::size_t>(found[0].column - line.column);
    if (trimmed(line.from(0, begin)).text.empty()) hosts_.emplace(trimmed(found[1]).text);
    for (const std::string& host : hosts_) {
      const std::size_t known = line.text.find(host + ":");
      if (known < begin) begin = known;
    }
    return begin;
  }

  void read_line(const LogCell& line) {
    static const LogPattern no_multicast("NCCL_NVLS_ENABLE(?:=| set by environment to )0");
    if (no_multicast.is_in(line.text)) test_.algorithm = models::RcclAlgorithm::ring;
    const LogCells comment = comment_words(line);
    if (!comment.empty()) return read_comment(comment);
    LogCells words = words_of(line);
    if (in_table_ && looks_like_row(words)) return read_row(std::move(words));
    read_command_of(words);
  }

  void read_comment(const LogCells& words) {
    if (are_heads(words)) return read_heads(words);
    if (names(words, 0, "nThread")) return read_parameters(words);
    if (names(words, 0, "Blocking") && names(words, 1, "Enabled:")) {
      if (heads_) begin_test();
      test_.blocking = 1;
      return;
    }
    if (names(words, 0, "Rank") && behind(words, "Pid") != nullptr) return read_rank(words);
    if (names(words, 0, "Out") || names(words, 0, "Avg")) in_table_ = false;  // what stands below the table
    read_command_of(words);
  }

  void read_heads(const LogCells& words) {
    if (heads_) begin_test();
    heads_ = heads_of(words);
    in_table_ = heads_.has_value();
    place_of_heads_ = words.front();
    if (heads_) return;
    log_.fault(words.front(), "",
               "the columns are not known; accepted are size count type [redop root] and, once or twice, time algbw "
               "busbw #wrong");
  }

  void read_parameters(const LogCells& words) {
    if (heads_) begin_test();
    const auto read = [this](const LogCell* cell, std::string_view name, int low, int& value) {
      if (cell != nullptr) value = log_.integer(*cell, low, most_units, name).value_or(value);
    };
    read(behind(words, "nThread"), "nThread", 1, test_.threads);
    read(behind(words, "nGpus"), "nGpus", 1, test_.gpus_each);
    read(behind(words, "graph:"), "graph:", 0, test_.graph);
    const LogCells rest(std::ranges::find(words, "agg", &LogCell::text), words.end());
    read(behind(rest, "iters:"), "agg iters", 1, test_.aggregated);
  }

  // "#  Rank  0 Group  0 Pid  35612 on   node-1 device  0 [0000:0f:00.0] AMD Instinct MI300X"
  void read_rank(const LogCells& words) {
    if (heads_) begin_test();
    if (const std::optional<int> rank = log_.integer(words[1], 0, most_units - 1, "Rank")) test_.ranks.insert(*rank);
    const auto bus = std::ranges::find_if(words, [](const LogCell& word) { return word.text.starts_with('['); });
    if (bus != words.end() && bus + 1 != words.end()) {
      log_.set_gpu({(bus + 1)->text.data(), words.back().text.data() + words.back().text.size()});
    }
    if (const LogCell* const group = behind(words, "Group")) test_.has_groups |= group->text != "0";
    if (const LogCell* const host = behind(words, "on")) {
      test_.hosts.emplace(host->text);
      hosts_.emplace(host->text);
    }
  }

  // The command may stand above the test, begin its comments ("Collective test starting: all_reduce_perf") or end them.
  void read_command_of(const LogCells& words) {
    std::vector<std::string_view> texts;
    for (const LogCell& word : words) texts.push_back(word.text);
    const bool is_over = std::ranges::find(texts, "concluded:") != texts.end();
    const bool is_of_this = !heads_ || (is_over && test_.collective == nullptr);
    if (is_over && !is_of_this) return;
    read_command(texts, is_of_this ? test_ : next_);
  }

  void read_row(LogCells words) {
    const std::size_t columns = heads_->columns();
    if (heads_->with_time_of_day && words.size() == columns + 2) words.resize(columns);  // "2025-08-05 10:00:00"
    const bool is_blank = words.size() < columns && words.size() + heads_->before == columns + Heads::never_blank &&
                          parse_printed_number(words[Heads::never_blank].text).error.empty();
    if (words.size() != columns && !is_blank) {
      return log_.fault(words.front(), "",
                        fmt::format("{} cells where the columns are {}: cut short, or another line ran into it",
                                    words.size(), columns));
    }
    const std::size_t faults_before = log_.faults();
    RcclRow row{
        .line = words.front().line, .dtype = element_type_called(words[2].text), .of_host_time = heads_->of_host_time};
    const sim::Parsed<std::int64_t> size = parse_printed_integer(words.front().text);
    if (!size.error.empty() || size.value != 0) row.bytes = log_.bytes(words.front(), "size");
    const std::size_t first_time = words.size() - heads_->runs * Heads::per_run;
    // Old versions let pass relative errors up to that (of half floats, the coarsest) and call them correct.
    constexpr double largest_error = 1e-2;
    const auto read_run = [&](std::size_t at, std::optional<double>& time) {
      if (row.bytes && words[at].text != "N/A") time = log_.figure(words[at], study::Figure::time, "time");
      const double wrong = wrong_elements(words[at + Heads::per_run - 1], heads_->of_errors ? "error" : "#wrong", log_);
      if (!heads_->of_errors || wrong > largest_error) row.wrong = std::max(row.wrong, wrong);
    };
    read_run(first_time, row.out_of_place);
    if (heads_->runs == 2) read_run(first_time + Heads::per_run, row.in_place);
    if (log_.faults() == faults_before) rows_.push_back(row);
  }

  void begin_test() {
    end_test();
    test_ = std::exchange(next_, {});
  }

  void end_test() {
    const std::vector<RcclRow> rows = std::exchange(rows_, {});
    heads_.reset();
    in_table_ = false;
    if (rows.empty() || !knows_collective(test_, place_of_heads_, log_)) return;
    for (const RcclRow& row : rows) record(row, test_, log_);
  }

  LogReading log_;
  RcclTest test_;
  RcclTest next_;  // what a command above the next test said of it
  std::optional<Heads> heads_;
  LogCell place_of_heads_;
  std::vector<RcclRow> rows_;
  std::optional<LogCell> row_;      // that is not whole yet
  std::deque<std::string> joined_;  // rows of several lines
  std::set<std::string> hosts_;     // that ranks and messages name
  bool in_table_ = false;
};

bool is_of_rccl_tests(const LogCell& line) {
  const LogCells words = comment_words(line);
  return (are_heads(words) && behind(words, "algbw") != nullptr) ||
         (names(words, 0, "nThread") && behind(words, "nGpus") != nullptr);
}

}  // namespace

const LogFormat rccl_tests_text{
    "rccl-tests", "times of collectives by size, as all_reduce_perf and its siblings print them",
    [](std::string_view text) { return has_line(text, is_of_rccl_tests); },
    [](std::string_view text, const std::string& name) { return RcclTextReader(text, name).read(); }};

}  // namespace c3sim::calibrate
