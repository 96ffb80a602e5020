// What trials are called, and which command lines ask for them. tests/cli/trial_command_test.cpp runs these.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>

#include "sim/config/quantity_text.h"
#include "study/ask/figure.h"
#include "study/ask/trial.h"
#include "tests/study/random_trial.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_GiB;
using sim::operator""_MiB;
using sim::operator""_us;
using models::CollectiveKind;

Trial draw() {
  return *rc::gen::exec([] { return any_trial(); });
}

RC_GTEST_PROP(TrialWordsProperty, AreEqualForEqualTrialsAlone, ()) {
  std::map<std::string, Trial> trials;
  for (int i = 0; i < 200; ++i) {
    const Trial trial = draw();
    const auto [known, is_new] = trials.emplace(to_string(trial), trial);
    if (known->second != trial) RC_FAIL("two trials are both called " + known->first);
  }
}

RC_GTEST_PROP(TrialWordsProperty, FitOnALine, ()) {
  const Trial trial = draw();
  const std::string words = to_string(trial);
  RC_ASSERT(!words.empty() && words.find_first_of("\n,\"") == std::string::npos);
  RC_ASSERT(!kind_of(trial).empty());
}

// Trials without a command are those that no command simulates.
RC_GTEST_PROP(TrialWordsProperty, GiveACommandToWhatHasOne, ()) {
  const Trial trial = draw();
  const auto* const gemm = std::get_if<GemmTrial>(&trial);
  bool has_one = std::holds_alternative<CollectiveTrial>(trial) || std::holds_alternative<CopyTrial>(trial) ||
                 std::holds_alternative<C3Trial>(trial);
  if (gemm != nullptr) has_one = !gemm->nth && gemm->pause == sim::Time(0);
  RC_ASSERT(command_of(trial).empty() != has_one);
}

TEST(TrialWords, SayWhatIsNotAsUsual) {
  EXPECT_EQ(to_string(Trial(GemmTrial{{64, 128, 256}})), "gemm 64x128x256");
  EXPECT_EQ(to_string(Trial(GemmTrial{{64, 128, 256}, 240, 0, 5_us})),
            "gemm 64x128x256 on 240 CUs number 0 from rest every time after 5us");
  EXPECT_EQ(to_string(Trial(CopyTrial{{models::host_device, 1, 1_MiB, 2}})), "copy host to gpu1 of 1MiB by engine 2");
  EXPECT_EQ(to_string(Trial(FanOutTrial{7, 1_MiB})), "copies gpu0 to 7 peers of 1MiB each");
  RemoteTrial remote;
  remote.bytes = 1_GiB;
  EXPECT_EQ(to_string(Trial(remote)), "store of 1GiB by gpu0 of gpu1");
  EXPECT_EQ(to_string(Trial(StreamTrial{2, 1, 12_GiB})), "stream of 12GiB from 2 arrays to 1");
  EXPECT_EQ(to_string(Trial(models::AttentionShape{
                .batch = 2, .heads = 8, .kv_heads = 1, .queries = 1, .keys = 4096, .head_dim = 128})),
            "attention of 2 x 1 queries, 4096 keys, 8 heads of 128 on 1, causal");
  EXPECT_EQ(to_string(Trial(LoadTrial{1_GiB, sim::BytesPerSecond(2e12), 0.5})),
            "loads in 1GiB beside 2000 GB/s of which 0.5 read");
  C3Trial pair{{"a pair", {64, 128, 256}, CollectiveKind::all_to_all, 1_MiB, 4, 16, Splits::paper, 3_us},
               Strategy::c3_sp_rp};
  EXPECT_EQ(to_string(Trial(pair)),
            "c3_sp_rp gemm 64x128x256 with all_to_all of 1MiB on 4 channels with 16 CUs reserved after 3us");
  pair.scenario.barrier = Barrier::none;
  EXPECT_THAT(to_string(Trial(pair)), testing::EndsWith("after 3us without barriers"));
  pair.scenario.variant = models::SdmaVariant::swap;
  pair.scenario.prelaunch = true;
  EXPECT_THAT(to_string(Trial(pair)), testing::EndsWith("without barriers by swap prelaunched"));
  EXPECT_EQ(to_string(Trial(DependentTrial{{64, 128, 256}, dependent_schedule("shard_overlap")})),
            "shard_overlap gemm 64x128x256");
  FusedTrial fused{{.gemm = {64, 128, 256}, .trigger = models::trigger_named("flag"), .pieces = 2}};
  fused.gathered = true;
  EXPECT_EQ(to_string(Trial(fused)),
            "gemm 64x128x256 fused with direct reduce_scatter, flag, 2 pieces a shard, then gathered");
}

