#include "calibrate/readers/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "calibrate/readers/log_text.h"
#include "calibrate/readers/torch_operator.h"
#include "calibrate/readers/work_kind.h"
#include "sim/config/config_error.h"
#include "sim/config/config_text.h"

namespace c3sim::calibrate {

namespace {

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

class Gatherer {
 public:
  Gatherer(const std::string& name, const Labels& labels) : labels_(labels) {
    profile_.file = std::filesystem::path(name).filename().string();
  }

  void take(const KinetoEvent& event) {
    if (event.phase != "X") return;
    const std::string& category = event.category;
    if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") return take_work(event);
    if (category == "cuda_runtime" || category == "cuda_driver") return take_call(event);
    if (category == "cuda_sync") return take_wait(event);
    if (category == "cpu_op") return take_operator(event);
    if (category == "user_annotation" && event.name.starts_with("ProfilerStep")) {
      if (const std::optional<Span> span = span_of(event))
        profile_.steps.push_back({event.name, span->begin, span->end});
    }
    if (category == "gpu_user_annotation" && event.name.starts_with("ProfilerStep")) take_mark(event);
  }

  Profile finish(const KinetoHead& head) && {
    profile_.gpu = printable(head.gpu);
    profile_.cut_off = head.cut_off;
    const sim::Parsed<std::int64_t> ranks = parse_printed_integer(head.ranks);
    if (ranks.error.empty() && ranks.value > 0 && ranks.value <= 4096) profile_.ranks = static_cast<int>(ranks.value);
    const sim::Parsed<std::int64_t> rank = parse_printed_integer(head.rank);
    if (rank.error.empty() && rank.value >= 0 && rank.value < 4096) profile_.rank = static_cast<int>(rank.value);
    join_launches();
    join_waits();
    for (std::size_t i = 0; i < grids_.size(); ++i) {
      const bool is_count = grids_[i] && *grids_[i] >= 1 && *grids_[i] <= models::most_channels;
      if (profile_.work[i].collective && is_count) profile_.work[i].collective->channels = static_cast<int>(*grids_[i]);
    }
    for (const ProfiledWork& work : profile_.work) {
      if (work.kind != WorkKind::collective) continue;
      const std::string_view named = kinds_.of("kernel", work.name).communicates;
      CommunicationClass& one = profile_.communication[named.empty() ? "as told" : std::string(named)];
      ++one.kernels;
      one.time += work.length();
      if (!work.collective)
        misunderstand("a collective that is not simulated: " + work.why_unknown, work.line, work.length());
    }
    std::ranges::stable_sort(profile_.work, {}, &ProfiledWork::begin);
    std::ranges::stable_sort(profile_.steps, {}, &ProfiledStep::begin);
    count_overlaps();
    return std::move(profile_);
  }

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
    int line;
  };

  std::optional<Span> span_of(const KinetoEvent& event) {
    constexpr std::int64_t longest = 100'000'000'000;  // us, a day
    const std::optional<Moment> begin = moment_of(event.begin);
    const std::optional<Moment> duration = moment_of(event.duration);
    if (!begin || !duration || duration->whole > longest) {
      lose("its time is none: ts and dur in microseconds are accepted", event.line);
      return {};
    }
    if (!zero_) zero_ = begin->whole;
    if (std::abs(begin->whole - *zero_) > longest) {
      lose("more than a day from the first event", event.line);
      return {};
    }
    using std::chrono::microseconds;
    const sim::Time from = microseconds(begin->whole - *zero_) + sim::Time(begin->fraction);
    return Span{from, from + microseconds(duration->whole) + sim::Time(duration->fraction)};
  }

  // Of the process that stands for a GPU, where it does not say the device itself.
  void take_mark(const KinetoEvent& event) {
    const std::optional<Span> span = span_of(event);
    const std::optional<std::int64_t> device = integer_of(event.device.empty() ? event.process : event.device);
    if (span && device) profile_.marked_steps.push_back({event.name, *device, span->begin, span->end});
  }

  void take_operator(const KinetoEvent& event) {
    const std::optional<std::int64_t> external = integer_of(event.external);
    if (!external || *external == 0) return;
    if (const std::optional<KnownWork> known = collective_of(event)) collectives_[*external] = *known;
    if (const std::optional<KnownWork> known = matrix_product_of(event)) {
      products_[*external] = profile_.products.size();
      profile_.products.push_back(*known);
    }
  }

