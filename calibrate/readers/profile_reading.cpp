#include "calibrate/readers/profile_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/readers/kineto.h"
#include "calibrate/readers/log_formats.h"
#include "calibrate/readers/rocprof_trace.h"
#include "calibrate/readers/trace_runs.h"
#include "sim/config/measurement_text.h"

namespace c3sim::calibrate {

namespace {

// Work of one subject: a kernel or copy, or several kernels of one product, from the first one's begin to the last
// one's end.
struct Run {
  Stay stay;
  std::size_t work = 0;            // the first, place in Profile::work
  const study::Trial* trial = {};  // of a product whose operator tells it
  double length() const { return stay.end - stay.begin; }
};

// Who was on the GPU for more than a hundredth of a run's time.
struct Company {
  std::size_t others = 0;
  std::size_t last = 0;  // of them, place among the runs
  bool computes = false;
};

class RunReader {
 public:
  RunReader(const Profile& profile, const std::string& path) : profile_(profile), path_(path), reading_(path) {}

  Reading read() && {
    gather_runs();
    find_company();
    is_told_.resize(runs_.size());
    std::vector<Measurement> concurrent = beside_collectives();
    for (Measurement& one : played_again()) concurrent.push_back(std::move(one));
    add_alone();
    for (Measurement& one : concurrent) reading_.add(std::move(one));
    for (const auto& [why, what] : profile_.misunderstood) {
      if (what.is_lost) reading_.leave_out(what.line, why, fmt::format("{} events", what.events));
    }
    if (!profile_.cut_off.empty()) reading_.fault({}, "", profile_.cut_off);
    return std::move(reading_).take();
  }

 private:
  const models::CollectiveSpec* collective_of(std::size_t run) const {
    const ProfiledWork& work = profile_.work[runs_[run].work];
    return work.collective ? &*work.collective : nullptr;
  }
  std::size_t subject_of(const ProfiledWork& work);
  void gather_runs();
  void find_company();
  void meet(std::size_t one, std::size_t other, double both);
  void add_alone();
  std::vector<Measurement> beside_collectives();
  std::vector<Measurement> played_again();

