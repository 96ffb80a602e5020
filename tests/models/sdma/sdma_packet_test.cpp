#include "models/sdma/sdma_packet.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "models/sdma/sdma_packet_list.h"
#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

TransferCommand transfer(double bytes, int destinations = 1, TransferKind kind = TransferKind::copy) {
  TransferCommand command{.kind = kind, .source = {0, 0, sim::Bytes(0), sim::Bytes(bytes)}};
  for (int i = 1; i <= destinations; ++i) command.destinations.push_back({i, 0, sim::Bytes(0), sim::Bytes(bytes)});
  return command;
}

// The sizes are the column bytes of sdma_packets_gfx942.csv.
TEST(PacketFormat, HasTheSizesOfTheMi300x) {
  const PacketFormat format = CopyPlatform::mi300x().sdma.packets;
  EXPECT_EQ(packet_bytes(transfer(1), format).value(), 28);
  EXPECT_EQ(packet_bytes(transfer(1, 2), format).value(), 36);
  EXPECT_EQ(packet_bytes(transfer(1, 1, TransferKind::swap), format).value(), 28);
  EXPECT_EQ(packet_bytes(FenceCommand{}, format).value(), 16);
  EXPECT_EQ(packet_bytes(TrapCommand{}, format).value(), 8);
  EXPECT_EQ(packet_bytes(PollCommand{}, format).value(), 24);
  EXPECT_EQ(packet_bytes(AtomicCommand{}, format).value(), 32);
}

// A copy is cut into ceil(bytes / 4194303) packets.
TEST(PacketFormat, CutsCopiesAtTheLimitOfAPacket) {
  const PacketFormat format = CopyPlatform::mi300x().sdma.packets;
  EXPECT_EQ(packets_of(transfer(1), format), 1);
  EXPECT_EQ(packets_of(transfer(4194303), format), 1);
  EXPECT_EQ(packets_of(transfer(4194304), format), 2);
  EXPECT_EQ(packets_of(transfer(2147483648.0), format), 513);
  EXPECT_EQ(packets_of(PollCommand{}, format), 1);
}

TEST(PacketFormat, NamesPacketsAsTheHardwareDoes) {
  EXPECT_EQ(packet_name(transfer(1)), "COPY_LINEAR");
  EXPECT_EQ(packet_name(transfer(1, 1, TransferKind::swap)), "SWAP_LINEAR");
  EXPECT_EQ(packet_name(PollCommand{}), "POLL_REGMEM");
  EXPECT_EQ(packet_name(AtomicCommand{}), "ATOMIC");
  EXPECT_EQ(packet_name(FenceCommand{}), "FENCE");
  EXPECT_EQ(packet_name(TrapCommand{}), "TRAP");
}

RC_GTEST_PROP(PacketFormatProperty, PiecesFitTheirRoomAndCoverTheTransferInOrder, ()) {
  const PacketFormat format = CopyPlatform::mi300x().sdma.packets;
  const auto bytes = static_cast<double>(*rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 33));
  const int destinations = *rc::gen::inRange(1, 3);
  const double room = *rc::gen::inRange(36, 5000);
  const TransferCommand whole = transfer(bytes, destinations);
  double next = 0.0;
  std::int64_t packets = 0;
  for (const SdmaCommand& piece : pieces_of(whole, format, sim::Bytes(room))) {
    const auto& part = std::get<TransferCommand>(piece);
    RC_ASSERT(ring_bytes(piece, format).value() <= room);
    RC_ASSERT(part.source.begin.value() == next);
    for (const BufferRange& destination : part.destinations) RC_ASSERT(destination.begin.value() == next);
    next += part.source.bytes.value();
    packets += packets_of(piece, format);
  }
  RC_ASSERT(next == bytes);
  RC_ASSERT(packets == packets_of(whole, format));
}

// These tests check that hand-written packets do what they say and that their sender learns of the end.

using sim::operator""_ns;
using Kind = HandWrittenPacket::Kind;

HandWrittenPacket copy(double bytes, int to) { return {Kind::copy, to, sim::Bytes(bytes), {}, {}, 0}; }
HandWrittenPacket poll(const std::string& word, std::int64_t value) {
  return {Kind::poll, 0, {}, word, {Comparison::equal, value}, 0};
}
HandWrittenPacket atomic(const std::string& word, std::int64_t value) { return {Kind::atomic, 0, {}, word, {}, value}; }
HandWrittenPacket fence(const std::string& word, std::int64_t value) { return {Kind::fence, 0, {}, word, {}, value}; }

sim::Task<> run(CopyNode& node, SdmaPacketList list, NamedWords& words) {
  return run_packet_list(node.host(), node.complexes(), std::move(list), words);
}

// CopyPlatform::round() takes 65 ns for each of three commands, 2 + 32 ns for a doorbell, 64 ns for a fetch, 256 ns for
// set-up, 10 ns for 100 bytes and 544 ns for the acknowledgement. The completion, decoded meanwhile, follows the fence
// (128 ns, as for the ATOMIC) and takes 128 + 2048 ns; seeing it takes 8 ns.
TEST(SdmaPacketList, EndsWhenItsSenderKnows) {
  CopyNode node(CopyPlatform::round());
  NamedWords words(node.simulator());
  const SdmaPacketList list{0, 2, 0, {copy(100, 1), fence("w", 7)}};
  const sim::Time end = ends_together(node.simulator(), run(node, list, words)).front();
  const sim::Time expected = 3 * 65_ns + 34_ns + 64_ns + 256_ns + 10_ns + 544_ns + 128_ns + 2048_ns + 8_ns;
  EXPECT_GE(end, expected);
  EXPECT_LE(end, expected + sim::Time(4));
  EXPECT_EQ(words["w"].value(), 7);
  EXPECT_NEAR(node.network().served(node.fabric().link(0, 1)), 100, 1e-6);
}

TEST(SdmaPacketList, ListsMeetAtWordsOfTheSameName) {
  CopyNode node(CopyPlatform::round());
  NamedWords words(node.simulator());
  const std::vector<sim::Time> ends =
      ends_together(node.simulator(), run(node, {1, 3, 1, {poll("ready", 3), atomic("ready", 4)}}, words),
                    run(node, {0, 2, 0, {fence("ready", 1), atomic("ready", 2)}}, words));
  EXPECT_GT(ends[0], ends[1]);
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
