// A Scenario is one GEMM per GPU and an independent collective over all GPUs; a Strategy is a way to run both at once,
// as compared by ConCCL (arXiv 2412.14335).
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/collectives/collective.h"
#include "models/platform/cu_resources.h"
#include "models/platform/gemm_shape.h"
#include "models/platform/platform_spec.h"
#include "sim/config/choice.h"
#include "sim/config/config_section.h"
#include "study/program/operation.h"

namespace c3sim::study {

enum class Strategy {
  serial,     // GEMM, then RCCL
  c3_base,    // GEMM launched first, RCCL right after it
  c3_sp,      // RCCL launched first
  c3_rp,      // c3_base with CUs reserved for RCCL, the GEMM on the others: the best of cu_reservations()
  c3_sp_rp,   // c3_sp with CUs reserved for RCCL, the best of cu_reservations()
  c3_best,    // the fastest of the four above
  heuristic,  // launch order and reservation as study/c3/strategy.h decides them, without a sweep
  conccl,     // the collective on SDMA engines, one copy per peer, launched at once with the GEMM
  conccl_rp,  // conccl, with one CU of every XCD kept from memory-bound GEMMs, or scenario.reserved from any GEMM
};

constexpr auto all_names(Strategy) {
  return sim::names("serial", "c3_base", "c3_sp", "c3_rp", "c3_sp_rp", "c3_best", "heuristic", "conccl", "conccl_rp");
}
using sim::to_string;
inline std::span<const Strategy> all_strategies() {
  static constexpr auto all = sim::all_of<Strategy>();
  return all;
}
// Returns the strategies that c3_best chooses from.
inline std::span<const Strategy> all_kernel_strategies() {
  using enum Strategy;
  static constexpr std::array kernels{c3_base, c3_sp, c3_rp, c3_sp_rp};
  return kernels;
}

// A Barrier says whether the GPUs of a benchmark wait for each other before each step. Without barriers, GPUs drift
// apart as their GEMMs differ, and a collective that ends before its GEMM does not keep them together: its channels
// wait on their CUs for those of late GPUs, by up to the rest of the GEMM.
enum class Barrier { each, none };
constexpr auto all_names(Barrier) { return sim::names("each", "none"); }

struct Scenario {
  std::string name{};
  models::GemmShape gemm{};
  models::CollectiveKind collective = models::CollectiveKind::all_gather;
  sim::Bytes bytes{};             // the whole array of one GPU
  std::optional<int> channels{};  // of the collective's kernels; nullopt: the library's choice
  // CUs that c3_rp, c3_sp_rp and conccl_rp keep from the GEMM, 0 for none; nullopt: each strategy finds its own.
  std::optional<int> reserved{};
  sim::Time delay{0};  // time between the first launch and the second
  Barrier barrier = Barrier::each;
  // What the GEMM alone gets in a loop of its own, on links that sleep. If nothing is said and a barrier, which
  // communicates, precedes each step, the GEMM alone runs by turns with the collective; without barriers, caches hold
  // of its operands what fits.
  std::optional<Operands> operands{};
  models::Backend kernels = models::Backend::rccl;          // whose kernels carry the collective, except in `serial`
  models::SdmaVariant variant = models::SdmaVariant::pcpy;  // of a collective by engines
  bool prelaunch = false;                                   // engine commands are queued in advance

  auto operator<=>(const Scenario&) const = default;

  // Returns the collective of the whole node by this backend.
  models::CollectiveSpec collective_by(models::Backend backend, const models::PlatformSpec& platform) const {
    models::CollectiveSpec spec{.kind = collective, .backend = backend, .bytes = bytes, .gpus = platform.gpus};
    if (models::by_kernels(backend)) {
      spec.channels = channels;
    } else {
      spec.variant = variant;
      spec.prelaunch = prelaunch;
    }
    // The thread that launches a GPU's GEMM also drives its engines.
    spec.host_threads = models::HostThreads::per_gpu;
    return spec;
  }
};

enum class LaunchOrder { gemm_first, collective_first };

// A CuPartition divides the CUs of every GPU between a collective and a GEMM by the CU masks of their streams. A mask
// holds equally many CUs of each XCD.
struct CuPartition {
  models::CuMask collective;  // both masks default to every CU
  models::CuMask gemm;
  int reserved = 0;  // CUs per GPU that the GEMM may not use
};

// Returns why no stream can have `cus` CUs of each GPU, and what would be accepted; empty if one can.
std::string why_no_mask(const models::PlatformSpec& platform, int cus);
// Returns the first `cus` CUs, which why_no_mask() must allow.
models::CuMask first_cus(const models::PlatformSpec& platform, int cus);

// Returns why `cus` CUs cannot be reserved, as the GEMM must keep at least one CU of every XCD; 0 is always possible.
std::string why_no_reservation(const models::PlatformSpec& platform, int cus);
// Returns the reservations to try: powers of two from 8 to 128 (ConCCL section V-B) that why_no_reservation() allows.
std::vector<int> cu_reservations(const models::PlatformSpec& platform);
// Gives the first `cus` CUs to the collective and the others to the GEMM; 0 gives every CU to both.
CuPartition reserve(const models::PlatformSpec& platform, int cus);

// A NamedGemm is an entry of the list of GEMMs in a study's file.
struct NamedGemm {
  std::string name;
  models::GemmShape shape;  // per GPU

  bool operator==(const NamedGemm&) const = default;
};

inline constexpr std::size_t most_gemms = 1000;

// Reads `gemms: {NAME: MxNxK}` in the order of the file; faults are recorded with the section.
std::vector<NamedGemm> read_gemms(sim::Section section);

}  // namespace c3sim::study
