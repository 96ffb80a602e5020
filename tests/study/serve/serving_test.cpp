#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "study/serve/server.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_us;

// A Listed source returns the requests that a test lists.
class Listed : public RequestSource {
 public:
  explicit Listed(std::vector<ServeRequest> requests) : requests_(std::move(requests)) {}
  std::optional<ServeRequest> next() override {
    return next_ == requests_.size() ? std::nullopt : std::optional(requests_[next_++]);
  }

 private:
  std::vector<ServeRequest> requests_;
  std::size_t next_ = 0;
};

// A batch takes 10 us and 1 us for each of its tokens.
BatchCost by_tokens(const Batch& batch) { return {10_us + batch.tokens() * 1_us, sim::Joules(1.0)}; }

ServingGroup group_of(ServerSpec spec) {
  return {spec, by_tokens, [](std::int64_t tokens) { return tokens * 2_us; }};
}

Served served(std::vector<ServeRequest> requests, ServingGroup group, const ServeQuestion& rules = {}) {
  Listed source(std::move(requests));
  return serve(source, {std::move(group)}, rules);
}
Served served(std::vector<ServeRequest> requests, ServerSpec spec, const ServeQuestion& rules = {}) {
  return served(std::move(requests), group_of(spec), rules);
}

double microseconds(sim::Time time) { return sim::to_microseconds(time); }

std::vector<ServeRequest> alike(std::int64_t count, sim::Time apart) {
  std::vector<ServeRequest> requests;
  for (std::int64_t i = 0; i < count; ++i) requests.push_back({i * apart, 64, 2, 7, 48});
  return requests;
}

// A budget of 256 tokens cuts a prompt of 1000 into four batches, 4 * 10 + 1000 us. Nine more tokens take 11 us each.
TEST(Serving, OfOneRequestIsItsBatchesOneBehindTheOther) {
  const Served one = served({{5_us, 1000, 10}}, {.blocks = 100}, {.budget = 256});
  EXPECT_EQ(one.groups[0].batches, 4 + 9);
  EXPECT_NEAR(microseconds(one.first_token.mean()), 1040.0, 1e-6);
  EXPECT_NEAR(microseconds(one.per_token.mean()), 11.0, 1e-6);
  EXPECT_NEAR(microseconds(one.whole.mean()), 1040.0 + 99.0, 1e-6);
  EXPECT_EQ(one.begin, 5_us);
  EXPECT_EQ(one.end, 5_us + 1139_us);
  EXPECT_EQ(one.groups[0].energy, sim::Joules(13.0));
}

// A prompt of ten tokens takes 20 us. One at a time, each follows the last whenever it was due to arrive. Two at a time
// take 30 us, and the last of three takes 20 us alone.
TEST(Serving, KeepsSoManyRequestsUnderWay) {
  const auto at_once = [](std::int64_t concurrency, const ServiceLimits& limits) {
    return served({{0_us, 10, 1}, {500_us, 10, 1}, {900_us, 10, 1}}, ServerSpec{.blocks = 100},
                  {.concurrency = concurrency, .limits = limits, .budget = 100});
  };
  EXPECT_EQ(at_once(1, {}).end, 60_us);
  EXPECT_NEAR(microseconds(at_once(1, {}).whole.mean()), 20.0, 1e-6);
  EXPECT_EQ(at_once(2, {}).end, 50_us);
  EXPECT_EQ(at_once(2, {.first_token = 25_us}).within_limits, 1);
  EXPECT_EQ(at_once(2, {.first_token = 30_us, .per_token = 1_us, .whole = 30_us}).within_limits, 3);
  EXPECT_EQ(at_once(2, {.whole = 19_us}).within_limits, 0);
}

// The first request takes 20 us for its prompt and 11 us for each token: batches begin at 0, 20, 31 and 42 us. The
// second arrives at 25 us and joins the batch of 31 us or, if that was formed at 20 us, the one of 42 us, of 21 us.
TEST(Serving, AheadHasWhoHadComeWhenTheBatchBeforeBegan) {
  const std::vector<ServeRequest> requests{{0_us, 10, 100}, {25_us, 10, 1}};
  const auto second = [&](bool ahead) {
    return microseconds(served(requests, {.blocks = 100}, {.ahead = ahead}).first_token.quantile(1.0));
  };
  EXPECT_NEAR(second(false), 31.0 + 21.0 - 25.0, 0.1);
  EXPECT_NEAR(second(true), 42.0 + 21.0 - 25.0, 0.1);
}

