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
  RocprofRows(std::string_view text, LogReading& log, Agents& agents, const Take& take)
      : log_(log), rows_(text, log), agents_(agents), take_(take) {
    begin_ = required("Start_Timestamp");
    end_ = required("End_Timestamp");
  }

  void read_kernels();
  void read_copies();
  void read_calls();

 private:
  using Column = std::optional<std::size_t>;

  Column required(std::string_view name) {
    const Column column = rows_.column(name);
    is_whole_ &= column.has_value();
    return column;
  }
  Column column_if_any(std::string_view name) { return rows_.has(name) ? rows_.column(name) : std::nullopt; }
  std::string text_of(Column column, std::string_view otherwise = {}) const {
    return std::string(column ? rows_.cell(*column).text : otherwise);
  }
  bool is_named(Column name);
  bool read_times(KinetoEvent& event);
  // Every row whose name, if it must have one, and times can be read.
  template <class Fill>
  void take_rows(std::string_view category, Column name, const Fill& fill) {
    while (is_whole_ && rows_.next()) {
      KinetoEvent event;
      if (!is_named(name) || !read_times(event)) continue;
      event[Field::category] = category;
      fill(event);
      take_(event);
    }
  }

  LogReading& log_;
  CsvLog rows_;
  Agents& agents_;
  const Take& take_;
  Column begin_, end_;
  bool is_whole_ = true;  // has the columns that it must have
};

bool RocprofRows::is_named(Column name) {
  if (!name || !rows_.cell(*name).text.empty()) return true;
  log_.fault(rows_.cell(*name), "Kernel_Name", "is missing: the name of a kernel is accepted");
  return false;
}

// False, and a fault, for a row that ends before it begins.
bool RocprofRows::read_times(KinetoEvent& event) {
  constexpr double latest = 9e18;  // of 63 bits
  const auto begin = log_.number(rows_.cell(*begin_), 0.0, latest, "Start_Timestamp");
  const auto end = log_.number(rows_.cell(*end_), 0.0, latest, "End_Timestamp");
  if (!begin || !end) return false;
  if (*end <= *begin) {
    log_.fault(rows_.cell(*end_), "End_Timestamp",
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
  const Column agent = required("Agent_Id");
  const Column kernel = required("Kernel_Name");
  const Column stream = column_if_any(rows_.has("Stream_Id") ? "Stream_Id" : "Queue_Id");
  const Column correlation = column_if_any("Correlation_Id");
  const Column lanes = column_if_any("Workgroup_Size_X");
  const Column grid = column_if_any("Grid_Size_X");
  take_rows("kernel", kernel, [&](KinetoEvent& event) {
    event[Field::name] = text_of(kernel);
    event[Field::device] = agents_.device_of(text_of(agent));
    event[Field::stream] = text_of(stream, "0");
    event[Field::correlation] = text_of(correlation, "0");
    // Grids of HIP count work-items.
    const auto items = parse_printed_integer(text_of(grid));
    const auto group = parse_printed_integer(text_of(lanes));
    if (items.error.empty() && group.error.empty() && group.value > 0)
      event[Field::grid] = fmt::to_string(items.value / group.value);
  });
}

// Copies of one kind between the same two agents have one name: "MEMORY_COPY_DEVICE_TO_DEVICE 4 to 5". Each is of the
// GPU that it leaves, or that it comes to from the host.
void RocprofRows::read_copies() {
  const Column direction = required("Direction");
  const Column from = required("Source_Agent_Id");
  const Column to = required("Destination_Agent_Id");
  const Column stream = column_if_any("Stream_Id");
  const Column correlation = column_if_any("Correlation_Id");
  take_rows("gpu_memcpy", {}, [&](KinetoEvent& event) {
    const bool from_host = rows_.cell(*direction).holds("HOST_TO");
    event[Field::name] = fmt::format("{} {} to {}", text_of(direction), text_of(from), text_of(to));
    event[Field::device] = agents_.device_of(text_of(from_host ? to : from));
    event[Field::stream] = text_of(stream, "-1");
    event[Field::correlation] = text_of(correlation, "0");
  });
}

void RocprofRows::read_calls() {
  const Column function = required("Function");
  const Column correlation = required("Correlation_Id");
  take_rows("cuda_runtime", {}, [&](KinetoEvent& event) {
    event[Field::name] = text_of(function);
    event[Field::correlation] = text_of(correlation);
  });
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
    for (const std::string_view text : texts) {
      RocprofRows rows(text, log, agents, take);
      if (is_rocprof_kernel_trace(text)) {
        rows.read_kernels();
      } else if (is_rocprof_copy_trace(text)) {
        rows.read_copies();
      } else {
        rows.read_calls();
      }
    }
    return KinetoHead{};
  });
  for (std::size_t i = before; i < log.faults(); ++i)
    profile.misunderstood["rows at fault, which c3sim read shows"].add(0, sim::Time(0));
  return profile;
}

}  // namespace c3sim::calibrate
