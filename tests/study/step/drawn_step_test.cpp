// Steps drawn at random: none of them fails in another way than by a fault of the question, what they are made up of
// sums up to them, and the experiments that they are written as take as long.
#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sim/config/config.h"
#include "sim/config/config_error.h"
#include "study/experiment/experiment.h"
#include "study/experiment/experiment_reader.h"
#include "study/step/step.h"
#include "study/work/operators.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

// The same for the same seed, on any machine.
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
  template <class T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + random_() % values.size());
  }

 private:
  bool rarely() { return random_() % 5 == 0; }

  std::mt19937_64 random_;
};

double micros(sim::Time time) { return sim::to_microseconds(time); }

struct StepMachines {
  std::vector<Platform> platforms;
  std::vector<ElementwiseOperator> operators = read_operators(folders);

  StepMachines() {
    platforms.push_back(mi300x());
    platforms.push_back(h200());
    platforms.push_back(read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi355x.yaml", {}, folders));
  }
};

double as_an_experiment(const StepQuestion& question, const Platform& platform,
                        std::span<const ElementwiseOperator> operators) {
  sim::Config config = sim::Config::from_text(experiment_text(question, platform.spec, operators), "step.yaml");
  const ExperimentMachine machine = read_machine(config);
  Testbed testbed(beside(platform, machine.beside()).spec);
  return *measure(testbed, read_experiment(config, testbed)).at("makespan_us");
}

// Of so many drawn steps; every so many is played as an experiment, too.
void try_drawn_steps(std::uint64_t count, std::uint64_t every) {
  const StepMachines machines;
  std::uint64_t answered = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    StepDraw draw(seed);
    const StepQuestion question = draw.step();
    const Platform& platform = machines.platforms[seed % machines.platforms.size()];
    std::optional<StepResult> result;
    try {
      result = ask(platform.spec, question, machines.operators);
    } catch (const sim::ConfigError&) {
      continue;  // what cannot be asked is refused: any other exception ends the test
    }
    ++answered;
    SCOPED_TRACE(testing::Message() << "seed " << seed << " on " << platform.spec.name);
    const double time = micros(result->time);
    const sim::Time idle = result->idle();
    EXPECT_GT(time, 0.0);
    for (const sim::Time part : {result->compute, result->exposed, result->host, idle}) EXPECT_GE(part, sim::Time(0));
    EXPECT_NEAR(micros(result->compute + result->exposed + result->host + idle), time, 1e-3 * time);
    EXPECT_LE(result->exposed, result->communication);
    if (question.graph) {
      EXPECT_EQ(result->host, sim::Time(0));
    }
    if (answered % every != 0) continue;
    const double whole = micros(ask(platform.spec, result->question, machines.operators, {}, in_whole).time);
    EXPECT_NEAR(as_an_experiment(result->question, platform, machines.operators), whole, 1e-3 * whole);
    EXPECT_NEAR(time, whole, 2e-2 * whole);
  }
  EXPECT_GT(answered, count / 8);
}

TEST(DrawnSteps, FullAreRefusedOrSumUpAndTakeAsLongAsTheirExperiments) { try_drawn_steps(100, 6); }
TEST(FullDrawnSteps, AreRefusedOrSumUpAndTakeAsLongAsTheirExperiments) { try_drawn_steps(2500, 8); }

}  // namespace
}  // namespace c3sim::study
