#include "models/sdma/sdma_packet.h"

#include <array>
#include <cmath>

#include "sim/check.h"

namespace c3sim::models {
namespace {

// Each row is a kind of packets, in the order of SdmaCommand; a swap has a packet of its own.
struct PacketKind {
  std::string_view name;
  sim::Bytes PacketFormat::*bytes;
};
constexpr std::array<PacketKind, std::variant_size_v<SdmaCommand>> kinds_of_packets{
    {{"COPY_LINEAR", &PacketFormat::copy},
     {"POLL_REGMEM", &PacketFormat::poll},
     {"ATOMIC", &PacketFormat::atomic},
     {"FENCE", &PacketFormat::fence},
     {"TRAP", &PacketFormat::trap}}};

BufferRange part(const BufferRange& whole, sim::Bytes offset, sim::Bytes bytes) {
  return {whole.device, whole.buffer, whole.begin + offset, bytes};
}

}  // namespace

std::int64_t packets_of(const SdmaCommand& command, const PacketFormat& format) {
  const auto* transfer = std::get_if<TransferCommand>(&command);
  if (transfer == nullptr) return 1;
  return std::max<std::int64_t>(1,
                                static_cast<std::int64_t>(std::ceil(transfer->source.bytes / format.transfer_limit)));
}

sim::Bytes packet_bytes(const SdmaCommand& command, const PacketFormat& format) {
  const auto* const transfer = std::get_if<TransferCommand>(&command);
  if (transfer == nullptr) return format.*kinds_of_packets[command.index()].bytes;
  if (transfer->kind == TransferKind::swap) return format.swap;
  return format.copy + (static_cast<double>(transfer->destinations.size()) - 1.0) * format.broadcast_destination;
}

sim::Bytes ring_bytes(const SdmaCommand& command, const PacketFormat& format) {
  return static_cast<double>(packets_of(command, format)) * packet_bytes(command, format);
}

std::vector<SdmaCommand> pieces_of(const SdmaCommand& command, const PacketFormat& format, sim::Bytes room) {
  if (ring_bytes(command, format) <= room) return {command};
  const double packets_each = std::floor(room / packet_bytes(command, format));
  SIM_CHECK(packets_each >= 1.0 && "the ring holds at least one packet");
  const auto& whole = std::get<TransferCommand>(command);
  std::vector<SdmaCommand> result;
  for (sim::Bytes done; done < whole.source.bytes;) {
    const sim::Bytes bytes = std::min(packets_each * format.transfer_limit, whole.source.bytes - done);
    TransferCommand piece = whole;
    piece.source = part(whole.source, done, bytes);
    for (std::size_t i = 0; i < piece.destinations.size(); ++i) {
      piece.destinations[i] = part(whole.destinations[i], done, bytes);
    }
    result.emplace_back(std::move(piece));
    done += bytes;
  }
  return result;
}

std::string_view packet_name(const SdmaCommand& command) {
  const auto* const transfer = std::get_if<TransferCommand>(&command);
  const bool swaps = transfer != nullptr && transfer->kind == TransferKind::swap;
  return swaps ? "SWAP_LINEAR" : kinds_of_packets[command.index()].name;
}

void book_delivery(const TransferCommand& transfer, DeliveryLedger& ledger) {
  for (const BufferRange& destination : transfer.destinations) ledger.deliver(destination, transfer.source);
  if (transfer.kind == TransferKind::swap) ledger.deliver(transfer.source, transfer.destinations.front());
}

}  // namespace c3sim::models