  void take_work(const KinetoEvent& event) {
    const std::optional<Span> span = span_of(event);
    if (!span) return;
    const std::optional<std::int64_t> device = integer_of(event.device);
    const std::optional<std::int64_t> stream = integer_of(event.stream);
    if (!device || !stream) {
      return lose("work on a GPU without its device and stream", event.line, span->end - span->begin);
    }
    ProfiledWork& work = profile_.work.emplace_back();
    work.name = event.name;
    work.line = event.line;
    work.kind = kinds_.of(event.category, work.name).kind;
    if (const study::Trial* const label = label_of(work.name)) work.kind = kind_of_labelled(*label, work.kind);
    work.stream = stream_of(*device, *stream);
    work.begin = span->begin;
    work.end = span->end;
    work.correlation = integer_of(event.correlation).value_or(0);
    if (!event.collective.empty()) {
      work.kind = WorkKind::collective;
      name_collective(work, *collective_of(event));
    }
    externals_.push_back(integer_of(event.external).value_or(0));
    grids_.push_back(integer_of(event.grid));
  }

  void take_call(const KinetoEvent& event) {
    const std::optional<Span> span = span_of(event);
    const std::optional<std::int64_t> correlation = integer_of(event.correlation);
    if (!span || !correlation) return;
    const std::optional<HostCallKind> kind = kind_of_call(event.name);
    by_correlation_[*correlation] = {span->begin, span->end, integer_of(event.external).value_or(0), calls_.size()};
    if (kind == HostCallKind::wait_for_event) ++profile_.unnamed_waits;
    calls_.push_back(
        {{kind.value_or(HostCallKind::launch), kind ? event.name : "", span->begin, span->end}, *correlation});
  }

  // Written with the profiler's option enable_cuda_sync_events.
  void take_wait(const KinetoEvent& event) {
    if (event.name != "Stream Wait Event") return;
    const std::optional<Span> span = span_of(event);
    const auto stream = integer_of(event.stream);
    const auto of = integer_of(event.wait_stream);
    const auto recorded_by = integer_of(event.recorded_by);
    if (!span) return;
    if (!stream || !of || !recorded_by)
      return misunderstand("a wait of a stream without what it waits for", event.line);
    waits_.push_back({integer_of(event.device).value_or(0), *stream, *of, integer_of(event.correlation).value_or(0),
                      *recorded_by, *span, event.line});
  }

  void misunderstand(const std::string& why, int line, sim::Time time = sim::Time(0)) {
    profile_.misunderstood[why].add(line, time);
  }
  void lose(const std::string& why, int line, sim::Time time = sim::Time(0)) {
    misunderstand(why, line, time);
    profile_.misunderstood[why].is_lost = true;
  }

  std::size_t stream_of(std::int64_t device, std::int64_t stream) {
    const auto [known, is_new] = streams_.try_emplace({device, stream}, profile_.streams.size());
    if (is_new) profile_.streams.push_back({device, stream});
    return known->second;
  }

  // A list of labels, where it knows the name; each name is looked for once.
  const study::Trial* label_of(const std::string& name) {
    const auto known = labelled_.find(name);
    if (known != labelled_.end()) return known->second;
    return labelled_.emplace(name, labels_.trial_of(profile_.file, name)).first->second;
  }

  // Who labels a kernel knows better than its name what it does.
  static WorkKind kind_of_labelled(const study::Trial& label, WorkKind named) {
    if (std::holds_alternative<study::CollectiveTrial>(label)) return WorkKind::collective;
    if (std::holds_alternative<study::GemmTrial>(label)) return WorkKind::matrix;
    return named == WorkKind::collective ? WorkKind::memory : named;
  }

  // What the operator says that launched it, or else a list of labels.
  void name_work(ProfiledWork& work, std::array<std::int64_t, 2> externals) {
    const bool communicates = work.kind == WorkKind::collective;
    if (communicates && (work.collective || !work.why_unknown.empty())) return;
    for (const std::int64_t external : externals) {
      const auto collective = collectives_.find(external);
      const auto product = products_.find(external);
      if (communicates && collective != collectives_.end()) return name_collective(work, collective->second);
      if (!communicates && product != products_.end()) {
        work.product = product->second;
        return;
      }
    }
    const study::Trial* const label = label_of(work.name);
    if (communicates) {
      const auto* const labelled = label == nullptr ? nullptr : std::get_if<study::CollectiveTrial>(label);
      if (labelled == nullptr) {
        work.why_unknown = "its size is not in the trace, nor in a list labels.csv beside it";
      } else {
        work.collective = labelled->spec;
      }
    } else if (label != nullptr && std::holds_alternative<study::GemmTrial>(*label)) {
      work.product = profile_.products.size();
      profile_.products.push_back({*label, {}});
    }
  }

