#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/profile_events.h"

namespace c3sim::calibrate {

namespace {

// HIP counts grids in work-items.
std::optional<std::int64_t> workgroups_of(std::string_view grid, std::string_view workgroup) {
  const auto items = parse_printed_integer(grid);
  const auto group = parse_printed_integer(workgroup);
  const bool are_told = items.error.empty() && group.error.empty() && group.value > 0;
  return are_told ? std::optional(items.value / group.value) : std::nullopt;
}

// Returns the device of an agent, "4" or "Agent 4"; nothing for other names.
std::optional<std::int64_t> device_of(std::string_view agent) {
  return integer_of(agent.substr(agent.find_last_not_of("0123456789") + 1));  // npos + 1 is 0
}

// Hands over the rows of a trace, which are kernel dispatches, copies or runtime calls. Copies of one kind between the
// same two agents have one name, "MEMORY_COPY_DEVICE_TO_DEVICE 4 to 5"; a copy belongs to the GPU that it leaves, or to
// its destination if it leaves the host. A row without a name or without a positive duration is a fault.
void take_rows(std::string_view text, EventKind kind, LogReading& log, const TakeEvent& take) {
  CsvTable rows(text, log);
  const bool is_kernel = kind == EventKind::kernel;
  const bool is_copy = kind == EventKind::copy;
  const bool is_call = !is_kernel && !is_copy;
  const auto begin_at = rows.require("Start_Timestamp");
  const auto end_at = rows.require("End_Timestamp");
  const auto agent = is_kernel ? rows.require("Agent_Id") : std::nullopt;
  const auto name = rows.require(is_kernel ? "Kernel_Name" : is_copy ? "Direction" : "Function");
  const auto from = is_copy ? rows.require("Source_Agent_Id") : agent;
  const auto to = is_copy ? rows.require("Destination_Agent_Id") : agent;
  const auto correlation = is_call ? rows.require("Correlation_Id") : rows.find("Correlation_Id");
  const auto stream = rows.find(is_kernel && !rows.find("Stream_Id") ? "Queue_Id" : "Stream_Id");
  const auto grid = rows.find("Grid_Size_X");
  const auto lanes = rows.find("Workgroup_Size_X");
  while (rows.next()) {
    constexpr auto latest = std::numeric_limits<std::int64_t>::max();
    if (is_kernel && rows.text(name).empty()) {
      log.fault(rows.cell(name), "Kernel_Name", "is missing: the name of a kernel is accepted");
      continue;
    }
    const auto begin = log.whole(rows.cell(begin_at), 0, latest, "Start_Timestamp");
    const auto end = log.whole(rows.cell(end_at), 0, latest, "End_Timestamp");
    if (!begin || !end) continue;
    if (*end <= *begin) {
      log.fault(rows.cell(end_at), "End_Timestamp",
                fmt::format("{} is no later than Start_Timestamp {}", shown(rows.cell(end_at).text),
                            shown(rows.cell(begin_at).text)));
      continue;
    }
    TraceEvent event{.kind = kind,
                     .line = rows.line(),
                     .name = std::string(rows.text(name)),
                     .begin = *begin,
                     .duration = *end - *begin,
                     .correlation = integer_of(rows.text(correlation, "0"))};
    if (is_copy) event.name += fmt::format(" {} to {}", rows.text(from), rows.text(to));
    if (!is_call) {
      event.device = device_of(rows.text(is_copy && rows.cell(name).holds("HOST_TO") ? to : from));
      event.stream = integer_of(rows.text(stream, is_copy ? "-1" : "0"));
    }
    if (is_kernel) event.grid = workgroups_of(rows.text(grid), rows.text(lanes));
    take(event);
  }
}

// A CounterForm says which of our figures a counter of rocprofv3 measures for a kernel.
struct CounterForm {
  std::string_view counter;
  study::Figure figure;
  double unit;  // value of one count in base units
};
constexpr double line_of_l2 = 128.0;  // bytes (AMD Instinct MI300 CDNA 3 ISA)
constexpr std::array counters{CounterForm{"TCC_HIT_sum", study::Figure::l2_hit_bytes, line_of_l2},
                              CounterForm{"TCC_MISS_sum", study::Figure::l2_miss_bytes, line_of_l2},
                              CounterForm{"MALL_HIT_RATE_1", study::Figure::cache_hit_share, 0.01}};

// Counting serialises and slows down dispatches, so that their times are ignored.
Reading read_counters(std::string_view text, const std::string& name) {
  struct Counts {
    int line = 0;
    std::vector<double> values;
  };
  LogReading reading(name);
  CsvTable rows(text, reading);
  const auto kernel = rows.require("Kernel_Name");
  const auto counter = rows.require("Counter_Name");
  const auto value = rows.require("Counter_Value");
  std::map<std::pair<std::string, std::string>, Counts> counts;
  while (rows.next()) {
    constexpr double most = 1e18;
    const auto count = reading.number(rows.cell(value), 0.0, most, "Counter_Value");
    if (!count) continue;
    Counts& known = counts[{std::string(rows.text(kernel)), std::string(rows.text(counter))}];
    if (known.values.empty()) known.line = rows.line();
    known.values.push_back(*count);
  }
  const Labels labels = Labels::beside(name);
  for (auto& [names, known] : counts) {
    const std::string what =
        fmt::format("{}, {}, run {} times", shown(names.first), printable(names.second), known.values.size());
    const study::Trial* const trial = labels.trial_of(reading.file(), names.first);
    const auto* const form = std::ranges::find(counters, names.second, &CounterForm::counter);
    if (trial == nullptr || form == counters.end() || !std::holds_alternative<study::GemmTrial>(*trial)) {
      reading.leave_out(known.line, trial == nullptr ? unlabelled : "a counter that no figure stands for", what);
      continue;
    }
    const Seen seen = percentiles_of(std::move(known.values)).as(form->figure, form->unit);
    if (!seen.is_within_bounds()) {
      reading.leave_out(known.line, beyond_reason, what);
    } else {
      reading.add(measurement_of(known.line, "counters: gemm", *trial, seen));
    }
  }
  return std::move(reading).take("no counter: rows of counters are accepted below their columns");
}

}  // namespace

std::optional<EventKind> rows_of_rocprof(std::string_view text) {
  if (has_columns(text, {"Kind", "Kernel_Name", "Start_Timestamp"})) return EventKind::kernel;
  if (has_columns(text, {"Kind", "Direction", "Start_Timestamp"})) return EventKind::copy;
  if (has_columns(text, {"Domain", "Function", "Start_Timestamp"})) return EventKind::call;
  return {};
}

Profile read_rocprof_run(std::span<const std::string_view> texts, LogReading& log, const Labels& labels) {
  const std::size_t before = log.faults();
  Profile profile = profile_of(log.name(), labels, [&](const TakeEvent& take) {
    for (const std::string_view text : texts)
      take_rows(text, rows_of_rocprof(text).value_or(EventKind::call), log, take);
    return TraceHead{};
  });
  for (std::size_t i = before; i < log.faults(); ++i)
    profile.misunderstood["rows at fault, which c3sim read shows"].add(0, sim::Time(0));
  return profile;
}

const LogFormat rocprof_counters{"rocprofv3 counters", "counters of kernels by name, from rocprofv3 --pmc",
                                 [](std::string_view text) {
                                   return has_columns(text, {"Kernel_Name", "Counter_Name", "Counter_Value"});
                                 },
                                 read_counters};

namespace {

constexpr std::string_view root_key = "rocprofiler-sdk-tool";

// An Element is what a path such as "a[3].buffer_records.memory_copy[7]" leads to: a list and an index in it.
struct Element {
  std::int64_t process = 0;
  std::string list;  // "buffer_records.memory_copy"
  std::int64_t index = 0;
};
std::optional<Element> element_of(const std::string& path) {
  static const LogPattern form(R"(^[^\[]*\[(\d+)\]\.(.+)\[(\d+)\]$)");
  const LogCells found = form.groups({path});
  if (found.empty()) return {};
  return Element{integer_of(found[1].text).value_or(0), std::string(found[2].text),
                 integer_of(found[3].text).value_or(0)};
}

std::string text_of(const JsonRecord& record, std::string_view key) { return std::string(record.text(key)); }

// RocprofJson gathers records in any order, and hands them over as events once all names are known.
class RocprofJson {
 public:
  void take(const JsonRecord& record) {
    if (!record.is_whole) return;
    const std::optional<Element> at = element_of(record.path);
    if (!at) return;
    const std::string& list = at->list;
    if (list == "agents") {
      take_agent(record, at->process);
    } else if (list == "kernel_symbols") {
      const bool is_formatted = record.has("formattedkernelname");
      kernels_[{at->process, text_of(record, "kernelid")}] =
          text_of(record, is_formatted ? "formattedkernelname" : "kernelname");
    } else if (list == "strings.buffer_records") {
      std::vector<std::string>& operations = operations_[{at->process, fmt::to_string(at->index)}];
      for (const JsonValue& value : record.values) {
        if (value.key == "operations") operations.push_back(value.text);
      }
    } else if (list.starts_with("buffer_records.")) {
      take_event(record, *at);
    }
  }

