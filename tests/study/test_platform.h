// The platform that tests of studies run on, the one of the repository, and work for it.
#pragma once

#include "study/play/platform_file.h"
#include "study/program/operation.h"
#include "tests/config_folders.h"

namespace c3sim::study {

inline Platform mi300x(std::vector<std::string> assignments = {}) {
  return read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", assignments);
}

inline Platform h200(std::vector<std::string> assignments = {}) {
  return read_platform(C3SIM_SOURCE_DIR "/configs/platforms/h200.yaml", assignments);
}

// As ConCCL had it.
inline Platform mi300x_conccl() {
  return read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x_conccl.yaml", {}, folders);
}

inline models::CollectiveSpec collective(models::Backend backend, models::CollectiveKind kind, sim::Bytes bytes) {
  models::CollectiveSpec spec;
  spec.backend = backend;
  spec.kind = kind;
  spec.bytes = bytes;
  return spec;
}

inline constexpr models::GemmShape gemm_4096{4096, 4096, 4096};

// On one stream with others of its kind.
inline Operation operation(std::string name, Work work, std::vector<std::size_t> after = {}) {
  return {.name = std::move(name), .work = std::move(work), .mask = {}, .stream = "s", .after = std::move(after)};
}

}  // namespace c3sim::study
