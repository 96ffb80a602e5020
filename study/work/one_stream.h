// What an experiment is held against: its operations uncut, on one stream, their collectives by RCCL. On every GPU they
// run one after another, on all CUs, queued as a stream queues them, so that what cutting, engines and overlap gain or
// lose all counts, and what a host pays for launching each kernel by itself does not.
#pragma once

#include <vector>

#include "study/work/operation_graph.h"

namespace c3sim::study {

// In the order in which the first piece of each may begin. `wholes`: Experiment::wholes.
Schedule on_one_stream(const OperationGraph& graph, const std::vector<Schedule>& wholes);

// Whether each operation waits for the one before it, so that no two can run at once, nor any of what one fuses.
bool is_chain(const Schedule& schedule);

}  // namespace c3sim::study
