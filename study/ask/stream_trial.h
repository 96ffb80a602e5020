// Kernels that stream through memory as benchmark programs run them, alone, beside a collective and beside copies.
#pragma once

#include <compare>
#include <optional>
#include <string>

#include "models/collectives/collective.h"
#include "models/kernels/elementwise.h"
#include "study/ask/figure.h"
#include "study/run/testbed.h"

namespace c3sim::study {

// A kernel on every GPU that streams through arrays in its own HBM.
struct StreamTrial {
  int arrays_read = 2;
  int arrays_written = 1;
  sim::Bytes bytes;                 // of all arrays together
  std::optional<int> workgroups{};  // of 1024 threads; none: as many as the GPU holds
  std::optional<int> threads{};     // on each CU, of 8 B an array and pass; none: as kernels of libraries have them
  double flops_per_byte = 0.0;      // vector operations on the way
  sim::Bytes set{0.0};              // of all arrays, gone through until `bytes` have passed; 0: all once
  auto operator<=>(const StreamTrial&) const = default;
};

// A stream and a collective, launched in this order. `gpus` of the collective: 0 stands for all of the platform.
struct StreamAndCollectiveTrial {
  StreamTrial stream;
  models::CollectiveSpec collective;
  auto operator<=>(const StreamAndCollectiveTrial&) const = default;
};

// Copies between GPUs 0 and 1, one behind another on one engine of each that sends, and a stream on both GPUs: while
// both run, or the copies alone. Bytes of the stream do not matter.
struct StreamAndCopiesTrial {
  std::optional<StreamTrial> stream{};
  sim::Bytes bytes;  // of one copy
  bool both_ways = false;
  int gpu = 0;  // 0 or 1: whose stream is seen, and the copies that it sends
  auto operator<=>(const StreamAndCopiesTrial&) const = default;
};

models::ElementwiseSpec kernel_of(const StreamTrial& trial);
Schedule schedule_of(const StreamAndCollectiveTrial& trial, const models::PlatformSpec& platform);

// Why no machine makes it, in one sentence that says what would be accepted; empty if one does.
std::string why_impossible(const StreamTrial& trial);
std::string why_impossible(const StreamAndCopiesTrial& trial);

// Times of all, of the stream's kernel and of the collective.
Figures observe(Testbed& testbed, const StreamAndCollectiveTrial& trial);
// Rates of the stream and of the copies.
Figures observe(Testbed& testbed, const StreamAndCopiesTrial& trial);

}  // namespace c3sim::study
