#include "calibrate/readers/torch_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/torch_operator.h"
#include "calibrate/readers/trace_runs.h"
#include "sim/config/config_text.h"

namespace c3sim::calibrate {

namespace {

constexpr double microsecond = 1e-6;

class TorchReader {
 public:
  explicit TorchReader(const std::string& name) : reading_(name) {}

  Reading read(std::string_view text) &&;

 private:
  // Work on a GPU, and the operator that asked for it.
  struct GpuEvent {
    Stay stay;
    std::size_t subject = 0;
    std::int64_t asked_by = 0;  // 0: nobody knows
    int line = 0;
  };

  void take(const JsonRecord& record);
  void take_rank(const JsonRecord& trace);
  void take_work(const JsonRecord& record);
  std::optional<Stay> read_stay(const JsonRecord& record);
  std::size_t subject_of(const TorchWork& work);
  void join_operators();
  void record_alone();

  LogReading reading_;
  std::optional<double> zero_;                   // the first moment, in us
  std::map<std::int64_t, TorchWork> operators_;  // by "External id"
  std::vector<GpuEvent> events_;
  TraceRuns runs_;
  std::map<std::pair<std::optional<study::Trial>, std::string>, std::size_t> subjects_;
  std::map<std::size_t, TorchWork> works_;  // by subject
};

std::int64_t external_id(const JsonRecord& record) {
  const sim::Parsed<std::int64_t> parsed = parse_printed_integer(record.text("args.externalid"));
  return parsed.error.empty() ? parsed.value : 0;
}

Reading TorchReader::read(std::string_view text) && {
  const std::optional<JsonFault> fault = read_json_records(text, [this](const JsonRecord& record) { take(record); });
  if (fault) reading_.fault(fault->at, "", fault->what);
  join_operators();
  record_alone();
  if (reading_.empty()) reading_.fault({}, "", "no work on a GPU: events of the category kernel are accepted");
  return std::move(reading_).take();
}

void TorchReader::take(const JsonRecord& record) {
  if (!record.is_whole) return;
  if (record.path.empty()) return take_rank(record);
  if (record.path.starts_with("deviceProperties[")) return reading_.set_gpu(record.text("name"));
  const std::string_view category = record.text("cat");
  if (record.text("ph") != "X") return;  // complete events, with a duration
  if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") return take_work(record);
  if (category != "cpu_op") return;
  std::optional<TorchWork> work = matrix_product_of(record);
  if (!work) work = collective_of(record);
  if (work) operators_[external_id(record)] = std::move(*work);
}

// "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2, ...
void TorchReader::take_rank(const JsonRecord& trace) {
  const sim::Parsed<std::int64_t> rank = parse_printed_integer(trace.text("distributedinfo.rank"));
  if (rank.error.empty() && rank.value >= 0 && rank.value <= most_units)
    reading_.set_rank(static_cast<int>(rank.value));
}

std::optional<Stay> TorchReader::read_stay(const JsonRecord& record) {
  const JsonValue* const begin = record.find("ts");
  const JsonValue* const duration = record.find("dur");
  if (begin == nullptr || duration == nullptr) {
    reading_.fault(record.at, record.path, "ts and dur, in microseconds, are accepted");
    return {};
  }
  constexpr double latest = 1e17;
  constexpr double longest = 3.6e9;
  const auto ts = reading_.number(begin->cell(), 0.0, latest, record.path + ".ts");
  const auto dur = reading_.number(duration->cell(), 0.0, longest, record.path + ".dur");
  const JsonValue* const device = record.find("args.device");
  const auto gpu = device == nullptr ? std::optional<int>(0)
                                     : reading_.integer(device->cell(), 0, most_units, record.path + ".args.device");
  if (!ts || !dur || !gpu) return {};
  if (!zero_) zero_ = *ts;
  const double from = (*ts - *zero_) * microsecond;
  return Stay{*gpu, from, from + *dur * microsecond};
}

void TorchReader::take_work(const JsonRecord& record) {
  const std::optional<Stay> stay = read_stay(record);
  if (!stay || stay->end <= stay->begin) return;
  const std::optional<TorchWork> collective = collective_of(record);
  const std::size_t subject = collective ? subject_of(*collective) : runs_.kernel(record.text("name"));
  events_.push_back({*stay, subject, collective ? 0 : external_id(record), record.at.line});
}

std::size_t TorchReader::subject_of(const TorchWork& work) {
  const auto [known, is_new] = subjects_.try_emplace({work.trial, work.why_not}, 0);
  if (is_new) {
    known->second = runs_.add_subject(work.trial ? study::to_string(*work.trial) : work.why_not);
    works_.emplace(known->second, work);
  }
  return known->second;
}

// Several kernels of one operator are one run, from the first one's begin to the last one's end.
void TorchReader::join_operators() {
  std::map<std::int64_t, GpuEvent> joined;
  for (const GpuEvent& event : events_) {
    const auto asked = operators_.find(event.asked_by);
    if (event.asked_by == 0 || asked == operators_.end()) {
      runs_.add(event.subject, event.stay, event.line);
      continue;
    }
    const auto [known, is_first] = joined.try_emplace(event.asked_by, event);
    if (is_first) known->second.subject = subject_of(asked->second);
    known->second.stay.begin = std::min(known->second.stay.begin, event.stay.begin);
    known->second.stay.end = std::max(known->second.stay.end, event.stay.end);
  }
  for (const auto& [id, event] : joined) runs_.add(event.subject, event.stay, event.line);
}

void TorchReader::record_alone() {
  for (const TraceRuns::Alone& one : runs_.alone(reading_)) {
    const auto& [median, low, high] = one.seconds;
    const auto work = works_.find(one.subject);
    if (work == works_.end()) {
      reading_.add(NamedRuns{one.words, "", one.line, one.runs, median, low, high, one.all});
      continue;
    }
    if (!work->second.trial) {
      reading_.leave_out(one.line, work->second.why_not, fmt::format("run {} times", one.runs), one.all);
      continue;
    }
    const study::Trial& trial = *work->second.trial;
    const bool waits = std::holds_alternative<study::CollectiveTrial>(trial);
    Measurement measurement;
    measurement.line = one.line;
    measurement.role = waits ? Role::predict : Role::unlisted;
    measurement.group = fmt::format("profiler: {}{}", study::kind_of(trial), waits ? ", waits included" : "");
    measurement.trial = trial;
    measurement.holds_waits = waits;
    measurement.seen.push_back({.figure = study::Figure::kernel_time, .value = median, .low = low, .high = high});
    reading_.add(std::move(measurement));
  }
}

}  // namespace

bool is_torch_trace(std::string_view text) {
  text = sim::without_byte_order_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '{') return false;
  return text.find("\"traceEvents\"") != std::string_view::npos;
}

Reading read_torch_trace(std::string_view text, const std::string& name) { return TorchReader(name).read(text); }

}  // namespace c3sim::calibrate
