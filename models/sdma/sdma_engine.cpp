#include "models/sdma/sdma_engine.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "models/machine/resource_kind.h"
#include "models/platform/device.h"

namespace c3sim::models {

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
            [&engine, this] { engine.start_service(*this); }),
      transfers_under_way(engine.simulator_, "transfers under way in " + name, 0) {}

SdmaEngine::SdmaEngine(const SdmaSpec& spec, SdmaDataPath::Engine identity, sim::ResourceNetwork& network,
                       const SdmaDataPath& path)
    : spec_(spec),
      identity_(identity),
      simulator_(network.simulator()),
      network_(network),
      path_(path),
      name_(network.name(identity.payload)),
      front_end_(simulator_, "front end of " + name_, 1),
      data_mover_(simulator_, "data mover of " + name_, 1),
      queues_(static_cast<std::size_t>(spec.queues_per_engine)) {}

SdmaDataPath::Engine SdmaEngine::add_to(sim::ResourceNetwork& network, const SdmaSpec& spec, int gpu, int index) {
  const sim::BytesPerSecond rate = index < spec.host_engines ? spec.host_payload_rate : spec.payload_rate;
  return {gpu, index, add_resource(network, ResourceKind::engine, engine_name(gpu, index), rate.value())};
}

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
  sim::ActivitySpec activity = path_.activity(blocks, identity_);
  activity.cap = cap.value();
  for (sim::Usage& usage : activity.usages) {
    if (usage.resource == identity_.payload) usage.coefficient *= share;
  }
  co_await network_.run(std::move(activity));
  data.end(name_, "data", "blocks");
}

void SdmaEngine::end(sim::OpenStep& step, const ServedQueue& served, std::string_view kind,
                     const QueuedCommand& queued) {
  if (step.recorded()) step.end(served.queue.name(), kind, queued.words());
}

void SdmaEngine::start_service(ServedQueue& served) {
  if (std::exchange(served.in_service, true)) return;
  simulator_.spawn(served.queue.name(), serve(served));
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
  path_.enter(transfer, identity_);
  sim::ActivitySpec activity = path_.activity(transfer, identity_);
  co_await network_.run(std::move(activity));
  path_.leave(transfer, identity_);
  if (data.recorded()) data.end(name_, "data", queued.words() + " of " + served.queue.name());
  data_mover_.release();
  served.queue.release(queued);
  sim::OpenStep acknowledgement(simulator_);
  co_await simulator_.delay(path_.completion_latency(transfer));
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
  if (const auto* timestamp = std::get_if<TimestampCommand>(&command)) {
    *timestamp->destination = simulator_.now();
  } else if (const auto* atomic = std::get_if<AtomicCommand>(&command)) {
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

sim::Time SdmaEngine::read_latency() const {
  return spec_.submitted_by == Initiator::gpu ? spec_.gpu_read_latency : spec_.host_read_latency;
}

sim::Time SdmaEngine::write_latency(sim::Time to_host) const {
  return spec_.completion_seen_by == Initiator::gpu ? spec_.gpu_completion_latency : to_host;
}

SdmaComplex::SdmaComplex(const SdmaSpec& spec, int gpu, sim::ResourceNetwork& network,
                         std::span<Memory* const> memories, std::span<PullService* const> pulls, const Fabric& fabric)
    : spec_(spec),
      gpu_(gpu),
      path_(spec, memories, pulls, fabric),
      pulls_(pulls.begin(), pulls.end()),
      own_thread_(network.simulator(), device_name(gpu) + ".submitter", spec.gpu_submission),
      network_(network),
      engines_(static_cast<std::size_t>(spec.engines)) {
  for (int index = 0; index < spec.engines; ++index) {
    identities_.push_back(SdmaEngine::add_to(network, spec, gpu, index));
  }
}

SdmaEngine& SdmaComplex::engine(int index) {
  const std::size_t place = static_cast<std::size_t>(index);
  std::unique_ptr<SdmaEngine>& engine = engines_[place];
  if (!engine) engine = std::make_unique<SdmaEngine>(spec_, identities_[place], network_, path_);
  return *engine;
}

SubmittingThread& SdmaComplex::submitter(Host& host) {
  return spec_.submitted_by == Initiator::gpu ? own_thread_ : host.thread_of(gpu_);
}

sim::Time SdmaComplex::doorbell_latency() const {
  return spec_.submitted_by == Initiator::gpu ? spec_.gpu_doorbell_latency : spec_.doorbell_latency;
}

sim::Task<> SdmaComplex::see_completion(Host& host, MemoryWord& word, Condition condition) {
  if (spec_.completion_seen_by == Initiator::gpu) return own_thread_.see(word, condition, sim::Time(0));
  return host.see(gpu_, word, condition);
}

const SubmittingThread& SdmaComplex::waiter(Host& host) {
  return spec_.completion_seen_by == Initiator::gpu ? own_thread_ : host.thread_of(gpu_);
}

CompletionSignal::CompletionSignal(Host& host, SdmaComplex& engines, const std::string& name)
    : host_(host),
      engines_(engines),
      word_(host.simulator(), "completion of " + name, 1),
      event_(host.simulator(), "interrupt of " + name, 0) {}

bool CompletionSignal::sleeps() const {
  return host_.spec().wait == HostWait::interrupt && engines_.spec().completion_seen_by == Initiator::host;
}

void CompletionSignal::append_to(std::vector<SdmaCommand>& commands) {
  if (engines_.spec().completion == SdmaCompletion::atomic) {
    commands.emplace_back(AtomicCommand{&word_, -1});
  } else {
    commands.emplace_back(FenceCommand{&word_, 0});
  }
  if (sleeps()) commands.emplace_back(TrapCommand{&event_});
}

sim::Task<> CompletionSignal::see() {
  const Condition woken{Comparison::equal, 1};
  const Condition done{Comparison::equal, 0};
  return engines_.see_completion(host_, sleeps() ? event_ : word_, sleeps() ? woken : done);
}

}  // namespace c3sim::models
