#include "models/collectives/sdma_collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "models/collectives/algorithm.h"
#include "models/collectives/deliveries.h"
#include "sim/check.h"

namespace c3sim::models {
namespace {

constexpr std::int64_t released = 1;

template <class Thread>
void add_once(std::vector<Thread*>& threads, Thread& thread) {
  if (std::find(threads.begin(), threads.end(), &thread) == threads.end()) threads.push_back(&thread);
}

bool does(const SdmaPlan& plan, CollectiveKind kind) { return std::ranges::count(plan.kinds, kind) > 0; }

// "pcpy, bcst or b2b".
std::string plans_for(CollectiveKind kind) {
  std::vector<std::string_view> names;
  for (const SdmaPlan& plan : sdma_plans()) {
    if (does(plan, kind)) names.push_back(to_string(plan.variant));
  }
  const std::span<const std::string_view> all(names);
  return fmt::format("{} or {}", fmt::join(all.first(all.size() - 1), ", "), all.back());
}

// Everything queued behind a POLL must fit in its ring: the thread that would wait for room is the one that releases
// it.
std::string why_not_prelaunched(const CollectiveSpec& spec, const SdmaSpec& sdma) {
  std::map<std::array<int, 3>, sim::Bytes> queued;  // by GPU, engine and queue
  for (const CollectiveKind step : sdma_steps(spec.kind)) {
    for (const EngineProgram& program : sdma_programs(step, spec, sdma)) {
      sim::Bytes& bytes = queued[{program.gpu, program.engine, program.queue}];
      bytes += sdma.packets.poll + sdma.packets.fence + sdma.packets.atomic + sdma.packets.trap;
      for (const TransferCommand& transfer : program.transfers) bytes += ring_bytes(transfer, sdma.packets);
      if (bytes > sdma.ring) {
        return "prelaunch queues " + sim::to_string(bytes) + " of packets or more behind a POLL, but a ring holds " +
               sim::to_string(sdma.ring) + ": use a larger ring or a smaller array";
      }
    }
  }
  return {};
}

}  // namespace

std::string why_impossible_on_sdma(const CollectiveSpec& spec, const SdmaSpec& sdma, int gpus) {
  const int link_engines = sdma.engines - sdma.host_engines;
  const bool reduces = spec.kind == CollectiveKind::reduce_scatter || spec.kind == CollectiveKind::all_reduce;
  const SdmaPlan& plan = plan_of(spec.variant);
  if (spec.gpus < 2 || spec.gpus > gpus) {
    return "a collective takes 2 to " + std::to_string(gpus) + " GPUs of this platform, not " +
           std::to_string(spec.gpus);
  }
  if (spec.bytes < sim::Bytes(1.0)) return "a collective moves at least one byte";
  if (reduces && !sdma.reduction) {
    return "copy engines do not reduce: use the backend rccl, or engines with gpu.sdma.reduction = true";
  }
  if (!does(plan, spec.kind)) {
    return fmt::format("variant {} does not exist for {}; use {}", to_string(spec.variant), to_string(spec.kind),
                       plans_for(spec.kind));
  }
  if (spec.engines < 1 || spec.engines > link_engines) {
    return "a GPU has " + std::to_string(link_engines) + " engines for its links, so b2b runs on 1 to that many, not " +
           std::to_string(spec.engines);
  }
  if (spec.engines > 1 && !plan.many_engines) return "a number of engines is a choice of b2b alone";
  return spec.prelaunch ? why_not_prelaunched(spec, sdma) : std::string();
}

SdmaCollective::SdmaCollective(const CollectiveSpec& spec, Host& host, std::span<SdmaComplex* const> engines,
                               std::uint32_t operation)
    : spec_(spec), operation_(operation), host_(host), engines_(engines.begin(), engines.end()) {
  SIM_CHECK(why_impossible_on_sdma(spec, engines_.front()->spec(), spec.gpus).empty());
  for (const CollectiveKind kind : sdma_steps(spec.kind)) add_step(kind);
}

void SdmaCollective::add_step(CollectiveKind kind) {
  const SdmaSpec& sdma = engines_.front()->spec();
  sim::Simulator& simulator = host_.simulator();
  std::set<std::array<int, 3>> queues;
  Step step;
  step.kind = kind;
  for (EngineProgram& program : sdma_programs(kind, spec_, sdma)) {
    if (program.gpu >= static_cast<int>(engines_.size())) {
      step.mirrored.push_back(std::move(program));
      continue;
    }
    SdmaComplex& engines = *engines_[static_cast<std::size_t>(program.gpu)];
    QueuedProgram queued;
    queued.completion = std::make_unique<CompletionSignal>(host_, engines, engines.engine(program.engine).name());
    queued.first_in_queue = queues.insert({program.gpu, program.engine, program.queue}).second;
    queued.program = std::move(program);
    step.programs.push_back(std::move(queued));
  }
  const std::string name(to_string(kind));
  step.release = std::make_unique<MemoryWord>(simulator, "release of " + name, 0);
  step.polling = std::make_unique<sim::Latch>(simulator, "POLLs of " + name, queues.size());
  expect_deliveries(kind, spec_, spec_.gpus, step.ledger);
  steps_.push_back(std::move(step));
}

SdmaQueue& SdmaCollective::queue_of(const QueuedProgram& queued) {
  return engines_of(queued).engine(queued.program.engine).queue(queued.program.queue);
}

sim::Task<> SdmaCollective::prepare() {
  if (!spec_.prelaunch) co_return;
  const bool comes_first = std::ranges::all_of(
      steps_.front().programs, [this](const QueuedProgram& queued) { return queue_of(queued).empty(); });
  for (Step& step : steps_) co_await submit(step);
  // Later steps may share queues with the first one, and this one with other collectives, and then wait behind them.
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
    co_await wait_for_completions(step);
    for (const EngineProgram& program : step.mirrored) {
      for (const TransferCommand& transfer : program.transfers) book_delivery(transfer, step.ledger);
    }
    step.ledger.require_complete();
  }
  co_return simulator().now() - start;
}

