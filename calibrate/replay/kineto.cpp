#include "calibrate/replay/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/torch_operator.h"
#include "calibrate/replay/work_kind.h"
#include "sim/config/config_error.h"
#include "sim/config/config_text.h"

namespace c3sim::calibrate {

namespace {

using Json = nlohmann::json;

// What of an event counts. Of numbers Text has what was written.
enum class Field {
  phase,
  category,
  name,
  begin,
  duration,
  device,
  stream,
  correlation,
  external,
  wait_stream,
  recorded_by,
  collective,
  in_elements,
  out_elements,
  group,
  type,
  grid,
  count
};
struct FieldName {
  std::string_view key;
  Field field;
  bool in_args;
};
constexpr std::array field_names{FieldName{"ph", Field::phase, false},
                                 FieldName{"cat", Field::category, false},
                                 FieldName{"name", Field::name, false},
                                 FieldName{"ts", Field::begin, false},
                                 FieldName{"dur", Field::duration, false},
                                 FieldName{"device", Field::device, true},
                                 FieldName{"stream", Field::stream, true},
                                 FieldName{"correlation", Field::correlation, true},
                                 FieldName{"External id", Field::external, true},
                                 FieldName{"external id", Field::external, true},
                                 FieldName{"wait_on_stream", Field::wait_stream, true},
                                 FieldName{"wait_on_cuda_event_record_corr_id", Field::recorded_by, true},
                                 FieldName{"Collective name", Field::collective, true},
                                 FieldName{"In msg nelems", Field::in_elements, true},
                                 FieldName{"Out msg nelems", Field::out_elements, true},
                                 FieldName{"Group size", Field::group, true},
                                 FieldName{"dtype", Field::type, true},
                                 FieldName{"grid", Field::grid, true}};

class Event {
 public:
  void clear() {
    for (std::string& text : texts_) text.clear();
  }
  std::string& operator[](Field field) { return texts_[static_cast<std::size_t>(field)]; }
  const std::string& operator[](Field field) const { return texts_[static_cast<std::size_t>(field)]; }
  bool has(Field field) const { return !(*this)[field].empty(); }
  std::optional<std::int64_t> integer(Field field) const {
    const std::string& text = (*this)[field];
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
    return value;
  }

 private:
  std::array<std::string, static_cast<std::size_t>(Field::count)> texts_;
};

// Hands over every event of "traceEvents"; of the rest, the name of the first GPU and the number of ranks.
class Handler final : public Json::json_sax_t {
 public:
  using Take = std::function<void(const Event&)>;
  explicit Handler(Take take) : take_(std::move(take)) {}

  std::string gpu, rank, ranks, error;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return is_wanted() ? add(fmt::to_string(value)) : true; }
  bool number_unsigned(number_unsigned_t value) override { return is_wanted() ? add(fmt::to_string(value)) : true; }
  bool number_float(number_float_t, const string_t& written) override { return add(written); }
  bool string(string_t& value) override { return add(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    if (++depth_ == event_depth) event_.clear();
    field_ = Field::count;
    return true;
  }
  bool end_object() override {
    if (depth_-- == event_depth && part_ == "traceEvents") take_(event_);
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    if (field_ != Field::grid) field_ = Field::count;  // of which the first counts
    return true;
  }
  bool end_array() override {
    --depth_;
    field_ = Field::count;
    return true;
  }
  bool key(string_t& name) override {
    field_ = Field::count;
    if (depth_ == 1) part_ = name;
    if (depth_ == event_depth) in_args_ = name == "args";
    inner_ = depth_ == 2 || depth_ == event_depth ? name : std::string();
    if (part_ != "traceEvents" || depth_ < event_depth || depth_ > event_depth + 1) return true;
    const bool in_args = depth_ > event_depth;
    if (in_args && !in_args_) return true;
    for (const FieldName& one : field_names) {
      if (one.in_args == in_args && one.key == name) field_ = one.field;
    }
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const Json::exception&) override {
    error = fmt::format("it is no JSON from byte {} on: it was cut off, or damaged", at);
    return false;
  }

 private:
  static constexpr int event_depth = 3;  // {"traceEvents": [{

  bool is_wanted() const { return field_ != Field::count || part_ == "distributedInfo"; }
  bool add(const std::string& text) {
    if (field_ != Field::count) {
      event_[field_] = text;
      field_ = Field::count;
    } else if (part_ == "deviceProperties" && inner_ == "name" && gpu.empty()) {
      gpu = text;
    } else if (part_ == "distributedInfo" && depth_ == 2 && inner_ == "world_size") {
      ranks = text;
    } else if (part_ == "distributedInfo" && depth_ == 2 && inner_ == "rank") {
      rank = text;
    }
    return true;
  }

  Take take_;
  Event event_;
  int depth_ = 0;
  std::string part_, inner_;
  bool in_args_ = false;
  Field field_ = Field::count;
};

// Microseconds as they are written, to the picosecond: dates of traces have more digits than a double.
struct Moment {
  std::int64_t whole = 0;     // us
  std::int64_t fraction = 0;  // ps
};
std::optional<Moment> moment_of(std::string_view text) {
  Moment moment;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), moment.whole);
  if (error != std::errc{} || moment.whole < 0) return {};
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (rest.empty()) return moment;
  if (rest.front() != '.' || rest.size() < 2) return {};
  rest.remove_prefix(1);
  constexpr std::size_t digits = 6;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] < '0' || rest[i] > '9') return {};
    if (i < digits) moment.fraction = moment.fraction * 10 + (rest[i] - '0');
  }
  for (std::size_t i = rest.size(); i < digits; ++i) moment.fraction *= 10;
  return moment;
}

