// This file reads the shipped platforms that tests of studies run on, and offers work for them.
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

// Returns the MI300X node of ConCCL's study.
inline Platform mi300x_conccl() {
  return read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x_conccl.yaml", {}, folders);
}

inline models::CollectiveSpec collective(models::Backend backend, models::CollectiveKind kind, sim::Bytes bytes) {
  models::CollectiveSpec spec{.kind = kind, .backend = backend, .bytes = bytes};
  return spec;
}

inline constexpr models::GemmShape gemm_4096{4096, 4096, 4096};

// Returns an operation on the stream that all operations of this function share.
inline Operation operation(std::string name, Work work, std::vector<std::size_t> after = {}) {
  return {.name = std::move(name), .work = std::move(work), .mask = {}, .stream = "s", .after = std::move(after)};
}

}  // namespace c3sim::study
