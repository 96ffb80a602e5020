// Kinds of decisions: what there is to choose from, and how long each choice takes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/gemm_shape.h"
#include "sim/units.h"
#include "study/ask/trial.h"
#include "study/c3/strategy.h"
#include "study/run/testbed.h"
#include "study/work/dependent.h"

namespace c3sim::study {

// A decision is about a GEMM, an array, or both. Rules on static sizes look at quantities that follow from these alone,
// on whatever machine (FiCCO, arXiv 2512.10236, calls them operator sizes).
struct Sizes {
  models::GemmShape gemm{1, 1, 1};
  sim::Bytes bytes{1.0};
};

struct SizeFeature {
  std::string_view name;        // "flops_per_byte"
  std::string_view about;       // "operations of the GEMM per byte of the array"
  std::string_view expression;  // of m, n, k and bytes, as C++ and people read it
  double (*of)(const Sizes& sizes);
};

std::span<const SizeFeature> pair_features();        // of a GEMM and an array
std::span<const SizeFeature> gemm_features();        // of a GEMM whose operand or result is the array
std::span<const SizeFeature> collective_features();  // of an array

// One of what there is to choose from, at whatever sizes.
struct Alternative {
  std::string name;
  std::function<bool(const Testbed& testbed, const Sizes& sizes)> is_possible;  // whether the platform can do it
  // Where it is possible: what it cannot be faster than, and how long it takes; from the launch of the first operation
  // until the host knows of the last end.
  std::function<sim::Time(Testbed&testbed, const Sizes&sizes)> bound, time;
};

// The alternatives of one kind of decision on one platform, the same for every size. The first is what is done without
// a choice: the library's kernels, or one after the other.
class Alternatives {
 public:
  Alternatives(std::string key, std::string about, std::span<const SizeFeature> features)
      : key_(std::move(key)), about_(std::move(about)), features_(features) {}
  virtual ~Alternatives() = default;

  const std::string& key() const { return key_; }      // an identifier: "all_gather_beside_gemm"
  const std::string& about() const { return about_; }  // in words
  std::span<const SizeFeature> features() const { return features_; }
  const std::vector<Alternative>& all() const { return all_; }
  void add(Alternative alternative) { all_.push_back(std::move(alternative)); }

 private:
  std::string key_;
  std::string about_;
  std::span<const SizeFeature> features_;
  std::vector<Alternative> all_;
};

// A collective that has the node to itself.
struct CollectiveChoice {
  models::Backend backend = models::Backend::rccl;
  std::optional<int> channels{};  // of kernels; none: as many as the library takes
  models::SdmaVariant variant = models::SdmaVariant::pcpy;
  bool prelaunch = false;

  models::CollectiveSpec spec(models::CollectiveKind kind, sim::Bytes bytes,
                              const models::PlatformSpec& platform) const;
  bool operator==(const CollectiveChoice&) const = default;
};
class CollectiveAlternatives : public Alternatives {
 public:
  CollectiveAlternatives(models::CollectiveKind kind, const models::PlatformSpec& platform);

  models::CollectiveKind kind() const { return kind_; }
  const std::vector<CollectiveChoice>& choices() const { return choices_; }

 private:
  models::CollectiveKind kind_;
  std::vector<CollectiveChoice> choices_;
};

// A GEMM beside an independent collective: launch order, CUs kept for the collective, its channels, or its engines and
// whether their commands are queued beforehand. What is reserved beside engines is kept from the GEMM alone.
struct PairChoice {
  bool at_once = false;  // or one after the other
  LaunchOrder order = LaunchOrder::gemm_first;
  int reserved = 0;  // CUs of each GPU
  CollectiveChoice collective{};

  bool operator==(const PairChoice&) const = default;
};
class PairAlternatives : public Alternatives {
 public:
  PairAlternatives(models::CollectiveKind kind, const models::PlatformSpec& platform);

  models::CollectiveKind kind() const { return kind_; }
  const std::vector<PairChoice>& choices() const { return choices_; }
  // The alternative that a strategy of ConCCL is: its heuristics decide by the sizes, conccl_rp by the GEMM. None where
  // it is not among the alternatives.
  std::optional<std::size_t> by_strategy(Testbed& testbed, const Sizes& sizes, Strategy strategy) const;

  // An alternative as tables of measured pairs name it: a strategy, and channels, CUs kept and variant where those are
  // no choice of the library. And the other way round; none where the trial is not among the alternatives.
  C3Trial trial_of(const Sizes& sizes, std::size_t alternative) const;
  std::optional<std::size_t> of_trial(const C3Trial& trial) const;

 private:
  models::CollectiveKind kind_;
  std::vector<PairChoice> choices_;
};

// A GEMM whose operand is gathered, or whose result is scattered: the schedules of study/work/dependent.h.
Alternatives schedule_alternatives(DependentSchedule::Collective collective);

}  // namespace c3sim::study
