// Reads the JSON and CSV of rccl-tests and nccl-tests.
//
// The JSON has one record per size with the times of both runs (nccl-tests, -J FILE: size, out_of_place {time, nwrong},
// in_place {...}, and also args, config and devices), or one record per run (rccl-tests, -Z json -x FILE: name, nodes,
// ranks, gpusPerRank, or gpus if built without MPI, size, inPlace, time, wrong). The rows that rccl-tests writes with
// -Z csv have the same names. Times are in microseconds.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/rccl_tests.h"

namespace c3sim::calibrate {

namespace {

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

bool is_csv_of_rccl_tests(std::string_view text) {
  return !is_json(text) && has_columns(text, {"size", "inPlace", "time", "busBw"});
}

bool is_json_of_rccl_tests(std::string_view text) {
  if (!is_json(text)) return false;
  const auto has = [text](std::string_view key) { return has_text(text, key); };
  return has("\"out_of_place\"") || has("\"in_place\"") || (has("\"inPlace\"") && has("\"busBw\""));
}

}  // namespace

const LogFormat rccl_tests_json{
    "rccl-tests JSON", "the same as they write them with -J FILE (nccl-tests) or -Z json (rccl-tests)",
    is_json_of_rccl_tests, [](std::string_view text, const std::string& name) { return JsonReader(name).read(text); }};

const LogFormat rccl_tests_csv{
    "rccl-tests CSV", "the same as rccl-tests writes them with -Z csv", is_csv_of_rccl_tests,
    [](std::string_view text, const std::string& name) { return JsonReader(name).read_csv(text); }};

}  // namespace c3sim::calibrate