sim::Task<> SdmaCollective::submit(Step& step) {
  std::vector<SubmittingThread*> threads;
  for (const QueuedProgram& queued : step.programs) add_once(threads, engines_of(queued).submitter(host_));
  sim::Latch submitted(simulator(), "submission of a collective", threads.size());
  for (SubmittingThread* thread : threads) {
    simulator().spawn("submission by " + thread->name(), submit_by(step, *thread, submitted));
  }
  co_await submitted.wait();
}

sim::Task<> SdmaCollective::submit_by(Step& step, SubmittingThread& thread, sim::Latch& submitted) {
  for (std::size_t i = 0; i < step.programs.size(); ++i) {
    QueuedProgram& queued = step.programs[i];
    SdmaComplex& engines = engines_of(queued);
    if (&engines.submitter(host_) != &thread) continue;
    const bool batched = engines.spec().batched_doorbell;
    if (outgrows_ring(step, queued)) {
      // Written as room comes free, while the thread goes on with the next program.
      simulator().spawn("submission to " + queue_of(queued).name(), submit_program(step, queued, thread));
    } else if (batched) {
      co_await write_program(step, queued, thread);
    } else {
      co_await submit_program(step, queued, thread);
    }
    const bool last = i + 1 == step.programs.size() || step.programs[i + 1].program.gpu != queued.program.gpu;
    if (batched && last) co_await ring_for_gpu(step, queued.program.gpu, thread);
  }
  submitted.count_down();
}

std::vector<SdmaCommand> SdmaCollective::commands_of(Step& step, QueuedProgram& queued) {
  std::vector<SdmaCommand> commands;
  if (spec_.prelaunch) {
    // A second program of the same queue comes to its POLL only after the first one has run.
    sim::Latch* reached = queued.first_in_queue ? step.polling.get() : nullptr;
    commands.emplace_back(PollCommand{step.release.get(), {Comparison::equal, released}, reached});
  }
  for (TransferCommand transfer : queued.program.transfers) {
    transfer.ledger = &step.ledger;
    transfer.operation = operation_;
    commands.emplace_back(std::move(transfer));
  }
  queued.completion->append_to(commands);
  return commands;
}

bool SdmaCollective::outgrows_ring(Step& step, QueuedProgram& queued) {
  sim::Bytes bytes;
  for (const SdmaCommand& command : commands_of(step, queued)) {
    bytes += ring_bytes(command, engines_of(queued).spec().packets);
  }
  return bytes > queue_of(queued).free();
}

sim::Task<> SdmaCollective::write_program(Step& step, QueuedProgram& queued, SubmittingThread& thread) {
  for (SdmaCommand& command : commands_of(step, queued)) {
    co_await queue_of(queued).write(thread, std::move(command), engines_of(queued).doorbell_latency());
  }
}

sim::Task<> SdmaCollective::submit_program(Step& step, QueuedProgram& queued, SubmittingThread& thread) {
  co_await write_program(step, queued, thread);
  co_await queue_of(queued).ring_doorbell(thread, engines_of(queued).doorbell_latency());
}

sim::Task<> SdmaCollective::ring_for_gpu(Step& step, int gpu, SubmittingThread& thread) {
  co_await thread.ring_doorbell("all queues of a GPU");
  for (QueuedProgram& queued : step.programs) {
    if (queued.program.gpu != gpu) continue;
    queue_of(queued).announce(engines_of(queued).doorbell_latency());
  }
}

sim::Task<> SdmaCollective::wait_for_completions(Step& step) {
  std::vector<const SubmittingThread*> threads;
  for (const QueuedProgram& queued : step.programs) add_once(threads, engines_of(queued).waiter(host_));
  sim::Latch seen(simulator(), "completions of a collective", threads.size());
  for (const SubmittingThread* thread : threads) {
    simulator().spawn("wait by " + thread->name(), wait_by(step, *thread, seen));
  }
  co_await seen.wait();
}

// Spins over the words in the order of submission: a word that comes early is looked at in its turn.
sim::Task<> SdmaCollective::wait_by(Step& step, const SubmittingThread& thread, sim::Latch& seen) {
  for (QueuedProgram& queued : step.programs) {
    if (&engines_of(queued).waiter(host_) != &thread) continue;
    co_await queued.completion->see();
  }
  seen.count_down();
}

}  // namespace c3sim::models
