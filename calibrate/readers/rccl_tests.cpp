// Logs of rccl-tests and nccl-tests.
//
// The text that all_reduce_perf and its siblings print has comments that describe the test, a table with the times of
// every size, and in between what MPI, the library and the shell had to say.
//
// The JSON that rccl-tests and nccl-tests write has one record per size with the times of both runs (nccl-tests, -J
// FILE: size, out_of_place {time, nwrong}, in_place {...}, beside args, config and devices), or one per run
// (rccl-tests, -Z json -x FILE: name, nodes, ranks, gpusPerRank, or gpus where it is built without MPI, size, inPlace,
// time, wrong). The rows that rccl-tests writes with -Z csv have the same names. Times are in microseconds.
#include "calibrate/readers/rccl_tests.h"

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
#include "calibrate/readers/log_formats.h"
#include "calibrate/readers/log_reading.h"
#include "sim/config/config_text.h"
#include "sim/config/csv_lexer.h"

namespace c3sim::calibrate {

namespace {

using models::CollectiveKind;

// Names that hold others stand before them.
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

}  // namespace

const TestedCollective* collective_called(std::string_view word) {
  std::string name = plain_name(word);
  constexpr std::string_view suffix = "perf";
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  const auto* const found = std::ranges::find(tested_collectives, name, &TestedCollective::name);
  return found == tested_collectives.end() ? nullptr : found;
}

namespace {

struct RcclTest {
  const TestedCollective* collective = nullptr;    // null: not said
  int processes = 0, threads = 0, gpus_each = 0;   // 0: not said
  int aggregated = 1;                              // operations in one group
  int graph = 0;                                   // more than 0: launched as a graph
  int blocking = 0;                                // more than 0: the host waits for each before the next (-z 1)
  std::optional<models::RcclAlgorithm> algorithm;  // that NCCL_DEBUG tells to have been taken: NVLS, or a ring or tree
  std::set<int> ranks;
  std::set<std::string, std::less<>> hosts;
  int hosts_said = 0;       // where they are counted but not named
  bool has_groups = false;  // several communicators at once

  // How many take part; 0: not said.
  int gpus() const {
    if (!ranks.empty()) return std::min(*ranks.rbegin() + 1, most_units);
    if (gpus_each == 0) return 0;
    const std::int64_t here = std::int64_t{gpus_each} * std::max(threads, 1);
    // Each GPU may have a process of its own.
    if (processes == 0 && here == 1) return 0;
    return static_cast<int>(std::min(here * std::max(processes, 1), std::int64_t{most_units}));
  }
  // Why none of its rows can be compared; empty if they can.
  std::string why_not() const {
    const int nodes = std::max(static_cast<int>(hosts.size()), hosts_said);
    if (!collective->kind) return fmt::format("{} has no model", collective->name);
    if (nodes > 1) return fmt::format("it ran on {} hosts: only one node has a model", nodes);
    if (has_groups) return "several groups of GPUs at once have no model";
    if (aggregated > 1) return fmt::format("{} operations launched as one have no model", aggregated);
    if (gpus() == 1)
      return "a collective of one GPU moves nothing (processes that know of no other: MPI=1 builds them)";
    return {};
  }
};

// The number behind the first of these options; nothing where none of them is there.
std::optional<int> option(std::span<const std::string_view> words, std::initializer_list<std::string_view> names) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (std::ranges::find(names, words[i]) == names.end()) continue;
    const sim::Parsed<std::int64_t> parsed = parse_printed_integer(words[i + 1]);
    if (parsed.error.empty() && parsed.value >= 0 && parsed.value <= most_units) return static_cast<int>(parsed.value);
  }
  return {};
}

// The only modelled one that the name of a file names ("all_reduce_8gpus.log"); null where that is none or several.
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

