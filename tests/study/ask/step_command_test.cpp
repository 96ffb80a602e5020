// A step that is written as an experiment takes as long as the step. Steps are also drawn at random: each has an answer
// or a fault of the question, and its parts sum up to its time.
#include <optional>
#include <random>

#include "sim/config/config.h"
#include "sim/config/config_error.h"
#include "study/ask/command.h"
#include "study/experiment/experiment.h"
#include "study/step/step_carriers.h"
#include "study/step/step_graph.h"
#include "tests/study/experiment/quantities.h"
#include "tests/study/step/step_questions.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

// StepDraw draws the same steps for the same seed on any machine.
class StepDraw {
 public:
  explicit StepDraw(std::uint64_t seed) : random_(seed) {}

  StepQuestion step() {
    StepQuestion one;
    one.model = read_model(of({"llama3-8b", "bert-large", "mixtral-8x7b", "qwen2-7b"}), folders);
    one.phase = of({Phase::decode, Phase::prefill, Phase::train});
    do {
      for (int* const split : {&one.tp, &one.dp, &one.cp, &one.ep, &one.pp}) *split = of({1, 1, 1, 2, 2, 4});
    } while (one.gpus() > 8);
    one.layers = one.pp * of({1, 2, 3, 6});
    one.micro = one.pp > 1 || rarely() ? of({1, 2, 4}) : 1;
    one.batch = one.micro * of({1, 2});
    one.tokens = one.phase == Phase::decode ? 1 : of({16, 128, 512, 1024});
    one.context = one.phase == Phase::decode ? of({64, 1024}) : 0;
    one.graph = of({true, false});
    one.collectives = of<Carrier>({models::Backend::rccl, models::Backend::rccl, models::Backend::sdma,
                                   models::Backend::one_shot, carrier_by_size(), Carrier(models::Backend::sdma, true)});
    if (rarely()) one.channels = of({4, 8});
    if (rarely()) one.pieces = of({1, 2});
    one.prelaunch = rarely();
    if (one.phase != Phase::train) return one;
    one.shard = of({Shard::none, Shard::full});
    one.optimizer = of({Optimizer::none, Optimizer::adam, Optimizer::lamb});
    one.recompute = rarely();
    one.forward = rarely();
    return one;
  }
  // Returns a step with options beyond those of step().
  StepQuestion wider_step() {
    StepQuestion one = step();
    if (rarely()) one.model = read_model(of({"deepseek-v3", "gpt-oss-20b", "gemma2-27b"}), folders);
    if (rarely()) one.layers = {};
    if (one.phase != Phase::train) one.kernels = of({Kernels::eager, Kernels::compiled});
    if (one.ep > 1) one.dispatch = of({Dispatch::all_to_all, Dispatch::high_throughput, Dispatch::low_latency});
    if (rarely()) one.overlap = of({Overlap::shared_experts, Overlap::two_batches});
    one.dtype = of({models::Dtype::bf16, models::Dtype::bf16, models::Dtype::fp8, models::Dtype::fp16});
    if (rarely()) one.formats.weights = of({models::Dtype::mxfp4, models::Dtype::int4});
    if (rarely()) one.formats.cache = models::Dtype::fp8;
    if (rarely()) one.formats.activations = models::Dtype::bf16;
    if (rarely()) one.formats.attention = one.activation_format();
    if (rarely()) one.pause = sim::Time(1'500'000);
    if (rarely()) one.tokens = of({33, 1021});
    return one;
  }
  template <class T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + random_() % values.size());
  }

 private:
  bool rarely() { return random_() % 5 == 0; }

  std::mt19937_64 random_;
};

// Returns the makespan in microseconds, less the pause, of the experiment that the step is written as.
double as_an_experiment(const StepQuestion& question, const Platform& platform) {
  sim::Config config = sim::Config::from_text(experiment_text(question, step_machine(platform.spec)), "step.yaml");
  const ExperimentMachine machine = read_machine(config);
  Testbed testbed(beside(platform, machine.beside()).spec);
  return *measure(testbed, read_experiment(config, testbed)).at("makespan_us") - in_us(question.pause);
}

