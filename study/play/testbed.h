// A Testbed answers questions about one platform, each on a fresh, idle node, and remembers answers. With the host
// protocol `shot` an answer is one run from rest. With `steady` it is one of many equal runs back to back: where
// governors hold the mean of board power, the clock has then settled (study/play/power_meter.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <typeindex>
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
#include "study/program/layer_templates.h"
#include "study/program/operation.h"

namespace c3sim::study {

// Company tells how much of an operation's time other operations run concurrently, as shares by kind, each at most 1.
struct Company {
  double kernels = 0.0;   // GEMMs, element-wise and remote kernels
  double channels = 0.0;  // collectives run by kernels
  double engines = 0.0;   // copies, and collectives run by engines
};

// Returns the company of the operation at `place`, given the spans of all operations.
Company company_of(const Schedule& schedule, const std::vector<Span>& spans, std::size_t place);

// A RunCache keeps runs by their schedule. Schedules are equal if all that decides how they play out is equal, which
// excludes names and streams.
class RunCache {
 public:
  // Above `at_most` operations in all, the cache drops the oldest runs but keeps at least `at_least` runs.
  explicit RunCache(std::size_t at_most = 1 << 18, std::size_t at_least = 64)
      : most_operations_(at_most), at_least_(at_least) {}

  // Returns the kept run, or null. A run stays valid until `at_least` further runs have been kept after it.
  const Timeline* find(const Schedule& schedule, Between between) const;
  const Timeline& keep(const Schedule& schedule, Between between, Timeline timeline);
  std::size_t size() const { return runs_.size(); }
  const auto& runs() const { return runs_; }  // timelines by pairs of Between and Schedule

 private:
  // Orders pairs of Between and Schedule by what decides how they play out.
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
  std::size_t operations_ = 0;  // in all runs
  Runs runs_;
  std::deque<Runs::iterator> by_age_;
};

class Testbed {
 public:
  // A Factor multiplies the duration of an operation, to represent an assumed error of the model.
  using Factor = std::function<double(const Work& work, const Company& company)>;

  explicit Testbed(models::PlatformSpec platform, Factor factor = {});
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;

  const models::PlatformSpec& platform() const { return platform_; }
  const Factor& factor() const { return factor_; }
  // Returns what layers are written from, of the configuration folders, read at the first call. Throws sim::ConfigError
  // with all faults.
  const LayerTemplates& templates() const;

  // Returns why this platform cannot run the work in any schedule, in one sentence that says what would be accepted;
  // empty if it can.
  std::string why_impossible(const Work& work) const;

  // Returns whether the GEMM is memory-bound, "mb" in the ConCCL paper (models::is_memory_bound).
  bool is_memory_bound(const models::GemmShape& shape);

  // Plays a schedule of possible work, or recalls it. The result stays valid until 64 later schedules have been played.
  const Timeline& run(const Schedule& schedule, Between between = Between::nothing);

  // Plays the schedule anew. `attach` is called when commands queued beforehand are in place, at time `origin` of the
  // node's clock, so that observers it adds see all timed work. `steps`, if given, records all steps of the simulation.
  // Times are simulated ones, without factors.
  Timeline watch(const Schedule& schedule, const Attach& attach, sim::StepLog* steps = nullptr,
                 Between between = Between::nothing) const;

  // Applies factors to the durations of operations in a simulated timeline. Operations that wait for others are shifted
  // accordingly.
  Timeline with_factors(const Schedule& schedule, Timeline timeline) const;

  // Settles the clock for a `run` made up of several plays. warnings() reports a clock that does not settle and a cap
  // that no clock keeps.
  void settle(const std::function<SteadyRun(sim::Hertz ceiling)>& run);

  // Returns a testbed of the same platform on which each run begins from rest.
  Testbed& from_rest();
  // Returns a testbed of the same platform that counts the bytes its runs move (Timeline::moved).
  Testbed& metered();
  // Returns a testbed of the same platform without factors.
  Testbed& as_simulated();

  // Returns the time of the work with the node to itself.
  sim::Time alone(const Work& work, models::CuMask mask = {}, std::vector<int> gpus = {},
                  Between between = Between::nothing);
  // Returns the time alone on a node that also runs collectives, at other times, unless the node is at rest before each
  // run. Overlap is compared with it.
  sim::Time alone_by_turns(const Work& work, models::CuMask mask = {}, std::vector<int> gpus = {}) {
    return alone(work, mask, std::move(gpus), is_shot(platform_) ? Between::nothing : Between::communication);
  }

  // Returns the name of the models::RcclProtocol that the library's kernels use for the collective alone.
  std::string_view protocol_of(const models::CollectiveSpec& collective);

  // Returns what the testbed keeps for callers from one question to the next, made of the testbed at the first call.
  struct Kept {
    virtual ~Kept() = default;
  };
  template <class One>
  One& kept() const {
    std::unique_ptr<Kept>& one = kept_[typeid(One)];
    if (one == nullptr) one = std::make_unique<One>(*this);
    return static_cast<One&>(*one);
  }

  // Counts, for warnings(), a run that was watched or played elsewhere.
  void count(const Timeline& timeline);
  // Recalls and counts the runs of another testbed of the same platform that this one has not played.
  void learn_from(const Testbed& other);

  // Returns what readers of the answers should know about the runs so far.
  std::vector<std::string> warnings() const;

 private:
  models::PlatformSpec platform_;
  Factor factor_;
  sim::Simulator idle_simulator_;  // for idle_node_, which answers questions but runs nothing
  models::Node idle_node_;
  Timeline play(const Schedule& schedule, Between between) const;
  Timeline play_settled(const Schedule& schedule, Between between) const;
  Timeline play_rounds(const Schedule& schedule, Between between) const;
  void count(ClockSearch search);
  RunCache runs_;
  mutable std::optional<LayerTemplates> templates_;  // none: not yet read
  mutable std::map<std::type_index, std::unique_ptr<Kept>> kept_;
  std::unique_ptr<Testbed> from_rest_;
  std::unique_ptr<Testbed> metered_;
  std::unique_ptr<Testbed> as_simulated_;
  std::uint64_t unsettled_ = 0;              // number of instants
  std::multiset<ClockSearch> bad_searches_;  // one for each run whose clock did not settle
};

// Calls work(testbed, 0) to work(testbed, count - 1) like for_each_index. The testbeds are `first` and others like it,
// made as needed; each serves one thread at a time and keeps answers. The answers of a testbed do not depend on earlier
// questions, so that results depend only on the index. In the end `first` learns from the others, so that its warnings
// are of all runs.
void for_each_on_testbeds(Testbed& first, std::size_t count,
                          const std::function<void(Testbed& testbed, std::size_t index)>& work,
                          const Progress& progress, int jobs);

}  // namespace c3sim::study
