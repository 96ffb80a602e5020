// The JSON that rccl-tests and nccl-tests write: one record per size with the times of both runs (nccl-tests, -J FILE:
// size, out_of_place {time, nwrong}, in_place {...}, beside args, config and devices), or one per run (rccl-tests,
// -Z json -x FILE: name, nodes, ranks, gpusPerRank, size, inPlace, time, wrong). Times in microseconds.
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/log_formats.h"
#include "calibrate/readers/rccl_test.h"
#include "sim/config/config_text.h"

namespace c3sim::calibrate {

namespace {

// A row, and the test that it is of, where the record says so itself.
struct Result {
  RcclRow row;
  std::optional<RcclTest> test;
  LogCell at;
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& name) : log_(name) {}

  Reading read(std::string_view text) &&;

 private:
  void take(const JsonRecord& record);
  void take_settings(const JsonRecord& record);
  void take_device(const JsonRecord& record);
  void take_both_runs(const JsonRecord& record);
  void take_one_run(const JsonRecord& record);
  void read_run(const JsonRecord& record, const std::string& run, std::optional<double>& time, RcclRow& row);
  bool read_size(const JsonRecord& record, RcclRow& row);
  RcclTest test_of(const JsonRecord& record);
  std::optional<bool> read_in_place(const JsonRecord& record);
  void read_units(const JsonRecord& record, std::string_view key, int low, int& value);
  void record_results();

  LogReading log_;
  RcclTest test_;  // of the whole text
  std::vector<Result> results_;
  std::map<std::string, std::size_t, std::less<>> unpaired_;  // of results_, by what their two runs have in common
};

std::string path_of(const JsonRecord& record, std::string_view key) {
  return record.path.empty() ? std::string(key) : record.path + "." + std::string(key);
}

bool has(const JsonRecord& record, std::string_view key) { return record.find(key) != nullptr; }

bool has_run(const JsonRecord& record, const std::string& run) {
  return has(record, run + ".time") || has(record, run + ".cputime");
}

Reading JsonReader::read(std::string_view text) && {
  const std::optional<JsonFault> fault = read_json_records(text, [this](const JsonRecord& record) { take(record); });
  if (fault) log_.fault(fault->at, "", fault->what);
  record_results();
  return std::move(log_).take("no result: records with size, and out_of_place or inPlace, are accepted");
}

void JsonReader::take(const JsonRecord& record) {
  if (record.is_whole && has(record, "inplace")) return take_one_run(record);
  if (record.is_whole && (has_run(record, "outofplace") || has_run(record, "inplace"))) return take_both_runs(record);
  if (record.path.empty()) return take_settings(record);
  if (record.is_whole && has(record, "rank")) take_device(record);
}

void JsonReader::take_settings(const JsonRecord& record) {
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
    int graph = test_.graph ? 1 : 0;
    read_units(record, prefix + "graph", 0, graph);
    test_.graph = graph > 0;
  }
}

void JsonReader::take_device(const JsonRecord& record) {
  const std::optional<int> rank = log_.integer(record.find("rank")->cell(), 0, most_units - 1, path_of(record, "rank"));
  if (rank) test_.ranks.insert(*rank);
  if (has(record, "group")) test_.has_groups |= record.text("group") != "0";
  for (const std::string_view key : {"hostname", "host"}) {
    if (has(record, key)) test_.hosts.emplace(record.text(key));
  }
}

void JsonReader::read_units(const JsonRecord& record, std::string_view key, int low, int& value) {
  const JsonValue* const said = record.find(key);
  if (said == nullptr || said->text == "false") return;
  if (said->text == "true") {
    value = 1;
  } else {
    value = log_.integer(said->cell(), low, most_units, path_of(record, key)).value_or(value);
  }
}

// False where it has none that can be read; 0 is one, and leaves the row without.
bool JsonReader::read_size(const JsonRecord& record, RcclRow& row) {
  const JsonValue* const size = record.find("size");
  if (size == nullptr) {
    log_.fault(record.at, path_of(record, "size"), "is missing: bytes are accepted");
    return false;
  }
  if (size->text == "0") return true;
  row.bytes = log_.bytes(size->cell(), path_of(record, "size"));
  return row.bytes.has_value();
}

