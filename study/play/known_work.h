// Plays work whose time alone is known, such as kernels of a trace or turns of a pipeline, on a simulator's clock. Work
// begins when what it waits for has ended, and takes longer while other work slows it down.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/units.h"

namespace c3sim::study {

// Work with an After begins no earlier than `lag` after the end, or the begin, of the work at index `node`.
struct After {
  After(std::size_t after, sim::Time by, bool begin = false)
      : node(static_cast<std::uint32_t>(after)), of_begin(begin), lag(by) {}

  std::uint32_t node;
  bool of_begin;
  sim::Time lag;
};

// WaitLists hold what each of many works waits for. All lists share one piece of memory, as there may be millions.
class WaitLists {
 public:
  std::size_t size() const { return ends_.size(); }
  std::span<const After> operator[](std::size_t node) const {
    return std::span(all_).subspan(begin_of(node), ends_[node] - begin_of(node));
  }
  std::span<After> operator[](std::size_t node) {
    return std::span(all_).subspan(begin_of(node), ends_[node] - begin_of(node));
  }
  // Reserves room for a number of nodes and for the sum of their waits, so that memory is not doubled while lists grow.
  void reserve(std::size_t nodes, std::size_t waits) {
    ends_.reserve(nodes);
    all_.reserve(waits);
  }
  std::size_t waits() const { return all_.size(); }
  // Adds to the list of the next node, which end_list() ends.
  void add(After one) { all_.push_back(one); }
  void end_list() { ends_.push_back(static_cast<std::uint32_t>(all_.size())); }

 private:
  std::size_t begin_of(std::size_t node) const { return node == 0 ? 0 : ends_[node - 1]; }

  std::vector<After> all_;
  std::vector<std::uint32_t> ends_;
};

// WorkClasses are classes of work that is slowed down alike, such as all matrix products on one GPU. Progress is
// counted once for each class, however much of its work runs at once.
class WorkClasses {
 public:
  using Id = std::uint32_t;

  // Returns the class that it adds.
  Id add();
  std::size_t size() const { return classes_.size(); }
  // Makes work of `slowed` take `times` (at least 1) as long as alone while work of `by` runs. Of several classes that
  // slow it down at once, the one that costs most decides. Call it before any work of either class begins.
  void slow_down(Id slowed, Id by, double times);

  // Counts work of the class that begins or ends at `now`, and returns the classes whose progress that changes. Calls
  // for all classes are in order of time.
  std::span<const Id> begin(Id of, sim::Time now);
  std::span<const Id> end(Id of, sim::Time now);

  // Returns the work, in ps of time alone, that was done by each that ran from the start up to `now`.
  double done(Id of, sim::Time now) const;
  // Returns when done() will be `due` if the class runs on as it does at `now`.
  sim::Time when_done(Id of, double due, sim::Time now) const;

 private:
  struct SlowedBy {
    Id by;
    double times;
  };
  struct Class {
    std::vector<SlowedBy> slowed_by{};
    std::vector<Id> slows{};
    std::size_t running = 0;
    double slowdown = 1.0;
    double done = 0.0;  // work up to `since`
    sim::Time since{0};
  };
  std::span<const Id> changed_by(Id of, sim::Time now);
  bool runs(Id of) const { return classes_[of].running > 0; }

  std::vector<Class> classes_;
};

struct KnownWork {
  sim::Time alone{0};  // time with nothing beside it
  WorkClasses::Id of_class = 0;
};

// A Stay is when something ran.
struct Stay {
  sim::Time begin{0}, end{0};

  sim::Time length() const { return end - begin; }
  // Returns how long both overlap.
  sim::Time beside(const Stay& other) const {
    return std::max(sim::Time(0), std::min(end, other.end) - std::max(begin, other.begin));
  }
};

// Returns when each work runs. Work that waits for nothing begins at 0. Simultaneous events follow the order in which
// they came about. A wait for work that never can begin fails a check.
std::vector<Stay> play_known(std::span<const KnownWork> works, const WaitLists& waits, WorkClasses classes);

}  // namespace c3sim::study
