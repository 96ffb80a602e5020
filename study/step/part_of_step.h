// So many layers of a step, all of whose operations the machine can do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "study/run/testbed.h"
#include "study/step/step_operation.h"
#include "study/step/step_question.h"
#include "study/work/operation_graph.h"
#include "study/work/operators.h"

namespace c3sim::study {

struct PartOfStep {
  std::vector<StepBlock> blocks;
  OperationGraph graph;
  Schedule schedule;

  // What each node of the graph is of; none of what is before the step.
  struct Place {
    const StepOperation* operation = nullptr;
    const StepBlock* block = nullptr;
  };
  std::vector<Place> places() const;
};

// `leaves_out`, if given, says which blocks are not in it. Throws sim::ConfigError with what the machine cannot do.
PartOfStep part_of(const StepQuestion& question, std::span<const ElementwiseOperator> operators, const Testbed& testbed,
                   FewLayers layers, const std::function<bool(const StepBlock&)>& leaves_out = {});
// Of these blocks, behind a pause.
PartOfStep part_of(std::vector<StepBlock> blocks, sim::Time pause, const Testbed& testbed);

}  // namespace c3sim::study
