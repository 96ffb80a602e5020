#include "models/sdma_packet.h"

#include <algorithm>
#include <cmath>

#include "sim/check.h"
#include "sim/overloaded.h"

namespace models {
namespace {

BufferRange part(const BufferRange& whole, sim::Bytes offset, sim::Bytes bytes) {
  return {whole.device, whole.buffer, whole.begin + offset, bytes};
}

}  // namespace

PacketFormat PacketFormat::read(sim::Section section) {
  const sim::Limits<sim::Bytes> sizes{sim::Bytes(4), sim::Bytes(256)};
  PacketFormat format;
  format.transfer_limit = section.bytes("transfer_limit", {sim::Bytes(64), sim::Bytes(1ULL << 40)});
  format.copy = section.bytes("copy", sizes);
  format.broadcast_destination = section.bytes("broadcast_destination", sizes);
  format.swap = section.bytes("swap", sizes);
  format.poll = section.bytes("poll", sizes);
  format.atomic = section.bytes("atomic", sizes);
  format.fence = section.bytes("fence", sizes);
  format.timestamp = section.bytes("timestamp", sizes);
  format.trap = section.bytes("trap", sizes);
  return format;
}

std::int64_t PacketFormat::packets(const SdmaCommand& command) const {
  const auto* transfer = std::get_if<TransferCommand>(&command);
  if (transfer == nullptr) return 1;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(transfer->source.bytes / transfer_limit)));
}

sim::Bytes PacketFormat::packet_bytes(const SdmaCommand& command) const {
  return std::visit(
      sim::Overloaded{[&](const TransferCommand& transfer) {
                        if (transfer.kind == TransferKind::swap) return swap;
                        const auto further = static_cast<double>(transfer.destinations.size()) - 1.0;
                        return copy + further * broadcast_destination;
                      },
                      [&](const PollCommand&) { return poll; }, [&](const AtomicCommand&) { return atomic; },
                      [&](const FenceCommand&) { return fence; }, [&](const TimestampCommand&) { return timestamp; },
                      [&](const TrapCommand&) { return trap; }},
      command);
}

sim::Bytes PacketFormat::ring_bytes(const SdmaCommand& command) const {
  return static_cast<double>(packets(command)) * packet_bytes(command);
}

std::vector<SdmaCommand> PacketFormat::pieces(const SdmaCommand& command, sim::Bytes room) const {
  if (ring_bytes(command) <= room) return {command};
  const double packets_each = std::floor(room / packet_bytes(command));
  SIM_CHECK(packets_each >= 1.0 && "the ring holds at least one packet");
  const auto& whole = std::get<TransferCommand>(command);
  std::vector<SdmaCommand> result;
  for (sim::Bytes done; done < whole.source.bytes;) {
    const sim::Bytes bytes = std::min(packets_each * transfer_limit, whole.source.bytes - done);
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

}  // namespace models
