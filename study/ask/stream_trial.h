// Declares trials of kernels that stream through memory as benchmark programs run them: alone, with a collective and
// with copies; and trials of a GEMM or a collective while such a kernel, or one that computes, disturbs it.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <variant>

#include "models/collectives/collective.h"
#include "models/kernels/elementwise.h"
#include "models/platform/gemm_shape.h"
#include "sim/config/choice.h"
#include "study/play/testbed.h"
#include "study/report/figure.h"

namespace c3sim::study {

// A StreamTrial is a kernel on every GPU that streams through arrays in its own HBM.
struct StreamTrial {
  int arrays_read = 2;
  int arrays_written = 1;
  sim::Bytes bytes;                 // of all arrays together
  std::optional<int> workgroups{};  // of 1024 threads; none: as many as the GPU holds
  sim::Bytes under_way{0.0};        // in flight by each workgroup, up to a CU's limit; 0: as library kernels have
  std::optional<int> threads{};     // on each CU; each moves 8 B of every array per pass; none: as library kernels have
  double flops_per_byte = 0.0;      // vector operations
  sim::Bytes set{0.0};              // size of all arrays, gone through until `bytes` have passed; 0: once
  auto operator<=>(const StreamTrial&) const = default;
};

// A StreamAndCollectiveTrial launches a stream and then a collective, on all GPUs if `gpus` of the collective is 0.
struct StreamAndCollectiveTrial {
  StreamTrial stream;
  models::CollectiveSpec collective;
  auto operator<=>(const StreamAndCollectiveTrial&) const = default;
};

// A StreamAndCopiesTrial runs back-to-back copies between GPUs 0 and 1, on one engine of each GPU that sends, alone or
// while a stream runs on both GPUs. The bytes of the stream do not matter.
struct StreamAndCopiesTrial {
  std::optional<StreamTrial> stream{};
  sim::Bytes bytes;  // of one copy
  bool both_ways = false;
  int gpu = 0;  // 0 or 1: the GPU whose stream, and whose copies to the other, are observed
  auto operator<=>(const StreamAndCopiesTrial&) const = default;
};

// A Hog is a kernel that disturbs other work.
enum class Hog {
  compute,  // it multiplies and adds in registers, with hardly any memory traffic
  stream    // it goes through arrays in HBM
};
constexpr auto all_names(Hog) { return sim::names("compute", "stream"); }
using sim::to_string;

// A HogTrial launches a GEMM or a collective on every GPU a moment after a hog, which lasts as long. The bytes of the
// hog's arrays do not matter. If `gpus` of the collective is 0, it runs on all GPUs.
struct HogTrial {
  Hog hog = Hog::stream;
  StreamTrial arrays{.arrays_read = 2, .arrays_written = 1, .bytes = {}, .workgroups = 1};
  std::variant<models::GemmShape, models::CollectiveSpec> beside{};
  auto operator<=>(const HogTrial&) const = default;
};

models::ElementwiseSpec kernel_of(const StreamTrial& trial);
// Returns a hog of arbitrary length and the work that runs at the same time.
Schedule schedule_of(const HogTrial& trial, const models::PlatformSpec& platform);
Schedule schedule_of(const StreamAndCollectiveTrial& trial, const models::PlatformSpec& platform);

// Returns why no machine runs the trial, in a sentence that says what would be accepted; empty if one does.
std::string why_impossible(const StreamTrial& trial);
std::string why_impossible(const StreamAndCopiesTrial& trial);
std::string why_impossible(const HogTrial& trial);

// Returns the times of the whole run, of the stream's kernel and of the collective.
Figures observe(Testbed& testbed, const StreamAndCollectiveTrial& trial);
// Returns the time of the GEMM or the collective, and its ratio to the time without the hog.
Figures observe(Testbed& testbed, const HogTrial& trial);
// Returns the rates of the stream and of the copies.
Figures observe(Testbed& testbed, const StreamAndCopiesTrial& trial);

}  // namespace c3sim::study