TEST(TrialWords, CallAllGpusOfThePlatformAllAndNameWhatMovesTheData) {
  CollectiveTrial trial;
  trial.spec.bytes = 1_MiB;
  trial.spec.gpus = 0;
  EXPECT_EQ(to_string(Trial(trial)), "rccl all_gather of 1MiB over all GPUs");
  trial.spec.gpus = 8;
  EXPECT_EQ(to_string(Trial(trial)), "rccl all_gather of 1MiB over 8 GPUs");
  EXPECT_EQ(kind_of(Trial(trial)), "collective by kernels");
  trial.spec.backend = models::Backend::sdma;
  EXPECT_EQ(kind_of(Trial(trial)), "collective by copy engines");
}

template <std::size_t... kinds>
std::set<std::string_view> all_kinds_of_trials(std::index_sequence<kinds...>) {
  return {kind_of(Trial(std::variant_alternative_t<kinds, Trial>{}))...};
}

TEST(TrialKinds, HaveNamesOfTheirOwn) {
  constexpr std::size_t all = std::variant_size_v<Trial>;
  EXPECT_EQ(all_kinds_of_trials(std::make_index_sequence<all>()).size(), all);
  EXPECT_EQ(kind_of(Trial(LoadTrial{})), "loads");
  EXPECT_EQ(kind_of(Trial(DependentTrial{})), "dependent");
}

TEST(TrialCommands, AreThoseOfTheReadme) {
  EXPECT_EQ(command_of(GemmTrial{{8192, 8192, 8192}, 240}), "gemm --gemm 8192x8192x8192 --cus 240");
  EXPECT_EQ(command_of(GemmTrial{{64, 128, 256, models::Dtype::fp8}}), "gemm --gemm 64x128x256 --dtype fp8");
  EXPECT_EQ(command_of(CopyTrial{{0, models::host_device, 1_MiB, 1}}),
            "copy --from gpu0 --to host --bytes 1MiB --engine 1 --phases");
  C3Trial pair{{"a pair", {64, 128, 256}, CollectiveKind::all_to_all, 1_MiB, 4, 16, Splits::paper, 3_us},
               Strategy::c3_sp_rp};
  EXPECT_EQ(command_of(pair),
            "c3 --gemm 64x128x256 --collective all_to_all --bytes 1MiB --strategy c3_sp_rp --channels 4 --reserve 16 "
            "--delay 3us");
}

// Engines have no CUs, channels or graphs; only the kernels that add up before an all-reduce by engines do.
TEST(TrialCommands, NameOptionsOfKernelsWhereThereAreKernels) {
  CollectiveTrial trial;
  trial.spec.backend = models::Backend::sdma;
  trial.spec.bytes = 1_MiB;
  trial.spec.gpus = 0;
  trial.spec.cus = 8;
  trial.spec.graph = true;
  EXPECT_EQ(command_of(trial), "collective --collective all_gather --backend sdma --bytes 1MiB");
  trial.spec.kind = CollectiveKind::all_reduce;
  EXPECT_EQ(command_of(trial), "collective --collective all_reduce --backend sdma --bytes 1MiB --cus 8 --graph");
}

// "1us" read as a time is per_unit in base units, and so on: what people read and what files say cannot drift apart.
// Without a dimension a figure is a ratio, a percentage or so many a second. A fit divides by what was measured: but
// for shares, which are compared in points, zero is out of bounds.
TEST(Figure, HasAKeyOfItsOwnAUnitOfItsDimensionAndBoundsThatItCanBeDividedBy) {
  std::set<std::string_view> keys;
  for (const FigureForm& form : all_figures()) {
    SCOPED_TRACE(form.key);
    EXPECT_TRUE(keys.insert(form.key).second);
    EXPECT_FALSE(form.heading.empty());
    EXPECT_EQ(&form_of(form.figure), &form);
    if (form.dimension == sim::Dimension::number) {
      EXPECT_TRUE(form.unit.empty() || form.unit == "%" || form.unit.ends_with("/s")) << form.unit;
      EXPECT_EQ(form.per_unit, form.unit == "%" ? 0.01 : 1.0);
    } else {
      const sim::ParsedQuantity one = sim::parse_quantity("1" + std::string(form.unit), form.dimension);
      EXPECT_TRUE(one.ok()) << one.error;
      EXPECT_DOUBLE_EQ(one.value, form.per_unit);
    }
    EXPECT_LT(form.low, form.high);
    const bool in_points = form.error == ErrorKind::points;
    EXPECT_EQ(form.low > 0.0, !in_points);
    EXPECT_TRUE(!in_points || form.high == 1.0);
  }
  EXPECT_EQ(form_of(Figure::time).key, "time");
  EXPECT_EQ(form_of(Figure::energy).key, "energy");
}

}  // namespace
}  // namespace c3sim::study
