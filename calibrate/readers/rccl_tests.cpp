// Reads what all_reduce_perf and its siblings in rccl-tests and nccl-tests print: comments that describe the test, a
// table with the times of every size, and in between messages of MPI, the library and the shell. Also reads their JSON
// and CSV.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/log_reading.h"
#include "sim/config/config_text.h"
#include "study/report/statistics.h"

namespace c3sim::calibrate {

namespace {

using models::CollectiveKind;

// A name that contains another stands before it.
constexpr std::array tested_collectives{TestedCollective{"allreducebias", {}},
                                        TestedCollective{"allreduce", CollectiveKind::all_reduce},
                                        TestedCollective{"allgatherv", {}},
                                        TestedCollective{"allgather", CollectiveKind::all_gather},
                                        TestedCollective{"reducescatter", CollectiveKind::reduce_scatter},
                                        TestedCollective{"alltoallv", {}},
                                        TestedCollective{"alltoall", CollectiveKind::all_to_all},
                                        TestedCollective{"broadcast", CollectiveKind::broadcast},
                                        TestedCollective{"sendrecv", {}},
                                        TestedCollective{"hypercube", {}},
                                        TestedCollective{"gather", {}},
                                        TestedCollective{"scatter", {}},
                                        TestedCollective{"reduce", {}}};

// An RcclTest is a test as its text, JSON or CSV describes it: the collective, the GPUs, and how operations were
// launched.
struct RcclTest {
  const TestedCollective* collective = nullptr;   // null: not said
  int processes = 0, threads = 0, gpus_each = 0;  // 0: not said
  int aggregated = 1;                             // number of operations in one group
  int graph = 0;                                  // 1 or more: launched as a graph
  int blocking = 0;                               // 1 or more: the host waits for each operation before the next (-z 1)
  std::optional<models::RcclAlgorithm> algorithm;  // as NCCL_DEBUG prints it: NVLS, or a ring or tree
  std::set<int> ranks;
  std::set<std::string, std::less<>> hosts;
  int hosts_said = 0;       // number of hosts that are counted but not named
  bool has_groups = false;  // several communicators at once

  // Returns the number of GPUs that take part; 0 if the log does not say.
  int gpus() const;
  // Returns why no row of the test can be compared; empty if they can.
  std::string why_not() const;
  // Takes collective and options (`mpirun -np`, -t, -g, -G, -m, -z) from a command line. Returns false if no word is
  // the program of a test.
  bool read_command(std::span<const std::string_view> words);
  // Returns whether the log, or else the name of its file ("all_reduce_8gpus.log"), says which collective was run.
  // Records a fault if neither does.
  bool knows_collective(const LogCell& at, LogReading& log);
};

// An RcclRow is the result for one size, which is the whole array of one GPU. Both tools print the larger of what a GPU
// sends and what it receives (common.cu: max(sendBytes, expectedBytes)) and divide it by the time for `algbw`
// (doc/PERFORMANCE.md): all that is moved, including the GPU's own share. models::CollectiveSpec::bytes means the same.
struct RcclRow {
  int line = 0;
  std::optional<sim::Bytes> bytes{};                 // none: the size is 0
  std::optional<double> out_of_place{}, in_place{};  // seconds
  double wrong = 0.0;                                // number of elements with a wrong value
  models::ElementType dtype = models::ElementType::fp32;
  bool of_host_time = false;  // times are those of the host's calls alone
};

// Returns the number after the first of these options, or nothing if none is present.
std::optional<int> option(std::span<const std::string_view> words, std::initializer_list<std::string_view> names) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (std::ranges::find(names, words[i]) == names.end()) continue;
    const sim::Parsed<std::int64_t> parsed = parse_printed_integer(words[i + 1]);
    if (parsed.error.empty() && parsed.value >= 0 && parsed.value <= most_units) return static_cast<int>(parsed.value);
  }
  return {};
}

