#include "calibrate/readers/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <span>
#include <system_error>
#include <tuple>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/roles.h"
#include "calibrate/readers/table_format.h"
#include "sim/config/config.h"
#include "sim/config/files_read.h"
#include "sim/config/measurement_text.h"
#include "sim/config/nearest_name.h"
#include "sim/interruption.h"

namespace c3sim::calibrate {

namespace {

struct UnreadTool {
  std::string_view name;
  std::string_view says;     // starts one of the first lines of its output
  std::string_view instead;  // a tool that is read and measures the same
};
constexpr std::array tools{
    UnreadTool{"rocm_bandwidth_test", "RocmBandwidthTest Version", "TransferBench p2p"},
    UnreadTool{"nvbandwidth", "nvbandwidth Version", "c3sim-measure"},
    UnreadTool{"p2pBandwidthLatencyTest", "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]", "c3sim-measure"},
    UnreadTool{"CUDA's bandwidthTest", "[CUDA Bandwidth Test]", "c3sim-measure"},
    UnreadTool{"the OSU benchmarks", "# OSU MPI", "rccl-tests"},
    UnreadTool{"nsys stats", "Start (ns),Duration (ns)", "PyTorch's profiler"},
    UnreadTool{"rocprof", "Index,KernelName", "rocprofv3"},
    UnreadTool{"rocprof", "\"Index\",\"KernelName\"", "rocprofv3"},
};

// This corner of a matrix identifies rocm_bandwidth_test when its first lines are missing.
constexpr std::string_view matrix_of_rocm = "D/D";

const UnreadTool* tool_of(std::string_view text) {
  constexpr int most_lines = 200;
  for (LogLines lines(text); lines.next() && lines.line().line <= most_lines;) {
    const LogCell line = trimmed(lines.line());
    if (line.text.size() > longest_log_line) continue;
    const auto* const found =
        std::ranges::find_if(tools, [&line](const UnreadTool& tool) { return line.text.starts_with(tool.says); });
    if (found != tools.end()) return found;
    if (line.text.starts_with(matrix_of_rocm) && words_of(line).size() > 1) return tools.data();
  }
  return nullptr;
}

Reading name_it(std::string_view text, const std::string& name) {
  const UnreadTool* const tool = tool_of(text);
  return LogReading(name).take(tool == nullptr
                                   ? "this is the output of none of the tools that are known by name and not read"
                                   : fmt::format("this is the output of {}, which is not read: that of {} is accepted",
                                                 tool->name, tool->instead));
}

std::vector<std::string> missing_columns(const sim::CsvFile& file, const TableFormat& format, Rows rows) {
  std::vector<std::string> missing = format.needed_columns(rows);
  std::erase_if(missing, [&file](const std::string& column) { return file.has(column); });
  return missing;
}

// Returns what a format sets whatever a row says: "gpus=2, host.protocol=stream".
std::string taken_for_granted(const TableFormat& format) {
  std::vector<std::string> texts;
  for (const Template& assignment : format.assignments) {
    if (assignment.holes().empty()) texts.push_back(assignment.text());
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Returns the word of a measurement's own row in a column; empty if the column is missing or says nothing.
std::string_view own_word(const sim::CsvFile& file, const Measurement& measurement, std::string_view column) {
  if (!file.has(column)) return {};
  const std::string_view word = file.text(row_at(file, measurement.line).value(), column);
  return says_nothing(word) ? std::string_view() : word;
}

// Applies the column `role`; a prediction stays one. A row whose role is not known is left out: whether a fit may read
// it is not said.
void apply_own_roles(Reading& reading, const sim::CsvFile& file) {
  if (!file.has("role")) return;
  const std::vector<std::string> known{"calibrate", "predict", "probe"};
  for (std::size_t row = 0; row < file.rows(); ++row) {
    const std::string_view role = file.text(row, "role");
    if (says_nothing(role) || role_named(role)) continue;
    const std::string hint = sim::name_hint(role, known);
    reading.faults.push_back({file.place(row, "role"), "role", fmt::format("'{}' is not known{}", role, hint)});
  }
  std::erase_if(reading.measurements, [&](const Measurement& measurement) {
    const std::string_view word = own_word(file, measurement, "role");
    return !word.empty() && !role_named(word);
  });
  for (Measurement& measurement : reading.measurements) {
    const std::optional<Role> role = role_named(own_word(file, measurement, "role"));
    if (role && measurement.role != Role::predict) measurement.role = *role;
  }
}

// Returns the GPU that comments mention ("measured on 2 x NVIDIA H200 (700 W, ...") if they mention exactly one, or
// else the only architecture; otherwise nothing. Only whole words count, as file names contain GPU names, too.
std::string gpu_in_passing(const std::vector<std::string_view>& comments) {
  static const LogPattern model(
      R"((?i)\b(?:\d+x)?((?:nvidia |amd |instinct )*)"
      R"((mi(?:\d\d|100|210|[23]\d\d[a-z])|[vah]100|[ah]800|h20|h200|b[123]00|g[hb][23]00|l40s?))\b)");
  static const LogPattern of_vendor(R"((?i)\b(nvidia (?:geforce )?([a-z]{1,2}\d{1,3}[a-z]?|rtx (?:pro )?a?\d{4}))\b)");
  static const LogPattern architecture(R"((?i)\b((gfx[0-9a-f]{3,4}))\b)");
  std::map<std::string, std::string> names;  // by model in lower case
  const auto look_for = [&](const LogPattern& pattern) {
    for (const std::string_view comment : comments) {
      LogCell rest{comment};
      for (LogCells found = pattern.groups(rest); !found.empty(); found = pattern.groups(rest)) {
        names.try_emplace(lower_case(found[2].text), printable(found[1].text));
        rest = rest.from(static_cast<std::size_t>(found[0].column - rest.column) + found[0].text.size());
      }
    }
  };
  look_for(model);
  look_for(of_vendor);
  if (names.empty()) look_for(architecture);
  return names.size() == 1 ? names.begin()->second : std::string();
}

// Takes the comments above the columns, and the GPU that one of them names: as "# gpu: AMD Instinct MI300X", as "...
// measured by c3sim-measure on 4 x NVIDIA H200 (sm_90, ..." or, if rows do not say their platform, in passing.
void take_header(Reading& reading, std::string_view text) {
  static const LogPattern gpu(R"((?i)^[^a-z0-9:]*gpu[^a-z0-9:]*:(.*)|measured by c3sim-measure on \S+ x (.*?) \()");
  std::vector<std::string_view> comments;
  constexpr std::size_t most_lines = 64;
  constexpr std::size_t longest = 400;
  LogLines lines(text);
  while (lines.next() && reading.header.size() < most_lines) {
    const std::string_view line = sim::trimmed(lines.line().text);
    if (line.empty()) continue;
    if (!line.starts_with('#')) break;
    const std::string_view said = sim::trimmed(line.substr(std::min(line.find_first_not_of('#'), line.size())));
    if (!said.empty()) reading.header.emplace_back(said.substr(0, longest));
    const LogCells named = gpu.groups({said});
    if (reading.gpu.empty() && !named.empty())
      reading.gpu = printable(trimmed(named[1].text.empty() ? named[2] : named[1]).text);
    comments.push_back(said.substr(0, longest_log_line));
  }
  const bool rows_say_it =
      std::ranges::any_of(reading.measurements, [](const auto& one) { return !one.platform.empty(); });
  if (reading.gpu.empty() && !rows_say_it) reading.gpu = gpu_in_passing(comments);
}

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Leaves out the rows in which the column says something, with the reason.
void leave_out_rows(Reading& reading, const sim::CsvFile& table, const std::string& column, const std::string& why) {
  int last = 0;  // a wide row has several measurements
  std::erase_if(reading.measurements, [&](const Measurement& one) {
    const std::optional<std::size_t> row = row_at(table, one.line);
    if (!row || says_nothing(table.text(*row, column))) return false;
    if (last != one.line) reading.left_out.push_back({one.where(), why});
    last = one.line;
    return true;
  });
}

// A misspelt column must not silently change what was run. Reports every column of the table that its format does not
// read, with place and nearest known name: as a remark, or as a fault if the nearest name is a column that says what
// was run or how (`channel` for `channels`). Rows in which such a column says something are left out, since without it
// they would be read as something else. Not reported are columns that the format lists under `ignored`, columns that a
// list of roles names, `note`, `comment`, `host` and the like, and, for a format written for one table, all other
// columns of the table of its name.
void tell_unused_columns(Reading& reading, const sim::CsvFile& table, const TableFormat& form, const Roles& roles) {
  static const LogPattern free("^(?:notes?|remarks?|comments?|host|hostname)?$");
  if (form.is_of_one_table && table_name(table.name()) == form.name) return;
  std::vector<std::string> of_runs = form.named_columns(Rows::all);  // what was run
  std::vector<std::string> known = form.named_columns();             // all columns that anything reads
  for (std::vector<std::string>* const names : {&of_runs, &known}) names->insert(names->end(), {"platform", "role"});
  std::ranges::copy(roles.columns_asked_of(reading.name), std::back_inserter(known));
  std::vector<std::string> lacking = known;
  std::erase_if(lacking, [&table](const std::string& column) { return table.has(column); });
  for (const std::string& column : table.columns()) {
    const bool is_ignored =
        std::ranges::any_of(form.ignored, [&column](const std::string& word) { return is_met(column, word); });
    if (free.is_in(column) || is_ignored || holds(known, column)) continue;
    const std::string where = table.place_of_name(column);
    const std::string shown_name = printable(column);
    const std::string nearest = sim::nearest_name(column, lacking);
    if (nearest.empty() || !holds(of_runs, nearest)) {
      const std::string hint = nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
      reading.remarks.push_back({where, shown_name, fmt::format("this column is not used{}", hint)});
      continue;
    }
    reading.faults.push_back({where, shown_name,
                              fmt::format("this column is not used; did you mean '{}'? Rows in which it says something "
                                          "are left out: a column 'note' may say anything",
                                          nearest)});
    leave_out_rows(reading, table, column, fmt::format("its column '{}' is not known; '{}' is", shown_name, nearest));
  }
}

// An Entry is a measurement to compare with others.
struct Entry {
  const Measurement* measurement;
  std::string_view row{};  // text of its row, if rows are compared
};

// Compares what measurements say, not where they stand. Figures differ most often and so are compared first.
struct SaysLess {
  bool operator()(const Entry& a, const Entry& b) const {
    const auto words = [](const Entry& one) {
      const Measurement& said = *one.measurement;
      return std::tie(said.seen, one.row, said.trial, said.assignments, said.platform);
    };
    return words(a) < words(b);
  }
};

// Maps each measurement that repeats an earlier one to that one.
using Repeated = std::map<const Measurement*, const Measurement*>;
Repeated repeated_in(const std::vector<Entry>& entries) {
  std::set<Entry, SaysLess> firsts;
  Repeated first_of;
  for (const Entry& entry : sim::in_short_steps(entries)) {
    const auto [first, is_new] = firsts.insert(entry);
    if (!is_new) first_of.emplace(entry.measurement, first->measurement);
  }
  return first_of;
}

// Turns repeated rows into faults, except the first: rows whose text is the same word for word. Rows that differ in any
// cell all count, and so do equal rows of different files.
void refuse_repeated_rows(Reading& reading, std::string_view text, const std::string& path) {
  std::vector<std::string_view> rows;
  for (LogLines lines(text); lines.next();) rows.push_back(lines.line().text);
  std::vector<Entry> entries;
  for (const Measurement& one : reading.measurements) {
    const auto line = static_cast<std::size_t>(one.line);
    entries.push_back({&one, line >= 1 && line <= rows.size() ? rows[line - 1] : std::string_view()});
  }
  const Repeated first_of = repeated_in(entries);
  if (first_of.empty()) return;
  std::vector<Measurement> kept;
  for (Measurement& one : reading.measurements) {
    const auto repeated = first_of.find(&one);
    // Cells of one wide row may be equal.
    if (repeated == first_of.end() || repeated->second->line == one.line) {
      kept.push_back(one);  // a copy, since later faults may need the line of the original
      continue;
    }
    sim::Fault fault{fmt::format("{}:{}", path, one.line), "",
                     fmt::format("says the same as line {}: it counts once", repeated->second->line)};
    if (reading.faults.empty() || reading.faults.back() != fault) reading.faults.push_back(std::move(fault));
  }
  reading.measurements = std::move(kept);
}

}  // namespace

std::span<const LogFormat> log_formats() {
  static const std::array formats{rccl_tests_text,      rccl_tests_json,    rccl_tests_csv,   transfer_bench_csv,
                                  transfer_bench_text,  hipblaslt_bench,    rocblas_bench,    babel_stream,
                                  rocprof_kernel_trace, rocprof_copy_trace, rocprof_counters, rocprof_json,
                                  torch_trace,          vllm_bench,         inference_max,    unread_tool};
  return formats;
}

const LogFormat unread_tool{"a tool that is not read", "rocm_bandwidth_test, nvbandwidth and others, named as such",
                            [](std::string_view text) { return tool_of(text) != nullptr; }, name_it};

Reader::Reader(const std::filesystem::path& formats) {
  std::error_code absent;
  const std::filesystem::directory_iterator entries(formats, absent);
  if (absent) throw sim::ConfigError({{formats.string(), "", "no folder of forms: " + absent.message()}});
  for (const std::string& name : sim::yaml_names({&formats, 1}, "")) {
    sim::Config config = sim::Config::from_file(formats / (name + ".yaml"));
    TableFormat format = TableFormat::read(config.root(), name);
    config.finish();
    add(std::move(format));
  }
}

const TableFormat* Reader::table(std::string_view name) const {
  const auto found = std::ranges::find(tables_, name, &TableFormat::name);
  return found == tables_.end() ? nullptr : &*found;
}

// If the format that the columns select has an entry for no row, the words of the rows may select another format with
// these columns, even one of one machine: the one that reads most rows, and without faults.
Reading Reader::read_rows(const sim::CsvFile& file, Rows rows, const Roles& roles) const {
  const std::string name = table_name(file.name());
  std::vector<const TableFormat*> fitting;
  for (const TableFormat& format : tables_) {
    if (missing_columns(file, format, rows).empty()) fitting.push_back(&format);
  }
  const auto rank = [&](const TableFormat* format) {
    if (format->name == name) return std::tuple(true, true, std::size_t{0});
    return std::tuple(false, !format->is_of_one_machine(), format->needed_columns(rows).size());
  };
  std::ranges::stable_sort(fitting, std::ranges::greater(), rank);
  if (fitting.empty() || (fitting.front()->name != name && fitting.front()->is_of_one_machine())) refuse(file, rows);
  const TableFormat& first = *fitting.front();
  const TableFormat* form = &first;
  std::vector<std::string> alike;
  Reading reading = read_table(file, first, others_, rows);
  const bool are_all_odd = reading.measurements.empty() && reading.odd_rows > 0 &&
                           reading.faults.size() == file.faults().size() + reading.odd_rows;
  for (const TableFormat* const other : std::span(fitting).subspan(1)) {
    if (first.name == name) break;
    if (rank(other) == rank(&first)) alike.push_back(other->name);
    if (!are_all_odd) continue;
    Reading again = read_table(file, *other, others_, rows);
    const bool is_at_fault = again.faults.size() > file.faults().size();
    if (is_at_fault || again.measurements.size() <= reading.measurements.size()) continue;
    reading = std::move(again);
    form = other;
  }
  if (form == &first && !alike.empty()) {
    reading.remarks.push_back({file.name(), "",
                               fmt::format("read as '{}'; it could as well be '{}': a file is read as the form that it "
                                           "is named after",
                                           first.name, fmt::join(alike, "' or '"))});
  }
  if (form != &first) {
    const std::string granted = taken_for_granted(*form);
    reading.remarks.push_back(
        {file.name(), "",
         fmt::format("no row can be read as '{}', whose columns these are: it is read as '{}'{}", first.name,
                     form->name, granted.empty() ? "" : ", which takes " + granted + " for granted")});
  }
  tell_unused_columns(reading, file, *form, roles);
  return reading;
}

// Throws sim::ConfigError with the columns missing for the nearest format: the one that lacks fewest and, of equals,
// needs most. If it lacks none, only the name of the file keeps the table from being read as that format.
void Reader::refuse(const sim::CsvFile& file, Rows rows) const {
  const TableFormat* nearest = nullptr;
  std::pair<std::size_t, std::size_t> fewest;  // columns missing, columns not needed
  std::vector<std::string> names;
  for (const TableFormat& format : tables_) {
    if (!format.description.empty()) names.push_back(format.description);
    const std::size_t needed = format.needed_columns(rows).size();
    const std::size_t missing = missing_columns(file, format, rows).size();
    const std::pair here(missing, std::numeric_limits<std::size_t>::max() - needed);
    if (missing == needed || (nearest != nullptr && here >= fewest)) continue;
    nearest = &format;
    fewest = here;
  }
  for (const LogFormat& log : log_formats()) names.push_back(fmt::format("{}: {}", log.name, log.about));
  sim::CsvFile told = file;
  const auto before = static_cast<std::ptrdiff_t>(file.faults().size());
  if (nearest == nullptr) {
    const std::string heading = fmt::format("{}", fmt::join(file.columns(), ","));
    const char* const hint = heading.find_first_of(";\t") != std::string::npos
                                 ? ": commas separate cells, not semicolons or tabs"
                             : heading != lower_case(heading) ? ": names of columns have small letters, as time_us"
                                                              : "";
    told.fault(fmt::format("no table with these columns is known{}; known are:\n  {}", hint, fmt::join(names, "\n  ")));
  } else {
    std::string why = fmt::format("no table with these columns is known: the nearest is '{}'", nearest->name);
    if (fewest.first == 0) {
      why += fmt::format(", which takes {} for granted: a file is read as that where it is called {}.csv",
                         taken_for_granted(*nearest), nearest->name);
    }
    told.fault(why);
    told.require(missing_columns(file, *nearest, rows));
  }
  std::vector<sim::Fault> faults = told.faults();
  std::rotate(faults.begin(), faults.begin() + before, faults.end());  // puts the heading before the faults of rows
  throw sim::ConfigError(faults);
}

Reading Reader::read_as(const TableFormat& format, const std::filesystem::path& path) const {
  sim::CsvFile file = sim::CsvFile::from_file(path);
  file.require(format.needed_columns());
  file.check();
  Reading reading = read_table(file, format, others_);
  Roles::beside(path).apply(reading, &file);
  apply_own_roles(reading, file);
  return reading;
}

Reading Reader::read(const std::filesystem::path& path, Rows rows) const {
  try {
    return read_text(sim::read_measurement_text(path), path.string(), rows);
  } catch (const std::bad_alloc&) {
    throw sim::ConfigError({{path.string(), "", "what is in it needs more memory than there is"}});
  }
}

Reading Reader::read_text(std::string written, const std::string& name, Rows rows) const {
  const std::string text = without_tags(without_escapes(std::move(written)));
  const Roles roles = Roles::beside(name);
  const std::span<const LogFormat> logs = log_formats();
  const auto log = std::ranges::find_if(logs, [&text](const LogFormat& one) { return one.recognises(text); });
  if (log != logs.end()) {
    Reading reading = log->read(text, name);
    reading.name = std::filesystem::path(name).filename().string();
    reading.format = log->name;
    refuse_repeated_rows(reading, text, name);
    roles.apply(reading, nullptr);
    return reading;
  }
  if (is_json(text)) {
    throw sim::ConfigError({{name, "",
                             "JSON of a form that is not known: traces of PyTorch's profiler (an object with "
                             "traceEvents, or the list of events alone) and of rocprofv3 "
                             "(rocprofiler-sdk-tool), and results of rccl-tests and nccl-tests, are accepted"}});
  }
  const sim::CsvFile file = sim::CsvFile::from_text(text, name);
  Reading reading = read_rows(file, rows, roles);
  if (!text.ends_with('\n')) {
    // A table that is cut off within its last cell may show another number there.
    reading.remarks.push_back({name, "", "no line end follows its last row: if that is not cut off, add one"});
  }
  roles.apply(reading, &file);
  apply_own_roles(reading, file);
  for (Measurement& measurement : reading.measurements) measurement.platform = own_word(file, measurement, "platform");
  take_header(reading, text);
  refuse_repeated_rows(reading, text, name);
  return reading;
}

void refuse_repeated_files(std::span<Reading> readings) {
  if (readings.size() < 2) return;
  std::vector<Entry> entries;
  for (const Reading& reading : readings) {
    for (const Measurement& one : reading.measurements) entries.push_back({&one});
  }
  const Repeated first_of = repeated_in(entries);
  std::vector<Reading*> repeated;
  for (Reading& reading : readings) {
    const std::vector<Measurement>& own = reading.measurements;
    const auto is_own = [&own](const Measurement* one) { return one >= own.data() && one < own.data() + own.size(); };
    const bool says_nothing_new = std::ranges::all_of(own, [&](const Measurement& one) {
      const auto first = first_of.find(&one);
      return first != first_of.end() && !is_own(first->second);
    });
    if (own.empty() || !says_nothing_new) continue;
    const Measurement* const first = first_of.at(own.data());
    reading.faults.push_back({reading.name, "", "says nothing that " + first->file + " does not: it counts once"});
    repeated.push_back(&reading);
  }
  for (Reading* const reading : repeated) reading->measurements.clear();
}

}  // namespace c3sim::calibrate
