#include "study/step/step_carriers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "models/collectives/algorithm.h"
#include "sim/config/nearest_name.h"
#include "study/play/testbed.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

namespace {

// Returns the operation of the same layer that it waits for, or otherwise the one before it on its stream.
std::string awaited_by(const StepOperation& one, std::span<const StepOperation> before) {
  for (const Wait& wait : one.after) {
    const auto awaited = std::ranges::find(before, wait.on, &StepOperation::handle);
    if (wait.shift == 0 && awaited != before.end()) return std::string(collective_name(awaited->name));
  }
  for (std::size_t place = before.size(); place-- > 0;) {
    if (before[place].stream == one.stream) return std::string(collective_name(before[place].name));
  }
  return {};
}

}  // namespace

std::vector<StepCollective> collectives_of(const StepQuestion& question, const StepMachine& machine) {
  std::vector<StepCollective> collectives;
  for (const StepBlock& block : step_blocks(question, 1, machine)) {
    const std::size_t of_others = collectives.size();
    for (std::size_t place = 0; place < block.operations.size(); ++place) {
      const StepOperation& one = block.operations[place];
      const auto* const spec = std::get_if<models::CollectiveSpec>(&one.work);
      if (spec == nullptr) continue;
      const std::string name(collective_name(one.name));
      const auto known = std::ranges::find(collectives, name, &StepCollective::name);
      if (known == collectives.end()) {
        collectives.push_back({name, {*spec}, one.stream, awaited_by(one, std::span(block.operations).first(place))});
      } else if (static_cast<std::size_t>(known - collectives.begin()) >= of_others) {
        known->parts.push_back(*spec);
      }
    }
  }
  return collectives;
}

std::vector<sim::Fault> faults_of_carriers(const StepQuestion& question, const StepMachine& machine) {
  if (question.chosen.empty() && !question.channels) return {};
  const std::vector<StepCollective> collectives = collectives_of(question, machine);
  std::vector<sim::Fault> faults;
  for (const auto& [name, carrier] : question.chosen) {
    if (std::ranges::count(collectives, name, &StepCollective::name) > 0) continue;
    const std::string hint =
        collectives.empty() ? ", which has none" : sim::name_hint(name, collectives, &StepCollective::name);
    faults.push_back({"chosen", "", fmt::format("'{}' is no collective of this step{}", name.substr(0, 80), hint)});
  }
  const Testbed testbed(machine.platform);
  bool has_kernels = false;
  std::string why_not_channels;  // of the first collective that cannot have them
  for (const StepCollective& collective : collectives) {
    const models::CollectiveSpec& spec = collective.parts.front();
    has_kernels = has_kernels || models::kernel_part(spec, machine.platform.gpu.sdma).has_value();
    const auto asked = question.chosen.find(collective.name);
    const bool is_chosen = asked != question.chosen.end();
    const std::string why = is_chosen || spec.channels ? testbed.why_impossible(spec) : "";
    if (why.empty()) continue;
    if (is_chosen) {
      faults.push_back({"chosen", "", fmt::format("{}={}: {}", collective.name, to_string(asked->second), why)});
    } else if (why_not_channels.empty()) {
      why_not_channels = fmt::format("{}: {}", collective.name, why);
    }
  }
  if (question.channels && !has_kernels) {
    why_not_channels = "are workgroups of kernels, and none carries a collective of this step";
  }
  if (!why_not_channels.empty()) faults.push_back({"channels", "", why_not_channels});
  return faults;
}

std::vector<CollectiveCarrier> carriers_for(const StepCollective& collective, const models::PlatformSpec& platform) {
  std::vector<CollectiveCarrier> carriers;
  for (const models::Algorithm& backend : models::backends()) {
    models::CollectiveSpec spec = collective.parts.front();
    if (std::ranges::count(backend.kinds, spec.kind) == 0) continue;
    spec.backend = {backend.name};
    spec.channels.reset();
    carriers.push_back({spec.backend});
    std::optional<models::CollectiveSpec> kernels = models::kernel_part(spec, platform.gpu.sdma);
    if (!kernels) continue;
    const int usual = models::channels_of(*kernels, platform);
    for (const int channels : {usual / 4, usual / 2, 2 * usual}) {
      kernels->channels = channels;
      if (!models::why_no_channels(*kernels, channels, platform).empty()) continue;
      if (models::channels_of(*kernels, platform) == channels) carriers.push_back({spec.backend, channels});
    }
  }
  return carriers;
}

StepQuestion descend(StepQuestion question, std::span<const StepDecision> decisions, const StepTimes& times,
                     double least_gain) {
  if (decisions.empty()) return question;
  double fastest = times({question}).front();
  for (const StepDecision& decision : decisions) {
    std::vector<StepQuestion> others;
    for (const auto& change : decision) {
      StepQuestion other = question;
      change(other);
      if (other != question) others.push_back(std::move(other));
    }
    const std::vector<double> of_others = times(others);
    for (std::size_t other = 0; other < others.size(); ++other) {
      if (of_others[other] >= (1.0 - least_gain) * fastest) continue;
      fastest = of_others[other];
      question = std::move(others[other]);
    }
  }
  return question;
}

std::vector<StepDecision> decisions_by_kind(const StepQuestion& question, std::span<const StepCollective> collectives) {
  std::map<models::CollectiveKind, std::vector<std::string>> names;
  for (const StepCollective& collective : collectives) {
    if (!question.chosen.contains(collective.name)) names[collective.parts.front().kind].push_back(collective.name);
  }
  std::vector<StepDecision> decisions;
  for (const auto& [kind, of_kind] : names) {
    StepDecision& decision = decisions.emplace_back();
    for (const models::Algorithm& backend : models::backends()) {
      if (std::ranges::count(backend.kinds, kind) == 0) continue;
      decision.emplace_back([all = of_kind, by = models::Backend{backend.name}](StepQuestion& now) {
        for (const std::string& name : all) now.chosen[name] = {by};
      });
    }
  }
  return decisions;
}

StepQuestion with_all_chosen(StepQuestion question, std::span<const StepCollective> collectives) {
  for (const StepCollective& collective : collectives) {
    const models::CollectiveKind kind = collective.parts.front().kind;
    question.chosen[collective.name] = question.carrier_of(collective.name, kind);
  }
  return question;
}

}  // namespace c3sim::study
