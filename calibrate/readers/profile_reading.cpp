#include "calibrate/readers/profile_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/log_reading.h"
#include "sim/config/config_error.h"
#include "sim/config/measurement_text.h"
#include "sim/interruption.h"

namespace c3sim::calibrate {

namespace {

// A SeenRun is a kernel, a copy, or all kernels of one product from the first begin to the last end.
struct SeenRun {
  Stay stay;
  std::size_t work = 0;            // place of the first kernel in Profile::work
  std::size_t subject = 0;         // place among the subjects
  const study::Trial* trial = {};  // of a product that its operator names
  double length() const { return stay.end - stay.begin; }
};

// A Subject is what several runs have in common, with those of them that were alone on their GPU.
struct Subject {
  std::string words;                 // its name for people
  std::optional<KnownWork> known{};  // from an operator or a list of labels; none: only a name
  std::vector<std::size_t> alone{};  // places among the runs
  std::size_t beside = 0;            // number of runs with company that no other measurement covers
  int first_beside = 0;              // line of the first of these
  double seconds_beside = 0.0;
};

// Needs at least one run.
Percentiles percentiles_of_runs(const std::vector<TracedRun>& runs) {
  std::vector<double> values;
  for (const TracedRun& run : runs) values.push_back(run.value);
  return percentiles_of(std::move(values));
}

Measurement of_runs(int line, std::string group, study::Trial trial, study::Figure figure,
                    std::vector<TracedRun> runs) {
  Measurement one = measurement_of(line, std::move(group), std::move(trial), percentiles_of_runs(runs).as(figure));
  one.role = Role::predict;
  one.holds_waits = true;
  one.runs = std::move(runs);
  return one;
}

class RunReader {
 public:
  RunReader(const Profile& profile, const std::string& path) : profile_(profile), path_(path), reading_(path) {}

  Reading read() && {
    gather_runs();
    std::vector<Stay> stays;
    for (const SeenRun& run : runs_) stays.push_back(run.stay);
    company_ = company_of(stays);
    is_told_.resize(runs_.size());
    std::vector<Measurement> concurrent = beside_collectives();
    for (Measurement& one : played_again()) concurrent.push_back(std::move(one));
    find_alone();
    add_alone();
    for (Measurement& one : concurrent) reading_.add(std::move(one));
    for (const auto& [why, what] : profile_.misunderstood) {
      if (what.is_lost) reading_.leave_out(what.line, why, fmt::format("{} events", what.events));
    }
    if (!profile_.cut_off.empty()) reading_.fault({}, "", profile_.cut_off + ": what comes before is counted");
    return std::move(reading_).take();
  }

 private:
  int line_of(std::size_t run) const { return profile_.work[runs_[run].work].line; }
  const models::CollectiveSpec* collective_of(std::size_t run) const {
    return profile_.collective_of(profile_.work[runs_[run].work]);
  }

  std::size_t subject_of(const ProfiledWork& work) {
    const KnownWork* known = profile_.product_of(work);
    if (known == nullptr && work.collective) known = &profile_.known[*work.collective];
    if (known == nullptr) {
      const auto [at, is_new] = kernels_.try_emplace(*work.name, subjects_.size());
      if (is_new) subjects_.push_back({profile_.name_of(work)});
      return at->second;
    }
    const auto [at, is_new] = works_.try_emplace(*known, subjects_.size());
    if (is_new) subjects_.push_back({known->trial ? study::to_string(*known->trial) : known->why_not, *known});
    return at->second;
  }

  void gather_runs() {
    const auto seconds = [this](sim::Time at) { return sim::to_seconds(at - profile_.begin()).value(); };
    std::map<std::size_t, std::size_t> by_product;
    for (const std::size_t place : sim::short_steps(profile_.work.size())) {
      const ProfiledWork& work = profile_.work[place];
      if (work.length() <= sim::Time(0)) continue;
      const Stay stay{static_cast<int>(profile_.streams[work.stream].device), seconds(work.begin), seconds(work.end),
                      work.computes()};
      if (work.product) {
        const auto [known, is_first] = by_product.try_emplace(*work.product, runs_.size());
        if (!is_first) {
          Stay& whole = runs_[known->second].stay;
          whole.end = std::max(whole.end, stay.end);
          continue;
        }
      }
      runs_.push_back({stay, place, subject_of(work)});
      const KnownWork* const product = profile_.product_of(work);
      if (product != nullptr && product->trial) runs_.back().trial = &*product->trial;
    }
  }

