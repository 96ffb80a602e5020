// The study of T3 (arXiv 2401.16677): sub-layers of transformers under tensor parallelism, each a GEMM whose result is
// added up over the GPUs, by schedules that fuse the two and by ones that share out the CUs; and what the paper
// says of the same. The all-gather that makes an all-reduce of it follows alone, by kernels, as in the paper.
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

// The product of a sub-layer on one of so many GPUs: hidden x tokens x contraction * hidden / gpus.
struct Sublayer {
  std::string model;
  std::string name;
  bool large = false;  // of the models that the paper has at its largest number of GPUs only
  std::int64_t hidden = 0;
  std::int64_t contraction = 1;
  int gpus = 0;

  models::GemmShape shape(std::int64_t tokens) const { return {hidden, tokens, contraction * hidden / gpus}; }
};

// A schedule that fuses, on a machine that has what it needs.
struct FusedStrategy {
  std::string name;
  models::FusedSpec fused;  // of no GEMM yet
  std::int64_t tiles = 1;   // of a piece, about: at most so many, and more than half
  models::NearMemory near_memory = models::NearMemory::none;
  models::Arbitration arbitration = models::Arbitration::off;
};

struct SublayerStudy {
  std::string name;
  std::vector<std::int64_t> tokens;  // that a step takes, which the paper does not say
  std::vector<Sublayer> sublayers;
  std::vector<FusedStrategy> strategies;
  std::vector<int> splits;  // CUs that an all-reduce gets beside a GEMM on the others
  struct Published {
    std::string metric;
    double value;
    TableFigure figure;  // of the same; see facts_of in the source for its columns
  };
  std::vector<Published> published;
};

struct SublayerResult {
  Sublayer sublayer;
  std::int64_t tokens = 0;
  // Alone.
  sim::Time gemm{0};
  sim::Time reduce_scatter{0};
  sim::Time all_gather{0};
  sim::Time all_reduce{0};
  sim::Time near_memory_reduce_scatter{0};  // by engines whose writes memory adds, of a product that takes no time
  // One after the other, by kernels.
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
  // GEMM and reduce-scatter at once with nothing lost.
  double ideal_speedup() const {
    return sim::to_seconds(gemm + reduce_scatter + all_gather) /
           sim::to_seconds(std::max(gemm, reduce_scatter) + all_gather);
  }
};

// name, tokens, models: {NAME: {hidden, gpus: [8, 16], large}}, sublayers: {NAME: contraction}, fused: {NAME:
// {trigger, path, stores, tiles, near_memory, arbitration}}, cus_apart: [8, 16], published: {source, metrics: {NAME:
// {paper, and a figure of study/report/table_figure.h, by tokens}}}. What is wrong is recorded; the caller finishes the
// configuration.
SublayerStudy read_sublayer_study(sim::Section root, const Testbed& testbed);

std::vector<SublayerResult> run_sublayer_study(const models::PlatformSpec& platform, const SublayerStudy& study,
                                               const Progress& progress = {}, int jobs = 1);

// Tables "results", "published" and "bytes".
Results sublayer_results(const SublayerStudy& study, const std::vector<SublayerResult>& results, std::string platform);

}  // namespace c3sim::study
