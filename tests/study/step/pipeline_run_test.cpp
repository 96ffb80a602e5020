#include "study/step/pipeline_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "study/run/power_meter.h"
#include "study/run/testbed.h"
#include "study/run/timeline.h"
#include "study/step/part_of_step.h"
#include "study/step/step.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

// PipelineFigures of a step, in seconds and joules.
struct PipelineFigures {
  double time = 0.0;
  double energy = 0.0;
  double compute = 0.0;
  double exposed = 0.0;
  double at_rest = 0.0;  // watts
};

double in_step_seconds(sim::Time time) { return sim::to_seconds(time).value(); }

PipelineFigures of_few(const StepQuestion& question, const models::PlatformSpec& platform) {
  const StepResult result = ask(platform, question, read_operators(folders));
  return {in_step_seconds(result.time), result.energy().value(), in_step_seconds(result.compute),
          in_step_seconds(result.exposed)};
}

// Of all stages, layers and micro-batches, simulated as launched.
PipelineFigures simulated_in_whole(const StepQuestion& question, const models::PlatformSpec& platform) {
  Testbed testbed(launching(platform, question.launch()));
  const PartOfStep part = part_of(question, read_operators(folders), testbed, question.stage_layers());
  PowerMeter meter;
  const Timeline timeline =
      testbed.watch(part.schedule, [&meter](models::Node& node, sim::Time) { meter.attach(node); });
  const std::vector<PartOfStep::Place> places = part.places();
  std::vector<BusyTimes> compute(static_cast<std::size_t>(question.pp));
  std::vector<BusyTimes> communication = compute;
  PipelineFigures figures;
  for (std::size_t place = 0; place < places.size(); ++place) {
    const auto [operation, block] = places[place];
    for (const StepPart& one : parts_of(*operation, timeline.operations[place], testbed.platform())) {
      figures.time = std::max(figures.time, in_step_seconds(one.end));
      for (int stage = 0; stage < question.pp; ++stage) {
        if (std::ranges::count(block->gpus, stage * question.stage_gpus()) == 0) continue;
        add_busy((communicates(one.kind) ? communication : compute)[static_cast<std::size_t>(stage)], one.start,
                 one.end);
      }
    }
  }
  for (std::size_t stage = 0; stage < compute.size(); ++stage) {
    figures.compute += in_step_seconds(length_of(compute[stage])) / question.pp;
    figures.exposed += in_step_seconds(length_of(communication[stage] - compute[stage])) / question.pp;
  }
  figures.energy = meter.mean_power(sim::Seconds(figures.time)).value() * figures.time;
  figures.at_rest = meter.at_rest(sim::Seconds(1.0)).energy.value();
  return figures;
}

StepQuestion pipeline_of(int layers, int pp, int micro, std::int64_t tokens) {
  StepQuestion question;
  question.model = read_model("llama3-8b", folders);
  question.layers = layers;
  question.phase = Phase::train;
  question.tokens = tokens;
  question.graph = true;
  question.pp = pp;
  question.batch = question.micro = micro;
  return question;
}

struct PipelineCase {
  const char* name;
  StepQuestion question;
  double time = 1e-3;  // relative error that is accepted, of compute and energy five times as much
};
void PrintTo(const PipelineCase& one, std::ostream* out) { *out << one.name; }

StepQuestion changed(StepQuestion question, void (*change)(StepQuestion&)) {
  change(question);
  return question;
}

class FullPipelineIsAsSimulatedInWhole : public ::testing::TestWithParam<PipelineCase> {};

// Stages and micro-batches that are not simulated follow from those that are: of eight stages three, of up to 12
// micro-batches three, of three or four layers two.
TEST_P(FullPipelineIsAsSimulatedInWhole, InTimeEnergyAndWhatIsExposed) {
  const models::PlatformSpec platform = mi300x().spec;
  const StepQuestion& question = GetParam().question;
  const PipelineFigures all = simulated_in_whole(question, platform);
  const PipelineFigures few = of_few(question, platform);
  const double error = GetParam().time;
  EXPECT_NEAR(few.time, all.time, error * all.time);
  // Op by op the GPUs wait for their host, by turns that differ: their energy is known less closely.
  EXPECT_NEAR(few.energy, all.energy, (question.graph ? 5.0 * error : 0.03) * all.energy);
  if (!question.graph) return;  // what is busy is as from a graph
  EXPECT_NEAR(few.compute, all.compute, 5.0 * error * all.compute);
  EXPECT_NEAR(few.exposed, all.exposed, 2.0 * error * all.time);
}