  const Profile& profile_;
  const std::string& path_;
  LogReading reading_;
  std::vector<Run> runs_;
  std::vector<Company> company_;  // by run
  std::vector<bool> is_told_;     // by run: by what ran beside it
  TraceRuns alone_;
  std::map<std::pair<std::optional<study::Trial>, std::string>, std::size_t> subjects_;
  std::map<std::size_t, KnownWork> works_;  // by subject
};

std::size_t RunReader::subject_of(const ProfiledWork& work) {
  KnownWork known;
  if (work.product) {
    known = profile_.products[*work.product];
  } else if (work.collective) {
    known.trial = study::CollectiveTrial{*work.collective};
  } else if (work.kind == WorkKind::collective) {
    known.why_not = work.why_unknown;
  } else {
    return alone_.kernel(work.name);
  }
  const auto [at, is_new] = subjects_.try_emplace({known.trial, known.why_not}, 0);
  if (is_new) {
    at->second = alone_.add_subject(known.trial ? study::to_string(*known.trial) : known.why_not);
    works_.emplace(at->second, known);
  }
  return at->second;
}

void RunReader::gather_runs() {
  const auto seconds = [this](sim::Time at) { return sim::to_seconds(at - profile_.begin()).value(); };
  std::map<std::size_t, std::size_t> by_product;
  for (std::size_t place = 0; place < profile_.work.size(); ++place) {
    const ProfiledWork& work = profile_.work[place];
    if (work.length() <= sim::Time(0)) continue;
    const Stay stay{static_cast<int>(profile_.streams[work.stream].device), seconds(work.begin), seconds(work.end)};
    if (work.product) {
      const auto [known, is_first] = by_product.try_emplace(*work.product, runs_.size());
      if (!is_first) {
        Stay& whole = runs_[known->second].stay;
        whole.end = std::max(whole.end, stay.end);
        continue;
      }
    }
    runs_.push_back({stay, place, nullptr});
    if (work.product && profile_.products[*work.product].trial)
      runs_.back().trial = &*profile_.products[*work.product].trial;
  }
  for (const Run& run : runs_) {
    const ProfiledWork& work = profile_.work[run.work];
    alone_.add(subject_of(work), run.stay, work.line);
  }
}

void RunReader::meet(std::size_t one, std::size_t other, double both) {
  constexpr double share = 0.01;  // as is_beside_others has it
  if (both <= share * runs_[one].length()) return;
  const WorkKind kind = profile_.work[runs_[other].work].kind;
  ++company_[one].others;
  company_[one].last = other;
  company_[one].computes |= kind == WorkKind::matrix || kind == WorkKind::memory;
}

// Where more are at work at once than streams could want, nobody is alone or one of two.
void RunReader::find_company() {
  constexpr std::size_t most = 32;
  company_.resize(runs_.size());
  std::vector<std::size_t> order(runs_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [this](std::size_t i) { return std::pair(runs_[i].stay.gpu, runs_[i].stay.begin); });
  std::vector<std::size_t> active;
  for (const std::size_t here : order) {
    const Stay& stay = runs_[here].stay;
    std::erase_if(
        active, [&](std::size_t one) { return runs_[one].stay.gpu != stay.gpu || runs_[one].stay.end <= stay.begin; });
    for (const std::size_t one : active) {
      const double both = std::min(runs_[one].stay.end, stay.end) - stay.begin;
      meet(here, one, both);
      meet(one, here, both);
    }
    if (active.size() < most) active.push_back(here);
  }
}

void RunReader::add_alone() {
  for (const TraceRuns::Alone& one : alone_.alone(reading_, is_told_)) {
    const auto& [median, low, high] = one.seconds;
    const auto known = works_.find(one.subject);
    if (known == works_.end()) {
      reading_.add(NamedRuns{one.words, "", one.line, one.runs, median, low, high, one.all});
      continue;
    }
    if (!known->second.trial) {
      reading_.leave_out(one.line, known->second.why_not, fmt::format("run {} times", one.runs), one.all);
      continue;
    }
    const study::Trial& trial = *known->second.trial;
    const bool waits = std::holds_alternative<study::CollectiveTrial>(trial);
    Measurement measurement;
    measurement.line = one.line;
    measurement.role = waits ? Role::predict : Role::unlisted;
    measurement.group = fmt::format("profiler: {}", study::kind_of(trial));
    measurement.trial = trial;
    measurement.holds_waits = waits;
    for (const std::size_t place : one.places) {
      if (waits) measurement.runs.push_back({runs_[place].work, runs_[place].length()});
    }
    measurement.seen.push_back({.figure = study::Figure::kernel_time, .value = median, .low = low, .high = high});
    reading_.add(std::move(measurement));
  }
}

Measurement of_runs(int line, std::string group, study::Trial trial, study::Figure figure,
                    std::vector<TracedRun> runs) {
  std::vector<double> values;
  for (const TracedRun& run : runs) values.push_back(run.value);
  const auto [median, low, high] = percentiles_of(std::move(values));
  Measurement one;
  one.line = line;
  one.role = Role::predict;
  one.group = std::move(group);
  one.trial = std::move(trial);
  one.holds_waits = true;
  one.runs = std::move(runs);
  one.seen.push_back({.figure = figure, .value = median, .low = low, .high = high});
  return one;
}

// GEMMs with one collective and nothing else beside them: a pair, where that collective had nothing else beside it
// either, as long after it or before it as in the median; or one of several that the collective outlasts.
std::vector<Measurement> RunReader::beside_collectives() {
  struct Pair {
    int line = 0;
    std::vector<TracedRun> runs;
    std::vector<double> delays;
  };
  std::map<std::tuple<models::GemmShape, models::CollectiveSpec, bool, bool>, Pair> pairs;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
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
    if (pair.runs.empty()) pair.line = profile_.work[runs_[i].work].line;
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
    measurements.push_back(of_runs(pair.line, only_two ? "profiler: pair" : "profiler: GEMM beside a longer collective",
                                   trial, study::Figure::kernel_time, std::move(pair.runs)));
    if (collective.gpus > 0) measurements.back().assignments = {fmt::format("gpus={}", collective.gpus)};
  }
  return measurements;
}

// The run as it would be with collectives as they are simulated: of each kind the median beside computation, and all.
std::vector<Measurement> RunReader::played_again() {
  std::map<models::CollectiveKind, std::vector<TracedRun>> beside;
  int gpus = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
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

}  // namespace

Reading reading_of(Profile profile, const std::string& path) {
  Reading reading = RunReader(profile, path).read();
  reading.gpu = profile.gpu;
  reading.profile = std::move(profile);
  return reading;
}

std::vector<Profile> read_profiles(std::span<const std::filesystem::path> files) {
  std::vector<Profile> profiles;
  std::vector<std::string> of_rocprof;
  std::filesystem::path first;
  for (const std::filesystem::path& file : files) {
    std::string text = sim::read_measurement_text(file);
    if (is_rocprof_kernel_trace(text) || is_rocprof_copy_trace(text) || is_rocprof_call_trace(text)) {
      if (of_rocprof.empty()) first = file;
      of_rocprof.push_back(std::move(text));
    } else {
      profiles.push_back(read_kineto(text, file.string(), Labels::beside(file)));
    }
  }
  if (of_rocprof.empty()) return profiles;
  LogReading log(first.string());
  const std::vector<std::string_view> texts(of_rocprof.begin(), of_rocprof.end());
  profiles.push_back(read_rocprof_run(texts, log, Labels::beside(first)));
  return profiles;
}

namespace {

// A trace of PyTorch's profiler; labels are those beside it.
Reading read_torch_trace(std::string_view text, const std::string& path) {
  try {
    return reading_of(read_kineto(text, path, Labels::beside(path)), path);
  } catch (const sim::ConfigError& error) {
    Reading reading;
    reading.faults = error.faults();
    return reading;
  }
}

// A trace of rocprofv3, of kernels or copies, by itself; likewise.
Reading read_rocprof_trace(std::string_view text, const std::string& path) {
  LogReading log(path);
  Reading reading;
  try {
    reading = reading_of(read_rocprof_run({&text, 1}, log, Labels::beside(path)), path);
  } catch (const sim::ConfigError&) {
    log.fault({}, "", "no work on a GPU: rows of dispatches or copies are accepted below their columns");
  }
  const Reading told = std::move(log).take();
  reading.faults.insert(reading.faults.begin(), told.faults.begin(), told.faults.end());
  return reading;
}

}  // namespace

const LogFormat rocprof_kernel_trace{"rocprofv3 kernel trace",
                                     "times of kernels by name, from rocprofv3 --kernel-trace", is_rocprof_kernel_trace,
                                     read_rocprof_trace};

const LogFormat rocprof_copy_trace{"rocprofv3 memory copy trace", "times of copies, from rocprofv3 --memory-copy-trace",
                                   is_rocprof_copy_trace, read_rocprof_trace};

const LogFormat torch_trace{"PyTorch profiler", "matrix products and collectives, from export_chrome_trace", is_kineto,
                            read_torch_trace};

}  // namespace c3sim::calibrate
