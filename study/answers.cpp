#include "study/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "models/collectives/sdma_program.h"
#include "study/c3_study.h"
#include "study/cu_partition.h"
#include "study/fidelity.h"

namespace c3sim::study {

namespace {

// Sizes are whole bytes below 2^53.
std::int64_t whole_bytes(sim::Bytes bytes) { return static_cast<std::int64_t>(bytes.value()); }

std::string text(std::string_view view) { return std::string(view); }

Schedule only(Work work, models::CuMask mask = {}) {
  return {{.name = to_string(work), .work = work, .mask = mask, .stream = "0", .after = {}}};
}

Column for_programs(std::string key) { return {key, key, "", 2, false}; }

// The CUs that a collective's kernels take of each GPU; copy engines take none.
std::int64_t cus_of(const models::CollectiveSpec& spec, const models::PlatformSpec& platform) {
  const auto kernels = models::kernel_part(spec, platform.gpu.sdma);
  if (!kernels) return 0;
  return kernels->cus.value_or(kernels->channels.value_or(platform.rccl.collective(kernels->kind).workgroups));
}

// The engines of one GPU that copy, in the first step.
std::int64_t engines_of(const models::CollectiveSpec& spec, const models::SdmaSpec& sdma) {
  std::set<int> engines;
  for (const models::EngineProgram& program :
       models::sdma_programs(models::sdma_steps(spec.kind).front(), spec, sdma)) {
    if (program.gpu == 0) engines.insert(program.engine);
  }
  return static_cast<std::int64_t>(engines.size());
}

// Back-to-back copies to all peers share engines; there is nothing to share among more engines than peers.
std::optional<std::string> idle_engines(const models::CollectiveSpec& spec) {
  const int peers = spec.gpus - 1;
  if (spec.backend != models::Backend::sdma || spec.engines <= peers) return {};
  return fmt::format("{} engines were asked for, but a GPU has {} peers to copy to: {} engines stay idle", spec.engines,
                     peers, spec.engines - peers);
}

}  // namespace

ResultTable c3_table(std::span<const C3Result> results) {
  ResultTable table({for_programs("scenario"),
                     for_programs("gemm"),
                     for_programs("collective"),
                     for_programs("bytes"),
                     {"strategy", "strategy", ""},
                     {"makespan_us", "makespan", "us"},
                     {"gemm_us", "GEMM end", "us"},
                     {"collective_us", "collective end", "us"},
                     {"isolated_gemm_us", "GEMM alone", "us"},
                     {"isolated_collective_us", "RCCL alone", "us"},
                     {"collective_alone_us", "collective alone", "us"},
                     {"serial_us", "serial", "us"},
                     {"speedup", "speedup", "", 3},
                     {"ideal_speedup", "ideal", "", 3},
                     {"fraction_of_ideal", "of ideal", "", 3},
                     {"chosen", "chosen", ""},
                     {"reserved_cus", "reserved", "CU"},
                     for_programs("gemm_start_us"),
                     for_programs("collective_start_us")});
  for (const C3Result& result : results) {
    const Scenario& scenario = result.scenario;
    table.add_row({scenario.name, models::to_string(scenario.gemm), text(models::to_string(scenario.collective)),
                   whole_bytes(scenario.bytes), text(to_string(result.strategy)), sim::to_microseconds(result.makespan),
                   sim::to_microseconds(result.gemm), sim::to_microseconds(result.collective),
                   sim::to_microseconds(result.isolated_gemm), sim::to_microseconds(result.isolated_collective),
                   sim::to_microseconds(result.collective_alone), sim::to_microseconds(result.serial()),
                   result.speedup(), result.ideal_speedup(), result.fraction_of_ideal(), text(to_string(result.chosen)),
                   std::int64_t{result.reserved_cus}, sim::to_microseconds(result.gemm_start),
                   sim::to_microseconds(result.collective_start)});
  }
  return table;
}

Results answer_c3(Testbed& testbed, const Scenario& scenario, std::span<const Strategy> strategies, int jobs) {
  std::vector<Attempt> attempts;
  for (const Strategy strategy : strategies) attempts.push_back({scenario, strategy});
  const std::vector<C3Result> results = run_all(testbed, attempts, {}, jobs);
  std::vector<NamedRun> runs;
  for (const C3Result& result : results) runs.push_back({text(to_string(result.strategy)), result.schedule});
  const std::string title =
      fmt::format("GEMM {} with {} of {} on {}", models::to_string(scenario.gemm),
                  models::to_string(scenario.collective), sim::to_string(scenario.bytes), testbed.platform().name);
  return {testbed.platform().name,
          {{"results", title, c3_table(results)}},
          reservation_warnings(testbed, results),
          std::move(runs)};
}

Results answer_gemm(Testbed& testbed, const models::GemmShape& shape, std::span<const int> cus) {
  ResultTable table(
      {{"gemm", "GEMM", ""}, {"cus", "CUs", ""}, {"time_us", "time", "us"}, {"tflops", "rate", "TFLOP/s", 1}});
  std::vector<NamedRun> runs;
  for (const int count : cus) {
    Schedule schedule = only(shape, first_cus(testbed.platform(), count));
    const sim::Time time = testbed.run(schedule).makespan();
    const sim::FlopsPerSecond rate = shape.flops() / sim::to_seconds(time);
    table.add_row({models::to_string(shape), std::int64_t{count}, sim::to_microseconds(time), rate.value() * 1e-12});
    runs.push_back({fmt::format("{} CUs", count), std::move(schedule)});
  }
  return {testbed.platform().name, {{"results", "", std::move(table)}}, {}, std::move(runs)};
}

Results answer_collectives(Testbed& testbed, std::span<const models::CollectiveSpec> collectives) {
  ResultTable table({{"collective", "collective", ""},
                     {"backend", "backend", ""},
                     {"variant", "variant", ""},
                     {"prelaunch", "prelaunch", ""},
                     {"cus", "CUs", ""},
                     {"bytes", "size", "B"},
                     {"time_us", "time", "us"},
                     {"busbw_GBps", "bus bandwidth", "GB/s"},
                     for_programs("gpus"),
                     for_programs("engines"),
                     for_programs("host_threads"),
                     for_programs("graph"),
                     {"fidelity", "fidelity", ""}});
  std::vector<NamedRun> runs;
  std::vector<std::string> warnings;
  for (const models::CollectiveSpec& spec : collectives) {
    const std::optional<std::string> idle = idle_engines(spec);
    if (idle && std::ranges::find(warnings, *idle) == warnings.end()) warnings.push_back(*idle);
    const bool on_copy_engines = spec.backend == models::Backend::sdma;
    Schedule schedule = only(spec);
    const sim::Time time = testbed.run(schedule).makespan();
    const models::HostThreads threads = spec.host_threads.value_or(testbed.platform().host.threads);
    table.add_row({text(models::to_string(spec.kind)), text(models::to_string(spec.backend)),
                   on_copy_engines ? Cell(text(models::to_string(spec.variant))) : Cell(), spec.prelaunch,
                   cus_of(spec, testbed.platform()), whole_bytes(spec.bytes), sim::to_microseconds(time),
                   models::bus_bandwidth(spec, time).value() * 1e-9, std::int64_t{spec.gpus},
                   on_copy_engines ? Cell(engines_of(spec, testbed.platform().gpu.sdma)) : Cell(),
                   on_copy_engines ? Cell(text(models::to_string(threads))) : Cell(),
                   on_copy_engines ? Cell() : Cell(spec.graph),
                   text(to_string(fidelity_of(spec, testbed.platform())))});
    std::string name;
    if (on_copy_engines) name = fmt::format("{} ", models::to_string(spec.variant));
    if (spec.prelaunch) name += "prelaunched ";
    name += sim::to_string(spec.bytes);
    runs.push_back({std::move(name), std::move(schedule)});
  }
  return {testbed.platform().name, {{"results", "", std::move(table)}}, std::move(warnings), std::move(runs)};
}

Results answer_copy(Testbed& testbed, models::SdmaCopySpec copy, std::span<const sim::Bytes> sizes,
                    bool phases_in_text) {
  ResultTable table({{"from", "from", ""},
                     {"to", "to", ""},
                     {"bytes", "size", "B"},
                     {"time_us", "time", "us"},
                     {"control_us", "control", "us", 2, phases_in_text},
                     {"schedule_us", "schedule", "us", 2, phases_in_text},
                     {"copy_us", "copy", "us", 2, phases_in_text},
                     {"completion_us", "completion", "us", 2, phases_in_text},
                     {"fidelity", "fidelity", ""}});
  std::vector<NamedRun> runs;
  for (const sim::Bytes size : sizes) {
    copy.bytes = size;
    Schedule schedule = only(copy);
    const models::SdmaCopyPhases phases = testbed.run(schedule).operations.front().phases.value();
    table.add_row({device_name(copy.from), device_name(copy.to), whole_bytes(size),
                   sim::to_microseconds(phases.total()), sim::to_microseconds(phases.control),
                   sim::to_microseconds(phases.schedule), sim::to_microseconds(phases.copy),
                   sim::to_microseconds(phases.completion), text(to_string(fidelity_of(copy, testbed.platform())))});
    runs.push_back({sim::to_string(size), std::move(schedule)});
  }
  return {testbed.platform().name, {{"results", "", std::move(table)}}, {}, std::move(runs)};
}

}  // namespace c3sim::study
