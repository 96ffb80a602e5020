#include "models/sdma/sdma_packet.h"

#include <algorithm>
#include <cmath>

#include "sim/check.h"
#include "sim/overloaded.h"

namespace c3sim::models {
namespace {

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
  return std::visit(sim::Overloaded{[&](const TransferCommand& transfer) {
                                      if (transfer.kind == TransferKind::swap) return format.swap;
                                      const auto further = static_cast<double>(transfer.destinations.size()) - 1.0;
                                      return format.copy + further * format.broadcast_destination;
                                    },
                                    [&](const PollCommand&) { return format.poll; },
                                    [&](const AtomicCommand&) { return format.atomic; },
                                    [&](const FenceCommand&) { return format.fence; },
                                    [&](const TimestampCommand&) { return format.timestamp; },
                                    [&](const TrapCommand&) { return format.trap; }},
                    command);
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
  return std::visit(sim::Overloaded{[](const TransferCommand& transfer) -> std::string_view {
                                      return transfer.kind == TransferKind::swap ? "SWAP_LINEAR" : "COPY_LINEAR";
                                    },
                                    [](const PollCommand&) -> std::string_view { return "POLL_REGMEM"; },
                                    [](const AtomicCommand&) -> std::string_view { return "ATOMIC"; },
                                    [](const FenceCommand&) -> std::string_view { return "FENCE"; },
                                    [](const TimestampCommand&) -> std::string_view { return "TIMESTAMP"; },
                                    [](const TrapCommand&) -> std::string_view { return "TRAP"; }},
                    command);
}

void book_delivery(const TransferCommand& transfer, DeliveryLedger& ledger) {
  for (const BufferRange& destination : transfer.destinations) ledger.deliver(destination, transfer.source);
  if (transfer.kind == TransferKind::swap) ledger.deliver(transfer.source, transfer.destinations.front());
}

}  // namespace c3sim::models