// Returns the only collective in the name of a file ("all_reduce_8gpus.log"), null if none or several are in it. The
// plain words gather, scatter and reduce do not count.
const TestedCollective* collective_of_file(std::string_view file) {
  const std::filesystem::path path(file);
  if (const TestedCollective* const named = collective_called(path.stem().string())) return named;
  std::string name = plain_name(path.filename().string());
  const TestedCollective* only = nullptr;
  for (const TestedCollective& collective : tested_collectives) {
    constexpr std::size_t longest_plain_word = 7;  // gather, scatter, reduce
    const std::size_t at = name.find(collective.name);
    if (at == std::string::npos || collective.name.size() <= longest_plain_word) continue;
    if (only != nullptr) return nullptr;
    only = &collective;
    name.replace(at, collective.name.size(), " ");
  }
  return only;
}

int RcclTest::gpus() const {
  if (!ranks.empty()) return std::min(*ranks.rbegin() + 1, most_units);
  if (gpus_each == 0) return 0;
  const std::int64_t here = std::int64_t{gpus_each} * std::max(threads, 1);
  // The number of processes is unknown, and each GPU may have one.
  if (processes == 0 && here == 1) return 0;
  return static_cast<int>(std::min(here * std::max(processes, 1), std::int64_t{most_units}));
}

std::string RcclTest::why_not() const {
  const int nodes = std::max(static_cast<int>(hosts.size()), hosts_said);
  if (!collective->kind) return fmt::format("{} has no model", collective->name);
  if (nodes > 1) return fmt::format("it ran on {} hosts: only one node has a model", nodes);
  if (has_groups) return "several groups of GPUs at once have no model";
  if (aggregated > 1) return fmt::format("{} operations launched as one have no model", aggregated);
  if (gpus() == 1) return "a collective of one GPU moves nothing (processes that know of no other: MPI=1 builds them)";
  return {};
}

bool RcclTest::read_command(std::span<const std::string_view> words) {
  const auto program_of = [](std::string_view word) { return word.substr(word.rfind('/') + 1); };  // npos + 1 is 0
  const auto program = std::ranges::find_if(words, [&](std::string_view word) {
    return word.ends_with("_perf") && collective_called(program_of(word)) != nullptr;
  });
  if (program == words.end()) return false;
  const auto before = words.first(static_cast<std::size_t>(program - words.begin()));
  const auto behind = words.subspan(before.size() + 1);
  collective = collective_called(program_of(*program));
  static const LogPattern launcher("(?:^|/)(?:mpirun|mpiexec|orterun|prterun|srun)$");
  if (std::ranges::any_of(before, [](std::string_view word) { return launcher.is_in(word); })) {
    processes = option(before, {"-np", "-n", "--np"}).value_or(processes);
  }
  threads = option(behind, {"-t", "--nthreads"}).value_or(threads);
  gpus_each = option(behind, {"-g", "--ngpus"}).value_or(gpus_each);
  aggregated = option(behind, {"-m", "--agg_iters"}).value_or(aggregated);
  graph = option(behind, {"-G", "--hipgraph", "--cudagraph"}).value_or(graph);
  blocking = option(behind, {"-z", "--blocking"}).value_or(blocking);
  return true;
}

bool RcclTest::knows_collective(const LogCell& at, LogReading& log) {
  if (collective == nullptr) collective = collective_of_file(log.name());
  if (collective != nullptr) return true;
  log.fault(at, "collective",
            "the log does not say which one it measured; accepted are the command that ran it (all_reduce_perf), "
            "or a file named after it: all_reduce.txt, all_gather, reduce_scatter, alltoall, broadcast");
  return false;
}

