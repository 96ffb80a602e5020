#include "study/serve/serve.h"

#include "sim/config/config_error.h"
#include "study/report/statistics.h"
#include "tests/folder.h"
#include "tests/study/step/step_questions.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::study {
namespace {

StepQuestion llama_8b() { return step_of("--model llama3-8b"); }

class BatchTimesTest : public ::testing::Test {
 protected:
  BatchTimes times_{step_machine(), llama_8b(), 8192};
};

Batch decoding(std::int64_t sequences, std::int64_t context) {
  return {.decoding = sequences, .decoding_context = sequences * context};
}

// Returns a batch of one chunk of `tokens` tokens that follow `context` cached tokens.
Batch chunk(std::int64_t tokens, std::int64_t context) {
  const auto count = static_cast<double>(tokens);
  return {.chunks = 1, .chunk_tokens = tokens, .chunk_pairs = count * (static_cast<double>(context) + count / 2.0)};
}

// The interpolated times also hold between points of the grid and where sequences decode in a batch with prompts.
TEST_F(BatchTimesTest, AreThoseOfSteps) {
  Batch mixed = chunk(1500, 700);
  mixed.decoding = 37;
  mixed.decoding_context = 37 * 1357;
  for (const auto& [batch, error] : {std::pair(decoding(1, 1024), 0.005),
                                     {decoding(64, 4096), 0.005},
                                     {chunk(512, 0), 0.005},
                                     {chunk(2048, 1024), 0.005},
                                     {decoding(77, 1900), 0.06},
                                     {chunk(1234, 567), 0.06},
                                     {mixed, 0.06}}) {
    EXPECT_NEAR(times_.error(batch).value(), 0.0, error) << batch.tokens();
  }
}

TEST_F(BatchTimesTest, GrowWithWhatIsComputed) {
  EXPECT_LT(times_.cost(decoding(8, 512)).time, times_.cost(decoding(8, 4096)).time);
  EXPECT_LT(times_.cost(chunk(512, 0)).time, times_.cost(chunk(1024, 0)).time);
  EXPECT_LT(times_.cost(chunk(512, 0)).energy, times_.cost(chunk(512, 4096)).energy);
}

// Chunks of prompts make keys and values of all cached features; tokens that decode beside them do not.
TEST(BatchTimes, OfLatentAttentionGrowWithTheContext) {
  BatchTimes times(step_machine(), step_of("--model deepseek-v3 --dtype fp8 --tp 8"), 512);
  Batch mixed = chunk(448, 65'536);
  mixed.decoding = 64;
  mixed.decoding_context = 64 * 4000;
  EXPECT_NEAR(times.error(mixed).value(), 0.0, 0.03);
}

// A batch of few tokens takes the time in which the host launches it, a batch of many tokens the time of the GPUs.
TEST_F(BatchTimesTest, LaunchedOpByOpAreThoseOfTheHostUntilTheGpusTakeLonger) {
  BatchTimes by_op(step_machine(), changed(llama_8b(), "--graph no"), 8192);
  EXPECT_GT(2 * by_op.cost(decoding(1, 128)).time, 3 * times_.cost(decoding(1, 128)).time);
  EXPECT_EQ(by_op.cost(decoding(1, 128)).time, by_op.cost(decoding(8, 128)).time);
  EXPECT_EQ(by_op.cost(chunk(8192, 0)).time, times_.cost(chunk(8192, 0)).time);
  EXPECT_NEAR(by_op.error(decoding(4, 512)).value(), 0.0, 0.05);
  // The GPU rests while it waits for the host.
  const BatchCost waits = by_op.cost(decoding(1, 128));
  const BatchCost alone = times_.cost(decoding(1, 128));
  const sim::Joules rest = mi300x_spec().gpu.power.at_rest() * sim::to_seconds(waits.time - alone.time);
  EXPECT_NEAR((waits.energy - alone.energy).value(), rest.value(), 1e-6);
}

// A chunk of 100 tokens after 50 and one of 300 after none have 100 * 100 + 300 * 150 pairs. Two chunks of 200 tokens
// have as many pairs after 55000 / 400 - 100 tokens.
TEST_F(BatchTimesTest, HaveEqualChunksWithAsManyPairs) {
  const StepQuestion step = step_of(llama_8b(), {.chunks = 2, .chunk_tokens = 400, .chunk_pairs = 55'000.0});
  EXPECT_EQ(step.batch, 2);
  EXPECT_EQ(step.tokens, 200);
  EXPECT_EQ(step.context, 38);  // 37.5 is rounded up.
}

ServeQuestion serving_of(const std::string& model) { return {.step = served_step(model), .rate = 2.0, .requests = 40}; }

ServeResult answered(const ServeQuestion& question) { return ServeMachine(Testbed(mi300x_spec())).ask(question); }

TEST(Serve, FullAnswersTheSameEachTime) {
  const ServeQuestion question = serving_of("llama3-8b");
  const Testbed testbed(mi300x_spec());
  const ServeResult first = testbed.kept<ServeMachine>().ask(question);
  const auto cells = [](const ServeResult& result) {
    return to_tables(result, mi300x_spec()).tables.front().table.rows().front();
  };
  EXPECT_EQ(cells(first), cells(answered(question)));
  EXPECT_EQ(cells(first), cells(testbed.kept<ServeMachine>().ask(question)));
  EXPECT_EQ(first.served.requests, 40);
  EXPECT_GT(first.busy(), 0.0);
  EXPECT_LT(first.cache_use, first.most_in_use);
}

// Weights leave the rest of the 90 % of HBM that a server uses. It has room for as many tokens of sequences of 131,072
// as in a step, in which layers with a window keep no more tokens than that.
TEST(Serve, FullGivesTheCacheWhatWeightsAndActivationsLeave) {
  for (const std::string model : {"llama3-8b", "gemma3-27b"}) {
    const ServeQuestion question = serving_of(model);
    const StepMemory one = memory_of(step_of("--model " + model + " --context 131071"));
    const sim::Bytes room = mi300x_spec().gpu.memory.hbm_capacity * question.memory - one.weights;
    const auto tokens = static_cast<double>(answered(question).cache_tokens);
    EXPECT_NEAR(tokens, room / one.cache * 131'072.0, 0.02 * tokens) << model;
  }
}

// The layer of docs/layers.md keeps a state of a fixed size for each sequence, whatever its length: 40 requests at once
// have 40 states, each in a block of its own.
TEST(Serve, FullCountsWhatALayerOfOnesOwnCaches) {
  const std::string page = content(C3SIM_SOURCE_DIR "/docs/layers.md");
  const std::size_t begin = page.find("# configs/layers/linear_attention.yaml: attention");
  const Folder folder("serve_layers");
  folder.write("layers/linear_attention.yaml", page.substr(begin, page.find("```", begin) - begin));
  const auto model = folder.write("models/mine.yaml",
                                  "name: mine\nsource: this test\nlayers: 2\nhidden: 4096\nheads: 32\nffn: 14336\n"
                                  "vocabulary: 32000\nattention: linear_attention\n");
  setenv("C3SIM_CONFIGS", folder.path().c_str(), 1);
  ServeQuestion question{.step = served_step(model.string()), .arrivals = Arrivals::at_once, .requests = 40};
  for (const std::int64_t prompt : {64, 4096}) {
    question.prompt = prompt;
    EXPECT_EQ(answered(question).served.groups.front().most_blocks, 40) << prompt;
  }
  unsetenv("C3SIM_CONFIGS");
}

// The prompt of a request that is served alone takes one prefill step, and each output token takes one decode step.
TEST(Serve, OfOneRequestIsItsSteps) {
  const ServeResult result =
      answered({.step = served_step("llama3-8b"), .rate = 2.0, .requests = 1, .prompt = 2048, .output = 2});
  const double alone = us_on_mi300x(step_of("--model llama3-8b --phase prefill --tokens 2048 --kernels compiled"));
  EXPECT_NEAR(in_us(result.served.first_token.mean()), alone, 0.01 * alone);
}

// Eight GPUs that share out experts have eight replicas of attention, each with its own sequences and cache. They serve
// several times as many requests as one GPU, which reads all experts itself, and have more than eight times its cache.
TEST(Serve, FullOfExpertsOnEightGpusServesMoreThanOne) {
  ServeQuestion question{.step = served_step("mixtral-8x7b"), .arrivals = Arrivals::at_once, .requests = 500};
  const ServeResult alone = answered(question);
  question.step.ep = question.step.dp = 8;
  const ServeResult eight = answered(question);
  const auto rate = [](const ServeResult& result) { return result.served.per_second(result.served.requests); };
  EXPECT_GT(rate(eight), 4.0 * rate(alone));
  EXPECT_LT(rate(eight), 16.0 * rate(alone));
  EXPECT_GT(eight.cache_tokens, 8 * alone.cache_tokens);
  EXPECT_LT(eight.energy.value(), 2.0 * alone.energy.value());
  EXPECT_LT(mean(eight.errors), 0.1);
}

BlockCopies copies_of_llama(std::int64_t block) {
  return block_copies(cached_tensors(llama_8b(), step_machine().templates), block);
}

double fetched(Fetch fetch, std::int64_t blocks) {
  return in_us(FetchTimes(mi300x_spec(), fetch, Store::host, copies_of_llama(16)).of(blocks));
}

// The host link has a hundredth of HBM's rate, so that a fetch hardly slows a batch. The engine of a fetch has few
// bytes in flight and waits for what a batch keeps in flight at a full HBM: the fetch takes about twice as long.
TEST(Fetch, AndABatchSlowEachOtherDownByWhatTheyShare) {
  const BlockCopies copies = copies_of_llama(128);
  for (const bool has_prompts : {false, true}) {
    const FetchSlowdown host = FetchTimes(mi300x_spec(), Fetch::back_to_back, Store::host, copies).beside(has_prompts);
    EXPECT_GE(host.batch, 1.0);
    EXPECT_LT(host.batch, 1.05);
    EXPECT_GE(host.fetch, 1.0);
    EXPECT_LT(host.fetch, has_prompts ? 1.2 : 2.3);
  }
}

// A block of 16 tokens takes 64 copies of 32 KiB. In a loop each takes 9.14 us and 32 KiB at 41.2 GB/s (facts of
// host_block_copies.csv), 163 ms for 4096 tokens. In one piece 537 MB go over the link at about 41 to 56 GB/s.
TEST(Fetch, TakesAsLongAsItsCopies) {
  EXPECT_NEAR(fetched(Fetch::each, 256), 16'384 * (9.14 + 32'768 / 41.2e3), 0.02 * 162'800);
  EXPECT_LT(fetched(Fetch::back_to_back, 256), 0.2 * fetched(Fetch::each, 256));
  EXPECT_GT(fetched(Fetch::single, 256), 537e6 / 56e3);
  EXPECT_LT(fetched(Fetch::single, 256), 537e6 / 41e3);
  EXPECT_LE(fetched(Fetch::prelaunched, 1), fetched(Fetch::back_to_back, 1));
}

// The time is linear in the number of blocks between powers of two.
TEST(Fetch, GrowsEvenlyWithBlocks) {
  EXPECT_NEAR(fetched(Fetch::each, 96), (fetched(Fetch::each, 64) + fetched(Fetch::each, 128)) / 2.0, 1e-3);
}

// The second prompt shares 5 tokens with the first, less than a block; the third shares 200, twelve blocks of 16.
TEST(Serve, FullFetchesBeginningsOfARequestFileInEveryWay) {
  ServeQuestion question = serving_of("llama3-8b");
  question.waits = Waits::batch;
  question.trace = c3sim::written("beginnings.csv",
                                  "arrival_s,prompt_tokens,output_tokens,prefix,prefix_tokens\n"
                                  "1,300,10,1,200\n9,300,10,1,5\n17,300,10,1,200\n");
  const Testbed testbed(mi300x_spec());
  for (const Fetch fetch : sim::all_of<Fetch>()) {
    question.fetch = fetch;
    const Served served = testbed.kept<ServeMachine>().ask(question).served;
    EXPECT_EQ(served.groups[0].fetched, fetch == Fetch::none ? 0 : 192) << to_string(fetch);
  }
}

// Prompts have 100,000 tokens, and the model has a context of 131,072.
TEST(Serve, FullTellsHowManyRequestsWereCut) {
  ServeQuestion question{.step = served_step("llama3-8b"), .rate = 2.0, .requests = 40, .prompt = 100'000};
  EXPECT_EQ(answered(question).requests.cut, 0);
  question.spread = 2.0;
  const ServeResult result = answered(question);
  EXPECT_GT(result.requests.cut, 0);
  EXPECT_THAT(serve_notes({&result, 1}).back(), HasSubstr(" of 40 requests were drawn longer than"));
}

}  // namespace
}  // namespace c3sim::study
