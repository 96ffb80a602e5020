// Points over the threads of a process, or over the processes of a run, and their answers into a store. What a point
// is, and what answers it, is a function: this knows nothing of either.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "study/run/parallel.h"
#include "study/sweep/point.h"
#include "study/sweep/ranks.h"
#include "study/sweep/sweep_store.h"

namespace c3sim::study {

// Answers points one after the other; each thread makes one of its own. What it answers depends on the index alone.
using Answerer = std::function<PointAnswer(std::uint64_t index)>;
using MakeAnswerer = std::function<Answerer()>;

struct Distribution {
  MakeAnswerer make_answerer;
  std::uint64_t size = 0;  // points, from 0
  std::string digest;      // of what is asked: all processes must be asked the same
  int jobs = 1;            // threads of this process; 0: as many as the machine has cores, or one where there are ranks
  std::chrono::milliseconds patience{60'000};  // with a rank that says no farewell in the end, and with a silent rank 0
  Progress progress{};
  std::function<bool()> interrupted{};  // looked at many times a second
};

// Answers what the store has not got, each point once, whether or not it fails; on rank 0 where there are ranks. False
// where it was interrupted: what was finished by then is in the store. An exception of an answerer comes out once the
// others have stopped. A rank that has died costs what it was at work on, which is done again here.
bool run(const Distribution& distribution, SweepStore& store, Ranks* ranks = nullptr);

// What every other rank does: answers what rank 0 sends, until it says that there is no more. Throws sim::ConfigError
// where rank 0 has been silent for longer than the patience, though it was asked for a sign of life: it is dead. The
// ranks are then to be left alone, as a dead one answers no last call.
void serve(const Distribution& distribution, Ranks& ranks);

}  // namespace c3sim::study
