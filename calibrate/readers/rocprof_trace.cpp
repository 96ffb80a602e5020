// The kernel and memory copy traces that rocprofv3 writes as CSV (--kernel-trace, --memory-copy-trace): a row per
// dispatch or copy, with Start_Timestamp and End_Timestamp in nanoseconds. Neither says what a kernel computed or how
// many bytes were copied: runs are told by name (measurement.h, NamedRuns), those that were alone on their GPU.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "calibrate/readers/csv_log.h"
#include "calibrate/readers/log_formats.h"
#include "calibrate/readers/trace_runs.h"

namespace c3sim::calibrate {

namespace {

constexpr double nanosecond = 1e-9;

// GPUs by what a trace calls them: "4", "Agent 4".
class Agents {
 public:
  int number_of(std::string_view name) {
    return known_.try_emplace(std::string(name), static_cast<int>(known_.size())).first->second;
  }

 private:
  std::map<std::string, int, std::less<>> known_;
};

class RocprofReader {
 public:
  RocprofReader(std::string_view text, const std::string& name) : reading_(name), rows_(text, reading_) {
    begin_ = rows_.column("Start_Timestamp");
    end_ = rows_.column("End_Timestamp");
  }

  Reading read_kernels() &&;
  Reading read_copies() &&;

 private:
  std::optional<Stay> read_stay(std::string_view agent);
  Reading finish(std::string_view nothing);

  LogReading reading_;
  CsvLog rows_;
  std::optional<std::size_t> begin_, end_;
  Agents agents_;
  TraceRuns runs_;
  std::optional<double> zero_;  // the first moment: differences of it keep nanoseconds in a double
};

// Nothing, and a fault, for a row that ends before it begins.
std::optional<Stay> RocprofReader::read_stay(std::string_view agent) {
  constexpr double latest = 9e18;  // of 63 bits
  const auto begin = reading_.number(rows_.cell(*begin_), 0.0, latest, "Start_Timestamp");
  const auto end = reading_.number(rows_.cell(*end_), 0.0, latest, "End_Timestamp");
  if (!begin || !end) return {};
  if (*end <= *begin) {
    reading_.fault(rows_.cell(*end_), "End_Timestamp",
                   fmt::format("{} is no later than Start_Timestamp {}", shown(rows_.cell(*end_).text),
                               shown(rows_.cell(*begin_).text)));
    return {};
  }
  if (!zero_) zero_ = *begin;
  return Stay{agents_.number_of(agent), (*begin - *zero_) * nanosecond, (*end - *zero_) * nanosecond};
}

Reading RocprofReader::read_kernels() && {
  const auto agent = rows_.column("Agent_Id");
  const auto kernel = rows_.column("Kernel_Name");
  if (begin_ && end_ && agent && kernel) {
    while (rows_.next()) {
      const LogCell name = rows_.cell(*kernel);
      if (name.text.empty()) {
        reading_.fault(name, "Kernel_Name", "is missing: the name of a kernel is accepted");
      } else if (const auto stay = read_stay(rows_.cell(*agent).text)) {
        runs_.add(runs_.kernel(name.text), *stay, rows_.line());
      }
    }
  }
  return finish("no dispatch: rows of kernels are accepted below their columns");
}

// Copies of one kind between the same two agents have one name: "MEMORY_COPY_DEVICE_TO_DEVICE 4 to 5".
Reading RocprofReader::read_copies() && {
  const auto direction = rows_.column("Direction");
  const auto from = rows_.column("Source_Agent_Id");
  const auto to = rows_.column("Destination_Agent_Id");
  if (begin_ && end_ && direction && from && to) {
    while (rows_.next()) {
      const std::string name =
          fmt::format("{} {} to {}", rows_.cell(*direction).text, rows_.cell(*from).text, rows_.cell(*to).text);
      // What leaves an agent at once shares its memory and engines.
      if (const auto stay = read_stay(rows_.cell(*from).text)) {
        runs_.add(runs_.kernel(name), *stay, rows_.line());
      }
    }
  }
  return finish("no copy: rows of copies are accepted below their columns");
}

Reading RocprofReader::finish(std::string_view nothing) {
  for (TraceRuns::Alone& one : runs_.alone(reading_)) {
    const auto& [median, low, high] = one.seconds;
    reading_.add(NamedRuns{std::move(one.words), "", one.line, one.runs, median, low, high, one.all});
  }
  if (reading_.empty()) reading_.fault({}, "", std::string(nothing));
  return std::move(reading_).take();
}

}  // namespace

bool is_rocprof_kernel_trace(std::string_view text) {
  return CsvLog::has_columns(text, {"Kind", "Kernel_Name", "Start_Timestamp"});
}

Reading read_rocprof_kernel_trace(std::string_view text, const std::string& name) {
  return RocprofReader(text, name).read_kernels();
}

bool is_rocprof_copy_trace(std::string_view text) {
  return CsvLog::has_columns(text, {"Kind", "Direction", "Start_Timestamp"});
}

Reading read_rocprof_copy_trace(std::string_view text, const std::string& name) {
  return RocprofReader(text, name).read_copies();
}

}  // namespace c3sim::calibrate
