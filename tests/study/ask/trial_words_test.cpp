// These tests check the names of trials and their command lines, which tests/cli/trial_command_test.cpp runs.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>

#include "sim/config/config_text.h"
#include "study/ask/trial.h"
#include "study/report/figure.h"
#include "tests/study/random_trial.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_MiB;
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

// A trial lacks a command only if no command simulates it.
RC_GTEST_PROP(TrialWordsProperty, GiveACommandToWhatHasOne, ()) {
  const Trial trial = draw();
  const auto* const gemm = std::get_if<GemmTrial>(&trial);
  bool has_one = std::holds_alternative<CollectiveTrial>(trial) || std::holds_alternative<CopyTrial>(trial) ||
                 std::holds_alternative<C3Trial>(trial);
  if (gemm != nullptr) has_one = !gemm->nth && gemm->pause == sim::Time(0);
  RC_ASSERT(command_of(trial).empty() != has_one);
}

// Samples of further trials lie in tests/data/samples.
TEST(TrialWords, SayWhatIsNotAsUsual) {
  const models::AttentionShape attention{
      .batch = 2, .heads = 8, .kv_heads = 1, .queries = 1, .keys = 4096, .head_dim = 128};
  EXPECT_EQ(to_string(Trial(attention)), "attention of 2 x 1 queries, 4096 keys, 8 heads of 128 on 1, causal");
  FusedTrial fused{{.gemm = {64, 128, 256}, .trigger = models::trigger_named("flag"), .pieces = 2}};
  fused.gathered = true;
  EXPECT_EQ(to_string(Trial(fused)),
            "gemm 64x128x256 fused with direct reduce_scatter, flag, 2 pieces a shard, then gathered");
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

// Engines have no CUs, channels or graphs; the kernels that add up in an all-reduce by engines have them.
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

// The text "1us" read as a time equals per_unit in base units, and so on: units that people read and units in files
// cannot drift apart. A figure without a dimension is a ratio, a percentage or a count per second. A fit divides by
// measured values, so zero is out of bounds, except for shares, which are compared in points.
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
