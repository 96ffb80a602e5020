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

void StepTotals::extend(const StepTotals& of_few, const StepTotals& of_one_less, double by) {
  const auto more = [by](auto& all, auto few, auto less) { all = all + by * (few - less); };
  for (double StepTotals::*const sum :
       {&StepTotals::time, &StepTotals::compute, &StepTotals::communication, &StepTotals::exposed, &StepTotals::host,
        &StepTotals::energy, &StepTotals::cycles, &StepTotals::flops}) {
    more(this->*sum, of_few.*sum, of_one_less.*sum);
  }
  for (auto& [name, share] : operations) {
    const StepShare& few = of_few.operations.at(name);
    const StepShare& less = of_one_less.operations.at(name);
    // What is of no such layer takes as long: what differs is by what happens to run beside it.
    if (few.count == less.count && few.limits.longest() == less.limits.longest()) continue;
    more(share.count, few.count, less.count);
    more(share.time, few.time, less.time);
    more(share.limits.arithmetic, few.limits.arithmetic, less.limits.arithmetic);
    more(share.limits.memory, few.limits.memory, less.limits.memory);
    more(share.limits.links, few.limits.links, less.limits.links);
  }
}

}  // namespace c3sim::study
