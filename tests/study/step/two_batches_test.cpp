#include "study/step/step_graph.h"
#include "tests/study/step/step_questions.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

StepOperation computes(const std::string& name) {
  return {static_cast<Handle>(name[0]), name, Kind::elementwise, models::ElementwiseSpec{}, "compute"};
}
StepOperation sends(const std::string& name) {
  return {static_cast<Handle>(name[0]), name, Kind::all_to_all, models::CollectiveSpec{}, "compute"};
}
std::vector<StepBlock> in_two_batches(const std::vector<StepBlock>& layers) {
  Handle next_handle = 0;
  return two_batches(layers, next_handle);
}

struct ListedOperation {
  std::string name;
  std::string stream;
  std::vector<std::string> after;
};

std::vector<ListedOperation> listed(const std::vector<StepBlock>& blocks) {
  std::map<Handle, std::string> names;
  for (const StepBlock& block : blocks) {
    for (const StepOperation& one : block.operations) names[one.handle] = one.name + block.suffix;
  }
  std::vector<ListedOperation> all;
  for (const StepBlock& block : blocks) {
    for (const StepOperation& one : block.operations) {
      ListedOperation& added = all.emplace_back(ListedOperation{names.at(one.handle), one.stream, {}});
      for (const Wait& wait : one.after) added.after.push_back(names.at(wait.on));
    }
  }
  return all;
}
std::vector<std::string> names_in(const std::vector<StepBlock>& blocks) {
  std::vector<std::string> names;
  for (const ListedOperation& one : listed(blocks)) names.push_back(one.name);
  return names;
}

// A layer computes, communicates and computes; the next layer goes on with its first computation.
TEST(TwoBatches, TakeTurnsWhereOneHasToWait) {
  const std::vector<StepBlock> layers{{2, {computes("a"), sends("x"), computes("b")}}};
  EXPECT_THAT(names_in(in_two_batches(layers)),
              ElementsAre("a_1_l0", "x_1_l0", "a_2_l0", "x_2_l0", "b_1_l0", "a_1_l1", "x_1_l1", "b_2_l0", "a_2_l1",
                          "x_2_l1", "b_1_l1", "b_2_l1"));
}

TEST(TwoBatches, CommunicateBesideWhatComputesAndAreAwaitedByTheirOwnHalf) {
  const std::vector<StepBlock> layers{{1, {computes("a"), sends("x"), computes("b")}}};
  const std::vector<ListedOperation> all = listed(in_two_batches(layers));
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[1].stream, "exchange");
  EXPECT_THAT(all[1].after, ElementsAre("a_1_l0"));
  EXPECT_THAT(all[2].after, IsEmpty());
  EXPECT_EQ(all[4].stream, "compute");
  EXPECT_THAT(all[4].after, ElementsAre("x_1_l0"));
  EXPECT_THAT(all[5].after, ElementsAre("x_2_l0"));
}

// A layer's own overlapped operation is awaited where the layer says, so that the half goes on until then.
TEST(TwoBatches, LeaveALayersOwnWaitsAsTheyAre) {
  StepOperation beside = sends("x");
  beside.stream = "exchange";
  beside.after = {{'a', "layer"}};
  StepOperation waits = computes("c");
  waits.after = {{'x', "layer"}};
  const std::vector<StepBlock> layers{{1, {computes("a"), beside, computes("b"), waits}}};
  EXPECT_THAT(names_in(in_two_batches(layers)),
              ElementsAre("a_1_l0", "x_1_l0", "b_1_l0", "a_2_l0", "x_2_l0", "b_2_l0", "c_1_l0", "c_2_l0"));
}

StepResult prefill_with_experts(const std::string& options) {
  return ask_mi300x(
      step_of("--model deepseek-v3 --layers 6 --phase prefill --batch 4 --tokens 1024 --tp 8 --ep 8 " + options));
}

// At least half of communication overlaps with the other half's computation; without two batches hardly any does.
TEST(TwoBatches, FullHideWhatCommunicates) {
  const StepResult apart = prefill_with_experts("");
  const StepResult together = prefill_with_experts("--overlap two_batches");
  EXPECT_GT(10 * apart.exposed, 9 * apart.communication);
  EXPECT_LT(2 * together.exposed, together.communication);
}

// Shared experts take long enough to overlap visibly with the exchange that they no longer wait for.
TEST(TwoBatches, SharedExpertsAloneHideALittle) {
  const StepResult apart = prefill_with_experts("");
  const StepResult beside = prefill_with_experts("--overlap shared_experts");
  EXPECT_LT(beside.exposed, apart.exposed);
  EXPECT_LT(beside.time, apart.time);
}

// A token goes to 5.3 of 8 ranks instead of to 8 experts: high throughput sends two thirds as much.
TEST(Dispatch, ByHighThroughputSendsATokenOnceToEachGpu) {
  const auto exchanges = [](const std::string& dispatch) {
    return us_of(prefill_with_experts("--layers 4 --dispatch " + dispatch), Kind::all_to_all);
  };
  EXPECT_NEAR(exchanges("low_latency") / exchanges("high_throughput"), 8.0 / 5.3, 0.15);
}

}  // namespace
}  // namespace c3sim::study
