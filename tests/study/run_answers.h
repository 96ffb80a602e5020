// Work that is known to be possible, run and told in tables.
#pragma once

#include <span>

#include "study/ask/answers.h"

namespace c3sim::study {

inline Results answer_c3(Testbed& testbed, const Scenario& scenario, std::span<const Strategy> strategies) {
  return to_tables(run_strategies(testbed, scenario, strategies), testbed.platform());
}

inline Results answer_gemm(Testbed& testbed, const models::GemmShape& shape, std::span<const int> cus) {
  return to_tables(run_gemms(testbed, GemmQuestion{shape, {cus.begin(), cus.end()}}), testbed.platform());
}

inline Results answer_collectives(Testbed& testbed, std::span<const models::CollectiveSpec> collectives) {
  return to_tables(run_collectives(testbed, collectives), testbed.platform());
}

inline Results answer_copy(Testbed& testbed, models::SdmaCopySpec copy, std::span<const sim::Bytes> sizes,
                           bool phases_in_text) {
  return to_tables(run_copies(testbed, copy, sizes), testbed.platform(), phases_in_text);
}

}  // namespace c3sim::study