// Prompts take blocks as they are computed, 256 tokens (16 blocks) in a batch. Both whole prompts would not fit.
TEST(Serving, TakesBlocksAsTokensNeedThem) {
  const Served two = served({{0_us, 600, 2}, {0_us, 600, 1}}, {.blocks = 60}, {.budget = 256});
  EXPECT_EQ(two.groups[0].preempted, 1);
  EXPECT_LE(two.groups[0].most_blocks, 60);
  EXPECT_EQ(two.requests, 2);
}

// Of eleven output tokens the prompt gives one. If all four tokens of a draft are right, two batches of five give the
// rest; if none is right, ten batches do. If each is right with probability 0.7, a batch gives (1 - 0.7^5) / (1 - 0.7)
// = 2.773 tokens (Leviathan et al., arXiv 2211.17192, equation 1).
TEST(Serving, VerifiesDrafts) {
  const auto drafted = [](std::int64_t output, double acceptance) {
    return served({{0_us, 10, output}}, {.blocks = 10'000}, {.draft = "tokens", .acceptance = acceptance}).groups[0];
  };
  EXPECT_EQ(drafted(11, 1.0).batches, 1 + 2);
  EXPECT_EQ(drafted(11, 1.0).accepted, 8);
  EXPECT_EQ(drafted(11, 0.0).batches, 1 + 10);
  EXPECT_EQ(drafted(11, 0.0).accepted, 0);
  EXPECT_EQ(drafted(13, 1.0).tokens, 10 + 5 + 5 + 2);  // Nothing is drafted beyond the end.
  EXPECT_NEAR(20'000.0 / static_cast<double>(drafted(20'001, 0.7).batches - 1), 2.773, 0.05);
}

Served on_replicas(Router router, std::vector<ServeRequest> requests) {
  return served(std::move(requests), ServerSpec{.blocks = 1000}, {.replicas = 2, .router = router, .keep = true});
}

// Every second request takes 1010 us, the others 20 us. Round robin gives all long requests to the first replica.
TEST(Serving, RoutesToTheLeastLoaded) {
  std::vector<ServeRequest> requests;
  for (int i = 0; i < 20; ++i) requests.push_back({i * 400_us, i % 2 == 0 ? 1000 : 10, 1});
  const Served in_turn = on_replicas(Router::round_robin, requests);
  EXPECT_THAT(in_turn.of_replicas, ElementsAre(10, 10));
  EXPECT_GE(microseconds(in_turn.groups[0].busy), 10 * 1000.0);
  EXPECT_LT(microseconds(in_turn.groups[1].busy), 10 * 20.0 + 1.0);
  EXPECT_LT(on_replicas(Router::least_loaded, requests).whole.quantile(1.0), in_turn.whole.quantile(1.0));
}