INSTANTIATE_TEST_SUITE_P(
    Steps, FullPipelineIsAsSimulatedInWhole,
    ::testing::Values(
        PipelineCase{"two_stages", pipeline_of(8, 2, 8, 512)}, PipelineCase{"four_stages", pipeline_of(12, 4, 12, 512)},
        PipelineCase{"eight_stages", pipeline_of(16, 8, 5, 512)},
        PipelineCase{"fewer_than_simulated", pipeline_of(8, 4, 2, 512)},
        PipelineCase{"one_stage", pipeline_of(4, 1, 6, 256)},
        PipelineCase{"with_ends", changed(pipeline_of(8, 4, 6, 512),
                                          [](StepQuestion& one) {
                                            one.layers.reset();
                                            one.model.layers = 8;
                                          })},
        PipelineCase{"uneven", pipeline_of(10, 4, 6, 512)},
        PipelineCase{"layers_of_two_kinds",
                     changed(pipeline_of(10, 4, 6, 512),
                             [](StepQuestion& one) {
                               one.model.variants = {{.name = "narrow", .layers = {0, 1, 2}, .ffn = 7168}};
                             })},
        PipelineCase{"layers_that_alternate_forward",
                     changed(pipeline_of(16, 4, 6, 512),
                             [](StepQuestion& one) {
                               one.model.variants = {
                                   {.name = "narrow", .layers = layers_of_pattern(32, 0, 2), .ffn = 7168}};
                               one.forward = true;
                             })},
        PipelineCase{"forward", changed(pipeline_of(16, 8, 12, 512), [](StepQuestion& one) { one.forward = true; })},
        PipelineCase{"recompute", changed(pipeline_of(8, 4, 6, 512), [](StepQuestion& one) { one.recompute = true; })},
        PipelineCase{"update",
                     changed(pipeline_of(8, 4, 6, 512), [](StepQuestion& one) { one.optimizer = Optimizer::adam; })},
        PipelineCase{"op_by_op", changed(pipeline_of(12, 4, 8, 512), [](StepQuestion& one) { one.graph = false; })},
        PipelineCase{"host_bound", changed(pipeline_of(12, 4, 8, 32), [](StepQuestion& one) { one.graph = false; })},
        PipelineCase{"one_stage_op_by_op",
                     changed(pipeline_of(4, 1, 6, 32), [](StepQuestion& one) { one.graph = false; })},
        PipelineCase{"several_gpus", changed(pipeline_of(12, 4, 6, 512), [](StepQuestion& one) { one.tp = 2; })},
        PipelineCase{"replicas", changed(pipeline_of(12, 4, 6, 512),
                                         [](StepQuestion& one) {
                                           one.dp = 2;
                                           one.optimizer = Optimizer::adam;
                                         })},
        PipelineCase{"shared_out_sequences",
                     changed(pipeline_of(12, 4, 6, 512), [](StepQuestion& one) { one.cp = 2; })},
        PipelineCase{"several_gpus_op_by_op", changed(pipeline_of(6, 2, 6, 512),
                                                      [](StepQuestion& one) {
                                                        one.tp = 2;
                                                        one.graph = false;
                                                      })},
        PipelineCase{
            "engines",
            changed(pipeline_of(12, 4, 8, 512), [](StepQuestion& one) { one.collectives = models::Backend::sdma; }),
            2e-3},
        PipelineCase{"decode",
                     changed(pipeline_of(16, 8, 8, 1),
                             [](StepQuestion& one) {
                               one.phase = Phase::decode;
                               one.batch = 64;
                               one.context = 1024;
                             }),
                     2e-3}),
    [](const auto& one) { return std::string(one.param.name); });

// Sends that take longer than turns wait for each other on their stream: a turn of 512 tokens takes 0.9 ms, its 4 MiB
// over a link of 1 GB/s 4.2 ms. Which CUs a send waits for differs from one to the next, and sends both ways between
// two stages meet more often than among the few that are simulated.
TEST(PipelineRun, IsAsSimulatedInWholeWhereSendsAreLongerThanTurns) {
  const models::PlatformSpec platform = mi300x({"fabric.link_rate=1GB/s"}).spec;
  StepQuestion question = pipeline_of(4, 4, 6, 512);
  for (const bool forward : {true, false}) {
    question.forward = forward;
    const PipelineFigures all = simulated_in_whole(question, platform);
    const PipelineFigures few = of_few(question, platform);
    EXPECT_NEAR(few.time, all.time, (forward ? 3e-3 : 1e-2) * all.time);
    EXPECT_NEAR(few.energy, all.energy, 2e-2 * all.energy);
    EXPECT_NEAR(few.compute, all.compute, 1e-2 * all.compute);
    EXPECT_NEAR(few.exposed, all.exposed, 2e-2 * all.time);
  }
}

