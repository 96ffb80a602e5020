#include "models/sdma/sdma_engine.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "models/machine/resource_kind.h"
#include "models/platform/device.h"

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

sim::Task<> SdmaQueue::submit(SubmittingThread& thread, std::vector<SdmaCommand> commands, sim::Time latency,
                              QueueUser user, bool rings) {
  co_await first_expected_.wait(turn_of(user), "commands of operations before it in");
  co_await writer_.acquire();
  for (const SdmaCommand& command : commands) {
    // A command that fills more than half of the ring goes in pieces, so that the engine works on one while the thread
    // writes the next.
    const sim::Bytes room = std::max(ring_ / 2.0, packet_bytes(command, format_));
    for (SdmaCommand& piece : pieces_of(command, format_, room)) co_await write(thread, std::move(piece), latency);
  }
  if (rings) co_await ring_doorbell(thread, latency);
  writer_.release();
  const auto known = expected_.find(user.operation);
  if (known == expected_.end()) co_return;
  expected_.erase(known);
  first_expected_.write(expected_.empty() ? nobody : std::int64_t{*expected_.begin()});
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

sim::Task<> SdmaQueue::write(SubmittingThread& thread, SdmaCommand piece, sim::Time latency) {
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
      simulator_, latency,
      [this, written = written_] {
        visible_ = std::max(visible_, written);
        on_visible_();
      },
      name_, "doorbell under way");
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

namespace {
constexpr double unlimited = 1e9;  // factor on the rate: even a turn for a single byte then takes no time
}

PullService::PullService(const SdmaSpec& spec, sim::ResourceNetwork& network, const std::string& name)
    : spec_(spec),
      network_(network),
      rate_(add_resource(network, ResourceKind::pulls, name + ".sdma_pulls", unlimited * spec.pull_rate.value())) {}

void PullService::count(Side side, int by) {
  (side == Side::reader ? reading_ : read_from_) += by;
  const bool in_turns = reading_ > 1 || read_from_ > 1;
  network_.set_capacity(rate_, (in_turns ? 1.0 : unlimited) * spec_.pull_rate.value());
}

void SdmaEngine::add_memory(UsageList& usages, int device, const Traffic& traffic) const {
  if (device == host_device) return;  // host memory is never the tightest resource
  reach_.memories[static_cast<std::size_t>(device)]->add_below_l2(usages, traffic);
}

sim::Time SdmaEngine::memory_latency(int device) const {
  if (device == host_device) return sim::Time(0);  // the fabric's latency to the host includes it
  return reach_.memories[static_cast<std::size_t>(device)]->latency(spec_.cache_hits);
}

sim::Time SdmaEngine::travel(const TransferCommand& transfer) const {
  sim::Time hop{0};
  for (const BufferRange& destination : transfer.destinations) {
    hop = std::max(hop, reach_.fabric.route(transfer.source.device, destination.device).latency);
  }
  return transfer.kind == TransferKind::swap ? 4 * hop : 2 * hop;
}

sim::Time SdmaEngine::completion_latency(const TransferCommand& transfer) const {
  sim::Time write{0};
  for (const BufferRange& destination : transfer.destinations) {
    write = std::max(write, memory_latency(destination.device));
  }
  return spec_.transfer_latency + memory_latency(transfer.source.device) + travel(transfer) + write;
}

double SdmaEngine::cost_of(const TransferCommand& transfer) const {
  const auto written = static_cast<double>(transfer.destinations.size());
  const int from = transfer.source.device;
  const int to = transfer.destinations.front().device;
  const bool host = from == host_device || to == host_device;
  // A GPU's engines are recommended by peer, whichever way the bytes go.
  const int peer = from == gpu_ ? to : from;
  const bool recommended = host ? index_ == spec_.recommended_engine(from, to)
                                : from == to || index_ == spec_.recommended_engine(gpu_, peer);
  double penalty = recommended ? 1.0 : host ? spec_.host_direction_penalty : spec_.affinity_penalty;
  // Between GPUs a host engine is no faster than a link engine, whatever its rate over PCIe.
  if (!host && index_ < spec_.host_engines) penalty *= std::max(1.0, spec_.host_payload_rate / spec_.payload_rate);
  switch (transfer.kind) {
    case TransferKind::copy:
    case TransferKind::update:
      return penalty * written * (written > 1.0 ? spec_.broadcast_cost : 1.0);
    case TransferKind::swap:
      return penalty * 2.0 * spec_.swap_cost;
    case TransferKind::reduce:
      return penalty * spec_.reduce_cost;
  }
  return penalty;
}

void SdmaEngine::count(const TransferCommand& transfer, int by) const {
  if (!is_pull(transfer)) return;
  reach_.pulls_of(gpu_).count(PullService::Side::reader, by);
  reach_.pulls_of(transfer.source.device).count(PullService::Side::source, by);
}

sim::ActivitySpec SdmaEngine::activity(const TransferCommand& transfer) const {
  const int source = transfer.source.device;
  const bool both_ways = transfer.kind == TransferKind::swap;
  const bool updates = transfer.kind == TransferKind::update;
  const bool reads_destination = transfer.kind != TransferKind::copy && !updates;
  UsageList usages;
  usages.add(payload_, cost_of(transfer));
  if (is_pull(transfer)) {
    for (const int gpu : {gpu_, source}) {
      usages.add(reach_.pulls_of(gpu).rate(), reach_.pulls_of(gpu).cost(transfer.source.bytes));
    }
  }
  const double found = 1.0 - 1.0 / transfer.readers;  // share that another engine has read before
  add_memory(usages, source, {1.0, both_ways ? 1.0 : 0.0, std::max(spec_.cache_hits, found)});
  for (const BufferRange& destination : transfer.destinations) {
    const Traffic written{reads_destination ? 1.0 : 0.0, updates ? 0.0 : 1.0, spec_.cache_hits, updates ? 1.0 : 0.0};
    add_memory(usages, destination.device, written);
    reach_.fabric.add(usages, source, destination.device, 1.0);
    if (both_ways) reach_.fabric.add(usages, destination.device, source, 1.0);
  }

  sim::ActivitySpec activity{.amount = transfer.source.bytes.value(),
                             .usages = std::move(usages).take(),
                             .tag = ActivityTag{transfer.operation, Tenant::sdma}.packed()};
  // Each packet takes at least its set-up time.
  if (transfer.source.bytes > spec_.packets.transfer_limit && spec_.transfer_setup.count() > 0) {
    activity.cap = (spec_.packets.transfer_limit / sim::to_seconds(spec_.transfer_setup)).value();
  }
  activity.in_flight = spec_.bytes_in_flight.value() / (reads_destination ? 2.0 : 1.0);
  const int weighs = source == host_device ? transfer.destinations.front().device : source;
  activity.weight = reach_.memories[static_cast<std::size_t>(weighs)]->collective_weight(spec_.bytes_in_flight.value());
  activity.fixed_latency = travel(transfer);
  const auto see = [&](int device) {
    if (device == host_device) return;
    for (const auto resource : reach_.memories[static_cast<std::size_t>(device)]->latency_path()) {
      activity.latency_path.push_back(resource);
    }
  };
  see(source);
  see(transfer.destinations.front().device);
  return activity;
}

namespace {

// A turn of a queue ends with its completion packet: what follows belongs to another submission.
bool ends_turn(const SdmaCommand& command) {
  return std::holds_alternative<AtomicCommand>(command) || std::holds_alternative<FenceCommand>(command) ||
         std::holds_alternative<TrapCommand>(command);
}

std::string engine_name(int gpu, int index) { return device_name(gpu) + ".sdma" + std::to_string(index); }

}  // namespace

SdmaEngine::ServedQueue::ServedQueue(SdmaEngine& engine, const std::string& name)
    : queue(engine.simulator_, engine.spec_.packets, engine.spec_.ring, name,
            [&engine, this] {
              if (!std::exchange(in_service, true)) engine.simulator_.spawn(queue.name(), engine.serve(*this));
            }),
      transfers_under_way(engine.simulator_, "transfers under way in " + name, 0) {}

SdmaEngine::SdmaEngine(const SdmaSpec& spec, int gpu, int index, sim::ResourceId payload, sim::ResourceNetwork& network,
                       const SdmaReach& reach)
    : spec_(spec),
      gpu_(gpu),
      index_(index),
      payload_(payload),
      simulator_(network.simulator()),
      network_(network),
      reach_(reach),
      name_(network.name(payload)),
      front_end_(simulator_, "front end of " + name_, 1),
      data_mover_(simulator_, "data mover of " + name_, 1),
      queues_(static_cast<std::size_t>(spec.queues_per_engine)) {}

SdmaQueue& SdmaEngine::queue(int number) {
  std::unique_ptr<ServedQueue>& served = queues_[static_cast<std::size_t>(number)];
  if (!served) served = std::make_unique<ServedQueue>(*this, name_ + ".queue" + std::to_string(number));
  return served->queue;
}

const SdmaQueue* SdmaEngine::queue_that_holds(std::uint32_t operation) const {
  for (const std::unique_ptr<ServedQueue>& served : queues_) {
    if (served && served->queue.holds(operation)) return &served->queue;
  }
  return nullptr;
}

sim::Task<> SdmaEngine::run_blocks(TransferCommand blocks, sim::BytesPerSecond cap, double share) {
  sim::OpenStep data(simulator_);
  sim::ActivitySpec flow = activity(blocks);
  flow.cap = cap.value();
  for (sim::Usage& usage : flow.usages) {
    if (usage.resource == payload_) usage.coefficient *= share;
  }
  co_await network_.run(std::move(flow));
  data.end(name_, "data", "blocks");
}

void SdmaEngine::end(sim::OpenStep& step, const ServedQueue& served, std::string_view kind,
                     const QueuedCommand& queued) {
  if (step.recorded()) step.end(served.queue.name(), kind, queued.words());
}

sim::Task<> SdmaEngine::serve(ServedQueue& served) {
  while (served.queue.has_command()) {
    co_await front_end_.acquire();
    for (bool in_turn = true; in_turn && served.queue.has_command();) {
      if (served.queue.needs_fetch()) {
        sim::OpenStep fetch(simulator_);
        served.queue.fetch(spec_.fetch_granule);
        co_await simulator_.delay(read_latency());
        fetch.end(served.queue.name(), "fetch");
      }
      QueuedCommand queued = served.queue.take();
      in_turn = !ends_turn(queued.command);
      co_await run(served, std::move(queued));
    }
    front_end_.release();
  }
  served.in_service = false;
}

sim::Task<> SdmaEngine::run(ServedQueue& served, QueuedCommand queued) {
  if (std::holds_alternative<TransferCommand>(queued.command)) {
    co_await start_transfer(served, std::move(queued));
    co_return;
  }
  sim::OpenStep decode(simulator_);
  co_await simulator_.delay(spec_.packet_decode);
  end(decode, served, "decode", queued);
  if (std::holds_alternative<PollCommand>(queued.command)) {
    co_await poll(served, queued);
  } else {
    co_await complete(served, queued.command);
  }
  served.queue.release(queued);
}

sim::Task<> SdmaEngine::start_transfer(ServedQueue& served, QueuedCommand queued) {
  const auto& transfer = std::get<TransferCommand>(queued.command);
  if (transfer.times != nullptr) transfer.times->note_fetched(simulator_.now());
  served.transfers_under_way.add(1);
  sim::OpenStep setup(simulator_);
  co_await simulator_.delay(spec_.transfer_setup);
  end(setup, served, "set-up", queued);
  co_await data_mover_.acquire();
  simulator_.spawn(served.queue.name(), stream(served, std::move(queued)));
}

sim::Task<> SdmaEngine::stream(ServedQueue& served, QueuedCommand queued) {
  auto& transfer = std::get<TransferCommand>(queued.command);
  if (spec_.l2_writeback && transfer.source.device != host_device) {
    sim::OpenStep writeback(simulator_);
    co_await simulator_.delay(spec_.l2_writeback_time);
    end(writeback, served, "L2 writeback", queued);
  }
  sim::OpenStep data(simulator_);
  count(transfer, 1);
  sim::ActivitySpec flow = activity(transfer);
  co_await network_.run(std::move(flow));
  count(transfer, -1);
  if (data.recorded()) data.end(name_, "data", queued.words() + " of " + served.queue.name());
  data_mover_.release();
  served.queue.release(queued);
  sim::OpenStep acknowledgement(simulator_);
  co_await simulator_.delay(completion_latency(transfer));
  end(acknowledgement, served, "acknowledgement", queued);
  if (transfer.times != nullptr) transfer.times->note_finished(simulator_.now());
  if (transfer.ledger != nullptr) book_delivery(transfer, *transfer.ledger);
  transfer.written();
  served.transfers_under_way.add(-1);
}

sim::Task<> SdmaEngine::poll(ServedQueue& served, const QueuedCommand& queued) {
  const auto& command = std::get<PollCommand>(queued.command);
  if (command.reached != nullptr) command.reached->count_down();
  const sim::Time look = command.told ? sim::Time::zero() : read_latency();
  const sim::Time out = look / 2;  // a read sees the word half way, and the result travels back
  const sim::Time back = look - out;
  sim::OpenStep read(simulator_);
  co_await simulator_.delay(out);
  if (command.word->meets(command.condition)) {
    co_await simulator_.delay(back);
    end(read, served, "polled word read", queued);
    co_return;
  }
  front_end_.release();  // other queues have their turn meanwhile
  const std::string waiting = "packet " + std::to_string(queued.packet) + " (POLL_REGMEM) of " + served.queue.name() +
                              ": value " + to_string(command.condition) + " in word";
  // Reads that find nothing are not simulated one by one: only the first that can find the word changed is.
  const sim::Time first_look = simulator_.now();
  const sim::Time period = std::max(command.told ? look : look + spec_.poll_interval, sim::Time(1));
  while (!command.word->meets(command.condition)) {
    co_await command.word->wait(command.condition, waiting);
    read = sim::OpenStep(simulator_);
    const sim::Time since_look = (simulator_.now() - first_look) % period;
    if (since_look.count() > 0) co_await simulator_.delay(period - since_look);
  }
  co_await simulator_.delay(back);
  end(read, served, "polled word read", queued);
  co_await front_end_.acquire();
}

sim::Task<> SdmaEngine::complete(ServedQueue& served, const SdmaCommand& command) {
  const Condition all_done{Comparison::equal, 0};
  co_await served.transfers_under_way.wait(all_done, "an end to the");
  if (const auto* atomic = std::get_if<AtomicCommand>(&command)) {
    post(served, write_latency(spec_.atomic_latency), *atomic->word,
         [word = atomic->word, addend = atomic->addend] { word->add(addend); });
  } else if (const auto* fence = std::get_if<FenceCommand>(&command)) {
    post(served, write_latency(spec_.fence_latency), *fence->word,
         [word = fence->word, value = fence->value] { word->write(value); });
  } else if (const auto* trap = std::get_if<TrapCommand>(&command)) {
    post(served, spec_.fence_latency, *trap->event, [event = trap->event] { event->write(1); });
  }
}

void SdmaEngine::post(ServedQueue& served, sim::Time latency, const MemoryWord& word, sim::EventAction action) {
  sim::schedule_step(simulator_, latency, action, served.queue.name(), "completion under way", word.name());
}

SdmaComplex::SdmaComplex(const SdmaSpec& spec, int gpu, sim::ResourceNetwork& network,
                         std::span<Memory* const> memories, std::span<PullService* const> pulls, const Fabric& fabric)
    : spec_(spec),
      gpu_(gpu),
      reach_{{memories.begin(), memories.end()}, {pulls.begin(), pulls.end()}, fabric},
      own_thread_(network.simulator(), device_name(gpu) + ".submitter", spec.gpu_submission),
      network_(network),
      engines_(static_cast<std::size_t>(spec.engines)) {
  for (int index = 0; index < spec.engines; ++index) {
    const sim::BytesPerSecond rate = index < spec.host_engines ? spec.host_payload_rate : spec.payload_rate;
    payloads_.push_back(add_resource(network, ResourceKind::engine, engine_name(gpu, index), rate.value()));
  }
}

SdmaEngine& SdmaComplex::engine(int index) {
  const std::size_t place = static_cast<std::size_t>(index);
  std::unique_ptr<SdmaEngine>& engine = engines_[place];
  if (!engine) engine = std::make_unique<SdmaEngine>(spec_, gpu_, index, payloads_[place], network_, reach_);
  return *engine;
}

CompletionSignal::CompletionSignal(Host& host, SdmaComplex& engines, const std::string& name)
    : host_(host),
      engines_(engines),
      word_(host.simulator(), "completion of " + name, 1),
      event_(host.simulator(), "interrupt of " + name, 0) {}

void CompletionSignal::append_to(std::vector<SdmaCommand>& commands) {
  if (engines_.spec().completion == SdmaCompletion::atomic) {
    commands.emplace_back(AtomicCommand{&word_, -1});
  } else {
    commands.emplace_back(FenceCommand{&word_, 0});
  }
  if (sleeps()) commands.emplace_back(TrapCommand{&event_});
}

sim::Task<> CompletionSignal::see() {
  MemoryWord& word = sleeps() ? event_ : word_;
  const Condition done{Comparison::equal, sleeps() ? 1 : 0};
  if (engines_.spec().completion_seen_by == Initiator::gpu) {
    return engines_.waiter(host_).see(word, done, sim::Time(0));
  }
  return host_.see(engines_.gpu(), word, done);
}

}  // namespace c3sim::models
