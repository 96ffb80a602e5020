#include "models/collectives/sdma_collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>

#include "models/collectives/algorithm.h"
#include "models/collectives/deliveries.h"
#include "sim/check.h"

namespace c3sim::models {

EngineLayout::EngineLayout(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma, int side_by_side)
    : step_(step), spec_(spec), sdma_(sdma) {
  const bool one_shard = step == CollectiveKind::all_gather || step == CollectiveKind::broadcast;
  readers_ = one_shard ? side_by_side : 1;
}

std::vector<int> EngineLayout::senders() const {
  std::vector<int> senders(step_ == CollectiveKind::broadcast ? 1 : static_cast<std::size_t>(spec_.gpus));
  std::iota(senders.begin(), senders.end(), 0);
  return senders;
}

std::vector<int> EngineLayout::peers_of(int gpu) const {
  std::vector<int> peers;
  for (int i = 1; i < spec_.gpus; ++i) peers.push_back((gpu + i) % spec_.gpus);
  return peers;
}

TransferCommand EngineLayout::transfer(int gpu, int peer) const {
  const bool reduces = step_ == CollectiveKind::reduce_scatter;
  const Delivery due = deliveries(step_, spec_, reduces ? peer : gpu, reduces ? gpu : peer).front();
  TransferCommand command{.kind = reduces ? TransferKind::reduce : TransferKind::copy,
                          .source = due.source,
                          .destinations = {due.destination},
                          .readers = readers_};
  return command;
}

void EngineLayout::add(int gpu, int peer, std::vector<TransferCommand> transfers) {
  const int engine = sdma_.recommended_engine(spec_.first + gpu, spec_.first + peer);
  const int queue = used_queues_[{gpu, engine}]++ % sdma_.queues_per_engine;
  programs_.push_back({spec_.first + gpu, engine, queue, std::move(transfers)});
}

std::vector<EngineProgram> engine_copies(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma,
                                         int width) {
  EngineLayout layout(step, spec, sdma, (spec.gpus - 1 + width - 1) / width);
  for (const int gpu : layout.senders()) {
    const std::vector<int> peers = layout.peers_of(gpu);
    const auto step_width = static_cast<std::size_t>(width);
    for (std::size_t first = 0; first < peers.size(); first += step_width) {
      TransferCommand command = layout.transfer(gpu, peers[first]);
      for (std::size_t i = first + 1; i < std::min(first + step_width, peers.size()); ++i) {
        command.destinations.push_back(layout.transfer(gpu, peers[i]).destinations.front());
      }
      layout.add(gpu, peers[first], {std::move(command)});
    }
  }
  return std::move(layout).take();
}

namespace {

constexpr std::int64_t released = 1;

bool does(const Algorithm& one, CollectiveKind kind) { return std::ranges::count(one.kinds, kind) > 0; }

// Returns a list such as "pcpy, bcst or b2b".
std::string plans_for(CollectiveKind kind) {
  std::vector<std::string_view> names;
  for (const Algorithm& one : sdma_variants()) {
    if (does(one, kind)) names.push_back(one.name);
  }
  const std::span<const std::string_view> all(names);
  return fmt::format("{} or {}", fmt::join(all.first(all.size() - 1), ", "), all.back());
}

using Place = std::array<int, 3>;  // GPU, engine and queue
Place place_of(const EngineProgram& program) { return {program.gpu, program.engine, program.queue}; }

// Returns why prelaunch is impossible. Everything queued behind a POLL must fit in its ring: the thread that would wait
// for room is the one that releases the POLL.
std::string why_not_prelaunched(const CollectiveSpec& spec, const SdmaSpec& sdma) {
  const PacketFormat& packets = sdma.packets;
  // The host's way of waiting is not known here: it may sleep until a TRAP wakes it.
  const sim::Bytes completion =
      (sdma.completion == SdmaCompletion::atomic ? packets.atomic : packets.fence) + packets.trap;
  std::map<Place, sim::Bytes> queued;
  for (const CollectiveKind step : sdma_steps(spec.kind)) {
    for (const EngineProgram& program : sdma_programs(step, spec, sdma)) {
      sim::Bytes& bytes = queued[place_of(program)];
      bytes += packets.poll + completion;
      for (const TransferCommand& transfer : program.transfers) bytes += ring_bytes(transfer, packets);
      if (bytes > sdma.ring) {
        return "prelaunch queues " + sim::to_string(bytes) + " of packets or more behind a POLL, but a ring holds " +
               sim::to_string(sdma.ring) + ": use a larger ring or a smaller array";
      }
    }
  }
  return {};
}

}  // namespace

std::vector<CollectiveKind> sdma_steps(CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce) return {CollectiveKind::reduce_scatter, CollectiveKind::all_gather};
  return {kind};
}