  TraceHead tell(const TakeEvent& take) {
    for (Told& one : told_) {
      if (one.event.kind == EventKind::kernel) {
        one.event.name = known(kernels_, one.process, one.of);
        one.event.device = integer_of(node_of(one.process, one.agent));
      } else if (one.event.kind == EventKind::copy) {
        tell_copy(one);
      } else {
        one.event.name = operation_of(one);
      }
      take(one.event);
    }
    return {.gpu = gpu_};
  }

 private:
  using Key = std::pair<std::int64_t, std::string>;  // process and name or number
  struct Agent {
    std::string node;
    bool is_gpu = false;
  };
  struct Told {
    std::int64_t process = 0;
    std::string kind, of;     // of: the kernel or the operation
    std::string agent, from;  // handles
    TraceEvent event;
  };

  static std::string known(const std::map<Key, std::string>& names, std::int64_t process, const std::string& key) {
    const auto found = names.find({process, key});
    return found == names.end() ? "kernel " + key : found->second;
  }
  std::string node_of(std::int64_t process, const std::string& handle) const {
    const auto found = agents_.find({process, handle});
    return found == agents_.end() || found->second.node.empty() ? handle : found->second.node;
  }

  void take_agent(const JsonRecord& record, std::int64_t process) {
    constexpr std::string_view type_of_gpus = "2";  // rocprofiler_agent_type_t
    const bool is_gpu = record.text("type") == type_of_gpus;
    agents_[{process, text_of(record, "id.handle")}] = {text_of(record, "nodeid"), is_gpu};
    if (!is_gpu || !gpu_.empty()) return;
    const std::string_view architecture = record.text("name");
    const std::string_view product = record.text("productname");
    gpu_ = product.empty() ? architecture : product;
    if (!product.empty() && !architecture.empty()) gpu_ += fmt::format(" {}", architecture);
  }