// Records the time out of place, with the time in place as its spread, or why the row is left out. These tests launch
// operations back to back in a stream unless told to wait for each or to replay a graph.
void record(const RcclRow& row, const RcclTest& test, LogReading& log) {
  if (std::string why = test.why_not(); !why.empty()) return log.leave_out(row.line, std::move(why));
  if (!row.bytes) return log.leave_out(row.line, "nothing is moved: its size is 0");
  if (row.wrong > 0.0) return log.leave_out(row.line, "elements came out wrong");
  if (row.of_host_time) return log.leave_out(row.line, "the time of the host's calls is compared with nothing");
  const std::optional<double> time = row.out_of_place ? row.out_of_place : row.in_place;
  if (!time) return log.leave_out(row.line, "nothing was measured of what is compared");

  models::CollectiveSpec spec{
      .kind = *test.collective->kind, .bytes = *row.bytes, .gpus = test.gpus(), .dtype = row.dtype};
  if (spec.kind == CollectiveKind::all_reduce) spec.algorithm = test.algorithm;
  Seen seen{.figure = study::Figure::time, .value = *time};
  if (row.out_of_place && row.in_place) {
    std::tie(seen.low, seen.high) = std::minmax(*row.out_of_place, *row.in_place);
    seen.deviations = study::deviations_between(0.0, 2);
  }
  const char* const protocol = test.blocking > 0 ? "rounds" : test.graph > 0 ? "graph" : "stream";
  log.add(measurement_of(row.line,
                         fmt::format("{}, rccl-tests{}{}", models::to_string(spec.kind),
                                     test.graph > 0 ? ", graph" : "", test.blocking > 0 ? ", one by one" : ""),
                         study::CollectiveTrial{spec}, seen, {std::string("host.protocol=") + protocol}));
}

// Returns the type as which a kernel adds elements of that type ("half", "bfloat16", "uint8").
models::ElementType element_type_called(std::string_view type) {
  using enum models::ElementType;
  static const LogPattern byte("^(?:u?int8|char)");
  static const LogPattern integer("^(?:u?int|u?long)");
  static const LogPattern eight_bits("^(?:fp8|f8)");
  if (byte.is_in(type)) return int8;
  if (integer.is_in(type)) return int32;
  if (eight_bits.is_in(type)) return fp8;
  if (type.starts_with("bfloat")) return bf16;
  return type.starts_with("half") ? fp16 : fp32;
}

// Returns the number of wrong elements: 0 for "N/A", -1 if nothing was checked. Other words cause a fault and return 0.
double wrong_elements(const LogCell& cell, std::string_view path, LogReading& log) {
  constexpr double unchecked = -1.0;
  return cell.text == "N/A" ? 0.0 : log.number(cell, unchecked, 1e18, path).value_or(0.0);
}

// Returns the words of a comment without its sign; none for other lines.
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

// Heads are the columns of the table: "size count type redop root", "time algbw busbw #wrong" out of place and in
// place, and perhaps the time of day. Old versions lack redop or root or both, or leave them blank, and print the
// largest relative error instead of the number of wrong elements.
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
  static const LogPattern form(
      "^size count type(?: redop)?(?: root)?(?: (?:time|cputime) algbw busbw (?:#wrong|error)){1,2}(?: timestamp)?$");
  std::string line;
  for (const LogCell& word : words) line += (line.empty() ? "" : " ") + std::string(word.text);
  if (!form.is_in(line)) return {};
  Heads heads{.runs = static_cast<std::size_t>(std::ranges::count(words, "algbw", &LogCell::text)),
              .with_time_of_day = words.back().text == "timestamp"};
  heads.before = words.size() - (heads.with_time_of_day ? 1 : 0) - heads.runs * Heads::per_run;
  heads.of_host_time = words[heads.columns() - Heads::per_run].text == "cputime";
  heads.of_errors = words[heads.columns() - 1].text == "error";
  return heads;
}