  void find_alone() {
    for (const std::size_t i : sim::short_steps(runs_.size())) {
      Subject& subject = subjects_[runs_[i].subject];
      if (!company_[i].is_there) subject.alone.push_back(i);
      if (!company_[i].is_there || is_told_[i]) continue;
      subject.seconds_beside += runs_[i].length();
      if (subject.beside++ == 0) subject.first_beside = line_of(i);
    }
  }

  void add_alone() {
    for (const Subject& subject : subjects_) {
      if (subject.beside == 0) continue;
      reading_.leave_out(subject.first_beside, "ran beside other work on its GPU",
                         fmt::format("{}, {} of {} times", shown(subject.words), subject.beside,
                                     subject.beside + subject.alone.size()),
                         subject.seconds_beside);
    }
    for (const Subject& subject : subjects_) {
      if (!subject.alone.empty()) add_alone(subject);
    }
  }

  void add_alone(const Subject& subject) {
    std::vector<TracedRun> runs;
    double all = 0.0;
    for (const std::size_t run : sim::in_short_steps(subject.alone)) {
      runs.push_back({runs_[run].work, runs_[run].length()});
      all += runs_[run].length();
    }
    const int line = line_of(subject.alone.front());
    if (!subject.known || !subject.known->trial) {
      const std::string run = fmt::format("run {} times", runs.size());
      return subject.known
                 ? reading_.leave_out(line, subject.known->why_not, run, all)
                 : reading_.leave_out(line, unlabelled, fmt::format("{}, {}", shown(subject.words), run), all);
    }
    const study::Trial& trial = *subject.known->trial;
    Measurement measurement = of_runs(line, fmt::format("profiler: {}", study::kind_of(trial)), trial,
                                      study::Figure::kernel_time, std::move(runs));
    if (const auto* const copy = std::get_if<study::CopyTrial>(&trial)) {
      const double bytes = copy->spec.bytes.value();
      Seen& seen = measurement.seen.front();
      seen = {study::Figure::rate, bytes / seen.value, bytes / *seen.high, bytes / *seen.low, seen.deviations};
    }
    if (!measurement.seen.front().is_within_bounds()) return reading_.leave_out(line, beyond_reason, "", all);
    if (!std::holds_alternative<study::CollectiveTrial>(trial)) {  // their runs do not wait for other ranks
      measurement.role = Role::unlisted;
      measurement.holds_waits = false;
      measurement.runs.clear();
    }
    reading_.add(std::move(measurement));
  }

  // Returns GEMMs whose only company is one collective. If the GEMM is also the collective's only company, they are a
  // pair, with the median delay between their begins; otherwise the GEMM is one of several within the collective.
  std::vector<Measurement> beside_collectives() {
    struct Pair {
      int line = 0;
      std::vector<TracedRun> runs;
      std::vector<double> delays;
    };
    std::map<std::tuple<models::GemmShape, models::CollectiveSpec, bool, bool>, Pair> pairs;
    for (const std::size_t i : sim::short_steps(runs_.size())) {
      const auto* const gemm = runs_[i].trial == nullptr ? nullptr : std::get_if<study::GemmTrial>(runs_[i].trial);
      const Company& company = company_[i];
      if (gemm == nullptr || company.others != 1) continue;
      const std::size_t other = company.last;
      const models::CollectiveSpec* const collective = collective_of(other);
      if (collective == nullptr) continue;
      const Stay& here = runs_[i].stay;
      const Stay& there = runs_[other].stay;
      const bool only_two = company_[other].others == 1 && company_[other].last == i;
      if (!only_two && (here.begin < there.begin || there.end < here.end)) continue;
      Pair& pair = pairs[{gemm->shape, *collective, only_two, here.begin < there.begin}];
      if (pair.runs.empty()) pair.line = line_of(i);
      pair.runs.push_back({runs_[other].work, runs_[i].length()});
      pair.delays.push_back(only_two ? std::abs(here.begin - there.begin) : 0.0);
      is_told_[i] = true;
    }
    std::vector<Measurement> measurements;
    for (auto& [key, pair] : pairs) {
      const auto& [gemm, collective, only_two, gemm_first] = key;
      study::C3Trial trial;
      trial.scenario.gemm = gemm;
      trial.scenario.collective = collective.kind;
      trial.scenario.bytes = collective.bytes;
      trial.scenario.channels = collective.channels;
      trial.scenario.delay = sim::to_time(sim::Seconds(percentiles_of(std::move(pair.delays)).median));
      trial.strategy = gemm_first ? study::Strategy::c3_base : study::Strategy::c3_sp;
      measurements.push_back(of_runs(pair.line,
                                     only_two ? "profiler: pair" : "profiler: GEMM beside a longer collective", trial,
                                     study::Figure::kernel_time, std::move(pair.runs)));
      if (collective.gpus > 0) measurements.back().assignments = {fmt::format("gpus={}", collective.gpus)};
    }
    return measurements;
  }