  void name_collective(ProfiledWork& work, const KnownWork& known) {
    work.why_unknown = known.why_not;
    if (known.trial) work.collective = std::get<study::CollectiveTrial>(*known.trial).spec;
  }

  // Which call launched what; collectives by the operator that did. Clocks of host and GPU that do not agree show where
  // work begins before it is launched.
  void join_launches() {
    std::vector<bool> launches(calls_.size(), false);
    for (std::size_t i = 0; i < profile_.work.size(); ++i) {
      ProfiledWork& work = profile_.work[i];
      const auto call = by_correlation_.find(work.correlation);
      const bool is_known = work.correlation != 0 && call != by_correlation_.end();
      if (!is_known)
        misunderstand("work on a GPU whose launch is not in the trace: it keeps its time", work.line, work.length());
      if (is_known) work.asked = call->second.begin;
      if (is_known && work.begin < call->second.begin) {
        misunderstand("work on a GPU that begins before it was launched: its launch is left out", work.line,
                      work.length());
      } else if (is_known) {
        work.launch = call->second.place;
        launches[call->second.place] = true;
      }
      name_work(work, {externals_[i], is_known ? call->second.external : 0});
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

  void join_waits() {
    for (const Waiting& one : waits_) {
      const auto recorded = by_correlation_.find(one.recorded_by);
      if (recorded == by_correlation_.end()) {
        misunderstand("a wait for an event that nobody recorded in the trace", one.line);
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
  void count_overlaps() {
    constexpr sim::Time let_in = std::chrono::microseconds(20);
    std::vector<sim::Time> busy_until(profile_.streams.size(), sim::Time::min());
    for (const ProfiledWork& work : profile_.work) {
      sim::Time& until = busy_until[work.stream];
      if (until > work.begin + let_in) {
        misunderstand(
            "work that begins while its own stream is busy: two GPUs under one id, or a clock that ran backwards",
            work.line, std::min(until, work.end) - work.begin);
      }
      until = std::max(until, work.end);
    }
  }

  const Labels& labels_;
  std::unordered_map<std::string, const study::Trial*> labelled_;  // by name; null: not
  Profile profile_;
  std::optional<std::int64_t> zero_;  // us
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> streams_;
  WorkKinds kinds_;
  std::vector<std::pair<HostCall, std::int64_t>> calls_;  // and their correlation
  std::unordered_map<std::int64_t, Call> by_correlation_;
  std::vector<std::int64_t> externals_;                      // by work
  std::vector<std::optional<std::int64_t>> grids_;           // by work: workgroups, of which a channel is one
  std::unordered_map<std::int64_t, KnownWork> collectives_;  // by "External id" of their operators
  std::unordered_map<std::int64_t, std::size_t> products_;   // likewise: places in Profile::products
  std::vector<Waiting> waits_;
};

}  // namespace

bool is_kineto(std::string_view text) {
  text = sim::without_byte_order_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '{') return false;
  return text.find("\"traceEvents\"") != std::string_view::npos;
}

Profile read_kineto(std::string_view text, const std::string& name, const Labels& labels) {
  return profile_of(name, labels, [text](const auto& take) { return read_kineto_events(text, take); });
}

Profile profile_of(const std::string& name, const Labels& labels, const HandOver& read) {
  Gatherer gatherer(name, labels);
  const KinetoHead head = read([&gatherer](const KinetoEvent& event) { gatherer.take(event); });
  Profile profile = std::move(gatherer).finish(head);
  if (profile.work.empty()) {
    std::string what = profile.cut_off.empty() ? "" : profile.cut_off + "; ";
    what += "no work on a GPU: events of the category kernel are accepted";
    for (const auto& [why, lost] : profile.misunderstood) what += fmt::format("; {} events: {}", lost.events, why);
    throw sim::ConfigError({{name, "", std::move(what)}});
  }
  return profile;
}

}  // namespace c3sim::calibrate
