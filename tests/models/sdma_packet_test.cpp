#include "models/sdma_packet.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/models/sdma_fixture.h"

namespace models {
namespace {

TransferCommand transfer(double bytes, int destinations = 1, TransferKind kind = TransferKind::copy) {
  TransferCommand command;
  command.kind = kind;
  command.source = {0, 0, sim::Bytes(0), sim::Bytes(bytes)};
  for (int i = 1; i <= destinations; ++i) command.destinations.push_back({i, 0, sim::Bytes(0), sim::Bytes(bytes)});
  return command;
}

// sdma_packets_gfx942.csv, column bytes.
TEST(PacketFormat, HasTheSizesOfTheMi300x) {
  const PacketFormat format = CopyPlatform::mi300x().sdma.packets;
  EXPECT_EQ(format.packet_bytes(transfer(1)).value(), 28);
  EXPECT_EQ(format.packet_bytes(transfer(1, 2)).value(), 36);
  EXPECT_EQ(format.packet_bytes(transfer(1, 1, TransferKind::swap)).value(), 28);
  EXPECT_EQ(format.packet_bytes(FenceCommand{}).value(), 16);
  EXPECT_EQ(format.packet_bytes(TrapCommand{}).value(), 8);
  EXPECT_EQ(format.packet_bytes(PollCommand{}).value(), 24);
  EXPECT_EQ(format.packet_bytes(AtomicCommand{}).value(), 32);
  EXPECT_EQ(format.packet_bytes(TimestampCommand{}).value(), 12);
}

// A copy is cut into ceil(bytes / 4194303) packets.
TEST(PacketFormat, CutsCopiesAtTheLimitOfAPacket) {
  const PacketFormat format = CopyPlatform::mi300x().sdma.packets;
  EXPECT_EQ(format.packets(transfer(1)), 1);
  EXPECT_EQ(format.packets(transfer(4194303)), 1);
  EXPECT_EQ(format.packets(transfer(4194304)), 2);
  EXPECT_EQ(format.packets(transfer(2147483648.0)), 513);
  EXPECT_EQ(format.packets(PollCommand{}), 1);
}

TEST(PacketFormat, NamesPacketsAsTheHardwareDoes) {
  EXPECT_EQ(packet_name(transfer(1)), "COPY_LINEAR");
  EXPECT_EQ(packet_name(transfer(1, 1, TransferKind::swap)), "SWAP_LINEAR");
  EXPECT_EQ(packet_name(PollCommand{}), "POLL_REGMEM");
  EXPECT_EQ(packet_name(AtomicCommand{}), "ATOMIC");
  EXPECT_EQ(packet_name(FenceCommand{}), "FENCE");
  EXPECT_EQ(packet_name(TimestampCommand{}), "TIMESTAMP");
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
  for (const SdmaCommand& piece : format.pieces(whole, sim::Bytes(room))) {
    const auto& part = std::get<TransferCommand>(piece);
    RC_ASSERT(format.ring_bytes(piece).value() <= room);
    RC_ASSERT(part.source.begin.value() == next);
    for (const BufferRange& destination : part.destinations) RC_ASSERT(destination.begin.value() == next);
    next += part.source.bytes.value();
    packets += format.packets(piece);
  }
  RC_ASSERT(next == bytes);
  RC_ASSERT(packets == format.packets(whole));
}

}  // namespace
}  // namespace models
