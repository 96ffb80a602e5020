// The study of T3 (arXiv 2401.16677): sub-layers of transformers under tensor parallelism. Each is a GEMM whose result
// is reduce-scattered, by fused schedules and by ones that split the CUs, compared with the paper's figures. As in the
// paper, the all-gather that completes an all-reduce follows alone, by kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/collectives/fused_gemm.h"
#include "sim/config/config_section.h"
#include "study/play/parallel.h"
#include "study/play/testbed.h"
#include "study/report/results.h"
#include "study/report/table_figure.h"

namespace c3sim::study {

// The GEMM of a sub-layer on one of `gpus` GPUs has the shape hidden x tokens x (contraction * hidden / gpus).
struct Sublayer {
  std::string model;
  std::string name;
  bool large = false;  // whether the paper has the model only at its largest number of GPUs
  std::int64_t hidden = 0;
  std::int64_t contraction = 1;
  int gpus = 0;

  models::GemmShape shape(std::int64_t tokens) const { return {hidden, tokens, contraction * hidden / gpus}; }
};

// A FusedStrategy is a schedule that fuses GEMM and reduce-scatter, on a machine with the hardware that it needs.
struct FusedStrategy {
  std::string name;
  models::FusedSpec fused;  // without its GEMM
  std::int64_t tiles = 1;   // target number of tiles in a piece; pieces are a power of two
  models::NearMemory near_memory = models::NearMemory::none;
  models::Arbitration arbitration = models::Arbitration::off;
};

struct SublayerStudy {
  std::string name;
  std::vector<std::int64_t> tokens;  // tokens of a step, which the paper does not state
  std::vector<Sublayer> sublayers;
  std::vector<FusedStrategy> strategies;
  std::vector<int> splits;  // CUs for an all-reduce while the GEMM has all others
  struct Published {
    std::string metric;
    double value;
    TableFigure figure;  // the predicted figure; facts_of in the source lists its columns
  };
  std::vector<Published> published;
};

struct SublayerResult {
  Sublayer sublayer;
  std::int64_t tokens = 0;
  // The five times are of operations alone.
  sim::Time gemm{0};
  sim::Time reduce_scatter{0};
  sim::Time all_gather{0};
  sim::Time all_reduce{0};
  sim::Time near_memory_reduce_scatter{0};  // fused with a GEMM that takes no time
  // `sequential` is the time of all three operations one after the other, by kernels.
  sim::Time sequential{0};
  models::MovedBytes moved{};
  struct Fused {
    sim::Time time{0};
    models::MovedBytes moved{};
  };
  std::vector<Fused> fused;  // by strategy
  struct Split {
    sim::Time gemm{0};
    sim::Time all_reduce{0};
  };
  std::vector<Split> splits;

  double speedup(sim::Time time) const { return sim::to_seconds(sequential) / sim::to_seconds(time); }
  // Returns the speedup if GEMM and reduce-scatter ran concurrently without losses.
  double ideal_speedup() const {
    return sim::to_seconds(gemm + reduce_scatter + all_gather) /
           sim::to_seconds(std::max(gemm, reduce_scatter) + all_gather);
  }
};

// Reads a file: name, tokens, models: {NAME: {hidden, gpus: [8, 16], large}}, sublayers: {NAME: contraction}, fused:
// {NAME: {trigger, path, stores, tiles, near_memory, arbitration}}, cus_apart: [8, 16], published: {source, metrics:
// {NAME: {paper, and a figure of study/report/table_figure.h, by tokens}}}. Faults are recorded; the caller finishes
// the configuration.
SublayerStudy read_sublayer_study(sim::Section root, const Testbed& testbed);

std::vector<SublayerResult> run_sublayer_study(const models::PlatformSpec& platform, const SublayerStudy& study,
                                               const Progress& progress = {}, int jobs = 1);

// Returns tables "results", "published" and "bytes".
Results sublayer_results(const SublayerStudy& study, const std::vector<SublayerResult>& results, std::string platform);

}  // namespace c3sim::study
