// Times an event (schedule and execute) against the number of pending ones, and what processes do most.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "sim/event_queue.h"
#include "sim/gate.h"
#include "sim/simulator.h"
#include "sim/task.h"

using namespace c3sim;

namespace {

// Delays are drawn by xorshift64, so that the generator costs next to nothing.
struct RandomDelay {
  std::uint64_t random = 0x9e3779b97f4a7c15;

  sim::Time operator()() {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return sim::Time(1 + static_cast<std::int64_t>(random >> 44));
  }
};

// This is the classic hold model: the queue keeps its size, as every popped event is pushed again at a later time.
void event_queue_hold(benchmark::State& state) {
  const auto pending = static_cast<std::size_t>(state.range(0));
  RandomDelay random_delay;
  std::uint64_t executed = 0;
  sim::EventQueue queue;
  for (std::size_t i = 0; i < pending; ++i) queue.push(random_delay(), [&executed] { ++executed; });
  const auto hold = [&queue, &random_delay] {
    sim::Event event = queue.pop();
    event.action();
    queue.push(event.at + random_delay(), event.action);
  };
  // The queue has its final shape once every event has been replaced.
  for (std::size_t i = 0; i < 4 * pending; ++i) hold();
  for (auto _ : state) hold();
  benchmark::DoNotOptimize(executed);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(event_queue_hold)->Arg(1)->Arg(64)->Arg(4096)->Arg(65536)->Arg(1 << 20);

// The hold model runs through the simulator: `pending` timers set themselves again.
struct Timer {
  sim::Simulator& simulator;
  RandomDelay delay;
  std::uint64_t left;

  void fire() {
    if (left-- > 0) simulator.schedule(simulator.now() + delay(), [this] { fire(); });
  }
};

void simulator_timers(benchmark::State& state) {
  const auto pending = static_cast<std::uint64_t>(state.range(0));
  const std::uint64_t rounds = 4'000'000 / pending;
  std::uint64_t executed = 0;
  for (auto _ : state) {
    sim::Simulator simulator;
    std::vector<Timer> timers;
    timers.reserve(pending);
    for (std::uint64_t i = 0; i < pending; ++i) timers.push_back({simulator, {0x9e3779b97f4a7c15 * (i + 1)}, rounds});
    for (Timer& timer : timers) timer.fire();
    simulator.run();
    executed += simulator.events_executed();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(executed));
}
BENCHMARK(simulator_timers)->Arg(4096)->Arg(65536)->Unit(benchmark::kMillisecond);

sim::Task<> nap(sim::Simulator& simulator) { co_await simulator.delay(sim::Time(1)); }

sim::Task<> naps(sim::Simulator& simulator, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) co_await nap(simulator);
}

// Each item makes, starts, suspends, resumes, finishes and destroys one task.
void task_per_delay(benchmark::State& state) {
  constexpr std::int64_t count = 100'000;
  for (auto _ : state) {
    sim::Simulator simulator;
    simulator.spawn("sleeper", naps(simulator, count));
    simulator.run();
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(task_per_delay);

sim::Task<> pass_on(sim::Simulator&, sim::Semaphore& mine, sim::Semaphore& other, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    co_await mine.acquire();
    other.release();
  }
}

// A permit goes to and fro: both sides wait for each other all the time.
void semaphore_hand_over(benchmark::State& state) {
  constexpr std::int64_t count = 100'000;
  for (auto _ : state) {
    sim::Simulator simulator;
    sim::Semaphore ping(simulator, "ping", 1);
    sim::Semaphore pong(simulator, "pong", 0);
    simulator.spawn("ping", pass_on(simulator, ping, pong, count));
    simulator.spawn("pong", pass_on(simulator, pong, ping, count));
    simulator.run();
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(semaphore_hand_over);

}  // namespace

BENCHMARK_MAIN();