  // Returns what a replay with simulated collectives has to predict: the time of the whole run and, for each kind of
  // collective, the median time beside computation.
  std::vector<Measurement> played_again() {
    std::map<models::CollectiveKind, std::vector<TracedRun>> beside;
    int gpus = 0;
    for (const std::size_t i : sim::short_steps(runs_.size())) {
      const models::CollectiveSpec* const collective = collective_of(i);
      if (collective == nullptr || !company_[i].computes) continue;
      beside[collective->kind].push_back({runs_[i].work, runs_[i].length()});
      gpus = std::max(gpus, collective->gpus);
      is_told_[i] = true;
    }
    std::vector<Measurement> measurements;
    if (beside.empty()) return measurements;
    const double all = sim::to_seconds(profile_.end() - profile_.begin()).value();
    measurements.push_back(of_runs(0, "profiler: with collectives as simulated", study::ReplayTrial{path_, {}, true},
                                   study::Figure::time, {{0, all}}));
    measurements.back().runs.clear();
    for (auto& [kind, runs] : beside) {
      const int line = profile_.work[runs.front().collective].line;
      measurements.push_back(of_runs(line, "profiler: collectives beside computation",
                                     study::ReplayTrial{path_, kind, true}, study::Figure::time, std::move(runs)));
    }
    gpus = std::max(gpus, profile_.ranks.value_or(0));
    for (Measurement& one : measurements) {
      if (gpus > 0) one.assignments = {fmt::format("gpus={}", gpus)};
    }
    return measurements;
  }

