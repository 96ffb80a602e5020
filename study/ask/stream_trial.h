// Kernels that stream through memory as benchmark programs run them, alone, beside a collective and beside copies; and
// such kernels, or ones that compute, beside a GEMM or a collective that they outlast.
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

// A kernel on every GPU that streams through arrays in its own HBM.
struct StreamTrial {
  int arrays_read = 2;
  int arrays_written = 1;
  sim::Bytes bytes;                 // of all arrays together
  std::optional<int> workgroups{};  // of 1024 threads; none: as many as the GPU holds
  sim::Bytes under_way{0.0};        // by each of these, as far as a CU can; 0: as kernels of libraries have it
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

// What a kernel does that is there to be in the way.
enum class Hog {
  compute,  // it multiplies and adds in registers, and asks next to nothing of the memory
  stream    // it goes through arrays in HBM
};
constexpr auto all_names(Hog) { return sim::names("compute", "stream"); }
using sim::to_string;

// A GEMM or a collective on every GPU, launched a moment behind a hog that goes on for as long as it takes. Bytes of
// the hog's arrays do not matter. `gpus` of the collective: 0 stands for all of the platform.
struct HogTrial {
  Hog hog = Hog::stream;
  StreamTrial arrays{.arrays_read = 2, .arrays_written = 1, .bytes = {}, .workgroups = 1};
  std::variant<models::GemmShape, models::CollectiveSpec> beside{};
  auto operator<=>(const HogTrial&) const = default;
};

models::ElementwiseSpec kernel_of(const StreamTrial& trial);
// The hog, for a moment, and what runs beside it.
Schedule schedule_of(const HogTrial& trial, const models::PlatformSpec& platform);
Schedule schedule_of(const StreamAndCollectiveTrial& trial, const models::PlatformSpec& platform);

// Why no machine makes it, in one sentence that says what would be accepted; empty if one does.
std::string why_impossible(const StreamTrial& trial);
std::string why_impossible(const StreamAndCopiesTrial& trial);
std::string why_impossible(const HogTrial& trial);

// Times of all, of the stream's kernel and of the collective.
Figures observe(Testbed& testbed, const StreamAndCollectiveTrial& trial);
// The time of the GEMM or of the collective, and over what it takes without the hog.
Figures observe(Testbed& testbed, const HogTrial& trial);
// Rates of the stream and of the copies.
Figures observe(Testbed& testbed, const StreamAndCopiesTrial& trial);

}  // namespace c3sim::study
