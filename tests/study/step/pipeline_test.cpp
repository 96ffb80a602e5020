// These tests check pipelines: the turns of stages, and whole steps derived from a few simulated turns.
#include "study/program/pipeline.h"

#include <fmt/format.h>

#include <chrono>

#include "study/play/power_meter.h"
#include "study/step/pipeline_run.h"
#include "study/step/step_graph.h"
#include "tests/study/step/step_questions.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

// The first of three stages has two more micro-batches in flight before its first gradient, the last stage has none.
TEST(Pipeline, HasAGradientBehindEachForwardPass) {
  const auto in_words = [](int stage, bool trains) {
    std::string words;
    for (const Turn& turn : turns_of(stage, 3, 4, trains)) {
      words += (turn.forward ? "f" : "b") + std::to_string(turn.micro);
    }
    return words;
  };
  EXPECT_EQ(in_words(0, true), "f0f1f2b0f3b1b2b3");
  EXPECT_EQ(in_words(2, true), "f0b0f1b1f2b2f3b3");
  EXPECT_EQ(in_words(1, false), "f0f1f2f3");
}

// Each of m micro-batches takes f on each of p stages. The last leaves the last stage after (m + p - 1) f and p - 1
// sends, and a stage works for m f. If sends were free, (p - 1) / (m + p - 1) of the time would be idle.
TEST(Pipeline, IsIdleWhileItFillsAndEmpties) {
  constexpr int stages = 4;
  constexpr int micro = 6;
  for (const char* const carrier : {"--collectives rccl", "--collectives sdma"}) {
    const StepResult result = ask_mi300x(changed(
        step_of("--model llama3-8b --phase prefill --layers 8 --tokens 2048 --batch 6 --pp 4 --micro 6"), carrier));
    const double turn = in_us(result.compute) / micro;
    const double send = us_of(result, Kind::send) * stages / (micro * (stages - 1));
    EXPECT_NEAR(in_us(result.time), (micro + stages - 1) * turn + (stages - 1) * send, 0.02 * in_us(result.time));
  }
}

// Training is as long idle, except that each turn of the steady state may wait for sends in both directions.
TEST(Pipeline, OfTrainingIsIdleAsLong) {
  constexpr int turns = 4 + 2 - 1;  // There are four micro-batches on two stages.
  const StepResult result =
      ask_mi300x(step_of("--model llama3-8b --phase train --layers 4 --tokens 2048 --batch 4 --pp 2 --micro 4"));
  const double busy = in_us(result.compute) / 4 * turns;
  EXPECT_GT(in_us(result.time), 0.99 * busy);
  EXPECT_LT(in_us(result.time), 1.01 * busy + 2.0 * us_of(result, Kind::send) / 4 * turns);
}

// Two stages of four GPUs are idle as long as two of one GPU. Each turn takes as long as a step of its layers on four
// GPUs, and every GPU sends to its counterpart in the next stage.
TEST(Pipeline, HasStagesOfSeveralGpus) {
  constexpr int micro = 4;
  for (const std::string carrier : {"rccl", "sdma"}) {
    const std::string both = "--model llama3-8b --phase prefill --tokens 2048 --tp 4 --collectives " + carrier;
    const double turn = us_on_mi300x(step_of(both + " --layers 4"));
    const StepResult result = ask_mi300x(step_of(both + " --layers 8 --pp 2 --batch 4 --micro 4"));
    const double sends = result.operations.at("activations").count;
    EXPECT_NEAR(sends, micro / 2.0, 1e-9);  // Each GPU of the first stage sends four times, the second stage never.
    const double send = us_of(result, Kind::send) / sends;
    EXPECT_NEAR(in_us(result.time), (micro + 1) * turn + send, 0.02 * in_us(result.time));
  }
}

// A stage holds a quarter of the layers and the activations of as many micro-batches as there are stages.
TEST(Pipeline, SharesOutWeightsAndHoldsMicroBatches) {
  const StepQuestion question = step_of("--model llama3-8b --phase train --layers 8 --tokens 2048 --batch 8");
  const StepMemory whole = memory_of(question);
  const StepMemory stage = memory_of(changed(question, "--pp 4 --micro 8"));
  EXPECT_NEAR(stage.weights.value(), whole.weights.value() / 4.0, 1.0);
  EXPECT_NEAR(stage.activations.value(), whole.activations.value() / 4.0 * 4.0 / 8.0, 1.0);
}

// The figures of a step are in seconds and joules.
struct PipelineFigures {
  double time = 0.0;
  double energy = 0.0;
  double compute = 0.0;
  double exposed = 0.0;
  double at_rest = 0.0;  // The power at rest is in watts.
};

