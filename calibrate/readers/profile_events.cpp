#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <unordered_map>
#include <utility>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/profile_reading.h"
#include "sim/config/config.h"
#include "sim/config/files_read.h"
#include "sim/interruption.h"
#include "study/config_folders.h"

namespace c3sim::calibrate {

namespace {

constexpr auto names_file = "communication.yaml";

// Returns one regular expression, ignoring case, that matches wherever one of a list matches.
LogPattern any_of(sim::Section& section, std::string_view key) {
  const std::vector<std::string> patterns = section.texts(key);
  const std::string all = fmt::format("(?i)(?:{})", fmt::join(patterns, ")|(?:"));
  LogPattern any(all.c_str());
  if (patterns.empty() || !any.is_valid()) {
    section.fault(key, "regular expressions as RE2 has them are accepted, at least one");
    return LogPattern("$.");
  }
  return any;
}

// WorkKinds tells the kinds of kernels, copies and fills by their names. It looks at each name once.
class WorkKinds {
 public:
  struct Known {
    WorkKind kind = WorkKind::memory;
    std::string_view communicates{};  // class of a collective ("NCCL or RCCL"); valid as long as this object
  };

  // Reads configs/communication.yaml in the first folder of configurations that has it. Throws sim::ConfigError if
  // there is none or it cannot be read.
  WorkKinds() {
    const std::optional<std::filesystem::path> file = sim::first_file(study::config_folders(), names_file);
    if (!file)
      throw sim::ConfigError({{names_file, "", "is in no folder of configurations: $C3SIM_CONFIGS may name one"}});
    sim::Config config = sim::Config::from_file(*file);
    sim::Section root = config.root();
    never_ = any_of(root, "never");
    for (sim::Section& one : root.list("classes")) {
      std::string name = one.text("name");
      classes_.push_back({std::move(name), any_of(one, "kernels")});
    }
    config.finish();
  }

  const Known& of(EventKind kind, const std::string& name) {
    static constexpr Known fill{WorkKind::memory};
    if (kind == EventKind::fill) return fill;
    const auto known = known_.find(name);
    if (known != known_.end()) return known->second;
    return known_.emplace(name, kind == EventKind::copy ? of_copy(name) : of_kernel(name)).first->second;
  }

 private:
  struct Class {
    std::string name;
    LogPattern kernels;
  };

  static Known of_copy(std::string_view name) {
    static const LogPattern within("DtoD|DeviceToDevice|Device -> Device|DEVICE_TO_DEVICE");
    return {within.is_in(name) ? WorkKind::memory : WorkKind::host_copy};
  }

  // Libraries and compilers name kernels after what they do. cuBLAS's newer kernels are called nvjet, Tensile's Cijk.
  // Arguments of templates name types that a kernel uses, not what it does.
  Known of_kernel(std::string_view name) const {
    const std::string_view own = name.substr(0, name.find('<'));
    if (!never_->is_in(own)) {
      for (const Class& one : classes_) {
        if (one.kernels.is_in(own)) return {WorkKind::collective, one.name};
      }
    }
    static const LogPattern products(
        "(?i)gemm|nvjet|cutlass|cijk|xmma|wgrad|dgrad|fmha|flash|attn|attention|winograd|implicit_con|_conv_");
    return {products.is_in(name) ? WorkKind::matrix : WorkKind::memory};
  }

  std::optional<LogPattern> never_;
  std::vector<Class> classes_;
  std::unordered_map<std::string, Known> known_;
};

// Returns the kind of a CUDA or HIP call; nothing for calls that neither wait nor make a stream wait.
std::optional<HostCallKind> kind_of_call(std::string_view name) {
  static const LogPattern waits("(?:Device|Stream|Event|Ctx)Synchronize$");
  if (name.ends_with("StreamWaitEvent")) return HostCallKind::wait_for_event;
  return waits.is_in(name) ? std::optional(HostCallKind::synchronise) : std::nullopt;
}

class Gatherer {
 public:
  Gatherer(const std::string& name, const Labels& labels) : labels_(labels) {
    profile_.file = std::filesystem::path(name).filename().string();
  }

  void take(const TraceEvent& event) {
    if (event.kind == EventKind::program_operator) return take_operator(event);
    const std::optional<Span> span = span_of(event);
    if (!span) return;
    switch (event.kind) {
      case EventKind::call:
        return take_call(event, *span);
      case EventKind::stream_wait:
        return take_wait(event, *span);
      case EventKind::step:
        profile_.steps.push_back({event.name, span->begin, span->end});
        return;
      case EventKind::marked_step:
        if (event.device) profile_.marked_steps.push_back({event.name, *event.device, span->begin, span->end});
        return;
      default:
        return take_work(event, *span);
    }
  }

