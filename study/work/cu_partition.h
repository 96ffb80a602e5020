// Splitting the CUs of every GPU between a collective and a GEMM by the CU masks of their streams. A mask holds as many
// CUs of each XCD.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/machine/cu_mask.h"
#include "models/platform/platform_spec.h"
#include "study/work/scenario.h"

namespace c3sim::study {

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

}  // namespace c3sim::study
