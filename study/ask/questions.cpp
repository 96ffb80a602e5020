#include "study/ask/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "study/c3/c3_study.h"
#include "study/run/work_bounds.h"
#include "study/work/operation.h"
#include "study/work/scenario.h"

namespace c3sim::study {

namespace {

using models::CollectiveSpec;
using models::SdmaVariant;

Schedule only(Work work, models::CuMask mask = {}) { return {operation_of(std::move(work), mask, "0")}; }

// Several blocks are asked for one by one unless the question says otherwise.
models::SdmaCopySpec copy_of(const CopyQuestion& question) {
  models::SdmaCopySpec copy = question.copy;
  if (copy.copies > 1 && !copy.submit) copy.submit = models::Submission::each;
  return copy;
}

void add(std::vector<sim::Fault>& faults, std::string_view option, std::string what) {
  if (!what.empty()) faults.push_back({std::string(option), {}, std::move(what)});
}

std::string why_no_gemm(const models::GemmShape& gemm, const Testbed& testbed) {
  if (gemm.m > 0 && gemm.n > 0 && gemm.k > 0) return testbed.why_impossible(gemm);
  return models::to_string(gemm) + " has no elements: extents from 1 are accepted";
}

template <class Question>
void require(const Question& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults = faults_of(question, testbed);
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
}

// What of a question is possible, and why the rest is not, each reason once.
template <class Work>
struct Possible {
  std::vector<Work> work;
  std::vector<std::string> reasons;
};

Possible<Strategy> possible(const C3Question& question, const Testbed& testbed) {
  const bool all = question.strategies.empty();
  Possible<Strategy> possible;
  for (const Strategy strategy : all ? all_strategies() : std::span<const Strategy>(question.strategies)) {
    const std::string reason = testbed.why_impossible(collective_of(question.scenario, strategy, testbed.platform()));
    if (reason.empty()) {
      possible.work.push_back(strategy);
    } else {
      possible.reasons.push_back(fmt::format("{}{}: {}", to_string(strategy), all ? " is left out" : "", reason));
    }
  }
  return possible;
}

std::vector<SdmaVariant> variants_of(const CollectiveQuestion& question) {
  std::vector<SdmaVariant> variants = question.variants;
  if (question.all_variants) {
    variants.clear();
    for (const auto& [name, variant] : sim::choices_of<models::SdmaVariant>()) variants.push_back(variant);
  }
  if (variants.empty()) variants.push_back(SdmaVariant::pcpy);
  return variants;
}

CollectiveSpec on_gpus_of(const Testbed& testbed, CollectiveSpec spec) {
  if (spec.gpus == 0) spec.gpus = testbed.platform().gpus;
  return spec;
}

CollectiveSpec collective_before(const GemmQuestion& question, const Testbed& testbed) {
  CollectiveSpec collective = question.collective;
  collective.gpus = testbed.platform().gpus;
  return collective;
}

Possible<CollectiveSpec> possible(const CollectiveQuestion& question, const Testbed& testbed) {
  Possible<CollectiveSpec> possible;
  for (const SdmaVariant variant : variants_of(question)) {
    for (const bool prelaunch : question.prelaunch.empty() ? std::vector<bool>{false} : question.prelaunch) {
      for (const sim::Bytes size : question.sizes) {
        CollectiveSpec spec = on_gpus_of(testbed, spec_of(question));
        spec.variant = variant;
        spec.prelaunch = prelaunch;
        spec.bytes = size;
        if (!models::plan_of(variant).many_engines) spec.engines = 1;
        std::string reason = testbed.why_impossible(spec);
        if (reason.empty()) {
          possible.work.push_back(spec);
        } else if (std::ranges::find(possible.reasons, reason) == possible.reasons.end()) {
          possible.reasons.push_back(std::move(reason));
        }
      }
    }
  }
  return possible;
}

// Back-to-back copies to all peers share engines; there is nothing to share among more engines than peers.
std::string idle_engines(const CollectiveSpec& spec) {
  const int peers = spec.gpus - 1;
  if (spec.backend != models::Backend::sdma || spec.engines <= peers) return {};
  return fmt::format("{} engines were asked for, but a GPU has {} peers to copy to: {} engines stay idle", spec.engines,
                     peers, spec.engines - peers);
}

// Options of kernels where all runs on copy engines, and the other way round. An all-reduce may have parts on both.
void check_parts(const CollectiveQuestion& question, const Testbed& testbed, std::vector<sim::Fault>& faults) {
  const CollectiveSpec spec = on_gpus_of(testbed, spec_of(question));
  const models::SdmaSpec& sdma = testbed.platform().gpu.sdma;
  if (!models::engine_part(spec, sdma)) {
    const bool variants = question.all_variants || !question.variants.empty();
    const std::string maker = name_of(question.backend);
    if (variants) add(faults, "variant", maker + " has no variants: --backend sdma has");
    if (!question.prelaunch.empty()) add(faults, "prelaunch", maker + " is not prelaunched: --backend sdma can be");
    if (question.engines) add(faults, "engines", maker + " uses no copy engines: --backend sdma does");
    if (question.host_threads) {
      add(faults, "host-threads", maker + "'s kernels are launched by a thread per GPU: --backend sdma has a choice");
    }
  }
  if (!models::kernel_part(spec, sdma)) {
    if (question.cus) add(faults, "cus", "copy engines take no CUs: --backend rccl does");
    if (question.channels) add(faults, "channels", "copy engines have no channels: --backend rccl has");
    if (question.graph) add(faults, "graph", "copy engines are not launched from graphs: --backend rccl can be");
  }
}

std::string name_of(const Scenario& scenario) {
  return fmt::format("{}_{}_{}", models::to_string(scenario.gemm), models::to_string(scenario.collective),
                     sim::to_string(scenario.bytes));
}

}  // namespace

CollectiveSpec spec_of(const CollectiveQuestion& question) {
  return {.kind = question.collective,
          .backend = question.backend,
          .bytes = question.sizes.empty() ? sim::Bytes() : question.sizes.front(),
          .gpus = question.gpus.value_or(0),
          .first = question.first,
          .variant = question.variants.empty() ? SdmaVariant::pcpy : question.variants.front(),
          .prelaunch = !question.prelaunch.empty() && question.prelaunch.front(),
          .engines = question.engines.value_or(1),
          .cus = question.cus,
          .channels = question.channels,
          .host_threads = question.host_threads,
          .graph = question.graph,
          .algorithm = question.algorithm,
          .dtype = question.dtype};
}

std::vector<sim::Fault> faults_of(const GemmQuestion& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults;
  add(faults, "gemm", why_no_gemm(question.gemm, testbed));
  for (const int cus : question.cus) add(faults, "cus", why_no_mask(testbed.platform(), cus));
  if (!faults.empty()) return faults;
  for (const int cus : question.cus) {
    add(faults, "cus", why_too_many_waves(question.gemm, testbed.platform(), first_cus(testbed.platform(), cus)));
  }
  if (question.operands && question.before != Before::loop) {
    add(faults, "operands",
        fmt::format("--before {} leaves other data in the caches: no --operands go with it",
                    to_string(question.before)));
  }
  const models::MemorySpec& memory = testbed.platform().gpu.memory;
  const sim::Bytes set = question.gemm.compulsory_bytes();
  const sim::Bytes last_level = memory.has_cache() ? memory.cache_capacity : memory.xcds * memory.l2_capacity;
  if (question.operands == Operands::warm && set > last_level) {
    add(faults, "operands",
        "operands and result take " + sim::to_string(set) + ", of which " +
            (memory.has_cache() ? "the Infinity Cache holds" : "the L2s hold") + " no more than " +
            sim::to_string(last_level) + ": cold and rotating are accepted, or none for what a loop finds");
  }
  if (question.before != Before::collective) {
    if (question.collective != CollectiveSpec{}) {
      add(faults, "before", "what came before is no collective: --before collective says that one did");
    }
  } else if (question.collective.bytes < sim::Bytes(1.0)) {
    add(faults, "before", "which collective came before is missing: --collective all_reduce --bytes 64MiB");
  } else {
    add(faults, "collective", testbed.why_impossible(collective_before(question, testbed)));
  }
  return faults;
}

std::vector<sim::Fault> faults_of(const CollectiveQuestion& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults;
  check_parts(question, testbed, faults);
  const std::vector<SdmaVariant> variants = variants_of(question);
  const auto takes_engines = [](SdmaVariant variant) { return models::plan_of(variant).many_engines; };
  if (question.engines.value_or(1) > 1 && std::ranges::none_of(variants, takes_engines)) {
    add(faults, "engines", "a number of engines is a choice of b2b: --variant b2b has it");
  }
  if (!faults.empty()) return faults;
  const Possible<CollectiveSpec> collectives = possible(question, testbed);
  if (!collectives.reasons.empty() && (collectives.work.empty() || !question.all_variants)) {
    add(faults, "collective", collectives.reasons.front());
  }
  return faults;
}

std::vector<sim::Fault> faults_of(const CopyQuestion& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults;
  models::SdmaCopySpec copy = copy_of(question);
  for (const sim::Bytes size : question.sizes) {
    copy.bytes = size;
    add(faults, "to", testbed.why_impossible(copy));
    if (!faults.empty()) break;  // the sizes are hardly ever at fault: once is enough
  }
  return faults;
}

std::vector<sim::Fault> faults_of(const C3Question& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults;
  const Scenario& scenario = question.scenario;
  add(faults, "reserve", why_no_reservation(testbed.platform(), scenario.reserved.value_or(0)));
  add(faults, "gemm", why_no_gemm(scenario.gemm, testbed));
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
        "says by which kernels: engines carry the collective in the strategies conccl and conccl_rp");
    return faults;
  }
  const auto uses_engines = [](Strategy strategy) {
    return strategy == Strategy::conccl || strategy == Strategy::conccl_rp;
  };
  if (!question.strategies.empty() && std::ranges::none_of(question.strategies, uses_engines)) {
    constexpr std::string_view why = "no strategy that was asked for uses copy engines: conccl and conccl_rp do";
    if (scenario.variant != SdmaVariant::pcpy) add(faults, "variant", std::string(why));
    if (scenario.prelaunch) add(faults, "prelaunch", std::string(why));
  }
  const Possible<Strategy> strategies = possible(question, testbed);
  if (!question.strategies.empty()) {
    for (const std::string& reason : strategies.reasons) add(faults, "collective", reason);
  } else if (strategies.work.empty()) {
    add(faults, "collective", strategies.reasons.front());
  }
  return faults;
}

