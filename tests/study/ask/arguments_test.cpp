#include "study/ask/arguments.h"

#include "models/sdma/sdma_copy.h"
#include "study/work/operation.h"
#include "study/work/scenario.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_KiB;
using sim::operator""_MiB;

std::string told(const Arguments& arguments) {
  try {
    arguments.check();
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return {};
}

// What is said of a text given to one of the readers below.
std::string sizes_fault(std::string_view text) {
  Arguments arguments;
  arguments.sizes("--bytes", text);
  return told(arguments);
}

TEST(Arguments, SizesAreListsAndRanges) {
  Arguments arguments;
  EXPECT_THAT(arguments.sizes("--bytes", "896MiB"), ElementsAre(896_MiB));
  EXPECT_THAT(arguments.sizes("--bytes", "1KiB:8KiB:x2"), ElementsAre(1_KiB, 2_KiB, 4_KiB, 8_KiB));
  EXPECT_THAT(arguments.sizes("--bytes", "1KiB:9KiB:x3,1MiB"), ElementsAre(1_KiB, 3_KiB, 9_KiB, 1_MiB));
  EXPECT_THAT(arguments.sizes("--bytes", "4KiB:4KiB:x2"), ElementsAre(4_KiB));
  EXPECT_EQ(told(arguments), "");
}

TEST(Arguments, AValueThatStandsTwiceInAListCountsOnceAndIsToldOnce) {
  Arguments arguments;
  EXPECT_THAT(arguments.integers("--cus", "8,16,8,8", 1, 304), ElementsAre(8, 16));
  EXPECT_THAT(arguments.sizes("--bytes", "2KiB,1KiB:4KiB:x2,4096B"), ElementsAre(2_KiB, 1_KiB, 4_KiB));
  EXPECT_THAT(arguments.warnings(), ElementsAre("--cus: 8 is given more than once: it is answered once",
                                                "--bytes: 2KiB, 4KiB are given more than once: each is answered once"));
}

TEST(Arguments, ARangeStopsBelowAnUpperEndItDoesNotHit) {
  Arguments arguments;
  EXPECT_THAT(arguments.sizes("--bytes", "1KiB:7KiB:x2"), ElementsAre(1_KiB, 2_KiB, 4_KiB));
}

TEST(Arguments, SaysWhatIsWrongWithSizes) {
  EXPECT_THAT(sizes_fault("896"), AllOf(HasSubstr("--bytes: "), HasSubstr("unit")));
  EXPECT_THAT(sizes_fault(""), HasSubstr("--bytes: "));
  EXPECT_THAT(sizes_fault("0B"), HasSubstr("1B to 1TiB are accepted"));
  EXPECT_THAT(sizes_fault("2000GiB"), HasSubstr("1B to 1TiB are accepted"));
  EXPECT_THAT(sizes_fault("99999999999999999999GiB"), HasSubstr("--bytes: "));
  EXPECT_THAT(sizes_fault("-1KiB"), HasSubstr("--bytes: "));
  EXPECT_THAT(sizes_fault("1KiB,,2KiB"), HasSubstr("--bytes: "));
  EXPECT_THAT(sizes_fault("1KiB:2KiB"), HasSubstr("a range is LOW:HIGH:xFACTOR"));
  EXPECT_THAT(sizes_fault("1KiB:2KiB:2"), HasSubstr("'2' is no factor"));
  EXPECT_THAT(sizes_fault("1KiB:2KiB:x1"), HasSubstr("'x1' is no factor"));
  EXPECT_THAT(sizes_fault("1KiB:2KiB:x0"), HasSubstr("'x0' is no factor"));
  EXPECT_THAT(sizes_fault("1KiB:2KiB:x-2"), HasSubstr("'x-2' is no factor"));
  EXPECT_THAT(sizes_fault("1KiB:2KiB:x99999999999"), HasSubstr("is no factor"));
  EXPECT_THAT(sizes_fault("2KiB:1KiB:x2"), HasSubstr("'2KiB:1KiB:x2' ends below its beginning"));
  EXPECT_THAT(sizes_fault("1KiB:2GB/s:x2"), HasSubstr("--bytes: "));
}

TEST(Arguments, TooManyPointsAreRefused) {
  std::string list = "1KiB";
  for (std::size_t i = 0; i < Arguments::most_points; ++i) list += ",1KiB";
  EXPECT_THAT(sizes_fault(list), HasSubstr("1001 sizes are too many: up to 1000 are accepted"));
  // 40 ranges of 31 sizes, 1 B to 1 GiB.
  std::string ranges = "1B:1GiB:x2";
  for (int i = 1; i < 40; ++i) ranges += ",1B:1GiB:x2";
  EXPECT_THAT(sizes_fault(ranges), HasSubstr("1240 sizes are too many"));
}

TEST(Arguments, IntegersLieWithinTheirBounds) {
  Arguments arguments;
  EXPECT_THAT(arguments.integers("--cus", "304,272,8", 1, 304), ElementsAre(304, 272, 8));
  EXPECT_EQ(told(arguments), "");
  for (const char* const text :
       {"", "0", "305", "8.0", "08", "+8", "-8", " 8", "0x8", "99999999999", "8,,8", "eight"}) {
    Arguments faulty;
    faulty.integers("--cus", text, 1, 304);
    EXPECT_THAT(told(faulty), HasSubstr("a whole number from 1 to 304 is accepted")) << text;
  }
}

TEST(Arguments, NumbersLieWithinTheirBounds) {
  Arguments arguments;
  EXPECT_EQ(arguments.number("--tolerance", "2.5", 0.0, 10.0), 2.5);
  EXPECT_EQ(arguments.number("--tolerance", "10", 0.0, 10.0), 10.0);
  arguments.check();
  for (const char* const text : {"10.1", "-1", "x", "", "nan", "inf", "5 %"}) {
    Arguments wrong;
    EXPECT_EQ(wrong.number("--tolerance", text, 0.0, 10.0), 0.0);
    EXPECT_THROW(wrong.check(), sim::ConfigError) << text;
  }
}

TEST(Arguments, DevicesAreGpusThatExistOrTheHost) {
  Arguments arguments;
  EXPECT_EQ(arguments.device("--to", "gpu0", 8), 0);
  EXPECT_EQ(arguments.device("--to", "gpu7", 8), 7);
  EXPECT_EQ(arguments.device("--to", "host", 8), models::host_device);
  EXPECT_EQ(told(arguments), "");
  for (const char* const text : {"gpu8", "gpu", "gpu-1", "gpu01", "7", "GPU1", ""}) {
    Arguments faulty;
    faulty.device("--to", text, 8);
    EXPECT_THAT(told(faulty), HasSubstr("gpu0 to gpu7 and host are accepted")) << text;
  }
}

TEST(Arguments, ChoicesGetTheNearestName) {
  Arguments arguments;
  EXPECT_EQ(arguments.choice<models::Backend>("--backend", "sdma"), models::Backend::sdma);
  EXPECT_EQ(told(arguments), "");
  arguments.choice<models::CollectiveKind>("--collective", "allgather");
  EXPECT_THAT(told(arguments), HasSubstr("--collective: 'allgather' is not known; did you mean 'all_gather'?"));
}

TEST(Arguments, ListsOfChoicesNameEachOnce) {
  Arguments arguments;
  EXPECT_THAT(arguments.choice_list<Strategy>("--strategy", "c3_sp,conccl"),
              ElementsAre(Strategy::c3_sp, Strategy::conccl));
  EXPECT_EQ(arguments.choice_list<Strategy>("--strategy", "all").size(), all_strategies().size());
  EXPECT_EQ(told(arguments), "");
  arguments.choice_list<Strategy>("--strategy", "c3_sp,c3_sp");
  EXPECT_THAT(told(arguments), HasSubstr("'c3_sp' is named twice"));
}

TEST(Arguments, TellsAllFaultsAtOnce) {
  Arguments arguments;
  arguments.gemm("--gemm", "8192x0x1");
  arguments.size("--bytes", "896");
  EXPECT_THAT(told(arguments), AllOf(HasSubstr("--gemm: '8192x0x1' is no GEMM shape"), HasSubstr("--bytes: ")));
}

TEST(Arguments, QuotesWithoutControlCharactersAndNotEndlessly) {
  EXPECT_EQ(in_quotes("a\x1b[31m\n"), "'a?[31m?'");
  EXPECT_EQ(in_quotes(std::string(1'000'000, 'x')).size(), 85U);  // 80 letters, three dots, two quotes
}

TEST(Arguments, SplittingKeepsEmptyParts) {
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
}

}  // namespace
}  // namespace c3sim::study
