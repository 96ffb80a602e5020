// How far an answer moves over the range of each parameter that was assumed or fitted.
#pragma once

#include <functional>
#include <string>

#include "study/report/results.h"
#include "study/run/parallel.h"
#include "study/run/platform_file.h"
#include "study/run/testbed.h"

namespace c3sim::study {

// The table of one quantity, by its key among the numbers of the first table of what `ask` answers: of every row its
// change, in percent, at both ends of each range, parameters that move it most first. Several threads ask at once.
// Throws sim::ConfigError where the answer has no such quantity.
NamedTable sensitivity_of(const std::string& quantity, const Platform& platform,
                          const std::function<Results(Testbed& testbed)>& ask, const Progress& progress = {});

}  // namespace c3sim::study