// What a command line says of the test that it runs: its collective, `mpirun -np`, -t, -g, -G, -m, -z. False where none
// of the words is a test's program.
bool read_command(std::span<const std::string_view> words, RcclTest& test) {
  const auto program_of = [](std::string_view word) { return word.substr(word.rfind('/') + 1); };  // npos + 1 is 0
  const auto program = std::ranges::find_if(words, [&](std::string_view word) {
    return word.ends_with("_perf") && collective_called(program_of(word)) != nullptr;
  });
  if (program == words.end()) return false;
  const auto before = words.first(static_cast<std::size_t>(program - words.begin()));
  const auto behind = words.subspan(before.size() + 1);
  test.collective = collective_called(program_of(*program));
  static const LogPattern launcher("(?:^|/)(?:mpirun|mpiexec|orterun|prterun|srun)$");
  if (std::ranges::any_of(before, [](std::string_view word) { return launcher.is_in(word); })) {
    test.processes = option(before, {"-np", "-n", "--np"}).value_or(test.processes);
  }
  test.threads = option(behind, {"-t", "--nthreads"}).value_or(test.threads);
  test.gpus_each = option(behind, {"-g", "--ngpus"}).value_or(test.gpus_each);
  test.aggregated = option(behind, {"-m", "--agg_iters"}).value_or(test.aggregated);
  test.graph = option(behind, {"-G", "--hipgraph", "--cudagraph"}).value_or(test.graph);
  test.blocking = option(behind, {"-z", "--blocking"}).value_or(test.blocking);
  return true;
}

// One size: the whole array of one GPU. Both tools print the larger of what a GPU sends and what it receives
// (common.cu: max(sendBytes, expectedBytes)) and divide it by the time for `algbw` (doc/PERFORMANCE.md): all that is
// gathered, scattered from or exchanged, its own share included. That is what models::CollectiveSpec::bytes means.
struct RcclRow {
  int line = 0;
  std::optional<sim::Bytes> bytes{};                 // none: 0
  std::optional<double> out_of_place{}, in_place{};  // seconds
  double wrong = 0.0;                                // elements with another value than they should have
  models::ElementType dtype = models::ElementType::fp32;
  bool of_host_time = false;  // its times are those of the calls alone
};

// The time out of place, with that in place as its spread; or why the row is left out. These tests launch operations
// back to back in a stream, unless they are told to wait for each or to replay a graph.
void record(const RcclRow& row, const RcclTest& test, LogReading& log) {
  if (std::string why = test.why_not(); !why.empty()) return log.leave_out(row.line, std::move(why));
  if (!row.bytes) return log.leave_out(row.line, "nothing is moved: its size is 0");
  if (row.wrong > 0.0) return log.leave_out(row.line, "elements came out wrong");
  if (row.of_host_time) return log.leave_out(row.line, "the time of the host's calls is compared with nothing");
  const std::optional<double> time = row.out_of_place ? row.out_of_place : row.in_place;
  if (!time) return log.leave_out(row.line, "nothing was measured of what is compared");

  models::CollectiveSpec spec;
  spec.kind = *test.collective->kind;
  spec.bytes = *row.bytes;
  spec.gpus = test.gpus();
  spec.dtype = row.dtype;
  if (spec.kind == CollectiveKind::all_reduce) spec.algorithm = test.algorithm;
  Seen seen{.figure = study::Figure::time, .value = *time};
  if (row.out_of_place && row.in_place) {
    std::tie(seen.low, seen.high) = std::minmax(*row.out_of_place, *row.in_place);
  }
  std::vector<std::string> assignments;
  if (test.blocking > 0) {
    assignments.emplace_back("host.protocol=rounds");
  } else {
    assignments.emplace_back(test.graph > 0 ? "host.protocol=graph" : "host.protocol=stream");
  }
  log.add(row.line,
          fmt::format("{}, rccl-tests{}{}", models::to_string(spec.kind), test.graph > 0 ? ", graph" : "",
                      test.blocking > 0 ? ", one by one" : ""),
          study::CollectiveTrial{spec}, seen, std::move(assignments));
}

// What a type of elements ("half", "bfloat16", "uint8") is to those who add it.
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

// Elements that came out wrong; "N/A" or -1 where nobody looked. 0 and a fault for other words.
double wrong_elements(const LogCell& cell, std::string_view path, LogReading& log) {
  constexpr double unchecked = -1.0;
  return cell.text == "N/A" ? 0.0 : log.number(cell, unchecked, 1e18, path).value_or(0.0);
}