void JsonReader::read_run(const JsonRecord& record, const std::string& run, std::optional<double>& time, RcclRow& row) {
  const std::string prefix = run.empty() ? "" : run + ".";
  for (const std::string_view key : {"nwrong", "wrong"}) {
    const JsonValue* const wrong = record.find(prefix + std::string(key));
    if (wrong == nullptr) continue;
    const std::string path = path_of(record, prefix + std::string(key));
    row.wrong = std::max(row.wrong, wrong_elements(wrong->cell(), path, log_).value_or(0.0));
  }
  row.of_host_time |= has(record, prefix + "cputime");
  const JsonValue* const said = record.find(prefix + (row.of_host_time ? "cputime" : "time"));
  if (said == nullptr || said->text == "N/A" || !row.bytes) return;
  time = log_.figure(said->cell(), study::Figure::time, path_of(record, prefix + "time"));
}

void JsonReader::take_both_runs(const JsonRecord& record) {
  const std::size_t faults_before = log_.faults();
  Result result{.row = {.line = record.at.line}, .test = {}, .at = record.at};
  if (!read_size(record, result.row)) return;
  read_run(record, "outofplace", result.row.out_of_place, result.row);
  read_run(record, "inplace", result.row.in_place, result.row);
  if (log_.faults() == faults_before) results_.push_back(std::move(result));
}

RcclTest JsonReader::test_of(const JsonRecord& record) {
  RcclTest test;
  for (const std::string_view key : {"collective", "name"}) {
    const JsonValue* const name = record.find(key);
    if (name == nullptr || test.collective != nullptr) continue;
    test.collective = collective_called(name->text);
    if (test.collective != nullptr) continue;
    log_.fault(
        name->cell(), path_of(record, key),
        shown(name->text) + " is not known: AllReduce, AllGather, ReduceScatter, AlltoAll and Broadcast are accepted");
  }
  read_units(record, "ranks", 1, test.processes);
  read_units(record, "gpusperrank", 1, test.gpus_each);
  if (test.processes > 0 && test.gpus_each == 0) test.gpus_each = 1;
  read_units(record, "nodes", 1, test.hosts_said);
  return test;
}

std::optional<bool> JsonReader::read_in_place(const JsonRecord& record) {
  const JsonValue& said = *record.find("inplace");
  if (said.text == "0" || said.text == "false") return false;
  if (said.text == "1" || said.text == "true") return true;
  log_.fault(said.cell(), path_of(record, "inPlace"), shown(said.text) + " is not known: 0 and 1 are accepted");
  return {};
}

void JsonReader::take_one_run(const JsonRecord& record) {
  const std::size_t faults_before = log_.faults();
  Result result{.row = {.line = record.at.line}, .test = test_of(record), .at = record.at};
  const std::optional<bool> in_place = read_in_place(record);
  if (!read_size(record, result.row) || !in_place) return;
  RcclRow& row = result.row;
  read_run(record, "", *in_place ? row.in_place : row.out_of_place, row);
  if (log_.faults() != faults_before) return;

  std::string pair;
  for (const std::string_view key :
       {"numcycle", "collective", "name", "ranks", "gpusperrank", "size", "type", "redop"}) {
    pair += std::string(record.text(key)) + '\n';
  }
  const auto [other, is_first] = unpaired_.try_emplace(std::move(pair), results_.size());
  RcclRow* const first = is_first ? nullptr : &results_[other->second].row;
  std::optional<double>* const free = first == nullptr ? nullptr : *in_place ? &first->in_place : &first->out_of_place;
  if (free == nullptr || free->has_value()) {
    other->second = results_.size();
    results_.push_back(std::move(result));
    return;
  }
  *free = *in_place ? row.in_place : row.out_of_place;
  first->wrong = std::max(first->wrong, row.wrong);
}

void JsonReader::record_results() {
  if (test_.collective == nullptr) test_.collective = collective_of_file(log_.name());
  for (Result& result : results_) {
    RcclTest& test = result.test ? *result.test : test_;
    if (test.collective == nullptr) test.collective = test_.collective;
    if (test.collective == nullptr) return fault_of_no_collective(result.at, log_);
    record(result.row, test, log_);
  }
}

bool is_json_of_rccl_tests(std::string_view text) {
  text = sim::without_byte_order_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || (text[begin] != '{' && text[begin] != '[')) return false;
  const auto holds = [text](std::string_view key) { return text.find(key) != std::string_view::npos; };
  return holds("\"out_of_place\"") || holds("\"in_place\"") || (holds("\"inPlace\"") && holds("\"busBw\""));
}

}  // namespace

const LogFormat rccl_tests_json{
    "rccl-tests JSON", "the same as they write them with -J FILE (nccl-tests) or -Z json (rccl-tests)",
    is_json_of_rccl_tests, [](std::string_view text, const std::string& name) { return JsonReader(name).read(text); }};

}  // namespace c3sim::calibrate
