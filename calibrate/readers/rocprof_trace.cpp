#include "calibrate/readers/rocprof_trace.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "calibrate/readers/csv_log.h"
#include "calibrate/readers/kineto.h"

namespace c3sim::calibrate {

namespace {

using Field = EventField;
using Take = std::function<void(const KinetoEvent&)>;

// Devices by what traces call them: "4", "Agent 4"; others after those.
class Agents {
 public:
  std::string device_of(std::string_view name) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    if (digits < name.size() && name.size() - digits < 6) return std::string(name.substr(digits));
    constexpr std::size_t others = 1000000;
    return fmt::to_string(others + known_.try_emplace(std::string(name), known_.size()).first->second);
  }

 private:
  std::map<std::string, std::size_t, std::less<>> known_;
};

// The rows of a trace as events of kineto's, which have microseconds.
class RocprofRows {
 public:
  RocprofRows(std::string_view text, LogReading& reading, Agents& agents, const Take& take)
      : reading_(reading), rows_(text, reading), agents_(agents), take_(take) {
    begin_ = rows_.column("Start_Timestamp");
    end_ = rows_.column("End_Timestamp");
  }

  void read_kernels();
  void read_copies();
  void read_calls();

 private:
  std::optional<std::size_t> column_if_any(std::string_view name) {
    return rows_.has(name) ? rows_.column(name) : std::nullopt;
  }
  std::string text_of(std::optional<std::size_t> column, std::string_view otherwise) const {
    return std::string(column ? rows_.cell(*column).text : otherwise);
  }
  bool read_times(KinetoEvent& event);

  LogReading& reading_;
  CsvLog rows_;
  Agents& agents_;
  const Take& take_;
  std::optional<std::size_t> begin_, end_;
};

// Nothing, and a fault, for a row that ends before it begins.
bool RocprofRows::read_times(KinetoEvent& event) {
  constexpr double latest = 9e18;  // of 63 bits
  const auto begin = reading_.number(rows_.cell(*begin_), 0.0, latest, "Start_Timestamp");
  const auto end = reading_.number(rows_.cell(*end_), 0.0, latest, "End_Timestamp");
  if (!begin || !end) return false;
  if (*end <= *begin) {
    reading_.fault(rows_.cell(*end_), "End_Timestamp",
                   fmt::format("{} is no later than Start_Timestamp {}", shown(rows_.cell(*end_).text),
                               shown(rows_.cell(*begin_).text)));
    return false;
  }
  const auto microseconds = [](double nanoseconds) {
    const auto whole = static_cast<std::int64_t>(nanoseconds);
    return fmt::format("{}.{:03}", whole / 1000, whole % 1000);
  };
  event.line = rows_.line();
  event[Field::phase] = "X";
  event[Field::begin] = microseconds(*begin);
  event[Field::duration] = microseconds(*end - *begin);
  return true;
}

void RocprofRows::read_kernels() {
  const auto agent = rows_.column("Agent_Id");
  const auto kernel = rows_.column("Kernel_Name");
  const auto stream = rows_.has("Stream_Id") ? column_if_any("Stream_Id") : column_if_any("Queue_Id");
  const auto correlation = column_if_any("Correlation_Id");
  const auto lanes = column_if_any("Workgroup_Size_X");
  const auto grid = column_if_any("Grid_Size_X");
  if (!begin_ || !end_ || !agent || !kernel) return;
  while (rows_.next()) {
    KinetoEvent event;
    const LogCell name = rows_.cell(*kernel);
    if (name.text.empty()) {
      reading_.fault(name, "Kernel_Name", "is missing: the name of a kernel is accepted");
      continue;
    }
    if (!read_times(event)) continue;
    event[Field::category] = "kernel";
    event[Field::name] = name.text;
    event[Field::device] = agents_.device_of(rows_.cell(*agent).text);
    event[Field::stream] = text_of(stream, "0");
    event[Field::correlation] = text_of(correlation, "0");
    // Grids of HIP count work-items.
    const auto items = parse_printed_integer(text_of(grid, ""));
    const auto group = parse_printed_integer(text_of(lanes, ""));
    if (items.error.empty() && group.error.empty() && group.value > 0)
      event[Field::grid] = fmt::to_string(items.value / group.value);
    take_(event);
  }
}

// Copies of one kind between the same two agents have one name: "MEMORY_COPY_DEVICE_TO_DEVICE 4 to 5". Each is of the
// GPU that it leaves, or that it comes to from the host.
void RocprofRows::read_copies() {
  const auto direction = rows_.column("Direction");
  const auto from = rows_.column("Source_Agent_Id");
  const auto to = rows_.column("Destination_Agent_Id");
  const auto stream = column_if_any("Stream_Id");
  const auto correlation = column_if_any("Correlation_Id");
  if (!begin_ || !end_ || !direction || !from || !to) return;
  while (rows_.next()) {
    KinetoEvent event;
    if (!read_times(event)) continue;
    const std::string_view way = rows_.cell(*direction).text;
    const bool from_host = way.find("HOST_TO") != std::string_view::npos;
    event[Field::category] = "gpu_memcpy";
    event[Field::name] = fmt::format("{} {} to {}", way, rows_.cell(*from).text, rows_.cell(*to).text);
    event[Field::device] = agents_.device_of(rows_.cell(from_host ? *to : *from).text);
    event[Field::stream] = text_of(stream, "-1");
    event[Field::correlation] = text_of(correlation, "0");
    take_(event);
  }
}

void RocprofRows::read_calls() {
  const auto function = rows_.column("Function");
  const auto correlation = rows_.column("Correlation_Id");
  if (!begin_ || !end_ || !function || !correlation) return;
  while (rows_.next()) {
    KinetoEvent event;
    if (!read_times(event)) continue;
    event[Field::category] = "cuda_runtime";
    event[Field::name] = rows_.cell(*function).text;
    event[Field::correlation] = rows_.cell(*correlation).text;
    take_(event);
  }
}

void read_rows(std::string_view text, LogReading& reading, Agents& agents, const Take& take) {
  RocprofRows rows(text, reading, agents, take);
  if (is_rocprof_kernel_trace(text)) {
    rows.read_kernels();
  } else if (is_rocprof_copy_trace(text)) {
    rows.read_copies();
  } else {
    rows.read_calls();
  }
}

}  // namespace

bool is_rocprof_kernel_trace(std::string_view text) {
  return CsvLog::has_columns(text, {"Kind", "Kernel_Name", "Start_Timestamp"});
}

bool is_rocprof_copy_trace(std::string_view text) {
  return CsvLog::has_columns(text, {"Kind", "Direction", "Start_Timestamp"});
}

bool is_rocprof_call_trace(std::string_view text) {
  return CsvLog::has_columns(text, {"Domain", "Function", "Start_Timestamp"});
}

Profile read_rocprof_run(std::span<const std::string_view> texts, LogReading& log, const Labels& labels) {
  Agents agents;
  const std::size_t before = log.faults();
  Profile profile = profile_of(log.name(), labels, [&](const Take& take) {
    for (const std::string_view text : texts) read_rows(text, log, agents, take);
    return KinetoHead{};
  });
  for (std::size_t i = before; i < log.faults(); ++i)
    profile.misunderstood["rows at fault, which c3sim read shows"].add(0, sim::Time(0));
  return profile;
}

}  // namespace c3sim::calibrate