// The arguments of a collective, for whom calibrate/readers/torch_operator.h asks.
JsonRecord record_of(const Event& event) {
  JsonRecord record;
  const auto add = [&](const char* key, Field field) {
    if (event.has(field)) record.values.push_back({.key = key, .text = event[field]});
  };
  add("args.collectivename", Field::collective);
  add("args.inmsgnelems", Field::in_elements);
  add("args.outmsgnelems", Field::out_elements);
  add("args.groupsize", Field::group);
  add("args.dtype", Field::type);
  record.values.push_back({.key = "name", .text = event[Field::name]});
  return record;
}

class Gatherer {
 public:
  Gatherer(const std::string& name, const Labels& labels) : labels_(labels) {
    profile_.file = std::filesystem::path(name).filename().string();
  }

  void take(const Event& event);
  Profile finish(const Handler& handler) &&;

 private:
  struct Span {
    sim::Time begin, end;
  };
  struct Call {
    sim::Time begin{0}, end{0};
    std::int64_t external = 0;
    std::size_t place = 0;  // in calls_
  };
  struct Waiting {
    std::int64_t device, stream, of_stream, asked_by, recorded_by;
    Span span;
  };

  std::optional<Span> span_of(const Event& event);
  void take_work(const Event& event);
  void take_call(const Event& event);
  void take_wait(const Event& event);
  void misunderstand(const std::string& why, sim::Time time) {
    Misunderstood& one = profile_.misunderstood[why];
    ++one.events;
    one.time += time;
  }
  std::size_t stream_of(std::int64_t device, std::int64_t stream);
  void name_collective(ProfiledWork& work, const TorchWork& known);
  void join_launches();
  void join_waits();
  void count_overlaps();

  const Labels& labels_;
  Profile profile_;
  std::optional<std::int64_t> zero_;  // us
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> streams_;
  WorkKinds kinds_;
  std::vector<std::pair<HostCall, std::int64_t>> calls_;  // and their correlation
  std::unordered_map<std::int64_t, Call> by_correlation_;
  std::vector<std::int64_t> externals_;                      // by work
  std::vector<std::optional<std::int64_t>> grids_;           // by work: workgroups, of which a channel is one
  std::unordered_map<std::int64_t, TorchWork> collectives_;  // by "External id" of their operators
  std::vector<Waiting> waits_;
};

std::optional<Gatherer::Span> Gatherer::span_of(const Event& event) {
  constexpr std::int64_t longest = 100'000'000'000;  // us, a day
  const std::optional<Moment> begin = moment_of(event[Field::begin]);
  const std::optional<Moment> duration = moment_of(event[Field::duration]);
  if (!begin || !duration || duration->whole > longest) {
    misunderstand("its time is none: ts and dur in microseconds are accepted", sim::Time(0));
    return {};
  }
  if (!zero_) zero_ = begin->whole;
  if (std::abs(begin->whole - *zero_) > longest) {
    misunderstand("more than a day from the first event", sim::Time(0));
    return {};
  }
  using std::chrono::microseconds;
  const sim::Time from = microseconds(begin->whole - *zero_) + sim::Time(begin->fraction);
  return Span{from, from + microseconds(duration->whole) + sim::Time(duration->fraction)};
}

