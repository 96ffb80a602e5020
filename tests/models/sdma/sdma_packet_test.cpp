#include "models/sdma/sdma_packet.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
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
  EXPECT_EQ(packet_bytes(transfer(1), format).value(), 28);
  EXPECT_EQ(packet_bytes(transfer(1, 2), format).value(), 36);
  EXPECT_EQ(packet_bytes(transfer(1, 1, TransferKind::swap), format).value(), 28);
  EXPECT_EQ(packet_bytes(FenceCommand{}, format).value(), 16);
  EXPECT_EQ(packet_bytes(TrapCommand{}, format).value(), 8);
  EXPECT_EQ(packet_bytes(PollCommand{}, format).value(), 24);
  EXPECT_EQ(packet_bytes(AtomicCommand{}, format).value(), 32);
  EXPECT_EQ(packet_bytes(TimestampCommand{}, format).value(), 12);
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

}  // namespace
}  // namespace c3sim::models