std::vector<EngineProgram> sdma_programs(CollectiveKind step, const CollectiveSpec& spec, const SdmaSpec& sdma) {
  return algorithm_of(spec.variant).by_engines(step, spec, sdma);
}

std::string why_impossible_on_sdma(const CollectiveSpec& spec, const SdmaSpec& sdma) {
  const int link_engines = sdma.engines - sdma.host_engines;
  const bool reduces = spec.kind == CollectiveKind::reduce_scatter || spec.kind == CollectiveKind::all_reduce;
  const Algorithm& algorithm = algorithm_of(spec.variant);
  if (reduces && !sdma.reduction) {
    return "copy engines do not reduce: use the backend rccl, or engines with gpu.sdma.reduction = true";
  }
  if (!does(algorithm, spec.kind)) {
    return fmt::format("variant {} does not exist for {}; use {}", to_string(spec.variant), to_string(spec.kind),
                       plans_for(spec.kind));
  }
  if (spec.engines < 1 || spec.engines > link_engines) {
    return "a GPU has " + std::to_string(link_engines) + " engines for its links, so b2b runs on 1 to that many, not " +
           std::to_string(spec.engines);
  }
  if (spec.engines > 1 && !algorithm.many_engines) return "a number of engines is a choice of b2b alone";
  return spec.prelaunch ? why_not_prelaunched(spec, sdma) : std::string();
}

SdmaCollective::SdmaCollective(const CollectiveSpec& spec, Host& host, std::span<SdmaComplex* const> engines,
                               QueueUser user)
    : spec_(spec),
      user_{user.operation, spec.prelaunch && user.waits},
      host_(host),
      engines_(engines.begin(), engines.end()) {
  for (const CollectiveKind kind : sdma_steps(spec.kind)) add_step(kind);
}

void SdmaCollective::add_step(CollectiveKind kind) {
  std::vector<EngineProgram> programs = sdma_programs(kind, spec_, engines_.front()->spec());
  const auto is_simulated = [this](const EngineProgram& program) {
    return program.gpu < static_cast<int>(engines_.size());
  };
  std::set<Place> queues;
  for (const EngineProgram& program : programs) {
    if (is_simulated(program)) queues.insert(place_of(program));
  }
  const std::string name(to_string(kind));
  Step& step = steps_.emplace_back();
  step.release = std::make_unique<MemoryWord>(simulator(), "release of " + name, 0);
  step.polling = std::make_unique<sim::Latch>(simulator(), "POLLs of " + name, queues.size());
  expect_deliveries(kind, spec_, spec_.gpus, step.ledger);
  for (EngineProgram& program : programs) {
    if (!is_simulated(program)) {
      step.mirrored.push_back(std::move(program));
      continue;
    }
    const bool first_in_queue = queues.erase(place_of(program)) > 0;
    add_program(step, std::move(program), first_in_queue);
  }
}

void SdmaCollective::add_program(Step& step, EngineProgram program, bool first_in_queue) {
  SdmaComplex& engines = *engines_[static_cast<std::size_t>(program.gpu)];
  SdmaEngine& engine = engines.engine(program.engine);
  QueuedProgram& queued = step.programs.emplace_back();
  queued.gpu = program.gpu;
  queued.queue = &engine.queue(program.queue);
  queued.queue->expect(user_.operation);
  queued.completion = std::make_unique<CompletionSignal>(host_, engines, engine.name());
  if (spec_.prelaunch) {
    // A second program of the same queue comes to its POLL only after the first one has run.
    sim::Latch* const reached = first_in_queue ? step.polling.get() : nullptr;
    queued.commands.emplace_back(PollCommand{step.release.get(), {Comparison::equal, released}, reached});
  }
  for (TransferCommand& transfer : program.transfers) {
    transfer.ledger = &step.ledger;
    transfer.operation = user_.operation;
    queued.commands.emplace_back(std::move(transfer));
  }
  queued.completion->append_to(queued.commands);
}

