// A PullService is a GPU's capacity for pulls, which are copies by engines that read from another GPU. The reading GPU
// and the one that is read both serve a pull. One pull each way goes as fast as links allow. Several on either side
// take turns, in an unknown order: they share one rate, and each takes pull_turn of it in addition to its bytes.
#pragma once

#include <string>

#include "models/platform/sdma_spec.h"
#include "sim/resource_network.h"

namespace c3sim::models {

class PullService {
 public:
  PullService(const SdmaSpec& spec, sim::ResourceNetwork& network, const std::string& name);
  PullService(const PullService&) = delete;
  PullService& operator=(const PullService&) = delete;

  enum class Side {
    reader,  // this GPU's engine reads, with the pull under way
    source   // this GPU is read; the pull is under way or waits for its turn
  };
  // Both count the pulls on a side: one more, one less.
  void enter(Side side) { change(side, 1); }
  void leave(Side side) { change(side, -1); }

  sim::ResourceId rate() const { return rate_; }
  // Returns the units of rate() that each byte takes in a pull of `pulled` bytes.
  double cost(sim::Bytes pulled) const;

 private:
  void change(Side side, int by);

  const SdmaSpec& spec_;
  sim::ResourceNetwork& network_;
  sim::ResourceId rate_;
  int reading_ = 0;
  int read_from_ = 0;
};

}  // namespace c3sim::models
