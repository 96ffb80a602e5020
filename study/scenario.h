// What C3 is about: one GEMM per GPU and one collective over all GPUs, independent of each other.
#pragma once

#include <string>

#include "models/collective.h"
#include "models/gemm_shape.h"
#include "models/platform_spec.h"

namespace study {

struct Scenario {
  std::string name;
  models::GemmShape gemm;
  models::CollectiveKind collective = models::CollectiveKind::all_gather;
  sim::Bytes bytes;  // the whole array of one GPU

  // The collective as kernels or copies of the whole node.
  models::CollectiveSpec collective_by(models::Backend backend, const models::PlatformSpec& platform) const {
    models::CollectiveSpec spec;
    spec.kind = collective;
    spec.backend = backend;
    spec.bytes = bytes;
    spec.gpus = platform.gpus;
    // Whoever launches a GPU's GEMM also drives its engines.
    spec.host_threads = models::HostThreads::per_gpu;
    return spec;
  }
};

enum class LaunchOrder { gemm_first, collective_first };

}  // namespace study
