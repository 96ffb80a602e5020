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

#include "calibrate/readers/kineto_events.h"
#include "calibrate/readers/log_text.h"
#include "calibrate/readers/work_kind.h"
#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "sim/interruption.h"

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
    name_channels();
    origins_ = {};
    calls_ = {};
    for (const ProfiledWork& work : profile_.work) {
      steps_.note();
      if (work.kind != WorkKind::collective) continue;
      const std::string_view named = kinds_.of("kernel", profile_.name_of(work)).communicates;
      CommunicationClass& one = profile_.communication[named.empty() ? "as told" : std::string(named)];
      ++one.kernels;
      one.time += work.length();
      if (profile_.collective_of(work) != nullptr) continue;
      misunderstand("a collective that is not simulated: " + profile_.collectives[*work.collective].why_not, work.line,
                    work.length());
    }
    profile_.work.shrink_to_fit();
    if (!std::ranges::is_sorted(profile_.work, {}, &ProfiledWork::begin))
      std::ranges::stable_sort(profile_.work, {}, sim::as_short_steps(&ProfiledWork::begin));
    std::ranges::stable_sort(profile_.steps, {}, &ProfiledStep::begin);
    count_overlaps();
    return std::move(profile_);
  }

 private:
  struct Span {
    sim::Time begin, end;
  };
  struct Call {
    HostCall call;
    std::int64_t correlation = 0;
    std::int64_t external = 0;
  };
  // What work says of where it comes from.
  struct Origin {
    std::int64_t correlation = 0;
    std::int64_t external = 0;
    int channels = 0;  // workgroups, of which a channel is one; 0: none that could be
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
    if (const std::optional<KnownWork> known = collective_of(event)) collectives_[*external] = place_of(*known);
    if (const std::optional<KnownWork> known = matrix_product_of(event)) products_[*external] = add_product(*known);
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
    work.name = name_place(event.name);
    work.line = event.line;
    work.kind = kinds_.of(event.category, event.name).kind;
    if (const study::Trial* const label = label_of(work.name)) work.kind = kind_of_labelled(*label, work.kind);
    work.stream = static_cast<std::uint32_t>(stream_of(*device, *stream));
    work.begin = span->begin;
    work.end = span->end;
    if (!event.collective.empty()) {
      work.kind = WorkKind::collective;
      work.collective = place_of(*collective_of(event));
    }
    const std::int64_t grid = integer_of(event.grid).value_or(0);
    const bool is_count = work.kind == WorkKind::collective && grid >= 1 && grid <= models::most_channels;
    origins_.push_back({integer_of(event.correlation).value_or(0), integer_of(event.external).value_or(0),
                        is_count ? static_cast<int>(grid) : 0});
  }

  void take_call(const KinetoEvent& event) {
    const std::optional<Span> span = span_of(event);
    const std::optional<std::int64_t> correlation = integer_of(event.correlation);
    if (!span || !correlation) return;
    const std::optional<HostCallKind> kind = kind_of_call(event.name);
    if (kind == HostCallKind::wait_for_event) ++profile_.unnamed_waits;
    calls_.push_back(
        {{span->begin, span->end, kind ? name_place(event.name) : Place(), kind.value_or(HostCallKind::launch)},
         *correlation,
         integer_of(event.external).value_or(0)});
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

  // The place of what is kept once.
  template <class Known, class Places>
  static std::size_t place_in(std::vector<Known>& list, Places& places, const Known& one) {
    const auto [known, is_new] = places.try_emplace(one, list.size());
    if (is_new) list.push_back(one);
    return known->second;
  }
  std::size_t name_place(const std::string& name) { return place_in(profile_.names, names_, name); }
  std::size_t place_of(const KnownCollective& one) { return place_in(profile_.collectives, known_collectives_, one); }
  std::size_t place_of(const KnownWork& collective) {
    KnownCollective known{.why_not = collective.why_not};
    if (collective.trial) known.spec = std::get<study::CollectiveTrial>(*collective.trial).spec;
    return place_of(known);
  }
  std::size_t add_product(const KnownWork& one) {
    profile_.products.emplace_back(place_in(profile_.known, known_, one));
    return profile_.products.size() - 1;
  }

  // A list of labels, where it knows the name; each name is looked for once.
  const study::Trial* label_of(Place name) {
    for (std::size_t next = labelled_.size(); next <= *name; ++next)
      labelled_.push_back(labels_.trial_of(profile_.file, profile_.names[next]));
    return labelled_[*name];
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
    if (work.collective) return;
    for (const std::int64_t external : externals) {
      const auto collective = collectives_.find(external);
      const auto product = products_.find(external);
      if (communicates && collective != collectives_.end()) {
        work.collective = collective->second;
        return;
      }
      if (!communicates && product != products_.end()) {
        work.product = product->second;
        return;
      }
    }
    const study::Trial* const label = label_of(work.name);
    if (communicates) {
      const auto* const labelled = label == nullptr ? nullptr : std::get_if<study::CollectiveTrial>(label);
      work.collective =
          labelled == nullptr
              ? place_of(KnownCollective{{}, "its size is not in the trace, nor in a list labels.csv beside it"})
              : place_of(KnownCollective{labelled->spec, {}});
    } else if (label != nullptr && std::holds_alternative<study::GemmTrial>(*label)) {
      work.product = add_product({*label, {}});
    }
  }

  void name_channels() {
    for (std::size_t i = 0; i < profile_.work.size(); ++i) {
      steps_.note();
      ProfiledWork& work = profile_.work[i];
      if (origins_[i].channels == 0 || profile_.collective_of(work) == nullptr) continue;
      KnownCollective known = profile_.collectives[*work.collective];
      known.spec->channels = origins_[i].channels;
      work.collective = place_of(known);
    }
  }

  // Which call launched what; collectives by the operator that did. Clocks of host and GPU that do not agree show where
  // work begins before it is launched.
  void join_launches() {
    sort_calls();
    std::vector<bool> launches(calls_.size(), false);
    for (std::size_t i = 0; i < profile_.work.size(); ++i) {
      steps_.note();
      ProfiledWork& work = profile_.work[i];
      const std::int64_t correlation = origins_[i].correlation;
      if (correlation != 0) work.asked = call_of(correlation);
      if (!work.asked) {
        misunderstand("work on a GPU whose launch is not in the trace: it keeps its time", work.line, work.length());
      } else {
        launches[*work.asked] = true;
        work.begins_before_launch = work.begin < calls_[*work.asked].call.begin;
      }
      if (work.begins_before_launch) {
        misunderstand("work on a GPU that begins before it was launched: its launch is left out", work.line,
                      work.length());
      }
      name_work(work, {origins_[i].external, work.asked ? calls_[*work.asked].external : 0});
    }
    // Calls that neither launch nor wait are the host's own time.
    std::vector<Place> order;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (launches[i] || calls_[i].call.kind == HostCallKind::synchronise) order.emplace_back(i);
    }
    std::ranges::stable_sort(order, {}, sim::as_short_steps([&](Place i) { return calls_[*i].call.begin; }));
    std::vector<Place> place(calls_.size());
    profile_.calls.reserve(order.size());
    for (const Place i : order) {
      steps_.note();
      place[*i] = profile_.calls.size();
      profile_.calls.push_back(calls_[*i].call);
    }
    for (ProfiledWork& work : profile_.work) {
      steps_.note();
      if (work.asked) work.asked = place[*work.asked];
    }
  }

  void sort_calls() {
    by_correlation_.reserve(calls_.size());
    for (std::size_t i = 0; i < calls_.size(); ++i) by_correlation_.emplace_back(i);
    std::ranges::stable_sort(by_correlation_, {},
                             sim::as_short_steps([this](Place i) { return calls_[*i].correlation; }));
  }
  // The last of that correlation; nothing where there is none.
  Place call_of(std::int64_t correlation) const {
    const auto behind =
        std::ranges::upper_bound(by_correlation_, correlation, {}, [this](Place i) { return calls_[*i].correlation; });
    if (behind == by_correlation_.begin()) return {};
    const Place last = *std::prev(behind);
    return calls_[*last].correlation == correlation ? last : Place();
  }

  void join_waits() {
    for (const Waiting& one : waits_) {
      steps_.note();
      const Place recorded = call_of(one.recorded_by);
      if (!recorded) {
        misunderstand("a wait for an event that nobody recorded in the trace", one.line);
        continue;
      }
      const Place asked = call_of(one.asked_by);
      profile_.waits.push_back({stream_of(one.device, one.stream), stream_of(one.device, one.of_stream),
                                asked ? calls_[*asked].call.begin : one.span.begin, calls_[*recorded].call.begin});
    }
    std::ranges::stable_sort(profile_.waits, {}, &StreamWait::at);
    profile_.unnamed_waits -= std::min(profile_.unnamed_waits, waits_.size());
  }

  // A stream does one thing after the other, but for the moment that a kernel is let in early.
  void count_overlaps() {
    constexpr sim::Time let_in = std::chrono::microseconds(20);
    std::vector<sim::Time> busy_until(profile_.streams.size(), sim::Time::min());
    for (const ProfiledWork& work : profile_.work) {
      steps_.note();
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
  std::vector<const study::Trial*> labelled_;  // by place of the name; null: not
  Profile profile_;
  std::unordered_map<std::string, std::size_t> names_;  // their places
  std::map<KnownCollective, std::size_t> known_collectives_;
  std::map<KnownWork, std::size_t> known_;
  std::optional<std::int64_t> zero_;  // us
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> streams_;
  WorkKinds kinds_;
  std::vector<Call> calls_;
  std::vector<Place> by_correlation_;  // calls
  std::vector<Origin> origins_;        // by work
  // By "External id" of their operators, places in Profile::collectives and in Profile::products.
  std::unordered_map<std::int64_t, std::size_t> collectives_, products_;
  std::vector<Waiting> waits_;
  sim::ShortSteps steps_;
};

}  // namespace

bool is_kineto(std::string_view text) {
  text = sim::without_byte_order_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  if (text[begin] == '{') return has_text(text, "\"traceEvents\"");
  const std::string_view first = text.substr(begin, text.find('}'));  // of a list of events
  return text[begin] == '[' && first.find("\"ph\"") != std::string_view::npos;
}

Profile read_kineto(std::string_view text, const std::string& name, const Labels& labels) {
  return read_kineto_pieces(text, {}, name, labels);
}

Profile read_kineto_pieces(std::string_view first, const MoreText& more, const std::string& name,
                           const Labels& labels) {
  return profile_of(name, labels, [&](const auto& take) { return read_kineto_events(first, take, more); });
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
