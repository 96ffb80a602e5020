#include "models/platform/mesh_rings.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/dynamic_bitset.hpp>
#include <utility>
#include <vector>

namespace c3sim::models {

namespace {

// Searches depth first, one ring after another, for rings that share no link. It tries a ring first in the order of the
// GPUs, then in the order of the previous ring, then from each GPU to the next free one, up to a number of steps.
class RingSearch {
 public:
  explicit RingSearch(int gpus) : gpus_(gpus), taken_(static_cast<std::size_t>(gpus * gpus)) {}

  int most() {
    add_ring();
    return most_;
  }

 private:
  enum class Order { of_gpus, of_ring_before, any };

  void add_ring() {
    if (--steps_left_ < 0 || most_ == gpus_ - 1) return;
    if (rings_.empty()) {
      visit(0, Order::of_gpus);
    } else {
      visit(rings_.back().front(), Order::of_ring_before);
    }
    for (int gpu = 0; gpu < gpus_; ++gpu) visit(gpu, Order::any);
  }

  void visit(int gpu, Order order) {
    if (steps_left_ < 0 || std::ranges::find(path_, gpu) != path_.end()) return;
    const int from = path_.empty() ? -1 : path_.back();
    if (from >= 0 && taken_[link(from, gpu)]) return;
    if (from >= 0) taken_.set(link(from, gpu));
    path_.push_back(gpu);
    go_on(order);
    path_.pop_back();
    if (from >= 0) taken_.reset(link(from, gpu));
  }

  void go_on(Order order) {
    if (--steps_left_ < 0) return;
    const auto length = static_cast<int>(path_.size());
    if (length == gpus_) return close();
    if (order == Order::of_gpus) return visit(length, order);
    if (order == Order::of_ring_before) return visit(rings_.back()[path_.size()], order);
    const int from = path_.back();
    for (int ahead = 1; ahead < gpus_; ++ahead) visit((from + ahead) % gpus_, order);
  }

  void close() {
    const std::size_t last = link(path_.back(), path_.front());
    if (taken_[last]) return;
    taken_.set(last);
    rings_.push_back(path_);
    most_ = std::max(most_, static_cast<int>(rings_.size()));
    std::vector<int> ring = std::exchange(path_, {});
    add_ring();
    path_ = std::move(ring);
    rings_.pop_back();
    taken_.reset(last);
  }

  std::size_t link(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(to);
  }

  int gpus_;
  int steps_left_ = 1 << 14;  // the value of NCCL_SEARCH_TIMEOUT
  boost::dynamic_bitset<> taken_;
  std::vector<int> path_;
  std::vector<std::vector<int>> rings_;
  int most_ = 0;
};

}  // namespace

int rings_of_mesh(int gpus) {
  static std::array<std::atomic<int>, most_gpus_of_mesh + 1> known{};  // 0: not searched yet
  std::atomic<int>& rings = known.at(static_cast<std::size_t>(gpus));
  if (rings == 0) rings = RingSearch(gpus).most();
  return rings;
}

}  // namespace c3sim::models
