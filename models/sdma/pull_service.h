// What a GPU has for pulls, copies by engines that read from another GPU: the GPU that is read and the one that reads
// both serve them. One pull each way goes as fast as links allow. Where several of either kind are at it they take
// turns, in no order that is known: all of them share one rate, and each takes a turn of it beside its bytes.
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
    reader,  // engines of this GPU, with a pull under way
    source   // engines with a pull from this GPU, under way or waiting for its turn
  };
  // One more of them, or one less.
  void enter(Side side) { change(side, 1); }
  void leave(Side side) { change(side, -1); }

  sim::ResourceId rate() const { return rate_; }
  // Of the rate, what a byte of a pull of so many takes.
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