// Returns whether two of size, count and type are valid, so that a damaged row still counts as a row.
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
  // NCCL_DEBUG makes the library print to the same output, in whole lines or within a row, whose cells are printed as
  // they become known. What precedes a message in its line continues in the next line of the test itself.
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

  // Reads the row as far as it goes.
  void end_row() {
    if (const std::optional<LogCell> row = std::exchange(row_, {})) read_line(*row);
  }

  // Returns where a message of the library begins ("host:1375:1375 [0] NCCL INFO ...", perhaps after the time of day).
  // A host name directly after a number is recognised from the lines above.
  std::optional<std::size_t> message_of_library(const LogCell& line) {
    static const LogPattern message(
        R"((?:\[\d{4}-\d\d-\d\d[^\]]*\] )?([A-Za-z][\w.-]*|^[ \t]*[\w.-]+):\d+:\d+ \[\d+\] (?:\S+:\d+ )?(?:N|R)CCL [A-Z]+ ?(.*))");
    static const LogPattern algorithm("(?i)algo(?:rithm)? +([0-9a-z_]+)");
    static const LogPattern in_switch("^(?:(?i:nvls).*|[45])$");  // older versions number them: 5 is NVLS with a tree
    if (!line.holds("NCCL ") && !line.holds("RCCL ")) return {};
    const LogCells found = message.groups(line);
    if (found.empty()) return {};
    if (const LogCells named = algorithm.groups(found[2]); !named.empty() && found[2].holds("Bytes"))
      test_.algorithm = in_switch.is_in(named[1].text) ? models::RcclAlgorithm::nvls : models::RcclAlgorithm::ring;
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
    if (names(words, 0, "Out") || names(words, 0, "Avg")) in_table_ = false;  // these follow the table
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

  // Reads "# Rank 0 Group 0 Pid 35612 on node-1 device 0 [0000:0f:00.0] AMD Instinct MI300X".
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

  // The command may stand above the test, start its comments ("Collective test starting: all_reduce_perf") or end them.
  void read_command_of(const LogCells& words) {
    std::vector<std::string_view> texts;
    for (const LogCell& word : words) texts.push_back(word.text);
    const bool is_over = std::ranges::find(texts, "concluded:") != texts.end();
    const bool is_of_this = !heads_ || (is_over && test_.collective == nullptr);
    if (is_over && !is_of_this) return;
    (is_of_this ? test_ : next_).read_command(texts);
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
    // Old versions accept relative errors up to this one (that of half floats, the coarsest).
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
    if (rows.empty() || !test_.knows_collective(place_of_heads_, log_)) return;
    for (const RcclRow& row : rows) record(row, test_, log_);
  }

  LogReading log_;
  RcclTest test_;
  RcclTest next_;  // what a command above the next test says of that test
  std::optional<Heads> heads_;
  LogCell place_of_heads_;
  std::vector<RcclRow> rows_;
  std::optional<LogCell> row_;      // row that is not complete yet
  std::deque<std::string> joined_;  // rows that were joined from several lines
  std::set<std::string> hosts_;     // names from ranks and messages
  bool in_table_ = false;
};

// The JSON has one record per size with the times of both runs (nccl-tests, -J FILE: size, out_of_place {time, nwrong},
// in_place {...}, and also args, config and devices), or one record per run (rccl-tests, -Z json -x FILE: name, nodes,
// ranks, gpusPerRank, or gpus if built without MPI, size, inPlace, time, wrong). The rows that rccl-tests writes with
// -Z csv have the same names. Times are in microseconds.

