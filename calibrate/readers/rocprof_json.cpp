#include "calibrate/readers/rocprof_json.h"

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/kineto.h"

namespace c3sim::calibrate {

namespace {

constexpr std::string_view root_key = "rocprofiler-sdk-tool";

// The index of the element that a path leads to, and the name of its list: "a[3].buffer_records.memory_copy[7]".
struct Element {
  std::int64_t process = 0;
  std::string list;  // "buffer_records.memory_copy"
  std::int64_t index = 0;
};
std::optional<Element> element_of(const std::string& path) {
  static const LogPattern form(R"(^[^\[]*\[(\d+)\]\.(.+)\[(\d+)\]$)");
  const LogCells found = form.groups({path});
  if (found.empty()) return {};
  return Element{integer_of(std::string(found[1].text)).value_or(0), std::string(found[2].text),
                 integer_of(std::string(found[3].text)).value_or(0)};
}

std::string text_of(const JsonRecord& record, std::string_view key) { return std::string(record.text(key)); }

// Gathers records in whichever order they come, and tells them as kineto's events.
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

  KinetoHead tell(const std::function<void(const KinetoEvent&)>& take) {
    KinetoHead head;
    head.gpu = gpu_;
    for (Told& one : told_) {
      if (one.list == List::kernels) {
        one.event.name = known(kernels_, one.process, one.of);
        one.event.device = node_of(one.process, one.agent);
      } else if (one.list == List::copies) {
        tell_copy(one);
      } else {
        one.event.name = operation_of(one);
      }
      take(one.event);
    }
    return head;
  }

 private:
  enum class List { kernels, copies, calls };
  using Key = std::pair<std::int64_t, std::string>;  // of a process
  struct Agent {
    std::string node;
    bool is_gpu = false;
  };
  struct Told {
    List list = List::calls;
    std::int64_t process = 0;
    std::string kind, of;     // the kernel, or the operation
    std::string agent, from;  // handles
    KinetoEvent event;
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
    Told told{};
    told.process = at.process;
    if (at.list.ends_with(".kernel_dispatch")) {
      told.list = List::kernels;
      told.event.category = "kernel";
    } else if (at.list.ends_with(".memory_copy")) {
      told.list = List::copies;
      told.event.category = "gpu_memcpy";
    } else if (at.list.find("hip") != std::string::npos && at.list.ends_with("api")) {
      told.event.category = "cuda_runtime";
    } else {
      return;
    }
    if (!tell_times(record, told.event)) return;
    KinetoEvent& event = told.event;
    // Numbers of several processes are kept apart.
    const std::optional<std::int64_t> correlation = integer_of(text_of(record, "correlationid.internal"));
    constexpr std::int64_t most_of_a_process = std::int64_t{1} << 40;
    event.correlation = fmt::to_string(correlation.value_or(0) + at.process * most_of_a_process);
    const bool has_stream = record.has("streamid.handle");
    event.stream = text_of(record, has_stream ? "streamid.handle" : "dispatchinfo.queueid.handle");
    if (event.stream.empty()) event.stream = "0";
    told.kind = text_of(record, "kind");
    told.of = text_of(record, told.list == List::kernels ? "dispatchinfo.kernelid" : "operation");
    told.agent = text_of(record, told.list == List::kernels ? "dispatchinfo.agentid.handle" : "dstagentid.handle");
    told.from = text_of(record, "srcagentid.handle");
    const auto items = parse_printed_integer(record.text("dispatchinfo.gridsize.x"));
    const auto group = parse_printed_integer(record.text("dispatchinfo.workgroupsize.x"));
    if (items.error.empty() && group.error.empty() && group.value > 0)
      event.grid = fmt::to_string(items.value / group.value);
    told_.push_back(std::move(told));
  }

  // False where they are none.
  static bool tell_times(const JsonRecord& record, KinetoEvent& event) {
    const std::optional<std::int64_t> begin = integer_of(text_of(record, "starttimestamp"));
    const std::optional<std::int64_t> end = integer_of(text_of(record, "endtimestamp"));
    if (!begin || !end || *begin < 0 || *end < *begin) return false;
    const auto microseconds = [](std::int64_t nanoseconds) {
      return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
    };
    event.line = record.at.line;
    event.phase = "X";
    event.begin = microseconds(*begin);
    event.duration = microseconds(*end - *begin);
    return true;
  }

  // As the CSV has them: "MEMORY_COPY_DEVICE_TO_DEVICE Agent 4 to Agent 5", of the GPU that it leaves, or that it comes
  // to from the host.
  void tell_copy(Told& one) const {
    const auto is_gpu = [&](const std::string& handle) {
      const auto found = agents_.find({one.process, handle});
      return found == agents_.end() || found->second.is_gpu;
    };
    const auto kind = [&](const std::string& handle) { return is_gpu(handle) ? "DEVICE" : "HOST"; };
    one.event.name = fmt::format("MEMORY_COPY_{}_TO_{} Agent {} to Agent {}", kind(one.from), kind(one.agent),
                                 node_of(one.process, one.from), node_of(one.process, one.agent));
    one.event.device = node_of(one.process, is_gpu(one.from) ? one.from : one.agent);
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
  std::map<Key, std::string> kernels_;  // by their numbers
  std::map<Key, std::vector<std::string>> operations_;
  std::deque<Told> told_;
};

}  // namespace

bool is_rocprof_json(std::string_view text) {
  return is_json(text) && text.substr(0, 4096).find(root_key) != std::string_view::npos;
}

Profile read_rocprof_json(std::string_view text, const std::string& name, const Labels& labels) {
  return profile_of(name, labels, [text](const std::function<void(const KinetoEvent&)>& take) {
    RocprofJson json;
    const std::optional<JsonFault> fault =
        read_json_records(text, [&json](const JsonRecord& record) { json.take(record); });
    KinetoHead head = json.tell(take);
    if (fault) head.cut_off = fmt::format("line {}: {}", fault->at.line, fault->what);
    return head;
  });
}

}  // namespace c3sim::calibrate
