#include "study/step/two_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "study/step/step_writer.h"

namespace c3sim::study {

namespace {

// What a half has until it has to wait for what it communicates: blocks that follow each other.
using Stretch = std::vector<StepBlock>;

class OneHalf {
 public:
  explicit OneHalf(int number) : number_(number) {}

  std::vector<Stretch> stretches(std::span<const LayersOfHalf> layers) {
    stretches_.emplace_back();
    for (const LayersOfHalf& kind : layers) {
      for (std::int64_t repeat = 0; repeat < kind.layers; ++repeat) {
        suffix_ = fmt::format("_l{}", layer_++);
        for (const StepOperation& one : kind.operations) add(one);
      }
    }
    return std::move(stretches_);
  }

 private:
  std::string of_half(const std::string& name) const { return fmt::format("{}_{}", name, number_); }

  void add(StepOperation one) {
    one.name = of_half(one.name);
    for (Wait& wait : one.after) wait = {of_half(wait.on) + suffix_};
    communicates(one.kind) ? move_beside(one) : wait_for_last(one);
    Stretch& stretch = stretches_.back();
    if (stretch.empty() || stretch.back().suffix != suffix_) stretch.push_back({.operations = {}, .suffix = suffix_});
    stretch.back().operations.push_back(std::move(one));
  }

  // Whatever waits for what a layer has beside its own computing already says so itself.
  void move_beside(StepOperation& one) {
    if (one.stream != compute_stream) return;
    one.stream = exchange_stream;
    if (!computed_.empty()) one.after.push_back({computed_});
    awaited_ = one.name + suffix_;
  }

  void wait_for_last(StepOperation& one) {
    if (!awaited_.empty()) one.after.push_back({std::exchange(awaited_, {})});
    if (!one.after.empty()) stretches_.emplace_back();
    computed_ = one.name + suffix_;
  }

  int number_;
  int layer_ = 0;
  std::string suffix_;  // of the layer
  std::vector<Stretch> stretches_;
  std::string computed_;  // the last operation that computes, as others wait for it
  std::string awaited_;   // the last one that communicates, until something waits for it
};

}  // namespace

std::vector<StepBlock> two_batches(std::span<const LayersOfHalf> layers) {
  std::vector<Stretch> first = OneHalf(1).stretches(layers);
  std::vector<Stretch> second = OneHalf(2).stretches(layers);
  std::vector<StepBlock> blocks;
  for (std::size_t at = 0; at < first.size(); ++at) {
    for (Stretch* const stretch : {&first[at], &second[at]}) {
      std::ranges::move(*stretch, std::back_inserter(blocks));
    }
  }
  return blocks;
}

}  // namespace c3sim::study
