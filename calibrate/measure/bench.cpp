#include "calibrate/measure/bench.h"

#include <algorithm>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int start_event = 1000;  // events of a run, apart from those that others ask for
constexpr int most_warm_ups = 1000;

}  // namespace

double host_microseconds() {
  return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count();
}

Bench::Bench(std::vector<std::unique_ptr<Gpu>> gpus, Protocol protocol)
    : gpus_(std::move(gpus)), parts_(gpus_.size()), protocol_(protocol), team_(static_cast<int>(gpus_.size())) {
  each([this](int number) {
    for (int peer = 0; peer < this->gpus(); ++peer) {
      if (peer != number) gpu(number).reach(gpu(peer));
    }
  });
}

void Bench::each(const std::function<void(int)>& work) {
  team_.run([&](int number) {
    gpu(number).make_current();
    work(number);
  });
}

void Bench::on(int number, const std::function<void()>& work) {
  each([&](int other) {
    if (other == number) work();
  });
}

void Bench::repeat(const std::vector<int>& on, const std::function<bool()>& goes_on,
                   const std::function<void(int)>& turn) {
  Rendezvous rendezvous(on.empty() ? gpus() : static_cast<int>(on.size()));
  bool over = false;
  each([&](int number) {
    if (!on.empty() && std::ranges::find(on, number) == on.end()) return;
    try {
      while (rendezvous.arrive([&] { over = !goes_on(); }) && !over) turn(number);
    } catch (...) {
      rendezvous.give_up();
      throw;
    }
  });
}

Timing Bench::time(const std::vector<Operation>& operations, const std::vector<int>& on) {
  const bool hot = std::ranges::any_of(operations, &Operation::hot);
  const std::chrono::duration<double> warm_up = hot ? protocol_.hot_warm_up : protocol_.warm_up;
  Clock::time_point start;
  int begun = 0, counted = 0;
  bool counts = false;  // else it warms up
  const auto goes_on = [&] {
    if (begun++ == 0) start = Clock::now();
    if (counts) return ++counted < protocol_.counted;
    counts = begun > protocol_.least_warm_ups && (Clock::now() - start >= warm_up || begun > most_warm_ups);
    return true;
  };
  std::vector<std::vector<Run>> runs(gpus_.size());
  repeat(on, goes_on, [&](int number) {
    const Run run = run_once(number, operations);
    if (counts) runs[static_cast<std::size_t>(number)].push_back(run);
  });
  std::erase_if(runs, [](const auto& of_gpu) { return of_gpu.empty(); });
  return timing_of(runs, operations.size());
}

Bench::Run Bench::run_once(int number, const std::vector<Operation>& operations) {
  Gpu& gpu = this->gpu(number);
  const Event start = event(number, start_event);
  const auto begin_of = [&](std::size_t i) { return event(number, start_event + 1 + 2 * static_cast<int>(i)); };
  const auto end_of = [&](std::size_t i) { return event(number, start_event + 2 + 2 * static_cast<int>(i)); };
  std::vector<Stream> streams;
  for (const Operation& operation : operations) {
    streams.push_back(stream(number, operation.lane, operation.cus, operation.first_cu));
  }

  Run run;
  run.begin = host_microseconds();
  gpu.record(start, streams.front());
  for (std::size_t i = 1; i < streams.size(); ++i) {
    if (streams[i] != streams.front()) gpu.wait(streams[i], start);
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    gpu.record(begin_of(i), streams[i]);
    operations[i].launch(number, streams[i]);
    gpu.record(end_of(i), streams[i]);
  }
  for (std::size_t i = 0; i < operations.size(); ++i) await(number, end_of(i));
  run.end = host_microseconds();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    run.all = std::max(run.all, gpu.microseconds(start, end_of(i)));
    run.each.push_back(gpu.microseconds(begin_of(i), end_of(i)));
  }
  return run;
}

Timing Bench::timing_of(const std::vector<std::vector<Run>>& runs, std::size_t operations) const {
  std::vector<double> all, wall;
  std::vector<std::vector<double>> each(operations);
  for (std::size_t repeat = 0; !runs.empty() && repeat < runs.front().size(); ++repeat) {
    Run slowest = runs.front()[repeat];
    for (const std::vector<Run>& of_gpu : runs) {
      const Run& run = of_gpu[repeat];
      slowest.begin = std::min(slowest.begin, run.begin);
      slowest.end = std::max(slowest.end, run.end);
      slowest.all = std::max(slowest.all, run.all);
      for (std::size_t i = 0; i < operations; ++i) slowest.each[i] = std::max(slowest.each[i], run.each[i]);
    }
    all.push_back(slowest.all);
    wall.push_back(slowest.end - slowest.begin);
    for (std::size_t i = 0; i < operations; ++i) each[i].push_back(slowest.each[i]);
  }
  Timing timing{summarize(all), summarize(wall), {}};
  for (const std::vector<double>& of_one : each) timing.each.push_back(summarize(of_one));
  return timing;
}

Stream Bench::stream(int number, int lane, std::optional<int> cus, int first_cu) {
  auto& streams = parts_[static_cast<std::size_t>(number)].streams;
  const std::tuple key(lane, cus.value_or(0), first_cu);
  return made_once(streams, key, [&] { return gpu(number).create_stream(cus, first_cu); });
}

Event Bench::event(int number, int which) {
  auto& events = parts_[static_cast<std::size_t>(number)].events;
  return made_once(events, which, [&] { return gpu(number).create_event(); });
}

void Bench::finish(int number, Stream stream) {
  constexpr int finishing = 999;
  gpu(number).record(event(number, finishing), stream);
  await(number, event(number, finishing));
}

void Bench::await(int number, Event event) {
  const Clock::time_point patient_until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(protocol_.patience);
  while (!gpu(number).done(event)) {
    if (Clock::now() > patient_until) {
      throw GpuError(GpuError::Kind::hang, "GPU {} does not end its work", number);
    }
  }
}

Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
  };
  return {at(0.5), at(0.1), at(0.9), values.size()};
}

bool Rendezvous::arrive(const std::function<void()>& then) {
  constexpr int spins = 20000;  // then others may need the core
  const int round = round_;
  if (++waiting_ == threads_) {
    if (then) then();
    waiting_ = 0;
    ++round_;
    return !given_up_;
  }
  for (int i = 0; round_ == round && !given_up_; ++i) {
    if (i > spins) std::this_thread::yield();
  }
  return !given_up_;
}

Team::Team(int threads) : begins_(threads + 1), ended_(threads + 1) {
  for (int number = 0; number < threads; ++number) {
    threads_.emplace_back([this, number] { serve(number); });
  }
}

Team::~Team() {
  begins_.arrive_and_wait();  // without work: the end
}

void Team::run(const std::function<void(int)>& work) {
  work_ = &work;
  begins_.arrive_and_wait();
  ended_.arrive_and_wait();
  work_ = nullptr;
  if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
}

void Team::serve(int number) {
  for (;;) {
    begins_.arrive_and_wait();
    if (work_ == nullptr) return;
    try {
      (*work_)(number);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
    }
    ended_.arrive_and_wait();
  }
}

}  // namespace c3sim::measure