// Whether the log, or else the name of its file ("all_reduce_8gpus.log"), says which collective was run; where neither
// does, a fault.
bool knows_collective(RcclTest& test, const LogCell& at, LogReading& log) {
  if (test.collective == nullptr) test.collective = collective_of_file(log.name());
  if (test.collective != nullptr) return true;
  log.fault(at, "collective",
            "the log does not say which one it measured; accepted are the command that ran it (all_reduce_perf), "
            "or a file named after it: all_reduce.txt, all_gather, reduce_scatter, alltoall, broadcast");
  return false;
}

// A row, and the test that it is of, where the record says so itself.
struct Result {
  RcclRow row;
  std::optional<RcclTest> test;
  LogCell at;
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& name) : log_(name) {}

  // Rows of values below the names of columns, which stand there again where runs were written to one file.
  Reading read_csv(std::string_view text) && {
    sim::CsvLexer lexer(text);
    std::vector<std::string> names;
    for (sim::CsvRow row; lexer.next(row);) {
      if (is_heads(row)) {
        names.clear();
        for (const sim::CsvCell& cell : row.cells) names.push_back(plain_name(cell.text));
        continue;
      }
      JsonRecord record{.path = "", .at = {.text = {}, .line = row.line}, .values = {}};
      if (row.cells.size() != names.size() || row.bad_quote || !row.is_ended) {
        log_.fault(record.at, "", fmt::format("{} cells and an end of line are accepted: cut short?", names.size()));
        continue;
      }
      for (std::size_t i = 0; i < names.size(); ++i) {
        const sim::CsvCell& cell = row.cells[i];
        if (!cell.text.empty()) record.values.push_back({names[i], std::string(cell.text), cell.line, cell.column});
      }
      if (record.has("inplace")) {
        take_one_run(record);
      } else {
        log_.fault(record.at, "inplace", "is missing: 0 and 1 are accepted");
      }
    }
    record_results();
    return std::move(log_).take("no result: rows are accepted below their columns");
  }
  static bool is_heads(const sim::CsvRow& row) {
    const auto names = [&row](std::string_view name) {
      return std::ranges::any_of(row.cells, [name](const sim::CsvCell& one) { return plain_name(one.text) == name; });
    };
    return names("size") && names("inplace") && names("time") && names("busbw");
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
    if (record.is_whole && record.has("inplace")) return take_one_run(record);
    if (record.is_whole && (has_run("outofplace") || has_run("inplace"))) return take_both_runs(record);
    if (record.path.empty()) return take_settings(record);
    if (record.is_whole && record.has("rank")) take_device(record);
  }

  void take_settings(const JsonRecord& record) {
    std::vector<std::string_view> command;
    for (const JsonValue& value : record.values) {
      if (value.key != "args") continue;
      for (const LogCell& word : words_of(value.cell())) command.push_back(word.text);
    }
    read_command(command, test_);
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

  void take_both_runs(const JsonRecord& record) {
    const std::size_t faults_before = log_.faults();
    Result result{.row = row_of(record), .test = {}, .at = record.at};
    if (!read_size(record, result.row)) return;
    read_run(record, "outofplace", result.row.out_of_place, result.row);
    read_run(record, "inplace", result.row.in_place, result.row);
    if (log_.faults() == faults_before) results_.push_back(std::move(result));
  }

  static RcclRow row_of(const JsonRecord& record) {
    return {.line = record.at.line, .dtype = element_type_called(record.text("type"))};
  }

  void take_one_run(const JsonRecord& record) {
    const std::size_t faults_before = log_.faults();
    Result result{.row = row_of(record), .test = test_of(record), .at = record.at};
    const std::optional<bool> in_place = read_in_place(record);
    if (!read_size(record, result.row) || !in_place) return;
    RcclRow& row = result.row;
    const auto time_of = [&](RcclRow& one) -> std::optional<double>& {
      return *in_place ? one.in_place : one.out_of_place;
    };
    read_run(record, "", time_of(row), row);
    if (log_.faults() != faults_before) return;

    std::string pair;
    for (const std::string_view key :
         {"numcycle", "collective", "name", "ranks", "gpusperrank", "gpus", "size", "type", "redop"}) {
      pair += std::string(record.text(key)) + '\n';
    }
    const auto [other, is_first] = unpaired_.try_emplace(std::move(pair), results_.size());
    if (is_first || time_of(results_[other->second].row)) {
      other->second = results_.size();
      results_.push_back(std::move(result));
      return;
    }
    RcclRow& first = results_[other->second].row;
    time_of(first) = time_of(row);
    first.wrong = std::max(first.wrong, row.wrong);
  }

  void read_run(const JsonRecord& record, const std::string& run, std::optional<double>& time, RcclRow& row) {
    const std::string prefix = run.empty() ? "" : run + ".";
    for (const std::string_view key : {"nwrong", "wrong"}) {
      const JsonValue* const wrong = record.find(prefix + std::string(key));
      if (wrong == nullptr) continue;
      const std::string path = record.path_of(prefix + std::string(key));
      row.wrong = std::max(row.wrong, wrong_elements(wrong->cell(), path, log_));
    }
    row.of_host_time |= record.has(prefix + "cputime");
    const JsonValue* const said = record.find(prefix + (row.of_host_time ? "cputime" : "time"));
    if (said == nullptr || said->text == "N/A" || !row.bytes) return;
    time = log_.figure(said->cell(), study::Figure::time, record.path_of(prefix + "time"));
  }

  // False where it has none that can be read; 0 is one, and leaves the row without.
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
    if (test.processes == 0 && record.has("gpus")) {  // built without MPI: of one process
      test.processes = 1;
      read_units(record, "gpus", 1, test.gpus_each);
    }
    if (test.processes > 0 && test.gpus_each == 0) test.gpus_each = 1;
    read_units(record, "nodes", 1, test.hosts_said);
    return test;
  }

  std::optional<bool> read_in_place(const JsonRecord& record) {
    const JsonValue& said = *record.find("inplace");
    if (said.text == "0" || said.text == "false") return false;
    if (said.text == "1" || said.text == "true") return true;
    log_.fault(said.cell(), record.path_of("inPlace"), shown(said.text) + " is not known: 0 and 1 are accepted");
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
      if (!knows_collective(test, result.at, log_)) return;
      record(result.row, test, log_);
    }
  }

  LogReading log_;
  RcclTest test_;  // of the whole text
  std::vector<Result> results_;
  std::map<std::string, std::size_t, std::less<>> unpaired_;  // of results_, by what their two runs have in common
};

