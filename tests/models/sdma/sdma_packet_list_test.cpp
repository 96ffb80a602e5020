// Do packets written by hand do what they say, and does their sender learn of the end?
#include "models/sdma/sdma_packet_list.h"

#include <gtest/gtest.h>

#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_ns;
using Kind = HandWrittenPacket::Kind;

HandWrittenPacket copy(double bytes, int to) { return {Kind::copy, to, sim::Bytes(bytes), {}, {}, 0}; }
HandWrittenPacket poll(const std::string& word, std::int64_t value) {
  return {Kind::poll, 0, {}, word, {Comparison::equal, value}, 0};
}
HandWrittenPacket atomic(const std::string& word, std::int64_t value) { return {Kind::atomic, 0, {}, word, {}, value}; }
HandWrittenPacket fence(const std::string& word, std::int64_t value) { return {Kind::fence, 0, {}, word, {}, value}; }

sim::Task<> run_and_note(CopyNode& node, SdmaPacketList list, NamedWords& words, sim::Time& end) {
  co_await run_packet_list(node.host(), node.complexes(), std::move(list), words);
  end = node.simulator().now();
}

// On CopyPlatform::round(): three commands of 65 ns and a doorbell of 2 + 32 ns; a fetch of 64 ns; set-up 256 ns, 100
// bytes at 10 bytes/ns, acknowledgement 544 ns, and behind it the completion, decoded meanwhile but for the fence (128
// ns after the acknowledgement, as is the ATOMIC): 128 + 2048 ns; 8 ns to see it.
TEST(SdmaPacketList, EndsWhenItsSenderKnows) {
  CopyNode node(CopyPlatform::round());
  NamedWords words(node.simulator());
  sim::Time end;
  node.simulator().spawn("list", run_and_note(node, {0, 2, 0, {copy(100, 1), fence("w", 7)}}, words, end));
  node.simulator().run();
  const sim::Time expected = 3 * 65_ns + 34_ns + 64_ns + 256_ns + 10_ns + 544_ns + 128_ns + 2048_ns + 8_ns;
  EXPECT_GE(end, expected);
  EXPECT_LE(end, expected + sim::Time(4));
  EXPECT_EQ(words["w"].value(), 7);
  EXPECT_NEAR(node.network().served(node.fabric().link(0, 1)), 100, 1e-6);
}

TEST(SdmaPacketList, ListsMeetAtWordsOfTheSameName) {
  CopyNode node(CopyPlatform::round());
  NamedWords words(node.simulator());
  sim::Time first, second;
  node.simulator().spawn("b", run_and_note(node, {1, 3, 1, {poll("ready", 3), atomic("ready", 4)}}, words, second));
  node.simulator().spawn("a", run_and_note(node, {0, 2, 0, {fence("ready", 1), atomic("ready", 2)}}, words, first));
  node.simulator().run();
  EXPECT_GT(second, first);
  EXPECT_EQ(words["ready"].value(), 7);
}

TEST(SdmaPacketList, SaysWhyItIsImpossible) {
  const CopyPlatform platform = CopyPlatform::round();
  const auto why = [&](const SdmaPacketList& list) { return why_impossible(list, platform.sdma, platform.gpus); };
  EXPECT_EQ(why({0, 2, 1, {copy(1, 1), poll("never", 1)}}), "");
  EXPECT_EQ(why({2, 2, 0, {}}), "there is no GPU 2: 0 to 1 are accepted");
  EXPECT_EQ(why({0, 4, 0, {}}), "there is no engine 4: 0 to 3 are accepted");
  EXPECT_EQ(why({0, -1, 0, {}}), "there is no engine -1: 0 to 3 are accepted");
  EXPECT_EQ(why({0, 2, 2, {}}), "there is no queue 2: 0 to 1 are accepted");
  EXPECT_EQ(why({0, 2, 0, {copy(1, 2)}}), "there is no GPU 2: 0 to 1 are accepted");
  EXPECT_EQ(why({0, 2, 0, {copy(1, 0)}}), "a copy goes to another GPU than the one it comes from");
}

TEST(SdmaPacketList, ItsTextTellsListsApart) {
  EXPECT_EQ(to_string(SdmaPacketList{0, 2, 1, {copy(64, 1), poll("w", 1), atomic("w", -1), fence("v", 2)}}),
            "packets on gpu0.sdma2.queue1: copy 64B to gpu1, poll w == 1, add -1 to w, write 2 to v");
}

}  // namespace
}  // namespace c3sim::models
