#include "study/serve/request_source.h"

#include <cmath>

#include "sim/config/config_error.h"
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

// 40,000 waits of a quarter of a second: the mean of as many exponential ones is within 1.5 % by three standard errors.
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
  // At another rate the same prompts come at other times.
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

// Mean 1000 and standard deviation 500; of 20,000, three standard errors are 11.
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

// All of one length: they are cut where they are a token longer than there is room for.
TEST(Requests, CountThoseThatAreCut) {
  for (const auto& [longest, cut] : {std::pair(1100, 0), {1099, 10}}) {
    const auto source = drawn_requests({.requests = 10, .prompt = 1000, .output = 100}, longest);
    EXPECT_EQ(all(*source).size(), 10u);
    EXPECT_EQ(source->counts().cut, cut);
  }
}

std::unique_ptr<RequestSource> source_of(const std::string& text) {
  return traced_requests(c3sim::written("requests.csv", text), 8192);
}
std::vector<ServeRequest> traced(const std::string& text) { return all(*source_of(text)); }

std::string fault_of_trace(const std::string& text) {
  try {
    traced(text);
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return "none";
}

sim::Time after(double time) { return sim::to_time(sim::Seconds(time)); }

const std::string heading = "arrival_s,prompt_tokens,output_tokens";

// In the last one behind a byte order mark and in quotes.
TEST(Requests, AreReadFromAFile) {
  const std::string shared = "# of a day\n" + heading + ",prefix,prefix_tokens\n0,100,10,,\r\n1.5,4000,20,7,3000\n";
  EXPECT_THAT(traced(shared),
              ElementsAre(ServeRequest{after(0), 100, 10}, ServeRequest{after(1.5), 4000, 20, 7, 3000}));
  EXPECT_THAT(traced("\xEF\xBB\xBF" + heading + "\n\"0\",\"100\",10\n"), ElementsAre(ServeRequest{after(0), 100, 10}));
}

// Of 8192 tokens, one request asks for 8193: the others are served, and it is named.
TEST(Requests, ThatAreTooLongAreRejectedAndNamed) {
  const auto source = source_of(heading + "\n0,100,10\n1,8000,193\n2,8000,192\n");
  EXPECT_EQ(all(*source).size(), 2u);
  EXPECT_EQ(source->counts().rejected, 1);
  EXPECT_THAT(source->counts().first_rejected, ElementsAre("requests.csv:3 (8000 tokens and 193 of output)"));
}

// 46.68 s past the minute, then 50.95 s: 4.27 s later. The third, at 18:16 UTC as well, is 9.27 s behind the first.
TEST(Requests, OfAzureArriveByDates) {
  const std::string columns = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const std::vector<ServeRequest> requests = traced(columns +
                                                    "2023-11-16 18:15:46.6800000,374,44\n"
                                                    "2023-11-16 18:15:50.9500000,396,109\n"
                                                    "2023-11-16 20:15:55.950000+02:00,7,1\n");
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0], (ServeRequest{sim::Time(0), 374, 44}));
  EXPECT_EQ(requests[1].prompt, 396);
  EXPECT_EQ(requests[1].output, 109);
  EXPECT_NEAR(seconds(requests[1].arrival), 4.27, 1e-6);
  EXPECT_NEAR(seconds(requests[2].arrival), 9.27, 1e-6);
  EXPECT_THAT(fault_of_trace(columns + "16 Nov,374,44\n"), HasSubstr("requests.csv:2: TIMESTAMP: '16 Nov' is none"));
}

// Failed requests have no response.
TEST(Requests, OfBurstGptAreThoseThatWereAnswered) {
  const auto source = source_of(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n"
      "45,ChatGPT,1087,0,1087,Conversation log\n"
      "118,GPT-4,417,276,693,API log\n");
  EXPECT_THAT(all(*source), ElementsAre(ServeRequest{after(0), 472, 18}, ServeRequest{after(113.0), 417, 276}));
  EXPECT_EQ(source->counts().without_output, 1);
}

// The first two begin with ids 0 and 1, of 512 tokens each; the third shares nothing. Of a prompt of 600 tokens all of
// it may be shared.
TEST(Requests, OfMooncakeShareBeginnings) {
  EXPECT_THAT(traced(R"({"timestamp": 1000, "input_length": 2000, "output_length": 52, "hash_ids": [0, 1, 2, 3]}
{"timestamp": 1500, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}

{"timestamp": 1500, "input_length": 7, "output_length": 1, "hash_ids": [9]}
)"),
              ElementsAre(ServeRequest{after(0), 2000, 52, 1, 1024}, ServeRequest{after(0.5), 600, 5, 1, 600},
                          ServeRequest{after(0.5), 7, 1}));
  EXPECT_THAT(fault_of_trace("{\"timestamp\": 1}\n"), HasSubstr("requests.csv:1: input_length: a whole number"));
  EXPECT_THAT(fault_of_trace("{\"timestamp\": 1\n"), HasSubstr("is no object of JSON"));
}

// 10 and 40 requests a second for 100 s each: some 1000 and 4000, within four standard deviations.
TEST(RequestSource, DrawsStagesOneBehindTheOther) {
  const std::vector<ServeRequest> requests = drawn({.stages = {{10.0, after(100.0)}, {40.0, after(100.0)}}});
  const auto early =
      std::ranges::count_if(requests, [](const ServeRequest& one) { return one.arrival < after(100.0); });
  EXPECT_NEAR(static_cast<double>(early), 1000.0, 4 * 32.0);
  EXPECT_NEAR(static_cast<double>(std::ssize(requests) - early), 4000.0, 4 * 64.0);
  EXPECT_LT(requests.back().arrival, after(200.0));
  EXPECT_EQ(drawn({.arrivals = Arrivals::even, .stages = {{2.0, after(3.1)}}}).size(), 6);
}

// Lengths from 0.8 to 1 times 1000 tokens, each as likely: 900 in the mean.
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
