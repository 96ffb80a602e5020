#include "study/serve/request_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "tests/config_fault.h"
#include "tests/samples.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::study {
namespace {

constexpr std::int64_t no_bound = 1 << 20;

std::vector<ServeRequest> all(RequestSource& source) {
  std::vector<ServeRequest> requests;
  while (const std::optional<ServeRequest> request = source.next()) requests.push_back(*request);
  return requests;
}

std::vector<ServeRequest> drawn(const ServeQuestion& question, std::int64_t longest = no_bound) {
  return all(*drawn_requests(question, longest));
}

double seconds(sim::Time time) { return sim::to_seconds(time).value(); }

// Requests arrive 0.25 s apart. Three standard errors of the mean of 40,000 exponential waits are 1.5 %.
TEST(Requests, ArriveAtTheirRate) {
  ServeQuestion question{.rate = 4.0, .requests = 40'000};
  EXPECT_NEAR(seconds(drawn(question).back().arrival), 10'000.0, 150.0);
  question.arrivals = Arrivals::even;
  EXPECT_NEAR(seconds(drawn(question).back().arrival), 10'000.0, 1e-6);
  question.arrivals = Arrivals::at_once;
  EXPECT_EQ(drawn(question).back().arrival, sim::Time(0));
}

TEST(Requests, OfABurstArriveTogetherAndNoMoreOften) {
  const ServeQuestion question{.arrivals = Arrivals::even, .rate = 4.0, .burst = 8, .requests = 32};
  const std::vector<ServeRequest> requests = drawn(question);
  EXPECT_EQ(requests[0].arrival, requests[7].arrival);
  EXPECT_NEAR(seconds(requests[8].arrival - requests[0].arrival), 2.0, 1e-9);
}

TEST(Requests, FollowFromTheSeedAlone) {
  ServeQuestion question{.requests = 100, .spread = 0.5, .reuse = 0.5, .prefixes = 10, .prefix = 16};
  const std::vector<ServeRequest> once = drawn(question);
  EXPECT_EQ(once, drawn(question));
  // At another rate the same prompts arrive at other times.
  question.rate = 2.0;
  const std::vector<ServeRequest> faster = drawn(question);
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].prompt, faster[i].prompt);
    EXPECT_EQ(once[i].prefix, faster[i].prefix);
    EXPECT_NEAR(seconds(once[i].arrival), 2.0 * seconds(faster[i].arrival), 1e-6);
  }
  question.seed = 2;
  EXPECT_NE(once, drawn(question));
}

// The lengths have mean 1000 and standard deviation 500. Three standard errors of the mean of 20,000 lengths are 11.
TEST(Requests, HaveLengthsOfTheSpreadThatIsAsked) {
  double sum = 0.0, squares = 0.0;
  for (const ServeRequest& request : drawn({.requests = 20'000, .prompt = 1000, .spread = 0.5})) {
    const auto prompt = static_cast<double>(request.prompt);
    sum += prompt;
    squares += prompt * prompt;
  }
  const double mean = sum / 20'000.0;
  EXPECT_NEAR(mean, 1000.0, 11.0);
  EXPECT_NEAR(std::sqrt(squares / 20'000.0 - mean * mean), 500.0, 25.0);
}

TEST(Requests, HaveNoMoreTokensThanThereIsRoomFor) {
  for (const ServeRequest& request : drawn({.requests = 1000, .prompt = 1000, .output = 100, .spread = 2.0}, 1200)) {
    EXPECT_LE(request.prompt + request.output, 1200);
    EXPECT_GE(request.output, 1);
  }
}

// All requests have 1100 tokens. They are cut if there is room for only 1099.
TEST(Requests, CountThoseThatAreCut) {
  for (const auto& [longest, cut] : {std::pair(1100, 0), {1099, 10}}) {
    const auto source = drawn_requests({.requests = 10, .prompt = 1000, .output = 100}, longest);
    EXPECT_EQ(all(*source).size(), 10u);
    EXPECT_EQ(source->counts().cut, cut);
  }
}

std::string words_of_trace(const std::string& text) {
  const auto source = traced_requests(written("requests.csv", text), 8192);
  std::string words;
  for (const ServeRequest& one : all(*source)) {
    words += fmt::format("at {:.6g} s {} tokens and {} of output", seconds(one.arrival), one.prompt, one.output);
    words += one.prefix < 0 ? "\n" : fmt::format(", of which {} begin as {}\n", one.prefix_tokens, one.prefix);
  }
  words += fmt::format("{} without output, {} too long: {}\n", source->counts().without_output,
                       source->counts().rejected, fmt::join(source->counts().first_rejected, ", "));
  return words;
}

// The source rejects requests that are longer than 8192 tokens.
TEST(Requests, AreReadFromFilesOfMoreThanOneForm) {
  expect_samples("requests.samples", [](const Sample& sample) {
    std::string words;
    const std::string fault = config_fault([&] { words = words_of_trace(sample.inputs.front().second); });
    return fault.empty() ? words : replaced(fault, testing::TempDir(), "") + '\n';
  });
}

sim::Time after(double time) { return sim::to_time(sim::Seconds(time)); }

// Stages of 10 and 40 requests/s for 100 s each have about 1000 and 4000 requests, within four standard deviations.
TEST(RequestSource, DrawsStagesOneBehindTheOther) {
  const std::vector<ServeRequest> requests = drawn({.stages = {{10.0, after(100.0)}, {40.0, after(100.0)}}});
  const auto early =
      std::ranges::count_if(requests, [](const ServeRequest& one) { return one.arrival < after(100.0); });
  EXPECT_NEAR(static_cast<double>(early), 1000.0, 4 * 32.0);
  EXPECT_NEAR(static_cast<double>(std::ssize(requests) - early), 4000.0, 4 * 64.0);
  EXPECT_LT(requests.back().arrival, after(200.0));
  EXPECT_EQ(drawn({.arrivals = Arrivals::even, .stages = {{2.0, after(3.1)}}}).size(), 6);
}

// Lengths are uniform from 0.8 to 1 times 1000 tokens, so that their mean is 900.
TEST(RequestSource, DrawsLengthsFromALeastShare) {
  double sum = 0.0;
  for (const ServeRequest& one : drawn({.requests = 2000, .prompt = 1000, .least = 0.8})) {
    EXPECT_GE(one.prompt, 800);
    EXPECT_LE(one.prompt, 1000);
    sum += static_cast<double>(one.prompt);
  }
  EXPECT_NEAR(sum / 2000.0, 900.0, 6.0);
}

}  // namespace
}  // namespace c3sim::study