namespace {

Answer<WorkResult> run(Testbed& testbed, std::vector<WorkResult> asked, const Progress& progress) {
  std::size_t done = 0;
  for (WorkResult& one : asked) {
    const Timeline& timeline = testbed.run(one.schedule, one.between);
    one.time = timeline.time_of_last();
    one.phases = timeline.operations.back().phases;
    one.means = timeline.means;
    if (progress) progress(++done, asked.size());
  }
  return {.results = std::move(asked)};
}

std::vector<int> cus_of(const std::vector<int>& counts, const models::PlatformSpec& platform) {
  return counts.empty() ? std::vector{platform.gpu.cus()} : counts;
}

// A kernel on so many CUs: a mask of every GPU's, or a workgroup on each.
template <class Local>
WorkResult on_cus(const Local& kernel, int cus, const models::PlatformSpec& platform) {
  return {.work = kernel, .schedule = only(kernel, first_cus(platform, cus)), .cus = cus};
}
WorkResult on_cus(models::RemoteKernelSpec kernel, int cus, const models::PlatformSpec&) {
  kernel.workgroups = cus;
  return {.work = kernel, .schedule = only(kernel), .cus = cus};
}

std::vector<WorkResult> works_of(const KernelQuestion& question, const models::PlatformSpec& platform) {
  std::vector<WorkResult> works;
  for (const int cus : cus_of(question.cus, platform)) {
    works.push_back(std::visit([&](const auto& kernel) { return on_cus(kernel, cus, platform); }, question.kernel));
  }
  return works;
}

}  // namespace