// Five requests share each of four prefixes of 48 tokens. A replica that gets all five computes the prefix once.
TEST(Serving, RoutesToWhereABeginningIs) {
  std::vector<ServeRequest> requests;
  for (int i = 0; i < 20; ++i) requests.push_back({i * 1'000_us, 64, 1, i / 5, 48});
  const auto reused = [&](Router router) {
    const Served all = on_replicas(router, requests);
    return all.groups[0].reused + all.groups[1].reused;
  };
  EXPECT_EQ(reused(Router::prefix), 4 * 4 * 48);
  EXPECT_EQ(reused(Router::round_robin), 4 * 3 * 48);
}

// The number of waiting and running requests, integrated over time, is the sum of the times that all requests take.
TEST(Serving, TellsTheLoadOverTime) {
  const Served all = served(alike(50, 30_us), {.blocks = 100}, {.sequences = 2});
  double requests = 0.0;
  for (const ServerLoad& sample : all.load.samples()) {
    requests += (sample.waiting + sample.running) * microseconds(all.load.interval());
    EXPECT_LE(sample.running, 2.0 + 1e-9);
    EXPECT_LE(sample.cache, 1.0);
  }
  EXPECT_NEAR(requests, 50.0 * microseconds(all.whole.mean()), 1e-6 * requests);
}

TEST(LoadOverTime, KeepsWhatItWasGivenWhileIntervalsGrow) {
  LoadOverTime load;
  double due = 0.0;
  for (int i = 0; i < 1000; ++i) {
    load.add(i * 5'000_us, (i + 1) * 5'000_us, {.running = static_cast<double>(i % 7)});
    due += i % 7 * 5'000.0;
  }
  double kept = 0.0;
  for (const ServerLoad& sample : load.samples()) kept += sample.running * microseconds(load.interval());
  EXPECT_LE(load.samples().size(), LoadOverTime::most);
  EXPECT_NEAR(kept, due, 1e-6 * due);
}

// While chunks of 9 tokens of the second prompt are computed, the first request gets a token in each batch of 20 us. A
// second replica, which has no request yet, computes chunks of 10 tokens beside the token of the first.
TEST(Serving, ComputesPromptsBesideTokens) {
  for (const auto& [replicas, chunks] : {std::pair<std::size_t, int>(1, 10), {2, 9}}) {
    const Served two =
        served({{0_us, 10, 100}, {15_us, 90, 1}}, ServerSpec{.replicas = replicas, .blocks = 100}, {.budget = 10});
    // The first prompt takes 10 + 10 us. The second arrives meanwhile.
    EXPECT_NEAR(microseconds(two.first_token.quantile(1.0)), 20.0 + chunks * 20.0 - 15.0, 0.2);
    EXPECT_EQ(two.groups[0].tokens, 10 + 99 + 90);
  }
}

// The second request fetches 48 tokens for 96 us during the first one's prompt of 1010 us. The fetch is slowed down to
// 192 us and makes the batch take 1.5 times as long meanwhile, which costs the batch a third of 192 us, at rest.
TEST(Serving, FetchesAndBatchesKeepEachOtherBack) {
  ServingGroup group = group_of({.blocks = 100, .fetches = true, .store_blocks = 3});
  group.beside = [](const Batch&) { return FetchSlowdown{.batch = 1.5, .fetch = 2.0}; };
  group.at_rest = sim::Watts(1e6);
  const Served two = served({{0_us, 1000, 1}, {0_us, 64, 1, 0, 48}}, group, {.prefix = 48});
  EXPECT_NEAR(microseconds(two.first_token.quantile(0.0)), 1010.0 + 64.0, 0.6);
  EXPECT_EQ(two.groups[0].fetched, 48);
  EXPECT_NEAR(microseconds(two.groups[0].busy), 1010.0 + 64.0 + 26.0, 1e-3);  // The second prompt's rest takes 26 us.
  EXPECT_NEAR(two.groups[0].energy.value(), 2.0 + 64.0, 1e-3);
}

// The second request has no room until the first has ended, after a prompt of 40 tokens and seven batches of one.
TEST(Serving, WaitsForRoomInTheCache) {
  const Served two = served({{0_us, 40, 8}, {0_us, 16, 1}}, {.blocks = 3});
  EXPECT_EQ(two.groups[0].preempted, 0);
  const double first = 50.0 + 7 * 11.0;
  EXPECT_NEAR(microseconds(two.whole.mean()), (first + first + 26.0) / 2.0, 1e-6);
}

// Each of the two requests begins with one of three blocks. The first takes the third block for its second token. The
// second request finds none for its own and is computed again when the first has ended.
TEST(Serving, ComputesAgainWhoLostItsBlocks) {
  const Served two = served({{0_us, 16, 16}, {0_us, 16, 16}}, {.blocks = 3});
  EXPECT_EQ(two.groups[0].preempted, 1);
  EXPECT_EQ(two.requests, 2);
  // 16 tokens and the first output token are computed again. All output tokens except the newest are computed.
  EXPECT_EQ(two.groups[0].tokens, 2 * (16 + 15) + 16);
}

TEST(Serving, KeepsBeginningsWhileThereIsRoom) {
  const Served kept = served(alike(10, 1'000_us), {.blocks = 100}, {.keep = true});
  EXPECT_EQ(kept.groups[0].reused, 9 * 48);
  EXPECT_EQ(kept.groups[0].tokens, 64 + 9 * 16 + 10);
  // Nothing of the prefix is left where each request needs all the blocks.
  const Served dropped =
      served({{0_us, 64, 1, 7, 48}, {1'000_us, 80, 1}, {2'000_us, 64, 1, 7, 48}}, {.blocks = 5}, {.keep = true});
  EXPECT_EQ(dropped.groups[0].reused, 0);
}

// Fetching three blocks of the prefix takes 96 us, and 16 tokens are left to compute.
TEST(Serving, FetchesBeginningsFromTheStore) {
  ServerSpec spec{.blocks = 100, .fetches = true, .store_blocks = 3};
  const Served fetched = served(alike(2, 1'000_us), spec);
  EXPECT_EQ(fetched.groups[0].fetched, 48);
  EXPECT_NEAR(microseconds(fetched.first_token.mean()), (74.0 + 96.0 + 26.0) / 2.0, 1e-6);
  // Two fetches that are due at once follow each other. With Waits::batch the next batch waits for both.
  const std::vector<ServeRequest> requests{{0_us, 64, 2, 7, 48}, {1'000_us, 64, 2, 7, 48}, {1'000_us, 64, 2, 7, 48}};
  EXPECT_NEAR(microseconds(served(requests, spec).first_token.quantile(1.0)), 96.0 + 96.0 + 26.0, 0.3);
  ServeQuestion rules{.waits = Waits::batch};
  EXPECT_NEAR(microseconds(served(requests, spec, rules).first_token.quantile(0.5)), 96.0 + 96.0 + 42.0, 0.3);
  // With the prefix stored beforehand the first request fetches it, too.
  rules.prefixes = 8;
  rules.prefix = 48;
  EXPECT_EQ(served(alike(2, 1'000_us), spec, rules).groups[0].fetched,
            48);  // There is room for one of the prefixes 0 to 7.
  spec.store_blocks = 24;
  EXPECT_EQ(served(alike(2, 1'000_us), spec, rules).groups[0].fetched, 2 * 48);
  // A store that has no room for a prefix holds none.
  spec.store_blocks = 2;
  EXPECT_EQ(served(requests, spec, rules).groups[0].fetched, 0);
}

// The store has three blocks of the prefix. The second request shares 5 of its tokens, less than a block, and the third
// shares 31, which hold one whole block.
TEST(Serving, FetchesNoMoreOfABeginningThanTheRequestHas) {
  for (const Waits waits : sim::all_of<Waits>()) {
    const ServerSpec spec{.blocks = 100, .fetches = true, .store_blocks = 3};
    const Served mixed =
        served({{0_us, 64, 1, 7, 48}, {1'000_us, 64, 1, 7, 5}, {2'000_us, 64, 1, 7, 31}}, spec, {.waits = waits});
    EXPECT_EQ(mixed.groups[0].fetched, 16);
    EXPECT_EQ(mixed.groups[0].tokens, 64 + 64 + 48);
  }
}

// Decoding on other GPUs is not held up by a prompt of 1000 tokens, which is handed over in 63 blocks of 16.
TEST(Serving, ApartComputesPromptsOnOtherGpus) {
  const std::vector<ServeRequest> requests{{0_us, 16, 100}, {100_us, 1000, 2}};
  Listed source(requests);
  const ServingGroup group = group_of({.blocks = 200});
  const Served apart = serve(source, {group, group});
  EXPECT_EQ(apart.requests, 2);
  EXPECT_EQ(apart.groups[0].tokens, 1016);
  EXPECT_EQ(apart.groups[1].tokens, 99 + 1);
  EXPECT_EQ(apart.groups[1].fetched, 1016);
  // The first prompt is handed over in 32 us; then tokens take 11 us each, except one in a batch of both, of 12 us.
  EXPECT_NEAR(microseconds(apart.per_token.quantile(0.5)), (32.0 + 99 * 11.0) / 99.0, 0.2);
  EXPECT_GT(microseconds(served(requests, group.spec).per_token.quantile(1.0)), 20.0);
}

// Serves the requests one at a time, each in one batch.
Served one_by_one(const ServeQuestion& question, BatchCosts costs) {
  const std::unique_ptr<RequestSource> source = drawn_requests(question, 1 << 20);
  return serve(*source, {{{.blocks = 1 << 20}, std::move(costs), {}}}, {.budget = 1 << 20, .sequences = 1});
}

// Requests wait rate * mean of squares / (2 * (1 - load)) (Pollaczek and Khinchine). M/D/1 has prompts of 1000 tokens
// at 1 us each. M/G/1 has a mean of 1000 and a spread of 0.7, whose mean of squares is (1 + 0.49) * 1000^2.
TEST(Serving, FullWaitsAsPollaczekAndKhinchineSay) {
  for (const auto& [load, spread] : {std::pair(0.3, 0.0), {0.6, 0.0}, {0.8, 0.0}, {0.3, 0.7}, {0.6, 0.7}}) {
    const Served queue =
        one_by_one({.rate = load * 1000.0, .requests = 3'000'000, .prompt = 1000, .output = 1, .spread = spread},
                   [](const Batch& batch) {
                     return BatchCost{batch.tokens() * 1_us, {}};
                   });
    const double wait = microseconds(queue.first_token.mean()) - 1000.0;
    const double expected = 1000.0 * load * (1.0 + spread * spread) / (2.0 * (1.0 - load));
    EXPECT_NEAR(wait, expected, 0.01 * expected) << load << " of spread " << spread;
  }
}

// Two replicas share out four prompts of 100 tokens, two each, and a fifth goes to the one that is named first. A batch
// waits for the replica with most tokens, and a prompt beside sequences that decode has what these leave of the budget.
TEST(Serving, SharesOutSequencesOverReplicas) {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> decoding;
  Listed source({{0_us, 100, 2}, {0_us, 100, 2}, {0_us, 100, 2}, {0_us, 100, 2}, {1_us, 500, 1}});
  const Served all =
      serve(source, {group_of({.replicas = 2, .blocks = 1000})}, {.budget = 250}, [&](const Batch& batch, std::size_t) {
        tokens.push_back(batch.tokens());
        decoding.push_back(batch.decoding);
      });
  EXPECT_THAT(tokens, ElementsAre(200, 250, 250, 2));
  EXPECT_THAT(decoding, ElementsAre(0, 2, 0, 0));
  EXPECT_EQ(all.groups[0].tokens, 4 * 101 + 500);
}

// Every request ends, and every block is free in the end (serve() checks it). No replica computes more tokens than its
// budget, or more sequences than it has places. Each token except the last of an output
// is computed, found or fetched once, and again only where a sequence lost its blocks; drafted tokens that are not
// accepted come on top. Requests that wait and run, integrated over time, are the sum of the times that requests take
// (Little's law).
RC_GTEST_PROP(Serving, LosesNeitherRequestsNorTokens, ()) {
  ServeQuestion question;
  question.requests = *rc::gen::inRange<std::int64_t>(1, 200);
  question.rate = *rc::gen::element(100.0, 10'000.0, 1e6);
  question.burst = *rc::gen::inRange<std::int64_t>(1, 10);
  question.prompt = *rc::gen::inRange<std::int64_t>(1, 300);
  question.output = *rc::gen::inRange<std::int64_t>(1, 60);
  question.spread = *rc::gen::element(0.0, 0.5, 2.0);
  question.reuse = *rc::gen::element(0.0, 0.5, 1.0);
  question.prefixes = *rc::gen::inRange<std::int64_t>(1, 8);
  question.prefix = *rc::gen::inRange<std::int64_t>(1, question.prompt + 1);
  ServerSpec spec;
  spec.replicas = *rc::gen::element<std::size_t>(1, 3);
  spec.block = *rc::gen::element<std::int64_t>(1, 16, 64);
  spec.blocks = *rc::gen::inRange<std::int64_t>(500 / spec.block + 1, 4000 / spec.block + 2);
  using Windows = std::vector<WindowedLayers>;
  spec.windowed = *rc::gen::element(Windows(), Windows{{32, 0.8}}, Windows{{16, 0.5}, {100, 0.5}});
  spec.fetches = *rc::gen::arbitrary<bool>();
  spec.store_blocks = *rc::gen::inRange<std::int64_t>(0, 100);
  const bool apart = *rc::gen::arbitrary<bool>();
  ServeQuestion rules{.replicas = *rc::gen::inRange(1, 4),
                      .router = *rc::gen::elementOf(sim::all_of<Router>()),
                      .concurrency = *rc::gen::element<std::int64_t>(0, 0, 3)};
  rules.sequences = *rc::gen::inRange<std::int64_t>(1, 40);
  rules.budget = rules.sequences + *rc::gen::inRange<std::int64_t>(0, 300);
  rules.draft = *rc::gen::element("", "tokens");
  rules.draft_tokens = *rc::gen::inRange<std::int64_t>(1, 5);
  rules.acceptance = *rc::gen::element(0.0, 0.6, 1.0);
  rules.keep = *rc::gen::arbitrary<bool>();
  rules.ahead = *rc::gen::arbitrary<bool>();
  rules.waits = *rc::gen::elementOf(sim::all_of<Waits>());

  const auto run = [&] {
    const std::unique_ptr<RequestSource> source = drawn_requests(question, spec.longest());
    std::vector<ServingGroup> groups{group_of(spec)};
    if (apart) groups.push_back(group_of(spec));
    return serve(*source, groups, rules, [&](const Batch& batch, std::size_t) {
      RC_ASSERT(batch.tokens() <= rules.budget);
      RC_ASSERT(batch.decoding + batch.chunks <= rules.sequences);
    });
  };
  const Served all = run();
  RC_ASSERT(all.requests == question.requests);
  std::int64_t computed = 0, reused = 0, preempted = 0;
  for (const ServerCounts& counts : all.groups) {
    computed += counts.tokens - (counts.drafted - counts.accepted);
    reused += counts.reused;
    preempted += counts.preempted;
    RC_ASSERT(counts.most_blocks <= spec.blocks);
  }
  const std::int64_t due = all.prompt_tokens + all.output_tokens - all.requests;
  RC_ASSERT(reused < all.prompt_tokens);
  RC_ASSERT(preempted > 0 || computed + reused == due);
  double under_way = 0.0;
  for (const ServerLoad& load : all.load.samples()) {
    RC_ASSERT(load.waiting >= -1e-9);
    under_way += (load.waiting + load.running) * microseconds(all.load.interval());
  }
  const double taken = static_cast<double>(all.requests) * microseconds(all.whole.mean());
  RC_ASSERT(std::abs(under_way - taken) <= 1e-6 * taken);
  // A second run gives the same results.
  const Served again = run();
  RC_ASSERT(again.end == all.end);
  RC_ASSERT(again.whole.mean() == all.whole.mean());
}

// The median of 1 to 999 us is the 500th value; the mean is exact.
TEST(Latencies, QuantilesLieWithinTheErrorThatTheyState) {
  Latencies latencies;
  for (int us = 999; us > 0; --us) latencies.add(us * 1_us);
  EXPECT_EQ(latencies.count(), 999);
  EXPECT_NEAR(sim::to_microseconds(latencies.mean()), 500.0, 1e-6);
  for (const double share : {0.5, 0.9, 0.99}) {
    const double exact = std::ceil(share * 999.0);
    EXPECT_NEAR(sim::to_microseconds(latencies.quantile(share)), exact, 1.01 * Latencies::largest_error * exact)
        << share;
  }
}

TEST(Latencies, OfNoneAreNothingAndTimesOfNothingCount) {
  Latencies latencies;
  EXPECT_EQ(latencies.mean(), 0_us);
  EXPECT_EQ(latencies.quantile(0.5), 0_us);
  for (const sim::Time time : {0_us, 0_us, 8_us}) latencies.add(time);
  EXPECT_EQ(latencies.quantile(0.5), 0_us);
  EXPECT_GT(latencies.quantile(0.99), 7_us);
}

}  // namespace
}  // namespace c3sim::study
