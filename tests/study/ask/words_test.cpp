// The table of words: what it reads it can spell again, and all that is made from it agrees.
#include "study/ask/words.h"

#include "sim/config/config.h"
#include "study/ask/command.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

template <class Question>
Question told(const Given& given) {
  Question question;
  Arguments arguments;
  read_words(question, given, arguments, nullptr);
  arguments.check();
  return question;
}

// Without what a platform bounds.
TEST(Words, SpelledReadBackAsTheSame) {
  const Given c3{{"barrier", {"none"}}, {"bytes", {"896MiB"}},          {"collective", {"all_to_all"}},
                 {"delay", {"3us"}},    {"gemm", {"64x128x256"}},       {"prelaunch", {"yes"}},
                 {"splits", {"fine"}},  {"strategy", {"c3_sp,conccl"}}, {"variant", {"b2b"}},
                 {"channels", {"4"}}};
  EXPECT_EQ(spelled(told<C3Question>(c3)), c3);
  const Given collective{{"backend", {"sdma"}},    {"bytes", {"1KiB,4KiB,16KiB"}}, {"collective", {"broadcast"}},
                         {"graph", {"yes"}},       {"host_threads", {"per_gpu"}},  {"prelaunch", {"both"}},
                         {"variant", {"pcpy,b2b"}}};
  EXPECT_EQ(spelled(told<CollectiveQuestion>(collective)), collective);
  EXPECT_EQ(told<CollectiveQuestion>({{"bytes", {"1KiB:16KiB:x4"}}}).sizes.size(), 3u);
}

// A GEMM's extents and what they are of are two words, in any order.
TEST(Words, OfAGemmTellItsFormat) {
  const Given gemm{{"dtype", {"fp8"}}, {"gemm", {"64x128x256"}}};
  EXPECT_EQ(told<GemmQuestion>(gemm).gemm, (models::GemmShape{64, 128, 256, models::Dtype::fp8}));
  EXPECT_EQ(spelled(told<GemmQuestion>(gemm)), gemm);
  EXPECT_EQ(told<C3Question>(gemm).scenario.gemm, told<GemmQuestion>(gemm).gemm);
  GemmQuestion point;
  Arguments arguments;
  for (const auto& [name, text] : {std::pair("dtype", "fp32"), std::pair("gemm", "64x128x256")}) {
    const auto word = std::ranges::find(words_of(point), name, &Word<GemmQuestion>::name);
    word->of(point).read({.arguments = arguments, .option = name, .text = text, .one = true});
  }
  EXPECT_EQ(point.gemm, (models::GemmShape{64, 128, 256, models::Dtype::fp32}));
}

// What need not be said is not: the question has it anyway.
TEST(Words, AreSpelledOnlyWhereTheySaySomething) {
  const Given all{{"collective", {"all_gather"}}, {"bytes", {"1KiB"}}, {"backend", {"rccl"}}, {"variant", {"all"}}};
  EXPECT_THAT(spelled(told<CollectiveQuestion>(all)),
              ElementsAre(Pair("bytes", ElementsAre("1KiB")), Pair("collective", ElementsAre("all_gather")),
                          Pair("variant", ElementsAre("all"))));
  EXPECT_TRUE(told<C3Question>({{"strategy", {"all"}}}).strategies.empty());
}

// Of a point of a study each word has one value.
TEST(Words, OfAPointSayOneThing) {
  CollectiveQuestion question;
  const auto fault = [&question](std::string_view name, std::string_view text) {
    Arguments arguments;
    const auto word = std::ranges::find(words_of(question), name, &Word<CollectiveQuestion>::name);
    word->of(question).read({.arguments = arguments, .option = name, .text = text, .one = true});
    return arguments.faults().empty() ? "" : arguments.faults().front().what;
  };
  EXPECT_THAT(fault("bytes", "1KiB,2KiB"), HasSubstr("'1KiB,2KiB'"));
  EXPECT_THAT(fault("variant", "all"), HasSubstr("'all' is not known"));
  EXPECT_THAT(fault("prelaunch", "both"), HasSubstr("known are: no, yes"));
  EXPECT_EQ(fault("gpus", "4096"), "");  // on some machine
  EXPECT_EQ(fault("gpus", "1"), "'1': a whole number from 2 to 4096 is accepted");
}

TEST(Words, AreTheOptionsOfTheirCommand) {
  const Command command = collective_command();
  std::size_t at = 0;
  for (const Word<CollectiveQuestion>& word : words_said(CollectiveQuestion{}))
    EXPECT_EQ(command.options[at++].name, word.name);
  EXPECT_EQ(command_line("collective", command.options, {{"prelaunch", {"yes"}}, {"bytes", {"1KiB"}}}),
            "collective --bytes 1KiB --prelaunch");
  EXPECT_EQ(command_line("collective", command.options, {{"out", {"it's"}}, {"host_threads", {"one"}}}),
            R"(collective --host-threads one --out 'it'\''s')");
}

// An experiment's copy may be pulled, and has no phases to show; c3sim copy is the other way round.
TEST(Words, OfFilesAreNotAllThoseOfCommands) {
  sim::Config config = sim::Config::from_text("{from: host, to: 1, bytes: 1KiB, pull: true, phases: true}", "a.yaml");
  CopyQuestion question;
  read_words(question, config.root(), mi300x().spec);
  EXPECT_EQ(question.copy, (models::SdmaCopySpec{.from = models::host_device, .to = 1, .bytes = {}, .pull = true}));
  EXPECT_THAT(question.sizes, ElementsAre(sim::Bytes(1024.0)));
  EXPECT_FALSE(question.phases);
  std::vector<std::string> names;
  for (const Option& option : options_of<CopyQuestion>()) names.push_back(option.name);
  EXPECT_THAT(names, ElementsAre("from", "to", "bytes", "engine", "copies", "submit", "phases"));
}

TEST(Command, SaysWhatIsMissingAndWhatIsNoOption) {
  const Command command = copy_command();
  EXPECT_EQ(command.missing({{"from", {"gpu0"}}, {"bytes", {"1B"}}}),
            "error: copy needs --to\n  --to gpuN|host\nfor example: c3sim copy --from gpu0 --to gpu1 --bytes 64MiB "
            "--phases\n");
  EXPECT_EQ(command.missing({{"from", {""}}, {"to", {""}}, {"bytes", {""}}}), "");
  EXPECT_EQ(command.unknown("--phase"), "'--phase' is no option of copy; did you mean '--phases'?");
}

}  // namespace
}  // namespace c3sim::study
