// The collectives of a step, by name, and how what carries each is chosen: one decision after the other.
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
  std::vector<models::CollectiveSpec> parts;  // one, or its pieces or buckets; of one layer, where layers have it
  std::string stream;
  std::string behind{};  // the operation that it waits for
};
// In the order of the step, each name once.
std::vector<StepCollective> collectives_of(std::span<const StepBlock> blocks);
std::vector<StepCollective> collectives_of(const StepQuestion& question, const StepMachine& machine);

// What is wrong with the carriers and channels that a question without other faults asks for.
std::vector<sim::Fault> faults_of_carriers(const StepQuestion& question, const StepMachine& machine);

// What may carry it: whatever can do its kind, where that has kernels with the library's channels first, then with a
// quarter, half and twice as many, as far as they fit on the CUs and the library takes so many.
std::vector<CollectiveCarrier> carriers_for(const StepCollective& collective, const models::PlatformSpec& platform);

// What a step may be made instead: one of these changes, or none of them.
using StepDecision = std::vector<std::function<void(StepQuestion& now)>>;
// Seconds of each; infinite of one that cannot be.
using StepTimes = std::function<std::vector<double>(const std::vector<StepQuestion>& questions)>;

// By one decision after the other what makes the step fastest; nothing changes that gains less than such a share.
StepQuestion descend(StepQuestion question, std::span<const StepDecision> decisions, const StepTimes& times,
                     double least_gain = 0.0);

// For each kind of collective what carries all of it, but for those that the question has chosen.
std::vector<StepDecision> decisions_by_kind(const StepQuestion& question, std::span<const StepCollective> collectives);

// With a carrier for each collective that has none.
StepQuestion with_all_chosen(StepQuestion question, std::span<const StepCollective> collectives);

}  // namespace c3sim::study
