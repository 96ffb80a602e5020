// The points of a study over the threads of a process, and their answers into a store. What a point is, and what
// answers it, is a function: this knows nothing of either.
#pragma once

#include <cstdint>
#include <functional>

#include "study/play/parallel.h"
#include "study/sweep/sweep_axis.h"
#include "study/sweep/sweep_store.h"

namespace c3sim::study {

// Answers points one after the other; each thread makes one of its own. What it answers depends on the index alone.
using Answerer = std::function<PointAnswer(std::uint64_t index)>;
using MakeAnswerer = std::function<Answerer()>;

// One of several equal parts of a study, which machines answer without knowing of each other: every `of`-th point.
struct StudyShard {
  std::uint64_t number = 1;  // from 1
  std::uint64_t of = 1;

  bool has(std::uint64_t index) const { return index % of == number - 1; }
  // How many of the first `size` points it has.
  std::uint64_t share_of(std::uint64_t size) const { return (size + of - number) / of; }
};

struct Distribution {
  MakeAnswerer make_answerer;
  std::uint64_t size = 0;  // points, from 0
  StudyShard shard{};      // the points that are answered
  int jobs = 1;            // threads; 0: as many as the machine has cores
  Progress progress{};
  std::function<bool()> interrupted{};  // looked at many times a second
};

// Answers what the store has not got, each point once, whether or not it fails. False where it was interrupted: what
// was finished by then is in the store. An exception of an answerer comes out once the other threads have stopped.
bool run(const Distribution& distribution, SweepStore& store);

}  // namespace c3sim::study