std::vector<sim::Fault> faults_of(const KernelQuestion& question, const Testbed& testbed) {
  std::vector<sim::Fault> faults;
  const bool remote = std::holds_alternative<models::RemoteKernelSpec>(question.kernel);
  const bool attention = std::holds_alternative<models::AttentionShape>(question.kernel);
  for (const int cus : remote ? std::vector<int>() : cus_of(question.cus, testbed.platform())) {
    add(faults, "cus", why_no_mask(testbed.platform(), cus));
    if (!faults.empty()) return faults;
  }
  for (const WorkResult& asked : works_of(question, testbed.platform())) {
    std::string reason = testbed.why_impossible(asked.work);
    const models::CuMask mask = asked.schedule.front().mask;
    if (reason.empty()) reason = why_too_many_waves(asked.work, testbed.platform(), mask);
    add(faults, remote ? "peers" : attention ? "heads" : "read", std::move(reason));
    if (!faults.empty()) break;  // the number of CUs is hardly ever at fault: once is enough
  }
  return faults;
}

Answer<WorkResult> ask(Testbed& testbed, const GemmQuestion& question, const Progress& progress) {
  require(question, testbed);
  std::vector<WorkResult> asked;
  for (const int cus : cus_of(question.cus, testbed.platform())) {
    const GemmTrial trial{.shape = question.gemm,
                          .cus = cus,
                          .before = question.before,
                          .collective = collective_before(question, testbed),
                          .operands = question.operands};
    asked.push_back({.work = question.gemm,
                     .schedule = schedule_of_gemm(trial, testbed.platform()),
                     .cus = cus,
                     .between = between_of(trial)});
  }
  const bool alone = asked.front().schedule.size() == 1;  // means are also of what came before
  Answer<WorkResult> answer = run(testbed, std::move(asked), progress);
  for (const WorkResult& result : answer.results) {
    if (alone) answer.means.push_back(result.means);
  }
  if (question.before == Before::collective) {
    warn_of_channels(answer.warnings, std::vector<Work>{collective_before(question, testbed)}, testbed.platform());
  }
  return answer;
}

