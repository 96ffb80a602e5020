// Distributes the points of a study over the threads of a process and stores their answers. What a point is, and what
// answers it, is up to the caller's functions.
#pragma once

#include <cstdint>
#include <functional>

#include "study/play/parallel.h"
#include "study/sweep/sweep_axis.h"
#include "study/sweep/sweep_store.h"

namespace c3sim::study {

// An Answerer answers points one after the other; each thread makes its own. Answers depend on the index alone.
using Answerer = std::function<PointAnswer(std::uint64_t index)>;
using MakeAnswerer = std::function<Answerer()>;

// A StudyShard is every `of`-th point of a study, which a machine answers independently of other shards.
struct StudyShard {
  std::uint64_t number = 1;  // from 1
  std::uint64_t of = 1;

  bool has(std::uint64_t index) const { return index % of == number - 1; }
  // Returns how many of the first `size` points the shard has.
  std::uint64_t share_of(std::uint64_t size) const { return (size + of - number) / of; }
};

struct Distribution {
  MakeAnswerer make_answerer;
  std::uint64_t size = 0;  // number of points, counted from 0
  StudyShard shard{};      // limits the points that are answered
  int jobs = 1;            // number of threads; 0: one per core
  Progress progress{};
  std::function<bool()> interrupted{};  // asked many times a second
};

// Answers each point that the store lacks once, even if it fails. Returns false if interrupted; the store then has what
// was finished. Rethrows an answerer's exception once the other threads have stopped.
bool run(const Distribution& distribution, SweepStore& store);

}  // namespace c3sim::study
