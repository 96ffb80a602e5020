#include "models/sdma/sdma_queue.h"

#include <algorithm>
#include <utility>

#include "sim/open_step.h"

namespace c3sim::models {
namespace {
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
      writer_(simulator, "writer of " + name_, 1) {}

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
  std::string subject;  // outlives the work
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
  // Of a command of many packets the first ones are enough to start: the rest arrives while they run.
  const QueuedCommand& first = commands_.front();
  fetched_ = std::max(first.end, std::min(std::max(fetched_, first.begin) + granule, visible_));
}

QueuedCommand SdmaQueue::take() {
  QueuedCommand first = std::move(commands_.front());
  commands_.pop_front();
  return first;
}

void SdmaQueue::release(const QueuedCommand& used) { room_.release(whole(used.end - used.begin)); }

}  // namespace c3sim::models
