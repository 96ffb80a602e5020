#include "study/step/part_of_step.h"

#include <algorithm>
#include <utility>

#include "sim/config/config_error.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

std::vector<PartOfStep::Place> PartOfStep::places() const {
  std::map<std::string, Place> listed;
  for (const StepBlock& block : blocks) {
    for (const StepOperation& one : block.operations) listed[one.name + block.suffix] = {&one, &block};
  }
  std::vector<Place> places;
  for (const GraphNode& node : graph.nodes()) {
    const auto found = listed.find(node.listed);
    places.push_back(found == listed.end() ? Place{} : found->second);
  }
  return places;
}

PartOfStep part_of(const StepQuestion& question, std::span<const ElementwiseOperator> operators, const Testbed& testbed,
                   FewLayers layers, const std::function<bool(const StepBlock&)>& leaves_out) {
  std::vector<StepBlock> blocks = step_blocks(question, operators, layers, testbed.platform());
  if (leaves_out) std::erase_if(blocks, leaves_out);
  return part_of(std::move(blocks), question.pause, testbed);
}

PartOfStep part_of(std::vector<StepBlock> blocks, sim::Time pause, const Testbed& testbed) {
  PartOfStep part{std::move(blocks), {}, {}};
  part.graph = graph_of(part.blocks, testbed.platform(), pause);
  part.schedule = part.graph.schedule();
  std::vector<sim::Fault> faults;
  for (const Operation& operation : part.schedule) {
    const std::string why = testbed.why_impossible(operation.work);
    const bool is_new = std::ranges::find(faults, why, &sim::Fault::what) == faults.end();
    if (!why.empty() && is_new) faults.push_back({"step", operation.name, why});
  }
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
  return part;
}

}  // namespace c3sim::study
