// What C3 is about: one GEMM per GPU and one collective over all GPUs, independent of each other, and the ways to run
// them at once that ConCCL (arXiv 2412.14335) compares.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/collectives/collective.h"
#include "models/machine/cu_mask.h"
#include "models/platform/gemm_shape.h"
#include "models/platform/platform_spec.h"
#include "sim/config/choice.h"
#include "sim/config/config_section.h"

namespace c3sim::study {

enum class Strategy {
  serial,     // GEMM, then RCCL
  c3_base,    // GEMM launched first, RCCL right behind
  c3_sp,      // RCCL launched first
  c3_rp,      // c3_base with CUs reserved for RCCL, the GEMM on the others: the best of scenario.splits
  c3_sp_rp,   // c3_sp with CUs reserved for RCCL, the best of scenario.splits
  c3_best,    // the fastest of the four above
  heuristic,  // launch order and reservation as study/c3/strategy.h decides them, without a sweep
  conccl,     // the collective on SDMA engines, one copy per peer, both launched at once
  conccl_rp,  // conccl, and one CU of every XCD kept from GEMMs that are memory-bound, or scenario.reserved from any
};

constexpr auto all_names(Strategy) {
  return sim::names("serial", "c3_base", "c3_sp", "c3_rp", "c3_sp_rp", "c3_best", "heuristic", "conccl", "conccl_rp");
}
using sim::to_string;
inline std::span<const Strategy> all_strategies() {
  static constexpr auto all = sim::all_of<Strategy>();
  return all;
}
// Those that c3_best is the best of.
inline std::span<const Strategy> all_kernel_strategies() {
  using enum Strategy;
  static constexpr std::array kernels{c3_base, c3_sp, c3_rp, c3_sp_rp};
  return kernels;
}

// Which reservations of CUs c3_rp and c3_sp_rp try: those of the paper, or none and every other that there is.
enum class Splits { paper, fine };
constexpr auto all_names(Splits) { return sim::names("paper", "fine"); }

// Whether the GPUs of a benchmark wait for each other before each step. Without, they drift apart as their GEMMs
// differ, and a collective that is over before its GEMM does not hold them together: its channels wait on their CUs for
// those of GPUs that are late, by up to what is left of the GEMM.
enum class Barrier { each, none };
constexpr auto all_names(Barrier) { return sim::names("each", "none"); }

struct Scenario {
  std::string name;
  models::GemmShape gemm;
  models::CollectiveKind collective = models::CollectiveKind::all_gather;
  sim::Bytes bytes;               // the whole array of one GPU
  std::optional<int> channels{};  // of the collective's kernels, instead of the library's choice
  // CUs that c3_rp, c3_sp_rp and conccl_rp keep from the GEMM, 0 for none, instead of what each of them finds.
  std::optional<int> reserved{};
  Splits splits = Splits::paper;  // that the sweep tries
  sim::Time delay{0};             // what is launched second is launched so long after the first
  Barrier barrier = Barrier::each;
  models::Backend kernels = models::Backend::rccl;          // whose carry the collective, but where all is serial
  models::SdmaVariant variant = models::SdmaVariant::pcpy;  // of the collective where engines carry it ...
  bool prelaunch = false;                                   // ... with commands queued beforehand

  auto operator<=>(const Scenario&) const = default;

  // The collective as kernels or copies of the whole node.
  models::CollectiveSpec collective_by(models::Backend backend, const models::PlatformSpec& platform) const {
    models::CollectiveSpec spec;
    spec.kind = collective;
    spec.backend = backend;
    spec.bytes = bytes;
    spec.gpus = platform.gpus;
    if (models::by_kernels(backend)) {
      spec.channels = channels;
    } else {
      spec.variant = variant;
      spec.prelaunch = prelaunch;
    }
    // Whoever launches a GPU's GEMM also drives its engines.
    spec.host_threads = models::HostThreads::per_gpu;
    return spec;
  }
};

enum class LaunchOrder { gemm_first, collective_first };

// Splitting the CUs of every GPU between a collective and a GEMM by the CU masks of their streams. A mask holds as many
// CUs of each XCD.
struct CuPartition {
  models::CuMask collective;  // default: every CU, for both
  models::CuMask gemm;
  int reserved = 0;  // CUs per GPU that the GEMM may not use
};

// Why no stream can be given `cus` CUs of each GPU, in one sentence that says what would be accepted; empty if one can.
std::string why_no_mask(const models::PlatformSpec& platform, int cus);
// The first `cus` CUs, which why_no_mask allows.
models::CuMask first_cus(const models::PlatformSpec& platform, int cus);

// The same for a partition, which must leave the GEMM at least one CU of every XCD; 0, none, always can be.
std::string why_no_reservation(const models::PlatformSpec& platform, int cus);
// The reservations to try, none of which is 0 for the paper: its powers of two from 8 to 128 (ConCCL section V-B) that
// why_no_reservation allows. The fine ones are 0 and all that it allows.
std::vector<int> cu_reservations(const models::PlatformSpec& platform, Splits splits = Splits::paper);
// The first `cus` CUs for the collective, the others for the GEMM; of 0, every CU for both.
CuPartition reserve(const models::PlatformSpec& platform, int cus);

// A GEMM that the file of a study lists by its name.
struct NamedGemm {
  std::string name;
  models::GemmShape shape;  // of one GPU

  bool operator==(const NamedGemm&) const = default;
};

inline constexpr std::size_t most_gemms = 1000;

// `gemms: {NAME: MxNxK}`, in the order of the file; what is wrong is recorded with the section.
std::vector<NamedGemm> read_gemms(sim::Section section);

}  // namespace c3sim::study