bool is_csv_of_rccl_tests(std::string_view text) {
  sim::CsvLexer lexer(text);
  sim::CsvRow row;
  return !is_json(text) && lexer.next(row) && JsonReader::is_heads(row);
}

bool is_json_of_rccl_tests(std::string_view text) {
  if (!is_json(text)) return false;
  const auto has = [text](std::string_view key) { return has_text(text, key); };
  return has("\"out_of_place\"") || has("\"in_place\"") || (has("\"inPlace\"") && has("\"busBw\""));
}

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

// These are the columns of the table: "size count type redop root", "time algbw busbw #wrong" out of place and in
// place, and perhaps the time of day. Old versions have no redop and root, or one of them alone, or leave them blank;
// and they print the largest relative error instead of how many elements are wrong.
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

const LogFormat rccl_tests_json{
    "rccl-tests JSON", "the same as they write them with -J FILE (nccl-tests) or -Z json (rccl-tests)",
    is_json_of_rccl_tests, [](std::string_view text, const std::string& name) { return JsonReader(name).read(text); }};

const LogFormat rccl_tests_csv{
    "rccl-tests CSV", "the same as rccl-tests writes them with -Z csv", is_csv_of_rccl_tests,
    [](std::string_view text, const std::string& name) { return JsonReader(name).read_csv(text); }};

}  // namespace c3sim::calibrate
