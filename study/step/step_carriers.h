// Lists the collectives of a step by name, and chooses what carries each, one decision after the other.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/config_error.h"
#include "study/network/step_question.h"
#include "study/program/step_operation.h"

namespace c3sim::study {

struct StepCollective {
  std::string name;                           // collective_name()
  std::vector<models::CollectiveSpec> parts;  // one, or its pieces or buckets; of a single layer if it is in layers
  std::string stream;
  std::string behind{};  // name of the operation that it waits for
};
// Returns the collectives in the order of the step, each name once.
std::vector<StepCollective> collectives_of(const StepQuestion& question, const StepMachine& machine);

// Returns the faults of carriers and channels that are asked for by a question without other faults.
std::vector<sim::Fault> faults_of_carriers(const StepQuestion& question, const StepMachine& machine);

// Returns possible carriers: each backend that supports the kind; if it uses kernels, first with the library's number
// of channels, then with a quarter, half and twice as many, if they fit on the CUs and the library accepts them.
std::vector<CollectiveCarrier> carriers_for(const StepCollective& collective, const models::PlatformSpec& platform);

// A StepDecision is a choice between these changes of a step and no change.
using StepDecision = std::vector<std::function<void(StepQuestion& now)>>;
// StepTimes returns the seconds of each question; infinite if it is impossible.
using StepTimes = std::function<std::vector<double>(const std::vector<StepQuestion>& questions)>;

// Takes one decision after the other, each time the fastest change, if it gains at least the share `least_gain`.
StepQuestion descend(StepQuestion question, std::span<const StepDecision> decisions, const StepTimes& times,
                     double least_gain = 0.0);

// Returns one decision per kind of collective: what carries all of this kind, except those already chosen.
std::vector<StepDecision> decisions_by_kind(const StepQuestion& question, std::span<const StepCollective> collectives);

// Chooses the default carrier for each collective that has none.
StepQuestion with_all_chosen(StepQuestion question, std::span<const StepCollective> collectives);

}  // namespace c3sim::study
