#include "study/step/step_totals.h"

#include <algorithm>
#include <variant>

namespace c3sim::study {

void StepTotals::count(const StepPart& part, double share, const models::PlatformSpec& platform) {
  StepShare& all = operations[part.name];
  if (all.count == 0.0) {
    all.kind = part.kind;
    all.work = to_string(part.work);
  }
  all.count += share;
  all.time += share * sim::to_seconds(part.end - part.start).value();
  Limits limits = limits_of(part.work, platform);
  limits *= share;
  all.limits += limits;
  time = std::max(time, sim::to_seconds(part.end).value());
  if (part.again) return;
  if (const auto* gemm = std::get_if<models::GemmShape>(&part.work)) flops += share * gemm->flops().value();
  if (const auto* shape = std::get_if<models::AttentionShape>(&part.work)) flops += share * shape->flops().value();
}

void StepTotals::extend(const StepTotals& of_one_less, double by) {
  const auto more = [by](auto& of_few, auto less) { of_few = of_few + by * (of_few - less); };
  more(time, of_one_less.time);
  more(compute, of_one_less.compute);
  more(communication, of_one_less.communication);
  more(exposed, of_one_less.exposed);
  more(host, of_one_less.host);
  for (auto& [name, share] : operations) {
    const StepShare& other = of_one_less.operations.at(name);
    // What is of no layer takes as long: what differs is by what happens to run beside it.
    if (share.count == other.count && share.limits.longest() == other.limits.longest()) continue;
    more(share.count, other.count);
    more(share.time, other.time);
    more(share.limits.arithmetic, other.limits.arithmetic);
    more(share.limits.memory, other.limits.memory);
    more(share.limits.links, other.limits.links);
  }
  more(energy, of_one_less.energy);
  more(cycles, of_one_less.cycles);
  more(flops, of_one_less.flops);
}

}  // namespace c3sim::study
