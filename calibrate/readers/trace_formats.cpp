// Reads traces of PyTorch's profiler and of rocprofv3 as events, and counters of rocprofv3.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/profile_reading.h"
#include "sim/config/config_text.h"
#include "sim/config/measurement_text.h"
#include "study/program/operation.h"

namespace c3sim::calibrate {

namespace {

// Reads a number of microseconds as nanoseconds; returns nothing for other texts.
std::optional<std::int64_t> moment_of(std::string_view text) {
  constexpr std::size_t digits = 3;
  constexpr std::int64_t of_microsecond = 1000;
  constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max() / of_microsecond - 1;
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::optional<std::int64_t> whole = integer_of(text.substr(0, point));
  std::string fraction(point < text.size() ? text.substr(point + 1) : "0");
  const bool is_whole = whole && *whole >= 0 && *whole <= latest;
  if (!is_whole || fraction.empty() || !std::ranges::all_of(fraction, sim::is_digit)) return {};
  fraction.resize(digits, '0');
  return *whole * of_microsecond + *integer_of(fraction);
}

// Returns the elements of each array within the array of that key, and last the elements outside of inner arrays.
std::vector<std::vector<std::string_view>> lists_of(const JsonRecord& event, std::string_view key) {
  std::vector<std::vector<std::string_view>> lists(1);
  for (const JsonValue& value : event.values) {
    if (value.key != key) continue;
    if (value.ends_list) {
      lists.emplace_back();
    } else {
      lists.back().push_back(value.text);
    }
  }
  return lists;
}

using models::Dtype;
using models::GemmShape;

// A ProductOperator has two matrices among its operands, which may have the number of products as first dimension.
struct ProductOperator {
  std::string_view name;
  std::size_t dimensions;  // of each matrix
  std::size_t first;       // first operand that is a matrix
};
constexpr std::array products{ProductOperator{"aten::mm", 2, 0}, ProductOperator{"aten::addmm", 2, 1},
                              ProductOperator{"aten::bmm", 3, 0}, ProductOperator{"aten::baddbmm", 3, 1},
                              ProductOperator{"aten::_scaled_mm", 2, 0}};

// ScalarType names the types of c10/core/ScalarType.h as torch/csrc/distributed spells them; operators prefix some with
// "c10::". `dtype` is set if the name tells how operands are multiplied: "Float" does not, as it may mean fp32 or tf32.
struct ScalarType {
  std::array<std::string_view, 4> names;
  int bytes;
  std::optional<Dtype> dtype{};
};
constexpr std::array scalar_types{
    ScalarType{{"BFloat16"}, 2, Dtype::bf16},
    ScalarType{{"Half"}, 2, Dtype::fp16},
    ScalarType{{"Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e5m2", "Float8_e5m2fnuz"}, 1, Dtype::fp8},
    ScalarType{{"Byte", "Char", "Bool"}, 1},
    ScalarType{{"Short"}, 2},
    ScalarType{{"Int", "Float"}, 4},
    ScalarType{{"Long", "Double"}, 8}};

const ScalarType* scalar_type(std::string_view name) {
  const auto* const found = std::ranges::find_if(scalar_types, [name](const ScalarType& type) {
    return !name.empty() && std::ranges::find(type.names, name) != type.names.end();
  });
  return found == scalar_types.end() ? nullptr : found;
}

// Returns the format of "c10::Half" and the like; nothing for types that no GEMM model has.
std::optional<Dtype> dtype_of(std::string_view operand) {
  constexpr std::string_view space = "c10::";
  const ScalarType* const type = operand.starts_with(space) ? scalar_type(operand.substr(space.size())) : nullptr;
  return type == nullptr ? std::nullopt : type->dtype;
}

KnownWork no_trial(std::string why) { return {{}, std::move(why)}; }

// "_allgather_base" is the operation "allgather" on one buffer.
std::string operation_of(std::string_view name) {
  std::string plain = plain_name(name);
  constexpr std::string_view suffix = "base";
  if (plain.ends_with(suffix)) plain.resize(plain.size() - suffix.size());
  return plain;
}

// PyTorch stores rows, BLAS columns: the product (M x K) (K x N) is a GEMM of size N x M x K. Other events have none.
std::optional<KnownWork> matrix_product_of(const JsonRecord& event) {
  const auto* const product = std::ranges::find(products, event.text("name"), &ProductOperator::name);
  if (product == products.end()) return {};
  const std::vector<std::vector<std::string_view>> operands = lists_of(event, "args.Input Dims");
  const std::vector<std::string_view> types = lists_of(event, "args.Input type").back();
  if (operands.size() - 1 < product->first + 2 || types.size() < product->first + 2) {
    return no_trial(fmt::format("{} without the shapes of its operands: record_shapes=True of the profiler is accepted",
                                product->name));
  }
  std::vector<std::int64_t> sides;  // of both matrices
  for (std::size_t operand = product->first; operand < product->first + 2; ++operand) {
    if (!dtype_of(types[operand]) || types[operand] != types[product->first]) {
      return no_trial(
          fmt::format("{} of {}: GEMMs of bf16, fp16 and fp8 have a model", product->name, printable(types[operand])));
    }
    const std::vector<std::string_view>& dims = operands[operand];
    if (dims.size() != product->dimensions)
      return no_trial(fmt::format("{} of operands of {} dimensions", product->name, dims.size()));
    for (const std::string_view dim : dims) {
      const sim::Parsed<std::int64_t> side = parse_printed_integer(dim);
      if (!side.error.empty() || side.value < 1 || side.value > GemmShape::largest_extent)
        return no_trial(fmt::format("{} of a side of {}", product->name, printable(dim)));
      sides.push_back(side.value);
    }
  }
  const std::size_t dimensions = product->dimensions;
  const bool is_batched = dimensions == 3;
  const std::int64_t m = sides[dimensions - 2];
  const std::int64_t k = sides[dimensions - 1];
  if (k != sides[2 * dimensions - 2] || (is_batched && sides[0] != sides[3]))
    return no_trial(fmt::format("{} of sides that do not fit", product->name));
  GemmShape shape{sides[2 * dimensions - 1], m, k};
  shape.dtype = *dtype_of(types[product->first]);
  if (is_batched) shape.products = sides[0];
  return KnownWork{study::GemmTrial{shape}, {}};
}

// The array of one GPU is the larger of input and output, as in rccl-tests (rccl_tests.cpp).
std::optional<KnownWork> collective_of(const JsonRecord& event) {
  const std::string_view name = event.text("args.Collective name");
  if (name.empty()) return {};
  const TestedCollective* const collective = collective_called(operation_of(name));
  if (collective == nullptr || !collective->kind) return no_trial(printable(name) + " has no model");
  const std::optional<std::int64_t> in = integer_of(event.text("args.In msg nelems"));
  const std::optional<std::int64_t> out = integer_of(event.text("args.Out msg nelems"));
  const std::optional<std::int64_t> ranks = integer_of(event.text("args.Group size"));
  const std::string_view type = event.text("args.dtype");
  if (in.value_or(-1) < 0 || out.value_or(-1) < 0 || ranks.value_or(-1) < 0 || type.empty()) {
    return no_trial(
        fmt::format("{} without its size: 'In msg nelems', 'Out msg nelems', 'dtype' and 'Group size' are accepted",
                    printable(name)));
  }
  const ScalarType* const element = scalar_type(type);
  if (element == nullptr) return no_trial(printable(type) + " is no known type");
  if (*ranks < 2 || *ranks > most_units) return no_trial(fmt::format("a group of {}", *ranks));
  const sim::Bytes size(static_cast<double>(std::max(*in, *out)) * element->bytes);
  if (size.value() < 1.0 || size > study::largest_array) return no_trial("nothing, or too much, is moved");
  models::CollectiveSpec spec{.kind = *collective->kind, .bytes = size, .gpus = static_cast<int>(*ranks)};
  return KnownWork{study::CollectiveTrial{spec}, {}};
}

constexpr std::array<std::pair<std::string_view, EventKind>, 9> categories{
    {{"kernel", EventKind::kernel},
     {"gpu_memcpy", EventKind::copy},
     {"gpu_memset", EventKind::fill},
     {"cuda_runtime", EventKind::call},
     {"cuda_driver", EventKind::call},
     {"cuda_sync", EventKind::stream_wait},
     {"cpu_op", EventKind::program_operator},
     {"user_annotation", EventKind::step},
     {"gpu_user_annotation", EventKind::marked_step}}};

// Returns nothing for events that say nothing about a run.
std::optional<TraceEvent> event_of(const JsonRecord& record) {
  const auto* const category =
      std::ranges::find(categories, record.text("cat"), &std::pair<std::string_view, EventKind>::first);
  if (record.text("ph") != "X" || category == categories.end()) return {};
  const EventKind kind = category->second;
  const std::string_view name = record.text("name");
  const bool is_step = kind == EventKind::step || kind == EventKind::marked_step;
  if (is_step && !name.starts_with("ProfilerStep")) return {};
  if (kind == EventKind::stream_wait && name != "Stream Wait Event") return {};
  const auto integer = [&record](std::string_view key) { return integer_of(record.text(key)); };
  TraceEvent event{.kind = kind,
                   .line = record.at.line,
                   .name = std::string(name),
                   .begin = moment_of(record.text("ts")),
                   .duration = moment_of(record.text("dur")),
                   .device = integer("args.device"),
                   .stream = integer("args.stream"),
                   .correlation = integer("args.correlation"),
                   .external = integer(record.has("args.External id") ? "args.External id" : "args.external id"),
                   .wait_stream = integer("args.wait_on_stream"),
                   .recorded_by = integer("args.wait_on_cuda_event_record_corr_id"),
                   .grid = integer("args.grid"),
                   .collective = collective_of(record)};
  if (kind == EventKind::program_operator) event.product = matrix_product_of(record);
  // In a marked step without a device, the process id is that of the GPU.
  if (kind == EventKind::marked_step && !record.has("args.device")) event.device = integer("pid");
  return event;
}

bool is_kineto(std::string_view text) {
  if (!is_json(text)) return false;
  const std::size_t begin = text.find_first_of("{[");
  const std::string_view first = text.substr(begin, text.find('}'));  // of a list of events
  return text[begin] == '{' ? has_text(text, "\"traceEvents\"") : first.find("\"ph\"") != std::string_view::npos;
}

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

// Returns whether the rows of a CSV of rocprofv3 are kernels, copies or calls; nothing for other texts.
std::optional<EventKind> rows_of_rocprof(std::string_view text) {
  if (has_columns(text, {"Kind", "Kernel_Name", "Start_Timestamp"})) return EventKind::kernel;
  if (has_columns(text, {"Kind", "Direction", "Start_Timestamp"})) return EventKind::copy;
  if (has_columns(text, {"Domain", "Function", "Start_Timestamp"})) return EventKind::call;
  return {};
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

// The JSON of rocprofv3 (--output-format json) holds dispatches, copies and runtime calls of every process of a run,
// and the agents, kernels and operations that they name by numbers. Times are in nanoseconds of one clock. RocprofJson
// gathers records in any order, and hands them over as events once all names are known.
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
        const auto known = kernels_.find({one.process, one.of});
        one.event.name = known == kernels_.end() ? "kernel " + one.of : known->second;
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

// Reads a single trace, with the list of labels beside it.
Reading read_trace(std::string_view text, const std::string& path) {
  LogReading log(path);  // for faults of CSV rows
  Reading reading;
  const bool is_csv = rows_of_rocprof(text).has_value();
  const Labels labels = Labels::beside(path);
  try {
    reading = reading_of(is_csv                  ? read_rocprof_run({&text, 1}, log, labels)
                         : is_rocprof_json(text) ? read_rocprof_json(text, path, labels)
                                                 : read_kineto(text, path, labels),
                         path);
  } catch (const sim::ConfigError& error) {
    if (!is_csv) reading.faults = error.faults();
    if (is_csv) log.fault({}, "", "no work on a GPU: rows of dispatches or copies are accepted below their columns");
  }
  const Reading told = std::move(log).take();
  reading.faults.insert(reading.faults.begin(), told.faults.begin(), told.faults.end());
  return reading;
}

}  // namespace

Profile read_kineto(std::string_view first, const std::string& name, const Labels& labels, const MoreText& more) {
  return profile_of(name, labels, [&](const TakeEvent& take) {
    TraceHead head;
    const auto count = [](std::string_view text, std::int64_t low) {
      const sim::Parsed<std::int64_t> parsed = parse_printed_integer(text);
      const bool is_one = parsed.error.empty() && parsed.value >= low && parsed.value < low + most_units;
      return is_one ? std::optional(static_cast<int>(parsed.value)) : std::nullopt;
    };
    const std::optional<JsonFault> fault = read_json_trace(first, more, [&](const JsonRecord& record) {
      const std::string_view list = std::string_view(record.path).substr(0, record.path.find('['));
      const bool is_element = record.path.find(']') + 1 == record.path.size();  // and not in a nested list
      if (record.path.empty()) {
        head.ranks = count(record.text("distributedInfo.world_size"), 1);
        head.rank = count(record.text("distributedInfo.rank"), 0);
      } else if (list == "deviceProperties" && is_element && head.gpu.empty()) {
        head.gpu = record.text("name");
      } else if ((list == "traceEvents" || list.empty()) && is_element && record.is_whole) {
        if (const std::optional<TraceEvent> event = event_of(record)) take(*event);
      }
    });
    // A list of events may lack its end (Chrome's "JSON Array Format").
    if (fault && !fault->lacks_end_of_list)
      head.cut_off = fmt::format("it is no JSON from byte {} on: it was cut off, or damaged", fault->byte);
    return head;
  });
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

std::vector<Profile> read_profiles(std::span<const std::filesystem::path> files) {
  std::vector<Profile> profiles;
  std::vector<std::string> of_rocprof;
  std::filesystem::path first;
  for (const std::filesystem::path& file : files) {
    sim::MeasurementStream stream(file);
    const std::string begin(stream.next());
    const bool is_csv = rows_of_rocprof(begin).has_value();
    if (!is_csv && !is_json(begin)) {
      throw sim::ConfigError({{file.string(), "",
                               "it is no trace: those of PyTorch's profiler (JSON) and of rocprofv3 (CSV or JSON) are "
                               "accepted"}});
    }
    if (!is_csv && !is_rocprof_json(begin)) {
      const auto more = [&stream] { return stream.next(); };
      profiles.push_back(read_kineto(begin, file.string(), Labels::beside(file), more));
      continue;
    }
    std::string text = begin;
    for (std::string_view piece = stream.next(); !piece.empty(); piece = stream.next()) text += piece;
    if (is_csv) {
      if (of_rocprof.empty()) first = file;
      of_rocprof.push_back(std::move(text));
    } else {
      profiles.push_back(read_rocprof_json(text, file.string(), Labels::beside(file)));
    }
  }
  if (of_rocprof.empty()) return profiles;
  LogReading log(first.string());
  const std::vector<std::string_view> texts(of_rocprof.begin(), of_rocprof.end());
  profiles.push_back(read_rocprof_run(texts, log, Labels::beside(first)));
  return profiles;
}

const LogFormat rocprof_counters{"rocprofv3 counters", "counters of kernels by name, from rocprofv3 --pmc",
                                 [](std::string_view text) {
                                   return has_columns(text, {"Kernel_Name", "Counter_Name", "Counter_Value"});
                                 },
                                 read_counters};

const LogFormat rocprof_kernel_trace{
    "rocprofv3 kernel trace", "times of kernels by name, from rocprofv3 --kernel-trace",
    [](std::string_view text) { return rows_of_rocprof(text) == EventKind::kernel; }, read_trace};

const LogFormat rocprof_copy_trace{"rocprofv3 memory copy trace", "times of copies, from rocprofv3 --memory-copy-trace",
                                   [](std::string_view text) { return rows_of_rocprof(text) == EventKind::copy; },
                                   read_trace};

const LogFormat torch_trace{"PyTorch profiler", "matrix products and collectives, from export_chrome_trace", is_kineto,
                            read_trace};

const LogFormat rocprof_json{"rocprofv3 JSON",
                             "times of kernels and copies by name, from rocprofv3 --output-format json",
                             is_rocprof_json, read_trace};

}  // namespace c3sim::calibrate