sim::Task<> SdmaCollective::prepare() {
  if (!spec_.prelaunch) co_return;
  const bool comes_first = std::ranges::all_of(steps_.front().programs, [this](const QueuedProgram& queued) {
    return queued.queue->empty() && queued.queue->is_turn_of(user_);
  });
  for (Step& step : steps_) co_await submit(step);
  // Later steps may share queues with the first step, which itself may come after other collectives in its queues.
  if (comes_first) co_await steps_.front().polling->wait();
}

sim::Task<sim::Time> SdmaCollective::run() {
  const sim::Time start = simulator().now();
  for (Step& step : steps_) {
    if (spec_.prelaunch) {
      SdmaComplex& first = *engines_[static_cast<std::size_t>(spec_.first)];
      co_await first.submitter(host_).write_word(*step.release, released);
    } else {
      co_await submit(step);
    }
    co_await by_threads(step, &SdmaComplex::waiter, &SdmaCollective::wait_by, "wait by ",
                        "completions of a collective");
    for (const EngineProgram& program : step.mirrored) {
      for (const TransferCommand& transfer : program.transfers) book_delivery(transfer, step.ledger);
    }
    step.ledger.require_complete();
  }
  co_return simulator().now() - start;
}

sim::Task<> SdmaCollective::by_threads(Step& step, ThreadOf thread_of, WorkOfThread work, const char* what,
                                       const char* all) {
  std::vector<SubmittingThread*> threads;
  for (const QueuedProgram& queued : step.programs) {
    SubmittingThread& thread = (engines_of(queued).*thread_of)(host_);
    if (std::ranges::count(threads, &thread) == 0) threads.push_back(&thread);
  }
  sim::Latch done(simulator(), all, threads.size());
  for (SubmittingThread* thread : threads) {
    simulator().spawn(what + thread->name(), (this->*work)(step, *thread, done));
  }
  co_await done.wait();
}

sim::Task<> SdmaCollective::submit(Step& step) {
  return by_threads(step, &SdmaComplex::submitter, &SdmaCollective::submit_by, "submission by ",
                    "submission of a collective");
}

// Submits the programs of one thread. What a ring has no room for is written as room comes free, while the thread goes
// on with the next program.
sim::Task<> SdmaCollective::submit_by(Step& step, SubmittingThread& thread, sim::Latch& submitted) {
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    QueuedProgram& queued = step.programs[i];
    SdmaComplex& engines = engines_of(queued);
    if (&engines.submitter(host_) != &thread) continue;
    const bool batched = engines.spec().batched_doorbell;
    co_await queued.queue->submit_or_leave(thread, std::move(queued.commands), engines.doorbell_latency(), user_,
                                           !batched);
    const bool last = i + 1 == step.programs.size() || step.programs[i + 1].gpu != queued.gpu;
    if (batched && last) co_await ring_for_gpu(step, queued.gpu, thread);
  }
  submitted.count_down();
}

sim::Task<> SdmaCollective::ring_for_gpu(Step& step, int gpu, SubmittingThread& thread) {
  co_await thread.ring_doorbell("all queues of a GPU");
  for (QueuedProgram& queued : step.programs) {
    if (queued.gpu != gpu) continue;
    queued.queue->announce(engines_of(queued).doorbell_latency());
  }
}

// Waits for the words in the order of submission: a word that is written early is read in its turn.
sim::Task<> SdmaCollective::wait_by(Step& step, SubmittingThread& thread, sim::Latch& seen) {
  for (QueuedProgram& queued : step.programs) {
    if (&engines_of(queued).waiter(host_) != &thread) continue;
    co_await queued.completion->see();
  }
  seen.count_down();
}

}  // namespace c3sim::models