// A Result is a row and, if its record describes the test, that test.
struct Result {
  RcclRow row;
  std::optional<RcclTest> test{};
  LogCell at;
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& name) : log_(name) {}

  Reading read_csv(std::string_view text) && {
    CsvTable table(text, log_);
    table.require("inPlace");
    while (table.next()) {
      JsonRecord record{.path = "", .at = table.row().front().from(0, 0), .values = {}};
      for (std::size_t i = 0; i < table.names().size(); ++i) {
        const LogCell& cell = table.row()[i];
        if (!cell.text.empty())
          record.values.push_back({table.names()[i], std::string(cell.text), cell.line, cell.column});
      }
      take_row(record, true);
    }
    record_results();
    return std::move(log_).take("no result: rows are accepted below their columns");
  }
  Reading read(std::string_view text) && {
    const std::optional<JsonFault> fault = read_json_records(text, [this](const JsonRecord& record) { take(record); });
    if (fault) log_.fault(fault->at, "", fault->what);
    record_results();
    return std::move(log_).take("no result: records with size, and out_of_place or inPlace, are accepted");
  }

 private:
  void take(const JsonRecord& record) {
    const auto has_run = [&record](const std::string& run) {
      return record.has(run + ".time") || record.has(run + ".cputime");
    };
    const bool is_one_run = record.has("inplace");
    if (record.is_whole && (is_one_run || has_run("outofplace") || has_run("inplace")))
      return take_row(record, is_one_run);
    if (record.path.empty()) return take_settings(record);
    if (record.is_whole && record.has("rank")) take_device(record);
  }

  void take_settings(const JsonRecord& record) {
    std::vector<std::string_view> command;
    for (const JsonValue& value : record.values) {
      if (value.key != "args") continue;
      for (const LogCell& word : words_of(value.cell())) command.push_back(word.text);
    }
    test_.read_command(command);
    for (const std::string_view key : {"collective", "name", "test"}) {
      if (test_.collective == nullptr) test_.collective = collective_called(record.text(key));
    }
    for (const std::string prefix : {"", "config."}) {
      read_units(record, prefix + "nthreads", 1, test_.threads);
      read_units(record, prefix + "ngpus", 1, test_.gpus_each);
      read_units(record, prefix + "aggiters", 1, test_.aggregated);
      read_units(record, prefix + "graph", 0, test_.graph);
      for (const char* const key : {"blocking", "blockingcoll", "blockingcollectives"})
        read_units(record, prefix + key, 0, test_.blocking);
    }
  }

  void take_device(const JsonRecord& record) {
    const std::optional<int> rank =
        log_.integer(record.find("rank")->cell(), 0, most_units - 1, record.path_of("rank"));
    if (rank) test_.ranks.insert(*rank);
    if (record.has("group")) test_.has_groups |= record.text("group") != "0";
    for (const std::string_view key : {"devicename", "device", "name", "gpu"}) {
      const std::string_view said = record.text(key);
      if (std::ranges::any_of(said, sim::is_letter)) log_.set_gpu(said);
    }
    for (const std::string_view key : {"hostname", "host"}) {
      if (record.has(key)) test_.hosts.emplace(record.text(key));
    }
  }

  // Reads the times of both runs, or of one run: two records that differ only in the run are one row.
  void take_row(const JsonRecord& record, bool is_one_run) {
    const std::size_t faults_before = log_.faults();
    Result result{.row = {.line = record.at.line, .dtype = element_type_called(record.text("type"))}, .at = record.at};
    RcclRow& row = result.row;
    if (!is_one_run) {
      if (!read_size(record, row)) return;
      read_run(record, "outofplace.", row.out_of_place, row);
      read_run(record, "inplace.", row.in_place, row);
    } else {
      result.test = test_of(record);
      const std::optional<bool> in_place = read_in_place(record);
      if (!read_size(record, row) || !in_place) return;
      const auto time = *in_place ? &RcclRow::in_place : &RcclRow::out_of_place;
      read_run(record, "", row.*time, row);
      if (log_.faults() == faults_before && is_second_run(record, row, time)) return;
    }
    if (log_.faults() == faults_before) results_.push_back(std::move(result));
  }

  // Returns whether the record is the other run of a known row, and then adds its time to that row.
  bool is_second_run(const JsonRecord& record, const RcclRow& row, std::optional<double> RcclRow::*time) {
    std::string pair;
    for (const std::string_view key :
         {"numcycle", "collective", "name", "ranks", "gpusperrank", "gpus", "size", "type", "redop"}) {
      pair += std::string(record.text(key)) + '\n';
    }
    const auto [other, is_first] = unpaired_.try_emplace(std::move(pair), results_.size());
    if (is_first || results_[other->second].row.*time) {
      other->second = results_.size();
      return false;
    }
    RcclRow& first = results_[other->second].row;
    first.*time = row.*time;
    first.wrong = std::max(first.wrong, row.wrong);
    return true;
  }

  // `prefix` begins the keys of the run.
  void read_run(const JsonRecord& record, const std::string& prefix, std::optional<double>& time, RcclRow& row) {
    for (const std::string_view key : {"nwrong", "wrong"}) {
      const std::string path = prefix + std::string(key);
      if (const JsonValue* const wrong = record.find(path))
        row.wrong = std::max(row.wrong, wrong_elements(wrong->cell(), record.path_of(path), log_));
    }
    row.of_host_time |= record.has(prefix + "cputime");
    const JsonValue* const said = record.find(prefix + (row.of_host_time ? "cputime" : "time"));
    if (said == nullptr || said->text == "N/A" || !row.bytes) return;
    time = log_.figure(said->cell(), study::Figure::time, record.path_of(prefix + "time"));
  }

  // Returns false if the record has no readable size. Size 0 is readable and leaves the row without bytes.
  bool read_size(const JsonRecord& record, RcclRow& row) {
    const JsonValue* const size = record.find("size");
    if (size == nullptr) {
      log_.fault(record.at, record.path_of("size"), "is missing: bytes are accepted");
      return false;
    }
    if (size->text == "0") return true;
    row.bytes = log_.bytes(size->cell(), record.path_of("size"));
    return row.bytes.has_value();
  }

  RcclTest test_of(const JsonRecord& record) {
    RcclTest test;
    for (const std::string_view key : {"collective", "name"}) {
      const JsonValue* const name = record.find(key);
      if (name == nullptr || test.collective != nullptr) continue;
      test.collective = collective_called(name->text);
      if (test.collective != nullptr) continue;
      log_.fault(name->cell(), record.path_of(key),
                 shown(name->text) +
                     " is not known: AllReduce, AllGather, ReduceScatter, AlltoAll and Broadcast are accepted");
    }
    read_units(record, "ranks", 1, test.processes);
    read_units(record, "gpusperrank", 1, test.gpus_each);
    if (test.processes == 0 && record.has("gpus")) {  // built without MPI: one process
      test.processes = 1;
      read_units(record, "gpus", 1, test.gpus_each);
    }
    if (test.processes > 0 && test.gpus_each == 0) test.gpus_each = 1;
    read_units(record, "nodes", 1, test.hosts_said);
    return test;
  }

  std::optional<bool> read_in_place(const JsonRecord& record) {
    const JsonValue* const cell = record.find("inplace");
    const std::string_view said = record.text("inplace");
    if (said == "0" || said == "false") return false;
    if (said == "1" || said == "true") return true;
    log_.fault(cell == nullptr ? record.at : cell->cell(), record.path_of("inPlace"),
               shown(said) + " is not known: 0 and 1 are accepted");
    return {};
  }

  void read_units(const JsonRecord& record, std::string_view key, int low, int& value) {
    const JsonValue* const said = record.find(key);
    if (said == nullptr || said->text == "false") return;
    if (said->text == "true") {
      value = 1;
    } else {
      value = log_.integer(said->cell(), low, most_units, record.path_of(key)).value_or(value);
    }
  }

  void record_results() {
    for (Result& result : results_) {
      RcclTest& test = result.test ? *result.test : test_;
      if (test.collective == nullptr) test.collective = test_.collective;
      if (!test.knows_collective(result.at, log_)) return;
      record(result.row, test, log_);
    }
  }

  LogReading log_;
  RcclTest test_;  // for the whole text
  std::vector<Result> results_;
  std::map<std::string, std::size_t, std::less<>>
      unpaired_;  // rows that lack a run: places in results_ by what both runs have in common
};

}  // namespace