double in_step_seconds(sim::Time time) { return sim::to_seconds(time).value(); }

PipelineFigures of_few(const StepQuestion& question, const models::PlatformSpec& platform,
                       const Testbed::Factor& factor = {}) {
  const StepResult result = ask(step_machine(platform), question, factor);
  return {in_step_seconds(result.time), result.energy().value(), in_step_seconds(result.compute),
          in_step_seconds(result.exposed)};
}

// Returns the figures of a simulation of all stages, layers and micro-batches.
PipelineFigures simulated_in_whole(const StepQuestion& question, const models::PlatformSpec& platform) {
  Testbed testbed(launching(platform, question.launch()));
  const PartOfStep part = part_of(question, layer_templates(), testbed, question.stage_layers());
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

StepQuestion pipeline_of(int layers, int pp, int micro, int tokens, const std::string& options = {}) {
  return changed(step_of(fmt::format("--model llama3-8b --phase train --layers {} --pp {} --batch {} --micro {} "
                                     "--tokens {}",
                                     layers, pp, micro, micro, tokens)),
                 options);
}

struct PipelineCase {
  const char* name;
  StepQuestion question;
  double time = 1e-3;  // The accepted relative error; compute and energy may be off by five times as much.
};
void PrintTo(const PipelineCase& one, std::ostream* out) { *out << one.name; }

// Makes the feed-forward halves of these layers half as wide.
StepQuestion narrow_in(StepQuestion question, std::vector<std::int64_t> layers) {
  question.model.variants = {{.name = "narrow", .layers = std::move(layers), .ffn = 7168}};
  return question;
}
StepQuestion with_ends(StepQuestion question) {
  question.model.layers = *question.layers;
  question.layers.reset();
  return question;
}

class FullPipelineIsAsSimulatedInWhole : public ::testing::TestWithParam<PipelineCase> {};

// A few stages, micro-batches and layers stand for all: three of eight stages, three of up to 12 micro-batches, two of
// three or four layers.
TEST_P(FullPipelineIsAsSimulatedInWhole, InTimeEnergyAndWhatIsExposed) {
  const StepQuestion& question = GetParam().question;
  const PipelineFigures all = simulated_in_whole(question, mi300x_spec());
  const PipelineFigures few = of_few(question, mi300x_spec());
  const double error = GetParam().time;
  EXPECT_NEAR(few.time, all.time, error * all.time);
  // Launched op by op, GPUs wait for their hosts in turns that differ, so that the energy is less accurate.
  EXPECT_NEAR(few.energy, all.energy, (question.graph ? 5.0 * error : 0.03) * all.energy);
  if (!question.graph) return;  // Busy times are the same as from a graph.
  EXPECT_NEAR(few.compute, all.compute, 5.0 * error * all.compute);
  EXPECT_NEAR(few.exposed, all.exposed, 2.0 * error * all.time);
}

INSTANTIATE_TEST_SUITE_P(
    Steps, FullPipelineIsAsSimulatedInWhole,
    ::testing::Values(PipelineCase{"two_stages", pipeline_of(8, 2, 8, 512)},
                      PipelineCase{"four_stages", pipeline_of(12, 4, 12, 512)},
                      PipelineCase{"eight_stages", pipeline_of(16, 8, 5, 512)},
                      PipelineCase{"fewer_than_simulated", pipeline_of(8, 4, 2, 512)},
                      PipelineCase{"one_stage", pipeline_of(4, 1, 6, 256)},
                      PipelineCase{"with_ends", with_ends(pipeline_of(8, 4, 6, 512))},
                      PipelineCase{"uneven", pipeline_of(10, 4, 6, 512)},
                      PipelineCase{"layers_of_two_kinds", narrow_in(pipeline_of(10, 4, 6, 512), {0, 1, 2})},
                      PipelineCase{"layers_that_alternate_forward",
                                   narrow_in(pipeline_of(16, 4, 6, 512, "--forward"), layers_of_pattern(32, 0, 2))},
                      PipelineCase{"forward", pipeline_of(16, 8, 12, 512, "--forward")},
                      PipelineCase{"recompute", pipeline_of(8, 4, 6, 512, "--recompute")},
                      PipelineCase{"update", pipeline_of(8, 4, 6, 512, "--optimizer adam")},
                      PipelineCase{"update_of_uneven", pipeline_of(5, 4, 6, 64, "--optimizer adam --dp 2")},
                      PipelineCase{"op_by_op", pipeline_of(12, 4, 8, 512, "--graph no")},
                      PipelineCase{"host_bound", pipeline_of(12, 4, 8, 32, "--graph no")},
                      PipelineCase{"one_stage_op_by_op", pipeline_of(4, 1, 6, 32, "--graph no")},
                      PipelineCase{"several_gpus", pipeline_of(12, 4, 6, 512, "--tp 2")},
                      PipelineCase{"replicas", pipeline_of(12, 4, 6, 512, "--dp 2 --optimizer adam")},
                      PipelineCase{"shared_out_sequences", pipeline_of(12, 4, 6, 512, "--cp 2")},
                      PipelineCase{"several_gpus_op_by_op", pipeline_of(6, 2, 6, 512, "--tp 2 --graph no")},
                      PipelineCase{"engines", pipeline_of(12, 4, 8, 512, "--collectives sdma"), 2e-3},
                      PipelineCase{"decode", pipeline_of(16, 8, 8, 1, "--phase decode --batch 64 --context 1024"),
                                   2e-3}),
    [](const auto& one) { return std::string(one.param.name); });

// Nothing runs between two kernels that a late host launches, whether the second could have followed at once or not.
TEST(PipelineRun, WaitsForItsHostAsSimulatedInWhole) {
  for (const char* const stages : {"--layers 2 --pp 1 --micro 4", "--layers 4 --pp 2 --micro 4"}) {
    SCOPED_TRACE(stages);
    const StepQuestion question =
        changed(step_of("--graph no --model llama3-8b --phase decode --context 512 --batch 16 --tp 2"), stages);
    const StepResult few = ask_mi300x(question);
    const StepResult all = ask_mi300x(question, in_whole);
    EXPECT_GT(all.host, all.time / 3);
    EXPECT_NEAR(in_us(few.host), in_us(all.host), 0.02 * in_us(all.time));
    EXPECT_NEAR(in_us(few.idle()), in_us(all.idle()), 0.02 * in_us(all.time));
  }
}

// Sends that are longer than turns queue on their stream: a turn of 512 tokens takes 0.9 ms, its 4 MiB over a link of 1
// GB/s 4.2 ms. The CUs that a send waits for differ from one send to the next, and sends in both directions between two
// stages meet more often than in the few stages that are simulated.
TEST(PipelineRun, IsAsSimulatedInWholeWhereSendsAreLongerThanTurns) {
  const models::PlatformSpec platform = mi300x({"fabric.link_rate=1GB/s"}).spec;
  for (const bool forward : {true, false}) {
    const StepQuestion question = pipeline_of(4, 4, 6, 512, forward ? "--forward" : "");
    const PipelineFigures all = simulated_in_whole(question, platform);
    const PipelineFigures few = of_few(question, platform);
    EXPECT_NEAR(few.time, all.time, (forward ? 3e-3 : 1e-2) * all.time);
    EXPECT_NEAR(few.energy, all.energy, 2e-2 * all.energy);
    EXPECT_NEAR(few.compute, all.compute, 1e-2 * all.compute);
    EXPECT_NEAR(few.exposed, all.exposed, 2e-2 * all.time);
  }
}

// The governor of the H200 holds the mean power of the whole step under the cap. Turns of 4096 tokens reach the cap, so
// that few micro-batches, with longer idle times, would have a higher clock. It settles without factors, which change
// times only. On the MI300X factors depend on what runs beside an operation.
TEST(PipelineRun, FullHasTheClockAndTheFactorsOfTheWholeStep) {
  struct Case {
    const models::PlatformSpec& platform;
    StepQuestion question;
    Testbed::Factor factor;
    double error;
  };
  for (const Case& one :
       {Case{h200_spec(), pipeline_of(4, 2, 8, 4096), {}, 2e-3},
        Case{h200_spec(), pipeline_of(4, 2, 8, 4096), [](const Work&, const Company&) { return 1.5; }, 2e-3},
        Case{mi300x_spec(), pipeline_of(8, 4, 6, 512),
             [](const Work&, const Company& company) { return 1.5 + 0.1 * company.channels; }, 1e-3}}) {
    Testbed testbed(launching(one.platform, models::LaunchMode::graph), one.factor);
    const PartOfStep part = part_of(one.question, layer_templates(), testbed, one.question.stage_layers());
    const double all = in_step_seconds(testbed.run(part.schedule).makespan());
    EXPECT_NEAR(of_few(one.question, one.platform, one.factor).time, all, one.error * all) << one.platform.name;
  }
}

// An operation lengthened by a factor draws its simulated energy, and power at rest for the added time.
TEST(PipelineRun, FullDrawsAsSimulatedWhereFactorsChangeTimes) {
  const StepQuestion question = pipeline_of(8, 4, 6, 512);
  const PipelineFigures all = simulated_in_whole(question, mi300x_spec());
  for (const double factor : {0.8, 1.5}) {
    const PipelineFigures few =
        of_few(question, mi300x_spec(), [factor](const Work&, const Company&) { return factor; });
    const double energy = all.energy + all.at_rest * (few.time - all.time);
    EXPECT_NEAR(few.energy, energy, 5e-3 * energy);
  }
}

// Every micro-batch has the same operations, and every stage has as many layers.
TEST(PipelineRun, CountsTheOperationsOfAll) {
  const StepResult result = ask_mi300x(pipeline_of(16, 8, 12, 512));
  for (const auto& [name, count] : {std::pair("qkv", 12.0 * 2.0),
                                    {"qkv_weight_gradient", 12.0 * 2.0},
                                    {"accumulate", 11.0 * 2.0},
                                    {"activations", 12.0 * 7.0 / 8.0},
                                    {"gradients", 12.0 * 7.0 / 8.0}}) {
    EXPECT_NEAR(result.operations.at(name).count, count, 1e-9) << name;
  }
  const StepResult whole = ask_mi300x(with_ends(pipeline_of(4, 2, 4, 512)));
  EXPECT_NEAR(whole.operations.at("accumulate_head").count, 3.0 / 2.0, 1e-9);
  EXPECT_NEAR(whole.operations.at("accumulate_embedding").count, 3.0 / 2.0, 1e-9);
  EXPECT_EQ(result.stages_shown, 3);
  EXPECT_EQ(result.micro_shown, 3);
}

// These tests check when turns of pipeline stages run, and how much longer they take beside others.

sim::Time of_us(int time) { return std::chrono::microseconds(time); }

// Returns stages whose turns take `forward` and `backward` and whose sends take `send`. Hosts are never late.
TimedStages alike_stages(int stages, int micro, bool trains, int forward, int backward, int send = 0) {
  TimedStages timed(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    for (const Turn& turn : turns_of(stage, stages, micro, trains)) {
      const sim::Time time = of_us(turn.forward ? forward : backward);
      TimedTurn one{.turn = turn, .pace = {time, sim::Time(0), time}};
      one.waits = turn.forward ? stage > 0 : stage < stages - 1;
      one.sends = turn.forward ? stage < stages - 1 : stage > 0;
      one.send = of_us(send);
      timed[static_cast<std::size_t>(stage)].push_back(one);
    }
  }
  return timed;
}

// 1F1B: the first micro-batch passes p - 1 stages before the last stage has work. That stage then has m forward passes
// and gradients without a gap, and the last gradient passes p - 1 stages: (m + p - 1) (f + b).
TEST(TurnTimes, OfAlikeStagesFillAndEmptyThePipeline) {
  for (const int stages : {1, 2, 4, 8}) {
    for (const int micro : {1, 3, 8, 32}) {
      for (const bool trains : {true, false}) {
        TimedStages timed = alike_stages(stages, micro, trains, 10, 20);
        EXPECT_EQ(play_turns(timed), of_us((micro + stages - 1) * (trains ? 30 : 10)))
            << stages << " stages, " << micro;
      }
    }
  }
}

// In forward passes, sends that are shorter than turns overlap with them: the last micro-batch is sent p - 1 times.
// Sends of 25 after turns of 10 follow each other on their stream. The last of six ends at 10 + 6 * 25, and its turn
// follows.
TEST(TurnTimes, OfForwardPassesHideShortSendsAndFollowLongOnes) {
  TimedStages timed = alike_stages(4, 6, false, 10, 0, 3);
  EXPECT_EQ(play_turns(timed), of_us((6 + 3) * 10 + 3 * 3));
  timed = alike_stages(2, 6, false, 10, 0, 25);
  EXPECT_EQ(play_turns(timed), of_us(10 + 6 * 25 + 10));
}

// Sends take 25 between two stages. A stage has at most two micro-batches in flight, so that sends there and back hold
// up the first stage. The last stage runs f0 b0 f1 b1 ...; f0 arrives at 10 + 25, and its gradient is back at 35 + 10 +
// 20 + 25 = 90 and ends at 110. f2 follows, ends at 120 and arrives at 145, where b1 ended at 95: every two
// micro-batches take 110.
TEST(TurnTimes, WaitForWhatIsUnderWay) {
  const auto end_of = [](int micro) {
    TimedStages timed = alike_stages(2, micro, true, 10, 20, 25);
    return play_turns(timed);
  };
  EXPECT_EQ(end_of(7) - end_of(5), of_us(110));
  EXPECT_EQ(end_of(8) - end_of(6), of_us(110));
}

// After turns of 10 each stage has an update of 7. The gradient of the first stage ends last.
TEST(TurnTimes, EndWithTheUpdateOfTheLastStageToBeDone) {
  TimedStages timed = alike_stages(2, 3, true, 10, 10);
  for (std::vector<TimedTurn>& turns : timed) turns.push_back({.pace = {of_us(7), sim::Time(0), of_us(7)}});
  EXPECT_EQ(play_turns(timed), of_us((3 + 1) * 20 + 7));
  EXPECT_EQ(timed[1].back().at.end, of_us(10 + 3 * 20 + 7));
}

// Three kernels of 5 take 15 when they were launched long before; if the host, at 2 each, starts with them they begin 2
// later. Kernels of 1 wait for their launches, of which the last ends at 6.
TEST(Pace, IsThatOfTheHostWhereItIsSlower) {
  const Pace slow = Pace{of_us(5), of_us(2), of_us(7)}.repeated(3);
  EXPECT_EQ(slow.gpu, of_us(15));
  EXPECT_EQ(slow.host, of_us(6));
  EXPECT_EQ(slow.both, of_us(17));
  const Pace fast = Pace{of_us(1), of_us(2), of_us(3)}.repeated(3);
  EXPECT_EQ(fast.both, of_us(7));
  // After the slow kernels, launched from 2 on, the fast ones were launched long ago. After the fast kernels the first
  // slow one is launched at 8.
  EXPECT_EQ(slow.then(fast).both, of_us(2 + 15 + 3));
  EXPECT_EQ(fast.then(slow).both, of_us(8 + 15));
}

// A stage follows a host that takes 30 for each turn of 10. The host launches ahead while its stage waits for others:
// the second stage has launched its turn before the first one's activations arrive, at 32 + 5.
TEST(TurnTimes, FollowTheHost) {
  TimedStages timed = alike_stages(2, 4, false, 10, 0, 5);
  for (std::vector<TimedTurn>& turns : timed) {
    for (TimedTurn& turn : turns) turn.pace = {of_us(10), of_us(30), of_us(32)};
  }
  EXPECT_EQ(play_turns(timed), of_us(3 * 30 + 32 + 5 + 10));
  EXPECT_EQ(timed[1].front().at.begin, of_us(37));
  EXPECT_EQ(timed[1].front().at.end, of_us(47));
}

// A turn takes twice as long beside a send from its stage, and a send beside a turn of either stage. The first send has
// the next turn of its stage beside it and takes 8 us, in which that turn does 4 of its 10 us; the turn ends at 24.
TEST(TurnTimes, AreLongerBesideSends) {
  TimedStages timed = alike_stages(2, 2, false, 10, 0, 4);
  play_turns(timed, {.sending = 2.0, .send = 2.0});
  EXPECT_EQ(timed[0][0].sent.end, of_us(18));
  EXPECT_EQ(timed[0][1].at.end, of_us(24));
  EXPECT_EQ(timed[0][1].lost, of_us(4));
  // The second send runs beside the turn of the other stage, from 18 to 28, until then at half its pace.
  EXPECT_EQ(timed[1][0].at.end, of_us(28));
  EXPECT_EQ(timed[0][1].sent.end, of_us(30));
  EXPECT_EQ(timed[1][1].lost, of_us(0));
}

// Turns take 100 alone and lose a tenth of the time during which others run. Some are three times as long.
TEST(Lost, IsTimeBesideOthersThatDoesNoWork) {
  Lost lost;
  EXPECT_EQ(lost.slowdown(), 1.0);
  lost.add(std::vector<Lost::Sample>{{of_us(104), of_us(40)}, {of_us(100)}, {of_us(102), of_us(20)}});
  EXPECT_NEAR(lost.slowdown(), 1.0 / 0.9, 1e-9);
  lost.add(std::vector<Lost::Sample>{{of_us(300)}, {of_us(312), of_us(120)}});
  EXPECT_NEAR(lost.slowdown(), 1.0 / 0.9, 1e-9);
}

TEST(Lost, IsNoneWhereAllHaveAsMuchBesideThemOrOthersHelp) {
  Lost lost;
  lost.add(std::vector<Lost::Sample>{{of_us(100), of_us(50)}, {of_us(100), of_us(50)}});
  EXPECT_EQ(lost.slowdown(), 1.0);
  lost.add(std::vector<Lost::Sample>{{of_us(100)}, {of_us(90), of_us(50)}});
  EXPECT_EQ(lost.slowdown(), 1.0);
}

}  // namespace
}  // namespace c3sim::study