  const Profile& profile_;
  const std::string& path_;
  LogReading reading_;
  std::vector<SeenRun> runs_;
  std::vector<Company> company_;  // by run
  std::vector<bool> is_told_;     // by run: a measurement of concurrent runs covers it
  std::vector<Subject> subjects_;
  std::map<std::size_t, std::size_t> kernels_;  // subjects by place of their name
  std::map<KnownWork, std::size_t> works_;      // subjects by what is known of them
};

// Collectives holds the collectives of one GPU of a trace by specification, each list sorted by begin.
using Collectives = std::map<models::CollectiveSpec, std::vector<ProfiledWork*>>;
void add_collectives(Profile& profile, std::vector<Collectives>& all) {
  std::map<std::int64_t, Collectives> by_device;
  for (ProfiledWork& work : sim::in_short_steps(profile.work)) {
    Collectives& own = by_device[profile.streams[work.stream].device];
    if (const models::CollectiveSpec* const spec = profile.collective_of(work)) own[*spec].push_back(&work);
  }
  for (auto& [device, own] : by_device) all.push_back(std::move(own));
}

// Returns whether waits for other ranks take less than 1% of the run. They must be known for all collectives.
bool hardly_waited(const Profile& profile) {
  sim::Time waited{0};
  for (const ProfiledWork& work : profile.work) {
    if (work.kind != WorkKind::collective) continue;
    if (work.least == ProfiledWork::unknown) return false;
    waited += work.length() - work.least;
  }
  constexpr int hardly = 100;
  return hardly * waited < profile.end() - profile.begin();
}

// Removes runs that waited for other ranks. Returns false if no run is left.
bool take_waits_out(Measurement& one, const Profile& profile) {
  if (one.runs.empty()) {
    one.holds_waits = !hardly_waited(profile);
    return true;
  }
  const auto& work = profile.work;
  if (std::ranges::none_of(one.runs,
                           [&](const TracedRun& run) { return work[run.collective].least != ProfiledWork::unknown; }))
    return true;
  std::erase_if(one.runs, [&](const TracedRun& run) {
    return work[run.collective].length() != work[run.collective].least;  // its rank waited for others
  });
  if (one.runs.empty()) return false;
  one.seen.front() = percentiles_of_runs(one.runs).as(one.seen.front().figure);
  one.group += ", last to come";
  one.holds_waits = false;
  return true;
}

}  // namespace

// Goes through stays by begin: each meets the earlier ones that have not ended.
std::vector<Company> company_of(const std::vector<Stay>& stays) {
  constexpr double share = 0.01;
  constexpr std::size_t most = 32;
  std::vector<std::size_t> order(stays.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, {}, sim::as_short_steps([&stays](std::size_t i) { return std::pair(stays[i].gpu, stays[i].begin); }));
  std::vector<Company> company(stays.size());
  std::vector<double> shared(stays.size());  // seconds
  const auto meet = [&](std::size_t one, std::size_t other, double both) {
    const double much = share * (stays[one].end - stays[one].begin);
    shared[one] += both;
    company[one].is_there = shared[one] > much;
    if (both <= much) return;
    ++company[one].others;
    company[one].last = other;
    company[one].computes |= stays[other].computes;
  };
  std::vector<std::size_t> active;
  for (const std::size_t here : sim::in_short_steps(order)) {
    const Stay& stay = stays[here];
    std::erase_if(active, [&](std::size_t one) { return stays[one].gpu != stay.gpu || stays[one].end <= stay.begin; });
    for (const std::size_t one : active) {
      const double both = std::min(stays[one].end, stay.end) - stay.begin;
      meet(here, one, both);
      meet(one, here, both);
    }
    if (active.size() < most) active.push_back(here);
  }
  return company;
}

Reading reading_of(Profile profile, const std::string& path) {
  Reading reading = RunReader(profile, path).read();
  reading.gpu = profile.gpu;
  reading.profile = std::move(profile);
  return reading;
}

void tell_waits(std::span<Profile* const> profiles) {
  std::set<int> ranks;
  for (const Profile* const one : profiles) {
    if (one->rank && !ranks.insert(*one->rank).second)
      throw sim::ConfigError({{one->file, "", fmt::format("another trace is of rank {}, too", *one->rank)}});
  }
  std::vector<Collectives> all;
  for (Profile* const profile : profiles) add_collectives(*profile, all);
  if (all.size() < 2) return;
  for (const auto& [spec, first] : all.front()) {
    const auto of_rank = [&spec = spec](Collectives& one) -> std::vector<ProfiledWork*>& { return one[spec]; };
    const std::size_t runs = first.size();
    const bool match = std::ranges::all_of(all, [&](Collectives& one) { return of_rank(one).size() == runs; });
    if (!match) {
      constexpr auto why = "collectives of which another rank ran more or fewer: waits are not told apart";
      for (const ProfiledWork* const one : first) profiles.front()->misunderstood[why].add(one->line, sim::Time(0));
      continue;
    }
    for (const std::size_t i : sim::short_steps(first.size())) {
      sim::Time least = sim::Time::max();
      for (Collectives& one : all) least = std::min(least, of_rank(one)[i]->length());
      for (Collectives& one : all) of_rank(one)[i]->least = least;
    }
  }
}

void tell_waits_of_ranks(std::span<Reading> readings) {
  std::map<std::string, std::map<int, std::vector<Reading*>>> runs;  // by GPU and rank
  std::vector<std::vector<Reading*>> together;
  for (Reading& reading : readings) {
    if (!reading.profile) continue;
    if (reading.profile->rank) runs[reading.gpu][*reading.profile->rank].push_back(&reading);
    if (!reading.profile->rank) together.push_back({&reading});
  }
  for (const auto& [gpu, ranks] : runs) {
    const bool once = std::ranges::all_of(ranks, [](const auto& rank) { return rank.second.size() == 1; });
    if (once) together.emplace_back();
    for (const auto& [rank, own] : ranks) {
      if (once) together.back().push_back(own.front());
    }
  }
  for (const std::vector<Reading*>& run : together) {
    std::vector<Profile*> profiles;
    for (Reading* const reading : run) profiles.push_back(&*reading->profile);
    tell_waits(profiles);
    for (Reading* const reading : run) {
      std::erase_if(reading->measurements, [&](Measurement& one) {
        if (!one.holds_waits || take_waits_out(one, *reading->profile)) return false;
        reading->left_out.push_back({one.where(), "its rank waited for another, whose trace tells it"});
        return true;
      });
    }
  }
}

}  // namespace c3sim::calibrate