const TestedCollective* collective_called(std::string_view word) {
  std::string name = plain_name(word);
  constexpr std::string_view suffix = "perf";
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  const auto* const found = std::ranges::find(tested_collectives, name, &TestedCollective::name);
  return found == tested_collectives.end() ? nullptr : found;
}

const LogFormat rccl_tests_text{
    "rccl-tests", "times of collectives by size, as all_reduce_perf and its siblings print them",
    [](std::string_view text) {
      return has_line(text, [](const LogCell& line) {
        const LogCells words = comment_words(line);
        return (are_heads(words) && behind(words, "algbw") != nullptr) ||
               (names(words, 0, "nThread") && behind(words, "nGpus") != nullptr);
      });
    },
    [](std::string_view text, const std::string& name) { return RcclTextReader(text, name).read(); }};

const LogFormat rccl_tests_json{
    "rccl-tests JSON", "the same as they write them with -J FILE (nccl-tests) or -Z json (rccl-tests)",
    [](std::string_view text) {
      const auto has = [text](std::string_view key) { return has_text(text, key); };
      return is_json(text) &&
             (has("\"out_of_place\"") || has("\"in_place\"") || (has("\"inPlace\"") && has("\"busBw\"")));
    },
    [](std::string_view text, const std::string& name) { return JsonReader(name).read(text); }};

const LogFormat rccl_tests_csv{
    "rccl-tests CSV", "the same as rccl-tests writes them with -Z csv",
    [](std::string_view text) {
      return !is_json(text) && has_columns(text, {"size", "inPlace", "time", "busBw"});
    },
    [](std::string_view text, const std::string& name) { return JsonReader(name).read_csv(text); }};

}  // namespace c3sim::calibrate
