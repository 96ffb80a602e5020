#include "models/sdma/sdma_packet_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace c3sim::models {
namespace {

using Kind = HandWrittenPacket::Kind;

bool transfers(const HandWrittenPacket& packet) { return packet.kind == Kind::copy || packet.kind == Kind::swap; }

std::string words_of(const HandWrittenPacket& packet) {
  switch (packet.kind) {
    case Kind::copy:
      return fmt::format("copy {} to gpu{}", sim::to_string(packet.bytes), packet.peer);
    case Kind::swap:
      return fmt::format("swap {} with gpu{}", sim::to_string(packet.bytes), packet.peer);
    case Kind::poll:
      return fmt::format("poll {} {}", packet.word, to_string(packet.condition));
    case Kind::atomic:
      return fmt::format("add {} to {}", packet.value, packet.word);
    case Kind::fence:
      return fmt::format("write {} to {}", packet.value, packet.word);
  }
  return {};
}

SdmaCommand command_of(const HandWrittenPacket& packet, int gpu, NamedWords& words, std::uint32_t operation) {
  switch (packet.kind) {
    case Kind::poll:
      return PollCommand{&words[packet.word], packet.condition};
    case Kind::atomic:
      return AtomicCommand{&words[packet.word], packet.value};
    case Kind::fence:
      return FenceCommand{&words[packet.word], static_cast<std::int32_t>(packet.value)};
    default: {
      TransferCommand transfer{.kind = packet.kind == Kind::swap ? TransferKind::swap : TransferKind::copy,
                               .source = {gpu, 0, sim::Bytes(0.0), packet.bytes},
                               .destinations = {{packet.peer, 0, sim::Bytes(0.0), packet.bytes}},
                               .operation = operation};
      return transfer;
    }
  }
}

}  // namespace

std::string to_string(const SdmaPacketList& list) {
  std::vector<std::string> packets;
  for (const HandWrittenPacket& packet : list.packets) packets.push_back(words_of(packet));
  return fmt::format("packets on gpu{}.sdma{}.queue{}: {}", list.gpu, list.engine, list.queue,
                     fmt::join(packets, ", "));
}

std::string why_impossible(const SdmaPacketList& list, const SdmaSpec& sdma, int gpus) {
  const auto within = [](const char* what, int number, int count) {
    if (number >= 0 && number < count) return std::string();
    return fmt::format("there is no {} {}: 0 to {} are accepted", what, number, count - 1);
  };
  std::string reason = within("GPU", list.gpu, gpus);
  if (reason.empty()) reason = within("engine", list.engine, sdma.engines);
  if (reason.empty()) reason = within("queue", list.queue, sdma.queues_per_engine);
  for (const HandWrittenPacket& packet : list.packets) {
    if (!transfers(packet) || !reason.empty()) continue;
    reason = within("GPU", packet.peer, gpus);
    if (reason.empty() && packet.peer == list.gpu) reason = "a copy goes to another GPU than the one it comes from";
  }
  return reason;
}

MemoryWord& NamedWords::operator[](const std::string& name) {
  const auto known = std::find_if(words_.begin(), words_.end(), [&](const auto& word) { return word.name() == name; });
  return known != words_.end() ? *known : words_.emplace_back(simulator_, name, 0);
}

SdmaQueue& queue_of(std::span<SdmaComplex* const> engines, const SdmaPacketList& list) {
  return engines[static_cast<std::size_t>(list.gpu)]->engine(list.engine).queue(list.queue);
}

sim::Task<> run_packet_list(Host& host, std::span<SdmaComplex* const> engines, SdmaPacketList list, NamedWords& words,
                            std::uint32_t operation) {
  SdmaComplex& complex = *engines[static_cast<std::size_t>(list.gpu)];
  SdmaQueue& queue = queue_of(engines, list);
  SubmittingThread& thread = complex.submitter(host);
  CompletionSignal completion(host, complex, queue.name());
  std::vector<SdmaCommand> commands;
  for (const HandWrittenPacket& packet : list.packets)
    commands.push_back(command_of(packet, list.gpu, words, operation));
  completion.append_to(commands);
  const QueueUser user{operation};
  co_await queue.submit(thread, std::move(commands), complex.doorbell_latency(), user);
  co_await completion.see();
}

}  // namespace c3sim::models
