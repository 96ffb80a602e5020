// The answers to the four plain questions. The columns of their tables are a contract with whoever reads CSV or JSON.
#pragma once

#include <span>

#include "study/report/results.h"
#include "study/strategy.h"
#include "study/testbed.h"

namespace c3sim::study {

// How a GEMM and a collective fare together: one row per strategy, all of which must be possible. `jobs` as for
// run_all.
Results answer_c3(Testbed& testbed, const Scenario& scenario, std::span<const Strategy> strategies, int jobs = 1);
ResultTable c3_table(std::span<const C3Result> results);

// How long a GEMM takes on so many CUs of every GPU: one row per count, each of which why_no_mask allows.
Results answer_gemm(Testbed& testbed, const models::GemmShape& shape, std::span<const int> cus);

// How long each of the collectives takes alone: one row per collective, all of them possible.
Results answer_collectives(Testbed& testbed, std::span<const models::CollectiveSpec> collectives);

// How long one copy takes alone, and how much of it each of its four phases: one row per size, all of them possible.
// Text shows the phases only if asked to.
Results answer_copy(Testbed& testbed, models::SdmaCopySpec copy, std::span<const sim::Bytes> sizes,
                    bool phases_in_text);

}  // namespace c3sim::study
