// What running at once would cost, by prediction, on machines that are not what their platform files say: without one
// after another of the mechanisms of interference, and without what probes told of these.
#pragma once

#include <vector>

#include "validate/evaluation.h"

namespace c3sim::validate {

// Splits the predicted cost of every run of a GEMM beside a collective whose wall was measured over the mechanisms by
// which tenants share, as study/explain/slowdown.h splits a slowdown: they are switched off one after the other until
// none is left, in the order of models::Mechanism and in reverse, and the part of each is the mean of what its two
// steps gain. Takes each run twice as many times as there are mechanisms.
void split_costs(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress = {});

// Predicts the same costs once more, with parameters of kind `probed` as they are without probes.
void predict_unprobed(std::vector<Case>& cases, const Platforms& platforms, int jobs,
                      const study::Progress& progress = {});

}  // namespace c3sim::validate
