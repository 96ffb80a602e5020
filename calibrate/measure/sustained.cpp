#include "calibrate/measure/sustained.h"

#include <algorithm>

namespace c3sim::measure {

namespace {

constexpr int begin_event = 1, end_event = 2;

struct Batches {
  double time = 0.0;  // of all counted ones
  int counted = 0;
};

}  // namespace

void rest(std::chrono::duration<double> time) { std::this_thread::sleep_for(time); }

int batch_of(Bench& bench, const Operation& operation, const std::vector<int>& on) {
  constexpr double long_enough = 50e3;  // us: the breaks between batches do not count then
  constexpr double most = 5000.0;
  const double once = std::max(1.0, bench.time({operation}, on).all.median);
  return static_cast<int>(std::clamp(long_enough / once, 1.0, most));
}

Sustained sustain(Bench& bench, const Operation& operation, double seconds, int batch,
                  std::chrono::duration<double> pause, const std::vector<int>& on) {
  constexpr double micro = 1e6;
  const auto takes_part = [&on](int number) { return on.empty() || std::ranges::find(on, number) != on.end(); };
  rest(bench.protocol().rest);
  Rendezvous rendezvous(on.empty() ? bench.gpus() : static_cast<int>(on.size()));
  const double start = host_microseconds();
  Sustained sustained;
  bool over = false;
  const auto look_at_clock = [&] {
    const double now = host_microseconds();
    over = sustained.half != 0.0 && now > start + micro * seconds;  // a batch of the second half at least
    if (sustained.half == 0.0 && now > start + micro * seconds / 2) sustained.half = now;
  };
  std::vector<Batches> all(static_cast<std::size_t>(bench.gpus()));
  bench.each([&](int number) {
    if (!takes_part(number)) return;
    Gpu& gpu = bench.gpu(number);
    const Stream stream = bench.stream(number, operation.lane, operation.cus, operation.first_cu);
    Batches& own = all[static_cast<std::size_t>(number)];
    try {
      while (rendezvous.arrive(look_at_clock) && !over) {
        const bool counts = sustained.half != 0.0;
        gpu.record(bench.event(number, begin_event), stream);
        for (int i = 0; i < batch; ++i) operation.launch(number, stream);
        gpu.record(bench.event(number, end_event), stream);
        bench.await(number, bench.event(number, end_event));
        if (pause.count() > 0) std::this_thread::sleep_for(pause);
        if (!counts) continue;
        own.time += gpu.microseconds(bench.event(number, begin_event), bench.event(number, end_event));
        ++own.counted;
      }
    } catch (...) {
      rendezvous.give_up();
      throw;
    }
  });
  const double end = host_microseconds();
  int gpus = 0, batches = 0;
  for (const Batches& own : all) {
    if (own.counted == 0) continue;
    sustained.time += own.time / own.counted / batch;
    batches = own.counted;
    ++gpus;
  }
  if (gpus > 0) {
    sustained.time /= gpus;
    sustained.period = (end - sustained.half) / batches / batch;
  }
  return sustained;
}

}  // namespace c3sim::measure
