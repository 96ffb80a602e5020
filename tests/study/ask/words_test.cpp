// These tests check the table of words: it spells again what it reads, and agrees with options and files.
#include "study/ask/words.h"

#include "sim/config/config.h"
#include "study/ask/command.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

template <class Asked>
Question<Asked> told(const Given& given) {
  Question<Asked> question;
  Arguments arguments;
  read_words(question, given, arguments, nullptr);
  arguments.check();
  return question;
}
template <class Asked>
Asked one_told(const Given& given) {
  return told<Asked>(given).points.at(0);
}

// The test leaves out words whose values a platform bounds.
TEST(Words, SpelledReadBackAsTheSame) {
  const Given c3{{"barrier", {"none"}},    {"bytes", {"896MiB"}},    {"collective", {"all_to_all"}},
                 {"delay", {"3us"}},       {"gemm", {"64x128x256"}}, {"prelaunch", {"yes"}},
                 {"strategy", {"conccl"}}, {"variant", {"b2b"}},     {"channels", {"4"}}};
  EXPECT_EQ(spelled(one_told<C3Trial>(c3)), c3);
  const Given collective{{"backend", {"sdma"}}, {"bytes", {"4KiB"}},           {"collective", {"broadcast"}},
                         {"graph", {"yes"}},    {"host_threads", {"per_gpu"}}, {"prelaunch", {"yes"}},
                         {"variant", {"b2b"}}};
  EXPECT_EQ(spelled(one_told<CollectiveTrial>(collective)), collective);
}

// The words ask for 3 sizes, 2 variants and both ways to launch: sizes vary fastest, then ways, then variants.
TEST(Words, OfWhichSeveralAreSaidAskForEachWithAllOthers) {
  const auto question = told<CollectiveTrial>(
      {{"bytes", {"1KiB:16KiB:x4"}}, {"variant", {"pcpy,b2b"}}, {"prelaunch", {"both"}}, {"backend", {"sdma"}}});
  ASSERT_THAT(question.points, SizeIs(12));
  EXPECT_FALSE(question.those_possible);
  for (std::size_t i = 0; i < 12; ++i) {
    const models::CollectiveSpec& spec = question.points[i].spec;
    EXPECT_EQ(spec.bytes, sim::Bytes(i % 3 == 0 ? 1024.0 : i % 3 == 1 ? 4096.0 : 16384.0));
    EXPECT_EQ(spec.prelaunch, i / 3 % 2 == 1);
    EXPECT_EQ(spec.variant, i < 6 ? models::SdmaVariant::pcpy : models::SdmaVariant::b2b);
    EXPECT_EQ(spec.backend, models::Backend::sdma);
  }
}

TEST(Words, OfWhichAllAreMeantAskForThoseThatArePossible) {
  for (const Given& given : {Given{{"strategy", {"all"}}}, Given{}}) {
    const auto question = told<C3Trial>(given);
    EXPECT_TRUE(question.those_possible);
    EXPECT_EQ(question.points.size(), all_strategies().size());
  }
  EXPECT_FALSE(told<CollectiveTrial>({}).those_possible);
}

// The extents of a GEMM and its number format are two words, in any order.
TEST(Words, OfAGemmTellItsFormat) {
  const Given gemm{{"dtype", {"fp8"}}, {"gemm", {"64x128x256"}}};
  EXPECT_EQ(one_told<GemmTrial>(gemm).shape, (models::GemmShape{64, 128, 256, models::Dtype::fp8}));
  EXPECT_EQ(spelled(one_told<GemmTrial>(gemm)), gemm);
  EXPECT_EQ(one_told<C3Trial>(gemm).scenario.gemm, one_told<GemmTrial>(gemm).shape);
  GemmTrial point;
  Arguments arguments;
  for (const auto& [name, text] : {std::pair("dtype", "fp32"), std::pair("gemm", "64x128x256")}) {
    const auto word = std::ranges::find(words_of(point), name, &Word<GemmTrial>::name);
    word->of(point).read({.arguments = arguments, .option = name, .text = text});
  }
  EXPECT_EQ(point.shape, (models::GemmShape{64, 128, 256, models::Dtype::fp32}));
}

// Words that state a default are not spelled: the question has the default anyway.
TEST(Words, AreSpelledOnlyWhereTheySaySomething) {
  const Given all{{"collective", {"all_gather"}}, {"bytes", {"1KiB"}}, {"backend", {"rccl"}}, {"variant", {"pcpy"}}};
  EXPECT_THAT(spelled(one_told<CollectiveTrial>(all)),
              ElementsAre(Pair("bytes", ElementsAre("1KiB")), Pair("collective", ElementsAre("all_gather"))));
}

// Each word has one value in a point of a study.
TEST(Words, OfAPointSayOneThing) {
  CollectiveTrial trial;
  const auto fault = [&trial](std::string_view name, std::string_view text) {
    Arguments arguments;
    const auto word = std::ranges::find(words_of(trial), name, &Word<CollectiveTrial>::name);
    word->of(trial).read({.arguments = arguments, .option = name, .text = text});
    return arguments.faults().empty() ? "" : arguments.faults().front().what;
  };
  EXPECT_THAT(fault("bytes", "1KiB,2KiB"), HasSubstr("'1KiB,2KiB'"));
  EXPECT_THAT(fault("variant", "all"), HasSubstr("'all' is not known"));
  EXPECT_THAT(fault("prelaunch", "both"), HasSubstr("known are: no, yes"));
  EXPECT_EQ(fault("gpus", "4096"), "");  // some machine has 4096 GPUs
  EXPECT_EQ(fault("gpus", "1"), "'1': a whole number from 2 to 4096 is accepted");
}

TEST(Words, AreTheOptionsOfTheirCommand) {
  const Command command = collective_command();
  std::size_t at = 0;
  for (const Word<CollectiveTrial>& word : words_said(CollectiveTrial{}))
    EXPECT_EQ(command.options[at++].name, word.name);
  EXPECT_EQ(command_line("collective", command.options, {{"prelaunch", {"yes"}}, {"bytes", {"1KiB"}}}),
            "collective --bytes 1KiB --prelaunch");
  EXPECT_EQ(command_line("collective", command.options, {{"out", {"it's"}}, {"host_threads", {"one"}}}),
            R"(collective --host-threads one --out 'it'\''s')");
}

// A copy in an experiment may be pulled and has no phases to show; c3sim copy shows phases and does not pull.
TEST(Words, OfFilesAreNotAllThoseOfCommands) {
  sim::Config config = sim::Config::from_text("{from: host, to: 1, bytes: 1KiB, pull: true, phases: true}", "a.yaml");
  CopyTrial trial;
  read_words(trial, config.root(), mi300x().spec);
  EXPECT_EQ(trial.spec,
            (models::SdmaCopySpec{.from = models::host_device, .to = 1, .bytes = sim::Bytes(1024.0), .pull = true}));
  EXPECT_FALSE(trial.phases);
  std::vector<std::string> names;
  for (const Option& option : options_of<CopyTrial>()) names.push_back(option.name);
  EXPECT_THAT(names, ElementsAre("from", "to", "bytes", "engine", "copies", "submit", "phases"));
}

}  // namespace
}  // namespace c3sim::study
