#include "study/ask/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "models/collectives/algorithm.h"
#include "study/c3/c3_results.h"
#include "study/play/work_bounds.h"
#include "study/program/operation.h"
#include "study/program/scenario.h"

namespace c3sim::study {

namespace {

using models::CollectiveSpec;
using models::SdmaVariant;

Schedule only(Work work, models::CuMask mask = {}) { return {operation_of(std::move(work), mask, "0")}; }

void add(std::vector<sim::Fault>& faults, std::string_view option, std::string what) {
  if (!what.empty()) faults.push_back({std::string(option), {}, std::move(what)});
}

void check_gemm(const models::GemmShape& gemm, const Testbed& testbed, std::vector<sim::Fault>& faults) {
  if (gemm.m > 0 && gemm.n > 0 && gemm.k > 0) {
    const bool has_format = testbed.platform().gpu.gemm.precision(gemm.dtype).has_value();
    return add(faults, has_format ? "gemm" : "dtype", testbed.why_impossible(gemm));
  }
  add(faults, "gemm", models::to_string(gemm) + " has no elements: extents from 1 are accepted");
}

template <class Asked>
void require(const Question<Asked>& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults = faults_of(question, testbed);
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
}

// `Possible` holds the points of a question that are possible, and why the rest is not, each reason once, as a fault of
// "bytes", "algorithm", "graph", "variant" or "collective".
template <class Asked>
struct Possible {
  std::vector<Asked> points;
  std::vector<sim::Fault> reasons;
};

// Blames the size of a point for what keeps it from running if the least size, a byte for each GPU, is possible, and
// its algorithm, graph or variant if the collective is possible without it.
template <class Asked>
Possible<Asked> possible(const std::vector<Asked>& points, sim::Bytes& (*size_of)(Asked& point), int gpus,
                         const auto& why_not) {
  Possible<Asked> possible;
  for (const Asked& point : points) {
    std::string reason = why_not(point);
    if (reason.empty()) {
      possible.points.push_back(point);
    } else if (std::ranges::count(possible.reasons, reason, &sim::Fault::what) == 0) {
      Asked least = point;
      size_of(least) = sim::Bytes(gpus);
      std::string word = why_not(least).empty() ? "bytes" : "collective";
      if constexpr (std::is_same_v<Asked, CollectiveSpec>) {
        const auto is_at_fault = [&](auto member) {
          Asked without = point;
          without.*member = CollectiveSpec().*member;
          return why_not(without).empty();
        };
        if (is_at_fault(&CollectiveSpec::algorithm)) word = "algorithm";
        if (is_at_fault(&CollectiveSpec::graph)) word = "graph";
        if (is_at_fault(&CollectiveSpec::variant)) word = "variant";
      }
      possible.reasons.push_back({std::move(word), {}, std::move(reason)});
    }
  }
  return possible;
}

Possible<C3Trial> possible_strategies(const Question<C3Trial>& question, const Testbed& testbed) {
  constexpr auto size_of = [](C3Trial& point) -> sim::Bytes& { return point.scenario.bytes; };
  return possible<C3Trial>(question.points, size_of, testbed.platform().gpus, [&](const C3Trial& point) {
    const std::string reason =
        testbed.why_impossible(collective_of(point.scenario, point.strategy, testbed.platform()));
    return reason.empty() ? reason : fmt::format("{}: {}", to_string(point.strategy), reason);
  });
}

bool shares_engines(const CollectiveTrial& trial) { return models::algorithm_of(trial.spec.variant).many_engines; }

Possible<CollectiveSpec> possible_collectives(const Question<CollectiveTrial>& question, const Testbed& testbed) {
  std::vector<CollectiveSpec> asked;
  for (const CollectiveTrial& point : question.points) {
    CollectiveSpec& spec = asked.emplace_back(on_gpus_of(testbed.platform(), point.spec));
    if (!shares_engines(point)) spec.engines = 1;
  }
  constexpr auto size_of = [](CollectiveSpec& spec) -> sim::Bytes& { return spec.bytes; };
  return possible<CollectiveSpec>(asked, size_of, testbed.platform().gpus,
                                  [&](const CollectiveSpec& spec) { return testbed.why_impossible(spec); });
}

// Adds the reasons as faults, unless the question accepts fewer points than it has and some are possible.
template <class Asked, class Point>
void require_some(std::vector<sim::Fault>& faults, const Possible<Asked>& of, const Question<Point>& question) {
  if (question.those_possible && !of.points.empty()) return;
  for (const sim::Fault& reason : of.reasons) {
    faults.push_back(reason);
    if (question.those_possible) break;
  }
}

// Returns a warning if there are more engines than peers, since back-to-back copies to the peers share engines.
std::string idle_engines(const CollectiveSpec& spec) {
  const int peers = spec.gpus - 1;
  if (spec.backend != models::Backend::sdma || spec.engines <= peers) return {};
  return fmt::format("{} engines were asked for, but a GPU has {} peers to copy to: {} engines stay idle", spec.engines,
                     peers, spec.engines - peers);
}

// Adds faults for options of kernels if engines do it all, and the reverse. Parts of an all-reduce may run on both.
void check_parts(const CollectiveTrial& trial, const Testbed& testbed, std::vector<sim::Fault>& faults) {
  const CollectiveSpec spec = on_gpus_of(testbed.platform(), trial.spec);
  const models::SdmaSpec& sdma = testbed.platform().gpu.sdma;
  if (!models::engine_part(spec, sdma)) {
    const std::string maker = name_of(spec.backend);
    if (spec.variant != SdmaVariant::pcpy) add(faults, "variant", maker + " has no variants: --backend sdma has");
    if (spec.prelaunch) add(faults, "prelaunch", maker + " is not prelaunched: --backend sdma can be");
    if (spec.engines > 1) add(faults, "engines", maker + " uses no copy engines: --backend sdma does");
    if (spec.host_threads) {
      add(faults, "host-threads", maker + "'s kernels are launched by a thread per GPU: --backend sdma has a choice");
    }
  }
  if (!models::kernel_part(spec, sdma)) {
    if (spec.cus) add(faults, "cus", "copy engines take no CUs: --backend rccl does");
    if (spec.channels) add(faults, "channels", "copy engines have no channels: --backend rccl has");
    if (spec.graph) add(faults, "graph", "copy engines are not launched from graphs: --backend rccl can be");
  }
}

// Returns the word of an impossible copy without which it would be possible, or else that of its destination.
std::string_view word_at_fault(const CopyTrial& trial, const Testbed& testbed) {
  const models::SdmaCopySpec plain;
  const auto is_at_fault = [&](auto member) {
    CopyTrial without = trial;
    without.spec.*member = plain.*member;
    if (without.spec.bytes < sim::Bytes(1.0)) without.spec.bytes = sim::Bytes(1.0);
    return testbed.why_impossible(copies_of(without)).empty();
  };
  if (is_at_fault(&models::SdmaCopySpec::copies)) return "copies";
  if (is_at_fault(&models::SdmaCopySpec::bytes)) return "bytes";
  if (is_at_fault(&models::SdmaCopySpec::engine)) return "engine";
  return is_at_fault(&models::SdmaCopySpec::submit) ? "submit" : "to";
}

std::string scenario_name(const Scenario& scenario) {
  return fmt::format("{}_{}_{}", models::to_string(scenario.gemm), models::to_string(scenario.collective),
                     sim::to_string(scenario.bytes));
}

// Adds a fault if operands of a kernel cannot be warm: all of them lie in the last level of the caches then.
void check_operands(std::optional<Operands> operands, sim::Bytes set, const models::PlatformSpec& platform,
                    std::vector<sim::Fault>& faults) {
  if (operands != Operands::warm) return;
  constexpr std::string_view others = ": cold and rotating are accepted, or no --operands";
  const models::MemorySpec& memory = platform.gpu.memory;
  const sim::Bytes last_level = memory.has_cache() ? memory.cache_capacity : memory.xcds * memory.l2_capacity;
  if (platform.host.protocol == models::Protocol::shot) {
    add(faults, "operands", fmt::format("a run from rest (--protocol shot) finds nothing in the caches{}", others));
  } else if (set > last_level) {
    add(faults, "operands",
        fmt::format("operands and result take {}, of which {} no more than {}{}", sim::to_string(set),
                    memory.has_cache() ? "the Infinity Cache holds" : "the L2s hold", sim::to_string(last_level),
                    others));
  }
}

// Adds a fault if operands of a GEMM in a loop cannot be warm.
void check_operands(std::optional<Operands> operands, const models::GemmShape& shape, const Testbed& testbed,
                    std::vector<sim::Fault>& faults) {
  if (operands == Operands::warm && !testbed.platform().gpu.memory.has_cache()) {
    add(faults, "operands",
        "what L2s keep of operands from one product to the next has no model: cold and rotating are accepted, or no "
        "--operands");
  } else {
    check_operands(operands, shape.compulsory_bytes(), testbed.platform(), faults);
  }
}

void check_before(const GemmTrial& trial, const Testbed& testbed, std::vector<sim::Fault>& faults) {
  if (trial.operands && trial.before != Before::loop) {
    add(faults, "operands",
        fmt::format("--before {} leaves other data in the caches: no --operands go with it", to_string(trial.before)));
  }
  check_operands(trial.operands, trial.shape, testbed, faults);
  if (trial.before != Before::collective) return;
  if (trial.collective.bytes < sim::Bytes(1.0)) {
    add(faults, "before", "which collective came before is missing: --collective all_reduce --bytes 64MiB");
  } else {
    add(faults, "collective", testbed.why_impossible(on_gpus_of(testbed.platform(), trial.collective)));
  }
}

// Return what is run for a trial, and what of that is timed.
WorkResult work_of(GemmTrial trial, const Testbed& testbed) {
  const int cus = trial.cus.value_or(testbed.platform().gpu.cus());
  trial.cus = cus;
  return {.work = trial.shape,
          .schedule = schedule_of_gemm(trial, testbed),
          .cus = cus,
          .between = between_of(trial),
          .timed = kernels_of(trial)};
}
WorkResult work_of(const CollectiveSpec& spec, const Testbed&) { return {.work = spec, .schedule = only(spec)}; }
WorkResult work_of(const CopyTrial& trial, const Testbed&) {
  return {.work = copies_of(trial), .schedule = only(copies_of(trial))};
}
// The kernel runs on the CUs of the trial: by a mask on every GPU, or as a workgroup on each if it is remote.
WorkResult work_of(const KernelTrial& trial, const Testbed& testbed) {
  const models::PlatformSpec& platform = testbed.platform();
  const int cus = trial.cus.value_or(platform.gpu.cus());
  const bool in_caches = trial.operands == Operands::warm;
  Work kernel = trial.kernel;
  models::CuMask mask = first_cus(platform, cus);
  if (auto* const remote = std::get_if<models::RemoteKernelSpec>(&kernel)) {
    remote->workgroups = cus;
    mask = {};
  } else if (auto* const elementwise = std::get_if<models::ElementwiseSpec>(&kernel); elementwise && in_caches) {
    elementwise->set = elementwise->bytes();
  } else if (auto* const attention = std::get_if<models::AttentionShape>(&kernel); attention && in_caches) {
    attention->set = attention->arrays();
  }
  return {.work = kernel, .schedule = only(kernel, mask), .cus = cus};
}

template <class Asked>
Answer<WorkResult> run(Testbed& testbed, const std::vector<Asked>& points, const Progress& progress) {
  Answer<WorkResult> answer;
  for (const Asked& point : points) {
    WorkResult& one = answer.results.emplace_back(work_of(point, testbed));
    const Timeline& timeline = testbed.run(one.schedule, one.between);
    one.time = timeline.time_of_last(one.timed);
    one.phases = timeline.operations.back().phases;
    if (one.timed == one.schedule.size()) one.means = timeline.means;
    if (progress) progress(answer.results.size(), points.size());
  }
  return answer;
}

}  // namespace

std::vector<sim::Fault> faults_of(const Question<GemmTrial>& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults;
  const GemmTrial& first = question.points.front();  // the other points differ only in `cus`
  check_gemm(first.shape, testbed, faults);
  for (const GemmTrial& point : question.points) {
    if (point.cus) add(faults, "cus", why_no_mask(testbed.platform(), *point.cus));
  }
  if (!faults.empty()) return faults;
  for (const GemmTrial& point : question.points) {
    if (!point.cus) continue;
    const models::CuMask mask = first_cus(testbed.platform(), *point.cus);
    add(faults, "cus", why_too_many_waves(point.shape, testbed.platform(), mask));
  }
  check_before(first, testbed, faults);
  if (first.quantise && models::size_of(first.shape.dtype) > sim::Bytes(1.0)) {
    add(faults, "quantise",
        fmt::format("operands of {} are not quantised: --dtype fp8 is accepted with it",
                    models::to_string(first.shape.dtype)));
  }
  return faults;
}

std::vector<sim::Fault> faults_of(const Question<CollectiveTrial>& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults;
  for (const CollectiveTrial& point : question.points) {
    check_parts(point, testbed, faults);
    if (!faults.empty()) return faults;
  }
  const auto asks_for_engines = [](const CollectiveTrial& point) { return point.spec.engines > 1; };
  if (std::ranges::any_of(question.points, asks_for_engines) && std::ranges::none_of(question.points, shares_engines)) {
    add(faults, "engines", "a number of engines is a choice of b2b: --variant b2b has it");
    return faults;
  }
  require_some(faults, possible_collectives(question, testbed), question);
  return faults;
}

std::vector<sim::Fault> faults_of(const Question<CopyTrial>& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults;
  for (const CopyTrial& point : question.points) {
    std::string reason = testbed.why_impossible(copies_of(point));
    if (reason.empty()) continue;
    add(faults, word_at_fault(point, testbed), std::move(reason));
    break;  // one is enough
  }
  return faults;
}

std::vector<sim::Fault> faults_of(const Question<C3Trial>& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults;
  const Scenario& scenario = question.points.front().scenario;  // the other points differ only in `strategy`
  add(faults, "reserve", why_no_reservation(testbed.platform(), scenario.reserved.value_or(0)));
  check_gemm(scenario.gemm, testbed, faults);
  if (faults.empty()) check_operands(scenario.operands, scenario.gemm, testbed, faults);
  const sim::Bytes room = testbed.platform().gpu.memory.hbm_capacity;
  if (faults.empty() && scenario.gemm.compulsory_bytes() + scenario.bytes > room) {
    add(faults, "bytes",
        fmt::format("beside the matrices of {} arrays of at most {} fit the memory of a GPU (gpu.memory.hbm.capacity)",
                    models::to_string(scenario.gemm), sim::to_string(room - scenario.gemm.compulsory_bytes())));
  }
  if (scenario.channels) {
    add(faults, "channels",
        models::why_no_channels(scenario.collective_by(scenario.kernels, testbed.platform()), *scenario.channels,
                                testbed.platform()));
    if (!faults.empty()) return faults;
  }
  if (!models::by_kernels(scenario.kernels)) {
    add(faults, "backend",
        "names the kernels that carry the collective: engines carry it with --strategy conccl or conccl_rp");
    return faults;
  }
  const auto any_is = [&question](auto is) { return std::ranges::any_of(question.points, is, &C3Trial::strategy); };
  if (!any_is(on_copy_engines)) {
    constexpr std::string_view why = "no strategy that was asked for uses copy engines: conccl and conccl_rp do";
    if (scenario.variant != SdmaVariant::pcpy) add(faults, "variant", std::string(why));
    if (scenario.prelaunch) add(faults, "prelaunch", std::string(why));
  }
  if (scenario.channels && !any_is([](Strategy one) { return !on_copy_engines(one); })) {
    add(faults, "channels",
        "no strategy that was asked for uses the library's kernels: all but conccl and conccl_rp do");
  }
  if (scenario.delay > sim::Time(0) && !any_is([](Strategy one) { return one != Strategy::serial; })) {
    add(faults, "delay",
        "serial has nothing to delay, as it launches one when the other has ended: every other strategy is accepted");
  }
  if (scenario.reserved && !any_is(reserves_cus)) {
    add(faults, "reserve",
        "no strategy that was asked for takes a number of CUs: c3_rp, c3_sp_rp, c3_best and conccl_rp do");
  }
  require_some(faults, possible_strategies(question, testbed), question);
  return faults;
}

sim::Bytes bytes_of(const Work& kernel) {
  const auto* const elementwise = std::get_if<models::ElementwiseSpec>(&kernel);
  return elementwise == nullptr ? arrays_of(kernel) : elementwise->bytes();
}

std::vector<sim::Fault> faults_of(const Question<KernelTrial>& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults;
  const models::PlatformSpec& platform = testbed.platform();
  for (const KernelTrial& point : question.points) {
    const bool remote = std::holds_alternative<models::RemoteKernelSpec>(point.kernel);
    const bool attention = std::holds_alternative<models::AttentionShape>(point.kernel);
    if (!remote) add(faults, "cus", why_no_mask(platform, point.cus.value_or(platform.gpu.cus())));
    if (!faults.empty()) break;
    const WorkResult asked = work_of(point, testbed);
    std::string reason = testbed.why_impossible(asked.work);
    if (reason.empty()) reason = why_too_many_waves(asked.work, platform, asked.schedule.front().mask);
    add(faults, remote ? "peers" : attention ? "heads" : "read", std::move(reason));
    if (faults.empty() && !remote) check_operands(point.operands, bytes_of(point.kernel), platform, faults);
    if (!faults.empty()) break;  // one is enough: the number of CUs is hardly ever at fault
  }
  return faults;
}

Answer<WorkResult> ask(Testbed& testbed, const Question<GemmTrial>& question, const Progress& progress) {
  require(question, testbed);
  Answer<WorkResult> answer = run(testbed, question.points, progress);
  const GemmTrial& first = question.points.front();
  if (first.before == Before::collective) {
    const models::PlatformSpec& platform = testbed.platform();
    warn_of_channels(answer.warnings, on_gpus_of(platform, first.collective), platform);
  }
  return answer;
}

Answer<WorkResult> ask(Testbed& testbed, const Question<CollectiveTrial>& question, const Progress& progress) {
  require(question, testbed);
  const Possible<CollectiveSpec> collectives = possible_collectives(question, testbed);
  Answer<WorkResult> answer = run(testbed, collectives.points, progress);
  for (const CollectiveSpec& spec : collectives.points) {
    std::string idle = idle_engines(spec);
    const bool is_new = std::ranges::find(answer.warnings, idle) == answer.warnings.end();
    if (!idle.empty() && is_new) answer.warnings.push_back(std::move(idle));
    warn_of_channels(answer.warnings, spec, testbed.platform());
  }
  for (const sim::Fault& reason : collectives.reasons) answer.warnings.push_back("left out: " + reason.what);
  return answer;
}

Answer<WorkResult> ask(Testbed& testbed, const Question<CopyTrial>& question, const Progress& progress) {
  require(question, testbed);
  return run(testbed, question.points, progress);
}

Answer<WorkResult> ask(Testbed& testbed, const Question<KernelTrial>& question, const Progress& progress) {
  require(question, testbed);
  return run(testbed, question.points, progress);
}

Answer<C3Result> ask(Testbed& testbed, const Question<C3Trial>& question, const Progress& progress, int jobs) {
  require(question, testbed);
  Possible<C3Trial> strategies = possible_strategies(question, testbed);
  std::vector<C3Trial> trials;
  for (const C3Trial& point : strategies.points) {
    Scenario& scenario = trials.emplace_back(point).scenario;
    if (scenario.name.empty()) scenario.name = scenario_name(scenario);
  }
  Answer<C3Result> answer;
  answer.results = run_all(testbed, trials, progress, jobs);
  answer.warnings = reservation_warnings(testbed, answer.results);
  std::ranges::move(settling_warnings(answer.results), std::back_inserter(answer.warnings));
  for (const C3Result& result : answer.results) {
    warn_of_channels(answer.warnings, collective_of(result.scenario, result.chosen, testbed.platform()),
                     testbed.platform());
  }
  if (!answer.results.empty() && !answer.results.front().has_gain_to_be_had()) {
    answer.warnings.push_back(fmt::format(
        "no gain to be had: the ideal speedup is {:.4f}, and below {} a fraction of it says nothing (null in JSON)",
        answer.results.front().ideal_speedup(), C3Result::least_ideal_speedup));
  }
  for (const sim::Fault& reason : strategies.reasons) answer.warnings.push_back("left out: " + reason.what);
  return answer;
}

}  // namespace c3sim::study
