// A node under test: every question is put to a fresh, idle node of one platform, and answered once however often it
// is asked, as long as it remembers. By the protocol `shot` of the platform's host that is one run from rest; by
// `steady` it is one of many back to back, all alike: where governors hold the mean of board power, the clock has then
// settled (study/play/power_meter.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/node.h"
#include "models/platform/platform_spec.h"
#include "sim/simulator.h"
#include "sim/step_log.h"
#include "sim/units.h"
#include "study/play/parallel.h"
#include "study/play/play.h"
#include "study/play/power_meter.h"
#include "study/play/timeline.h"
#include "study/program/operation.h"
#include "study/program/operators.h"

namespace c3sim::study {

// What runs beside an operation, as shares of its time.
struct Company {
  double kernels = 0.0;   // GEMMs, element-wise and remote ones
  double channels = 0.0;  // collectives by kernels
  double engines = 0.0;   // copies, and collectives by engines
};

// Of the operation at `place`, by the spans of all.
Company company_of(const Schedule& schedule, const std::vector<Span>& spans, std::size_t place);

// Runs that have been made, found again by their schedule: by all that decides how it plays out, which names and
// streams do not.
class RunCache {
 public:
  // Beyond `at_most` operations in all runs the oldest of these are forgotten, but for the newest `at_least`.
  explicit RunCache(std::size_t at_most = 1 << 18, std::size_t at_least = 64)
      : most_operations_(at_most), at_least_(at_least) {}

  // What was kept; null if nothing was. It stays valid until `at_least` further runs have been kept.
  const Timeline* find(const Schedule& schedule, Between between) const;
  const Timeline& keep(const Schedule& schedule, Between between, Timeline timeline);
  std::size_t size() const { return runs_.size(); }

 private:
  // Schedules and what was between, by what decides how they play out.
  struct PlaysBefore {
    using is_transparent = void;
    bool operator()(const auto& one, const auto& other) const {
      if (one.first != other.first) return one.first < other.first;
      return std::ranges::lexicographical_compare(one.second, other.second, before);
    }
    static bool before(const Operation& one, const Operation& other);
  };
  using Runs = std::map<std::pair<Between, Schedule>, Timeline, PlaysBefore>;

  std::size_t most_operations_;
  std::size_t at_least_;
  std::size_t operations_ = 0;  // of all runs
  Runs runs_;
  std::deque<Runs::iterator> by_age_;
};

class Testbed {
 public:
  // What the duration of an operation is multiplied by: how far the model is supposed to be off of it.
  using Factor = std::function<double(const Work& work, const Company& company)>;

  explicit Testbed(models::PlatformSpec platform, Factor factor = {});
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;

  const models::PlatformSpec& platform() const { return platform_; }
  const Factor& factor() const { return factor_; }
  // Those of the folders of configurations, read when they are first asked for. Throws sim::ConfigError with all that
  // is wrong in them.
  const std::vector<ElementwiseOperator>& operators() const;

  // Why no schedule may hold this work on this platform, in one sentence that says what would be accepted; empty if one
  // may.
  std::string why_impossible(const Work& work) const;

  // Whether the GEMM is one of the paper's "mb": see models::is_memory_bound.
  bool is_memory_bound(const models::GemmShape& shape);

  // Plays the schedule, all of it possible work. The result stays valid until 64 other schedules have been played.
  const Timeline& run(const Schedule& schedule, Between between = Between::nothing);

  // Plays the schedule anew, with `attach` called once commands queued beforehand are in place, at `origin` of the
  // node's clock: what it adds to the node sees all that is timed. `steps`, if given, gets every step from the start of
  // the simulation. Times are as simulated, without factors.
  Timeline watch(const Schedule& schedule, const Attach& attach, sim::StepLog* steps = nullptr,
                 Between between = Between::nothing) const;

  // What a run as simulated is with factors on the durations of its operations. What waits for one begins as much later
  // or earlier as that ends.
  Timeline with_factors(const Schedule& schedule, Timeline timeline) const;

  // Where the clock settles of what is made of several runs; warnings tell where it does not.
  void settle(const std::function<SteadyRun(sim::Hertz ceiling)>& run);

  // The same platform where each run is one from rest.
  Testbed& from_rest();
  // The same platform without factors.
  Testbed& as_simulated();

  // How long the work takes with the node to itself.
  sim::Time alone(const Work& work, models::CuMask mask = {}, std::vector<int> gpus = {},
                  Between between = Between::nothing);
  // The same where collectives run, too, though not at the same time: what overlap is held against.
  sim::Time alone_by_turns(const Work& work, models::CuMask mask = {}, std::vector<int> gpus = {}) {
    return alone(work, mask, std::move(gpus), Between::communication);
  }

  // The protocol by which the library's kernels do a collective alone: the name of a models::RcclProtocol.
  std::string_view protocol_of(const models::CollectiveSpec& collective);

  // Has warnings tell of a run that was watched, or played elsewhere.
  void count(const Timeline& timeline);

  // What whoever reads the answers should know of the runs so far.
  std::vector<std::string> warnings() const;

 private:
  models::PlatformSpec platform_;
  Factor factor_;
  sim::Simulator idle_simulator_;  // of a node that is asked about and never run
  models::Node idle_node_;
  Timeline play(const Schedule& schedule, Between between) const;
  Timeline play_settled(const Schedule& schedule, Between between) const;
  Timeline play_rounds(const Schedule& schedule, Between between) const;
  RunCache runs_;
  mutable std::optional<std::vector<ElementwiseOperator>> operators_;  // none: nobody has asked
  std::unique_ptr<Testbed> from_rest_;
  std::unique_ptr<Testbed> as_simulated_;
  std::uint64_t unsettled_ = 0;         // instants
  std::uint64_t unsettled_clocks_ = 0;  // runs
};

// Testbeds of one platform for many questions at once: each is asked by one thread at a time and keeps what it knows.
class TestbedPool {
 public:
  // Others like `first` are made when they are needed.
  explicit TestbedPool(Testbed& first) : first_(first), idle_{&first} {}
  TestbedPool(const TestbedPool&) = delete;
  TestbedPool& operator=(const TestbedPool&) = delete;

  // Calls work(testbed, 0) to work(testbed, count - 1) as for_each_index does. What a testbed answers does not depend
  // on what it was asked before, so that results depend on the index alone.
  using Work = std::function<void(Testbed& testbed, std::size_t index)>;
  void for_each(std::size_t count, const Work& work, const Progress& progress, int jobs);

 private:
  Testbed& take();
  void give_back(Testbed& testbed);

  Testbed& first_;
  std::mutex mutex_;
  std::vector<Testbed*> idle_;
  std::vector<std::unique_ptr<Testbed>> others_;
};

}  // namespace c3sim::study