  void take_event(const JsonRecord& record, const Element& at) {
    const bool is_kernel = at.list.ends_with(".kernel_dispatch");
    const bool is_copy = at.list.ends_with(".memory_copy");
    const bool is_call = at.list.find("hip") != std::string::npos && at.list.ends_with("api");
    const std::optional<std::int64_t> begin = integer_of(record.text("starttimestamp"));
    const std::optional<std::int64_t> end = integer_of(record.text("endtimestamp"));
    if (!is_kernel && !is_copy && !is_call) return;
    if (!begin || !end || *begin < 0 || *end < *begin) return;
    const std::string_view stream =
        record.text(record.has("streamid.handle") ? "streamid.handle" : "dispatchinfo.queueid.handle");
    // Correlation ids of several processes are kept apart.
    constexpr std::int64_t most_of_a_process = std::int64_t{1} << 40;
    told_.push_back({.process = at.process,
                     .kind = text_of(record, "kind"),
                     .of = text_of(record, is_kernel ? "dispatchinfo.kernelid" : "operation"),
                     .agent = text_of(record, is_kernel ? "dispatchinfo.agentid.handle" : "dstagentid.handle"),
                     .from = text_of(record, "srcagentid.handle"),
                     .event = {.kind = is_kernel ? EventKind::kernel
                                       : is_copy ? EventKind::copy
                                                 : EventKind::call,
                               .line = record.at.line,
                               .begin = *begin,
                               .duration = *end - *begin,
                               .stream = integer_of(stream.empty() ? "0" : stream),
                               .correlation = integer_of(record.text("correlationid.internal")).value_or(0) +
                                              at.process * most_of_a_process,
                               .grid = workgroups_of(record.text("dispatchinfo.gridsize.x"),
                                                     record.text("dispatchinfo.workgroupsize.x"))}});
  }

  // Names the copy as the CSV does: "MEMORY_COPY_DEVICE_TO_DEVICE Agent 4 to Agent 5". It belongs to the GPU that it
  // leaves, or to its destination if it leaves the host.
  void tell_copy(Told& one) const {
    const auto is_gpu = [&](const std::string& handle) {
      const auto found = agents_.find({one.process, handle});
      return found == agents_.end() || found->second.is_gpu;
    };
    const auto kind = [&](const std::string& handle) { return is_gpu(handle) ? "DEVICE" : "HOST"; };
    one.event.name = fmt::format("MEMORY_COPY_{}_TO_{} Agent {} to Agent {}", kind(one.from), kind(one.agent),
                                 node_of(one.process, one.from), node_of(one.process, one.agent));
    one.event.device = integer_of(node_of(one.process, is_gpu(one.from) ? one.from : one.agent));
  }

  std::string operation_of(const Told& one) const {
    const auto kind = operations_.find({one.process, one.kind});
    const std::optional<std::int64_t> place = integer_of(one.of);
    if (kind == operations_.end() || !place || *place < 0 || *place >= std::ssize(kind->second))
      return "call " + one.of;
    return kind->second[static_cast<std::size_t>(*place)];
  }

  std::string gpu_;
  std::map<Key, Agent> agents_;         // by handle
  std::map<Key, std::string> kernels_;  // by number
  std::map<Key, std::vector<std::string>> operations_;
  std::deque<Told> told_;
};

}  // namespace

bool is_rocprof_json(std::string_view text) {
  return is_json(text) && text.substr(0, 4096).find(root_key) != std::string_view::npos;
}

Profile read_rocprof_json(std::string_view text, const std::string& name, const Labels& labels) {
  return profile_of(name, labels, [text](const TakeEvent& take) {
    RocprofJson json;
    const std::optional<JsonFault> fault =
        read_json_records(text, [&json](const JsonRecord& record) { json.take(record); });
    TraceHead head = json.tell(take);
    if (fault) head.cut_off = fmt::format("line {}: {}", fault->at.line, fault->what);
    return head;
  });
}

}  // namespace c3sim::calibrate