void Gatherer::take(const Event& event) {
  if (event[Field::phase] != "X") return;
  const std::string& category = event[Field::category];
  if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") return take_work(event);
  if (category == "cuda_runtime" || category == "cuda_driver") return take_call(event);
  if (category == "cuda_sync") return take_wait(event);
  if (category == "cpu_op" && event.has(Field::collective)) {
    const std::optional<TorchWork> known = collective_of(record_of(event));
    if (const auto external = event.integer(Field::external); known && external) collectives_[*external] = *known;
  }
  if (category == "user_annotation" && event[Field::name].starts_with("ProfilerStep")) {
    if (const std::optional<Span> span = span_of(event))
      profile_.steps.push_back({event[Field::name], span->begin, span->end});
  }
}

std::size_t Gatherer::stream_of(std::int64_t device, std::int64_t stream) {
  const auto [known, is_new] = streams_.try_emplace({device, stream}, profile_.streams.size());
  if (is_new) profile_.streams.push_back({device, stream});
  return known->second;
}

void Gatherer::name_collective(ProfiledWork& work, const TorchWork& known) {
  work.why_unknown = known.why_not;
  if (known.trial) work.collective = std::get<study::CollectiveTrial>(*known.trial).spec;
}

void Gatherer::take_work(const Event& event) {
  const std::optional<Span> span = span_of(event);
  if (!span) return;
  const std::optional<std::int64_t> device = event.integer(Field::device);
  const std::optional<std::int64_t> stream = event.integer(Field::stream);
  if (!device || !stream) {
    return misunderstand("work on a GPU without its device and stream", span->end - span->begin);
  }
  ProfiledWork& work = profile_.work.emplace_back();
  work.name = event[Field::name];
  work.kind = kinds_.of(event[Field::category], work.name);
  work.stream = stream_of(*device, *stream);
  work.begin = span->begin;
  work.end = span->end;
  work.correlation = event.integer(Field::correlation).value_or(0);
  if (event.has(Field::collective)) {
    work.kind = WorkKind::collective;
    name_collective(work, *collective_of(record_of(event)));
  }
  externals_.push_back(event.integer(Field::external).value_or(0));
  grids_.push_back(event.integer(Field::grid));
}

void Gatherer::take_call(const Event& event) {
  const std::optional<Span> span = span_of(event);
  const std::optional<std::int64_t> correlation = event.integer(Field::correlation);
  if (!span || !correlation) return;
  const std::optional<HostCallKind> kind = kind_of_call(event[Field::name]);
  by_correlation_[*correlation] = {span->begin, span->end, event.integer(Field::external).value_or(0), calls_.size()};
  if (kind == HostCallKind::wait_for_event) ++profile_.unnamed_waits;
  calls_.push_back(
      {{kind.value_or(HostCallKind::launch), kind ? event[Field::name] : "", span->begin, span->end}, *correlation});
}

// Written with the profiler's option enable_cuda_sync_events.
void Gatherer::take_wait(const Event& event) {
  if (event[Field::name] != "Stream Wait Event") return;
  const std::optional<Span> span = span_of(event);
  const auto stream = event.integer(Field::stream);
  const auto of = event.integer(Field::wait_stream);
  const auto recorded_by = event.integer(Field::recorded_by);
  if (!span) return;
  if (!stream || !of || !recorded_by) return misunderstand("a wait of a stream without what it waits for", {});
  waits_.push_back({event.integer(Field::device).value_or(0), *stream, *of,
                    event.integer(Field::correlation).value_or(0), *recorded_by, *span});
}

// Which call launched what; collectives by the operator that did. Clocks of host and GPU that do not agree show where
// work begins before it is launched.
void Gatherer::join_launches() {
  std::vector<bool> launches(calls_.size(), false);
  for (std::size_t i = 0; i < profile_.work.size(); ++i) {
    ProfiledWork& work = profile_.work[i];
    const auto call = by_correlation_.find(work.correlation);
    const bool is_known = work.correlation != 0 && call != by_correlation_.end();
    if (!is_known)
      misunderstand("work on a GPU whose launch is not in the trace: it keeps its time", work.end - work.begin);
    if (is_known && work.begin < call->second.begin) {
      misunderstand("work on a GPU that begins before it was launched: its launch is left out", work.end - work.begin);
    } else if (is_known) {
      work.launch = call->second.place;
      launches[call->second.place] = true;
    }
    if (work.kind != WorkKind::collective || work.collective || !work.why_unknown.empty()) continue;
    for (const std::int64_t external : {externals_[i], is_known ? call->second.external : 0}) {
      const auto operation = collectives_.find(external);
      if (external != 0 && operation != collectives_.end()) name_collective(work, operation->second);
    }
    if (work.collective || !work.why_unknown.empty()) continue;
    const study::Trial* const label = labels_.trial_of(profile_.file, work.name);
    const auto* const labelled = label == nullptr ? nullptr : std::get_if<study::CollectiveTrial>(label);
    if (labelled != nullptr) {
      work.collective = labelled->spec;
    } else {
      work.why_unknown = "its size is not in the trace, nor in a list labels.csv beside it";
    }
  }
  // Calls that neither launch nor wait are the host's own time.
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (launches[i] || calls_[i].first.kind == HostCallKind::synchronise) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return calls_[i].first.begin; });
  std::vector<std::size_t> place(calls_.size());
  for (const std::size_t i : order) {
    place[i] = profile_.calls.size();
    profile_.calls.push_back(calls_[i].first);
  }
  for (ProfiledWork& work : profile_.work) {
    if (work.launch) work.launch = place[*work.launch];
  }
}