Answer<WorkResult> ask(Testbed& testbed, const CollectiveQuestion& question, const Progress& progress) {
  require(question, testbed);
  Possible<CollectiveSpec> collectives = possible(question, testbed);
  Answer<WorkResult> answer = run_collectives(testbed, collectives.work, progress);
  for (const std::string& reason : collectives.reasons) answer.warnings.push_back("left out: " + reason);
  return answer;
}

Answer<WorkResult> run_collectives(Testbed& testbed, std::span<const CollectiveSpec> collectives,
                                   const Progress& progress) {
  std::vector<WorkResult> asked;
  for (const CollectiveSpec& spec : collectives) asked.push_back({.work = spec, .schedule = only(spec)});
  Answer<WorkResult> answer = run(testbed, std::move(asked), progress);
  for (const CollectiveSpec& spec : collectives) {
    std::string idle = idle_engines(spec);
    const bool is_new = std::ranges::find(answer.warnings, idle) == answer.warnings.end();
    if (!idle.empty() && is_new) answer.warnings.push_back(std::move(idle));
    warn_of_channels(answer.warnings, std::vector<Work>{spec}, testbed.platform());
  }
  return answer;
}

Answer<WorkResult> ask(Testbed& testbed, const CopyQuestion& question, const Progress& progress) {
  require(question, testbed);
  std::vector<WorkResult> asked;
  models::SdmaCopySpec copy = copy_of(question);
  for (const sim::Bytes size : question.sizes) {
    copy.bytes = size;
    asked.push_back({.work = copy, .schedule = only(copy)});
  }
  Answer<WorkResult> answer = run(testbed, std::move(asked), progress);
  return answer;
}

Answer<WorkResult> ask(Testbed& testbed, const KernelQuestion& question, const Progress& progress) {
  require(question, testbed);
  return run(testbed, works_of(question, testbed.platform()), progress);
}

Answer<C3Result> ask(Testbed& testbed, const C3Question& question, const Progress& progress) {
  require(question, testbed);
  Scenario scenario = question.scenario;
  if (scenario.name.empty()) scenario.name = name_of(scenario);
  Possible<Strategy> strategies = possible(question, testbed);
  std::vector<Attempt> attempts;
  for (const Strategy strategy : strategies.work) attempts.push_back({scenario, strategy});
  Answer<C3Result> answer;
  answer.results = run_all(testbed, attempts, progress, question.jobs);
  for (const C3Result& result : answer.results) answer.means.push_back(means_of(testbed, result));
  answer.warnings = reservation_warnings(testbed, answer.results);
  std::ranges::move(settling_warnings(answer.results), std::back_inserter(answer.warnings));
  for (const C3Result& result : answer.results) {
    const models::CollectiveSpec by = collective_of(scenario, result.chosen, testbed.platform());
    warn_of_channels(answer.warnings, std::vector<Work>{by}, testbed.platform());
  }
  if (!answer.results.empty() && !answer.results.front().has_gain_to_be_had()) {
    answer.warnings.push_back(fmt::format(
        "no gain to be had: the ideal speedup is {:.4f}, and below {} a fraction of it says nothing (null in JSON)",
        answer.results.front().ideal_speedup(), C3Result::least_ideal_speedup));
  }
  std::ranges::move(strategies.reasons, std::back_inserter(answer.warnings));
  return answer;
}

}  // namespace c3sim::study
