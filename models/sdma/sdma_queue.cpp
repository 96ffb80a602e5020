#include "models/sdma/sdma_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/open_step.h"

namespace c3sim::models {
namespace {
constexpr std::int64_t nobody = std::numeric_limits<std::int64_t>::max();

std::uint64_t whole(sim::Bytes bytes) { return static_cast<std::uint64_t>(bytes.value()); }
}  // namespace

std::string QueuedCommand::words() const {
  const std::string last = packets == 1 ? "" : "-" + std::to_string(packet + packets - 1);
  return (packets == 1 ? "packet " : "packets ") + std::to_string(packet) + last + ' ' +
         std::string(packet_name(command));
}

SdmaQueue::SdmaQueue(sim::Simulator& simulator, const PacketFormat& format, sim::Bytes ring, std::string name,
                     sim::EventAction on_visible)
    : simulator_(simulator),
      format_(format),
      ring_(ring),
      name_(std::move(name)),
      on_visible_(on_visible),
      room_(simulator, "bytes of the ring of " + name_, whole(ring)),
      writer_(simulator, "writer of " + name_, 1),
      first_expected_(simulator, name_, nobody) {}

void SdmaQueue::expect(std::uint32_t operation) {
  expected_.insert(operation);
  first_expected_.write(*expected_.begin());
}

void SdmaQueue::no_longer_expect(std::uint32_t operation) {
  const auto known = expected_.find(operation);
  if (known == expected_.end()) return;
  expected_.erase(known);
  first_expected_.write(expected_.empty() ? nobody : std::int64_t{*expected_.begin()});
}

Condition SdmaQueue::turn_of(QueueUser user) const {
  return {Comparison::at_least, user.waits ? std::int64_t{user.operation} : 0};
}

bool SdmaQueue::is_turn_of(QueueUser user) const { return first_expected_.meets(turn_of(user)); }

sim::Task<> SdmaQueue::submit(SubmittingThread& thread, std::vector<SdmaCommand> commands, sim::Time latency,
                              QueueUser user, bool rings) {
  co_await first_expected_.wait(turn_of(user), "commands of operations before it in");
  co_await writer_.acquire();
  for (SdmaCommand& command : commands) co_await write(thread, std::move(command), latency);
  if (rings) co_await ring_doorbell(thread, latency);
  writer_.release();
  no_longer_expect(user.operation);
}

sim::Task<> SdmaQueue::submit_or_leave(SubmittingThread& thread, std::vector<SdmaCommand> commands, sim::Time latency,
                                       QueueUser user, bool rings) {
  sim::Bytes bytes;
  for (const SdmaCommand& command : commands) bytes += ring_bytes(command, format_);
  if (late_ == 0 && bytes <= free() && is_turn_of(user)) {
    co_await submit(thread, std::move(commands), latency, user, rings);
  } else {
    ++late_;
    simulator_.spawn("submission to " + name_, submit_late(thread, std::move(commands), latency, user));
  }
}

sim::Task<> SdmaQueue::submit_late(SubmittingThread& thread, std::vector<SdmaCommand> commands, sim::Time latency,
                                   QueueUser user) {
  co_await submit(thread, std::move(commands), latency, user);
  --late_;
}

sim::Task<> SdmaQueue::write(SubmittingThread& thread, SdmaCommand command, sim::Time latency) {
  // A command that fills more than half of the ring goes in pieces, so that the engine works on one while the thread
  // writes the next.
  const sim::Bytes room = std::max(ring_ / 2.0, packet_bytes(command, format_));
  for (SdmaCommand& piece : pieces_of(command, format_, room)) {
    co_await write_piece(thread, std::move(piece), latency);
  }
}

sim::Task<> SdmaQueue::write_piece(SubmittingThread& thread, SdmaCommand piece, sim::Time latency) {
  const sim::Bytes bytes = ring_bytes(piece, format_);
  const std::int64_t packets = packets_of(piece, format_);
  if (!room_.try_acquire(whole(bytes))) {
    co_await ring_doorbell(thread, latency);
    co_await room_.acquire(whole(bytes));
  }
  std::string subject;  // must outlive the work
  if (simulator_.step_log() != nullptr) subject = name_ + ' ' + std::string(packet_name(piece));
  co_await thread.write_command(packets, subject);
  const auto count = static_cast<std::uint64_t>(packets);
  commands_.push_back({std::move(piece), packets_, count, written_, written_ + bytes});
  packets_ += count;
  written_ += bytes;
}

sim::Task<> SdmaQueue::ring_doorbell(SubmittingThread& thread, sim::Time latency) {
  co_await thread.ring_doorbell(name_);
  announce(latency);
}

void SdmaQueue::announce(sim::Time latency) {
  sim::schedule_step(
      simulator_, latency, [this, written = whole(written_)] { become_visible(written); }, name_, "doorbell under way");
}

void SdmaQueue::become_visible(std::uint64_t written) {
  visible_ = std::max(visible_, sim::Bytes(static_cast<double>(written)));
  on_visible_();
}

void SdmaQueue::fetch(sim::Bytes granule) {
  // The first packets of a long command are enough to start it: the others arrive while they run.
  const QueuedCommand& first = commands_.front();
  fetched_ = std::max(first.end, std::min(std::max(fetched_, first.begin) + granule, visible_));
}

QueuedCommand SdmaQueue::take() {
  QueuedCommand first = std::move(commands_.front());
  commands_.pop_front();
  return first;
}

bool SdmaQueue::holds(std::uint32_t operation) const {
  return std::ranges::any_of(commands_, [operation](const QueuedCommand& queued) {
    const auto* const transfer = std::get_if<TransferCommand>(&queued.command);
    return transfer != nullptr && transfer->operation == operation;
  });
}

void SdmaQueue::release(const QueuedCommand& used) { room_.release(whole(used.end - used.begin)); }

}  // namespace c3sim::models