void Gatherer::join_waits() {
  for (const Waiting& one : waits_) {
    const auto recorded = by_correlation_.find(one.recorded_by);
    if (recorded == by_correlation_.end()) {
      misunderstand("a wait for an event that nobody recorded in the trace", {});
      continue;
    }
    const auto asked = by_correlation_.find(one.asked_by);
    profile_.waits.push_back({stream_of(one.device, one.stream), stream_of(one.device, one.of_stream),
                              asked == by_correlation_.end() ? one.span.begin : asked->second.begin,
                              recorded->second.begin});
  }
  std::ranges::stable_sort(profile_.waits, {}, &StreamWait::at);
  profile_.unnamed_waits -= std::min(profile_.unnamed_waits, waits_.size());
}

// A stream does one thing after the other, but for the moment that a kernel is let in early.
void Gatherer::count_overlaps() {
  constexpr sim::Time let_in = std::chrono::microseconds(20);
  std::vector<sim::Time> busy_until(profile_.streams.size(), sim::Time::min());
  for (const ProfiledWork& work : profile_.work) {
    sim::Time& until = busy_until[work.stream];
    if (until > work.begin + let_in) {
      misunderstand(
          "work that begins while its own stream is busy: two GPUs under one id, or a clock that ran backwards",
          std::min(until, work.end) - work.begin);
    }
    until = std::max(until, work.end);
  }
}

Profile Gatherer::finish(const Handler& handler) && {
  profile_.gpu = printable(handler.gpu);
  profile_.cut_off = handler.error;
  const sim::Parsed<std::int64_t> ranks = parse_printed_integer(handler.ranks);
  if (ranks.error.empty() && ranks.value > 0 && ranks.value <= 4096) profile_.ranks = static_cast<int>(ranks.value);
  const sim::Parsed<std::int64_t> rank = parse_printed_integer(handler.rank);
  if (rank.error.empty() && rank.value >= 0 && rank.value < 4096) profile_.rank = static_cast<int>(rank.value);
  join_launches();
  join_waits();
  for (std::size_t i = 0; i < grids_.size(); ++i) {
    const bool is_count = grids_[i] && *grids_[i] >= 1 && *grids_[i] <= models::most_channels;
    if (profile_.work[i].collective && is_count) profile_.work[i].collective->channels = static_cast<int>(*grids_[i]);
  }
  for (const ProfiledWork& work : profile_.work) {
    if (work.kind == WorkKind::collective && !work.collective)
      misunderstand("a collective that is not simulated: " + work.why_unknown, work.end - work.begin);
  }
  std::ranges::stable_sort(profile_.work, {}, &ProfiledWork::begin);
  std::ranges::stable_sort(profile_.steps, {}, &ProfiledStep::begin);
  count_overlaps();
  return std::move(profile_);
}

}  // namespace

Profile read_kineto(std::string_view text, const std::string& name, const Labels& labels) {
  Gatherer gatherer(name, labels);
  Handler handler([&gatherer](const Event& event) { gatherer.take(event); });
  text = sim::without_byte_order_mark(text);
  Json::sax_parse(text.begin(), text.end(), &handler);
  Profile profile = std::move(gatherer).finish(handler);
  if (profile.work.empty()) {
    const std::string why = profile.cut_off.empty() ? "" : profile.cut_off + "; ";
    throw sim::ConfigError({{name, "", why + "no work on a GPU: events of the category kernel are accepted"}});
  }
  return profile;
}

}  // namespace c3sim::calibrate