TEST(Step, FullAsAnExperimentTakesAsLong) {
  const Platform platform = mi300x();
  const std::string stages = "--model llama3-8b --phase train --layers 4 --tokens 512 --pp 2 --micro 2 --batch 2 ";
  const std::string pieces = "--model llama3-8b --phase prefill --layers 2 --tokens 2048 --tp 8 --pieces 2 ";
  const std::string fused = "--model llama3-8b --phase prefill --layers 2 --collectives t3 ";
  const std::string decode = "--model llama3-8b --phase decode --context 1024 --layers 3 --tp 8 --batch 8 ";
  for (const std::string& options :
       {decode, decode + "--graph no", decode + "--kernels compiled", decode + "--pause 20us", stages,
        stages + "--tp 2", stages + "--collectives sdma",
        std::string("--model mixtral-8x7b --phase prefill --layers 2 --tokens 512 --ep 4"), pieces,
        pieces + "--ffn-pieces 4 --chosen qkv_gather=sdma,down_scatter=rccl/14", fused + "--tp 8 --tokens 2048",
        fused + "--tp 4 --tokens 2048 --graph no", fused + "--tp 2 --tokens 2048 --dtype bf16,weights=int4",
        std::string("--model deepseek-v3 --phase decode --context 64 --layers 4 --batch 8 --ep 8 --dispatch "
                    "high_throughput"),
        std::string("--model llama3-8b --phase train --layers 2 --tokens 512"),
        std::string("--model llama3-8b --phase train --layers 1 --tokens 512 --tp 2 --collectives t3"),
        std::string("--model llama3-8b --phase train --layers 6 --tokens 2048 --tp 2 --dp 4 --shard full --graph no"),
        stages + "--tp 2 --forward --batch 4 --micro 4 --collectives sdma --graph no"}) {
    SCOPED_TRACE(options);
    const StepQuestion question = step_of(options);
    const double step = in_us(ask_on(platform.spec, question, in_whole).time);
    EXPECT_NEAR(as_an_experiment(question, platform), step, 1e-3 * step);
  }
}

// Two of eight GPUs decode, one operation after the other: each takes as long as alone, whoever launches it, and GPUs
// that have no part in the collectives do not run ahead.
TEST(Step, AsAnExperimentSlowsNothingDownThatRunsAlone) {
  const Platform platform = mi300x();
  for (const char* const graph : {"yes", "no"}) {
    const StepQuestion question = step_of(
        std::string("--model llama3-8b --phase decode --context 1024 --layers 1 --tp 2 --batch 8 --graph ") + graph);
    sim::Config config = sim::Config::from_text(experiment_text(question, step_machine(platform.spec)), "step.yaml");
    Testbed testbed(beside(platform, read_machine(config).beside()).spec);
    const ResultTable table = run_experiment(testbed, read_experiment(config, testbed)).tables.at(0).table;
    for (const std::vector<Cell>& row : table.rows()) {
      EXPECT_NEAR(*number_of(row.at(place_of(table.columns(), "slowdown"))), 1.0, 1e-3) << word_of(row.front());
    }
  }
}

// Products of experts keep the kernels that serving frameworks use, also with weights in another format.
TEST(Step, OfServedExpertsTakesAsLongAsAnExperiment) {
  const Platform platform = h200();
  for (const char* const dtype : {"bf16", "fp8", "bf16,weights=mxfp4"}) {
    SCOPED_TRACE(dtype);
    const StepQuestion question = step_of(
        std::string("--model mixtral-8x7b --phase prefill --tokens 512 --layers 2 --tp 2 --kernels compiled --dtype ") +
        dtype);
    const double step = in_us(ask_on(platform.spec, question, in_whole).time);
    EXPECT_NEAR(as_an_experiment(question, platform), step, 1e-3 * step);
  }
}