  Profile finish(const TraceHead& head) && {
    static_cast<TraceHead&>(profile_) = head;
    profile_.gpu = printable(head.gpu);
    join_launches();
    join_waits();
    origins_ = {};
    calls_ = {};
    for (const ProfiledWork& work : sim::in_short_steps(profile_.work)) {
      if (work.kind != WorkKind::collective) continue;
      const std::string_view named = kinds_.of(EventKind::kernel, profile_.name_of(work)).communicates;
      profile_.communication[named.empty() ? "as told" : std::string(named)].add(work.line, work.length());
      if (profile_.collective_of(work) != nullptr) continue;
      misunderstand("a collective that is not simulated: " + profile_.known[*work.collective].why_not, work.line,
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
  // An Origin is what an event says of the launch of its work.
  struct Origin {
    std::int64_t correlation = 0;
    std::int64_t external = 0;
    int channels = 0;  // number of workgroups, one per channel; 0: not a number of channels
  };
  // An Operator is the work that an operator requests, as places in Profile::known and in Profile::products.
  struct Operator {
    Place collective{}, product{};
  };
  struct Waiting {
    std::int64_t device, stream, of_stream, asked_by, recorded_by;
    sim::Time begin;
    int line;
  };

  std::optional<Span> span_of(const TraceEvent& event) {
    constexpr std::int64_t longest = 100'000'000'000'000;  // ns, a day
    if (!event.begin || !event.duration || *event.duration > longest) {
      lose("its time is none: ts and dur in microseconds are accepted", event.line);
      return {};
    }
    if (!zero_) zero_ = *event.begin;
    if (std::abs(*event.begin - *zero_) > longest) {
      lose("more than a day from the first event", event.line);
      return {};
    }
    const sim::Time from = std::chrono::nanoseconds(*event.begin - *zero_);
    return Span{from, from + std::chrono::nanoseconds(*event.duration)};
  }

  void take_operator(const TraceEvent& event) {
    if (event.external.value_or(0) == 0 || (!event.collective && !event.product)) return;
    Operator& known = operators_[*event.external];
    if (event.collective) known.collective = place_of(*event.collective);
    if (event.product) known.product = add_product(*event.product);
  }

  void take_work(const TraceEvent& event, const Span& span) {
    if (!event.device || !event.stream)
      return lose("work on a GPU without its device and stream", event.line, span.end - span.begin);
    ProfiledWork& work = profile_.work.emplace_back();
    work.name = name_place(event.name);
    work.line = event.line;
    work.kind = kinds_.of(event.kind, event.name).kind;
    if (const study::Trial* const label = label_of(work.name)) work.kind = kind_of_labelled(*label, work.kind);
    work.stream = static_cast<std::uint32_t>(stream_of(*event.device, *event.stream));
    work.begin = span.begin;
    work.end = span.end;
    if (event.collective) {
      work.kind = WorkKind::collective;
      work.collective = place_of(*event.collective);
    }
    const std::int64_t grid = event.grid.value_or(0);
    const bool is_count = work.kind == WorkKind::collective && grid >= 1 && grid <= models::most_channels;
    origins_.push_back(
        {event.correlation.value_or(0), event.external.value_or(0), is_count ? static_cast<int>(grid) : 0});
  }

  void take_call(const TraceEvent& event, const Span& span) {
    if (!event.correlation) return;
    const std::optional<HostCallKind> kind = kind_of_call(event.name);
    if (kind == HostCallKind::wait_for_event) ++profile_.unnamed_waits;
    calls_.push_back(
        {{span.begin, span.end, kind ? name_place(event.name) : Place(), kind.value_or(HostCallKind::launch)},
         *event.correlation,
         event.external.value_or(0)});
  }

  // The trace has these events with the profiler's option enable_cuda_sync_events.
  void take_wait(const TraceEvent& event, const Span& span) {
    if (!event.stream || !event.wait_stream || !event.recorded_by)
      return misunderstand("a wait of a stream without what it waits for", event.line);
    waits_.push_back({event.device.value_or(0), *event.stream, *event.wait_stream, event.correlation.value_or(0),
                      *event.recorded_by, span.begin, event.line});
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

  // Returns the place of a value in a list without duplicates, and adds the value if it is new.
  template <class Known, class Places>
  static std::size_t place_in(std::vector<Known>& list, Places& places, const Known& one) {
    const auto [known, is_new] = places.try_emplace(one, list.size());
    if (is_new) list.push_back(one);
    return known->second;
  }
  std::size_t name_place(const std::string& name) { return place_in(profile_.names, names_, name); }
  std::size_t place_of(const KnownWork& one) { return place_in(profile_.known, known_, one); }
  std::size_t add_product(const KnownWork& one) {
    profile_.products.emplace_back(place_of(one));
    return profile_.products.size() - 1;
  }

  // Returns the label of a name, or null. Each name is looked up once.
  const study::Trial* label_of(Place name) {
    for (std::size_t next = labelled_.size(); next <= *name; ++next)
      labelled_.push_back(labels_.trial_of(profile_.file, profile_.names[next]));
    return labelled_[*name];
  }

  // A label knows better than the kernel's name what the kernel does.
  static WorkKind kind_of_labelled(const study::Trial& label, WorkKind named) {
    if (std::holds_alternative<study::CollectiveTrial>(label)) return WorkKind::collective;
    if (std::holds_alternative<study::GemmTrial>(label)) return WorkKind::matrix;
    return named == WorkKind::collective ? WorkKind::memory : named;
  }

  // Sets what the work is, from the operator that launched it or else from a label.
  void name_work(ProfiledWork& work, std::array<std::int64_t, 2> externals) {
    const bool communicates = work.kind == WorkKind::collective;
    if (work.collective) return;
    for (const std::int64_t external : externals) {
      const auto known = operators_.find(external);
      if (known == operators_.end()) continue;
      if (communicates) work.collective = known->second.collective;
      if (!communicates) work.product = known->second.product;
      if (work.collective || work.product) return;
    }
    const study::Trial* const label = label_of(work.name);
    if (communicates) {
      const bool is_told = label != nullptr && std::holds_alternative<study::CollectiveTrial>(*label);
      work.collective =
          place_of(is_told ? KnownWork{*label, {}}
                           : KnownWork{{}, "its size is not in the trace, nor in a list labels.csv beside it"});
    } else if (label != nullptr) {
      work.product = add_product({*label, {}});
    }
  }

  void name_channels(ProfiledWork& work, int channels) {
    if (channels == 0 || profile_.collective_of(work) == nullptr) return;
    models::CollectiveSpec spec = *profile_.collective_of(work);
    spec.channels = channels;
    work.collective = place_of({study::CollectiveTrial{spec}, {}});
  }

  // Finds the call that launched each piece of work, and from it the operator. If work begins before its launch, the
  // clocks of host and GPU disagree.
  void join_launches() {
    sort_calls();
    std::vector<bool> launches(calls_.size(), false);
    for (const std::size_t i : sim::short_steps(profile_.work.size())) {
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
      name_channels(work, origins_[i].channels);
    }
    // Calls that neither launch nor wait are part of the host's own time.
    std::vector<Place> order;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (launches[i] || calls_[i].call.kind == HostCallKind::synchronise) order.emplace_back(i);
    }
    std::ranges::stable_sort(order, {}, sim::as_short_steps([&](Place i) { return calls_[*i].call.begin; }));
    std::vector<Place> place(calls_.size());
    profile_.calls.reserve(order.size());
    for (const Place i : sim::in_short_steps(order)) {
      place[*i] = profile_.calls.size();
      profile_.calls.push_back(calls_[*i].call);
    }
    for (ProfiledWork& work : sim::in_short_steps(profile_.work)) {
      if (work.asked) work.asked = place[*work.asked];
    }
  }

  void sort_calls() {
    by_correlation_.reserve(calls_.size());
    for (std::size_t i = 0; i < calls_.size(); ++i) by_correlation_.emplace_back(i);
    std::ranges::stable_sort(by_correlation_, {},
                             sim::as_short_steps([this](Place i) { return calls_[*i].correlation; }));
  }
  // Returns the last call with that correlation id, or nothing.
  Place call_of(std::int64_t correlation) const {
    const auto behind =
        std::ranges::upper_bound(by_correlation_, correlation, {}, [this](Place i) { return calls_[*i].correlation; });
    if (behind == by_correlation_.begin()) return {};
    const Place last = *std::prev(behind);
    return calls_[*last].correlation == correlation ? last : Place();
  }

  void join_waits() {
    for (const Waiting& one : sim::in_short_steps(waits_)) {
      const Place recorded = call_of(one.recorded_by);
      if (!recorded) {
        misunderstand("a wait for an event that nobody recorded in the trace", one.line);
        continue;
      }
      const Place asked = call_of(one.asked_by);
      profile_.waits.push_back({stream_of(one.device, one.stream), stream_of(one.device, one.of_stream),
                                asked ? calls_[*asked].call.begin : one.begin, calls_[*recorded].call.begin});
    }
    std::ranges::stable_sort(profile_.waits, {}, &StreamWait::at);
    profile_.unnamed_waits -= std::min(profile_.unnamed_waits, waits_.size());
  }

  // A stream runs one kernel at a time, except for the moment in which the next is let in early.
  void count_overlaps() {
    constexpr sim::Time let_in = std::chrono::microseconds(20);
    std::vector<sim::Time> busy_until(profile_.streams.size(), sim::Time::min());
    for (const ProfiledWork& work : sim::in_short_steps(profile_.work)) {
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
  std::vector<const study::Trial*> labelled_;  // by place of the name; null: no label
  Profile profile_;
  std::unordered_map<std::string, std::size_t> names_;  // place of each name in Profile::names
  std::map<KnownWork, std::size_t> known_;
  std::optional<std::int64_t> zero_;  // ns
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> streams_;
  WorkKinds kinds_;
  std::vector<Call> calls_;
  std::vector<Place> by_correlation_;                     // calls sorted by correlation id
  std::vector<Origin> origins_;                           // by work
  std::unordered_map<std::int64_t, Operator> operators_;  // by "External id"
  std::vector<Waiting> waits_;
};

}  // namespace

Profile profile_of(const std::string& name, const Labels& labels,
                   const std::function<TraceHead(const TakeEvent& take)>& read) {
  Gatherer gatherer(name, labels);
  const TraceHead head = read([&gatherer](const TraceEvent& event) { gatherer.take(event); });
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