// Where a governor holds the mean of the whole step under the cap: turns of 4096 tokens meet it, so that few
// micro-batches, which leave stages idle for longer, would have a higher clock.
TEST(PipelineRun, FullSettlesTheClockOfTheWholeStep) {
  StepQuestion question = pipeline_of(4, 2, 8, 4096);
  const models::PlatformSpec platform = h200().spec;
  Testbed testbed(launching(platform, models::LaunchMode::graph));
  const PartOfStep part = part_of(question, read_operators(folders), testbed, question.stage_layers());
  const double all = in_step_seconds(testbed.run(part.schedule).makespan());
  EXPECT_NEAR(of_few(question, platform).time, all, 2e-3 * all);
}

double seconds_in_whole(const StepQuestion& question, const models::PlatformSpec& platform,
                        const Testbed::Factor& factor) {
  Testbed testbed(launching(platform, models::LaunchMode::graph), factor);
  const PartOfStep part = part_of(question, read_operators(folders), testbed, question.stage_layers());
  return in_step_seconds(testbed.run(part.schedule).makespan());
}

// As a run of all of it has them, which depend on what runs beside an operation.
TEST(PipelineRun, FullHasFactorsOnItsOperations) {
  const StepQuestion question = pipeline_of(8, 4, 6, 512);
  const models::PlatformSpec platform = mi300x().spec;
  const auto longer = [](const Work&, const Company& company) { return 1.5 + 0.1 * company.channels; };
  const double all = seconds_in_whole(question, platform, longer);
  const double few = in_step_seconds(ask(platform, question, read_operators(folders), longer).time);
  EXPECT_NEAR(few, all, 1e-3 * all);
}

// What is longer for its factor draws as much as simulated, and is at rest for the rest of it.
TEST(PipelineRun, FullDrawsAsSimulatedWhereFactorsChangeTimes) {
  const StepQuestion question = pipeline_of(8, 4, 6, 512);
  const models::PlatformSpec platform = mi300x().spec;
  const PipelineFigures all = simulated_in_whole(question, platform);
  for (const double factor : {0.8, 1.5}) {
    const auto multiplied = [factor](const Work&, const Company&) { return factor; };
    const StepResult few = ask(platform, question, read_operators(folders), multiplied);
    const double more = in_step_seconds(few.time) - all.time;
    const double energy = all.energy + all.at_rest * more;
    EXPECT_NEAR(few.energy().value(), energy, 5e-3 * energy);
  }
}

// A run of all of it settles without factors, which tell on its times alone.
TEST(PipelineRun, FullSettlesTheClockAsSimulatedWithoutFactors) {
  const StepQuestion question = pipeline_of(4, 2, 8, 4096);
  const models::PlatformSpec platform = h200().spec;
  const auto longer = [](const Work&, const Company&) { return 1.5; };
  const double all = seconds_in_whole(question, platform, longer);
  const double few = in_step_seconds(ask(platform, question, read_operators(folders), longer).time);
  EXPECT_NEAR(few, all, 2e-3 * all);
}

// Each micro-batch has the same operations, each stage as many layers.
TEST(PipelineRun, CountsTheOperationsOfAll) {
  const StepResult result = ask(mi300x().spec, pipeline_of(16, 8, 12, 512), read_operators(folders));
  EXPECT_NEAR(result.operations.at("qkv").count, 12.0 * 2.0, 1e-9);
  EXPECT_NEAR(result.operations.at("qkv_weight_gradient").count, 12.0 * 2.0, 1e-9);
  EXPECT_NEAR(result.operations.at("accumulate").count, 11.0 * 2.0, 1e-9);
  EXPECT_NEAR(result.operations.at("activations").count, 12.0 * 7.0 / 8.0, 1e-9);
  EXPECT_NEAR(result.operations.at("gradients").count, 12.0 * 7.0 / 8.0, 1e-9);
  EXPECT_EQ(result.stages_shown, 3);
  EXPECT_EQ(result.micro_shown, 3);
}

}  // namespace
}  // namespace c3sim::study