// Returns the work as files have it, where kernels have the operations that stand for their operator's cycles.
Work in_files(Work work, const models::PlatformSpec& platform) {
  if (auto* const kernel = std::get_if<models::ElementwiseSpec>(&work)) {
    kernel->flops = sim::Flops(2.0 * models::lane_cycles(*kernel, platform.gpu));
    kernel->operation = {};
    kernel->elements = 0.0;
  }
  return work;
}

TEST(DrawnSteps, AreWrittenWithEveryOperation) {
  const std::array platforms{mi300x(), h200(),
                             read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi355x.yaml", {}, folders)};
  constexpr std::uint64_t count = 400;
  std::uint64_t written = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const StepQuestion question = StepDraw(seed).wider_step();
    const Platform& platform = platforms[seed % platforms.size()];
    SCOPED_TRACE(testing::Message() << "seed " << seed << " on " << platform.spec.name);
    const StepMachine machine = step_machine(platform.spec);
    if (!faults_of(question, machine).empty() || !faults_of_carriers(question, machine).empty()) continue;
    std::vector<GraphNode> nodes;
    try {
      nodes = part_of(question, machine.templates, Testbed(platform.spec), most_layers).graph.nodes();
    } catch (const sim::ConfigError&) {
      continue;  // the platform cannot do some of its operations
    }
    ++written;
    sim::Config config = sim::Config::from_text(experiment_text(question, machine), "step.yaml");
    const Testbed testbed(beside(platform, read_machine(config).beside()).spec);
    const OperationGraph read = read_experiment(config, testbed).graph;
    ASSERT_EQ(read.size(), nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      SCOPED_TRACE(nodes[i].operation.name);
      const Operation& operation = read.nodes()[i].operation;
      ASSERT_EQ(operation.work, in_files(nodes[i].operation.work, platform.spec)) << to_string(operation.work);
      ASSERT_EQ(operation.stream, nodes[i].operation.stream);
      // Where a collective has some of the GPUs, the next operation waits on the others for the one before, too.
      ASSERT_TRUE(std::ranges::includes(operation.after, nodes[i].operation.after));
      ASSERT_EQ(operation.launch, nodes[i].operation.launch);
    }
  }
  EXPECT_GT(written, count / 16);
}

// Tries `count` drawn steps and plays one of every `every` answered steps as an experiment, too.
void try_drawn_steps(std::uint64_t count, std::uint64_t every) {
  const std::array platforms{mi300x(), h200(),
                             read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi355x.yaml", {}, folders)};
  std::uint64_t answered = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    StepDraw draw(seed);
    const StepQuestion question = draw.step();
    const Platform& platform = platforms[seed % platforms.size()];
    std::optional<StepResult> result;
    try {
      result = ask_on(platform.spec, question);
    } catch (const sim::ConfigError&) {
      continue;  // the question is refused; any other exception ends the test
    }
    ++answered;
    SCOPED_TRACE(testing::Message() << "seed " << seed << " on " << platform.spec.name);
    const double time = in_us(result->time);
    const sim::Time idle = result->idle();
    EXPECT_GT(time, 0.0);
    for (const sim::Time part : {result->compute, result->exposed, result->host, idle}) EXPECT_GE(part, sim::Time(0));
    EXPECT_NEAR(in_us(result->compute + result->exposed + result->host + idle), time, 1e-3 * time);
    EXPECT_LE(result->exposed, result->communication);
    if (question.graph) {
      EXPECT_EQ(result->host, sim::Time(0));
    }
    if (answered % every != 0) continue;
    const double whole = in_us(ask_on(platform.spec, result->question, in_whole).time);
    EXPECT_NEAR(as_an_experiment(result->question, platform), whole, 1e-3 * whole);
    EXPECT_NEAR(time, whole, 2e-2 * whole);
  }
  EXPECT_GT(answered, count / 8);
}

TEST(DrawnSteps, FullAreRefusedOrSumUpAndTakeAsLongAsTheirExperiments) { try_drawn_steps(100, 6); }
TEST(FullDrawnSteps, AreRefusedOrSumUpAndTakeAsLongAsTheirExperiments) { try_drawn_steps(1250, 8); }

}  // namespace
}  // namespace c3sim::study
