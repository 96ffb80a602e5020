#include "models/machine/power.h"

#include <boost/math/tools/roots.hpp>
#include <cstdint>

#include "sim/loaded_latency.h"

namespace c3sim::models {
namespace {
// A clock this close to its target is left alone: real clocks move in steps of about this size.
constexpr double clock_tolerance = 1e-3;
// A rate this close to its clock-bound cap moves with the clock.
constexpr double at_cap = 0.999;

// Returns where `excess`, which rises with x, is 0, by Newton's method from `near`: `high` if it is not above 0 there,
// `low` if it is nowhere below 0. `with_slope` returns its value and slope.
template <typename Excess, typename ExcessAndSlope>
double highest_without_excess(const Excess& excess, const ExcessAndSlope& with_slope, double near, double low,
                              double high) {
  if (excess(high) <= 0.0) return high;
  if (excess(low) >= 0.0) return low;
  std::uintmax_t evaluations = 100;
  constexpr int digits = 40;  // binary digits of the root
  return boost::math::tools::newton_raphson_iterate(with_slope, std::clamp(near, low, high), low, high, digits,
                                                    evaluations);
}
}  // namespace

double Bend::of(double rate) const {
  if (knee <= 0.0 || !std::isfinite(bound)) return rate;
  // Times of a unit are relative to the longer of the two.
  const double slower = std::min(rate, bound);
  const double shorter = slower / std::max(rate, bound);
  return slower / sim::root(1.0 + sim::power(shorter, knee), knee);
}

double PowerGovernor::Work::slope(sim::Hertz clock, double cap) const {
  return per_cycle * sim::power(cap / (per_cycle * clock.value()), bend.knee + 1.0);
}

PowerGovernor::PowerGovernor(const PowerSpec& spec, sim::ResourceNetwork& network, const Memory& memory,
                             std::vector<sim::ResourceNetwork::ResourceId> links, std::vector<Tenant> tenants)
    : spec_(spec),
      network_(network),
      memory_(memory),
      links_(std::move(links)),
      tenants_(std::move(tenants)),
      limit_(spec.limit()),
      ceiling_(spec.highest_clock),
      clock_(spec.highest_clock),
      clock_at_work_(spec.highest_clock) {
  set_clock_of_l2s();
}

void PowerGovernor::set_matrix_work(sim::ResourceNetwork::ActivityId activity, double per_cycle, double energy,
                                    Bend bend) {
  set_work({activity, true, per_cycle, energy * spec_.matrix_energy.value(), bend});
}

void PowerGovernor::set_vector_work(sim::ResourceNetwork::ActivityId activity, double per_cycle, double flops,
                                    Bend bend) {
  set_work({activity, false, per_cycle, flops * spec_.vector_energy.value(), bend});
}

void PowerGovernor::set_work(Work work) {
  const auto known = std::ranges::find(work_, work.activity, &Work::activity);
  work.cap_now = work.cap(clock_);
  network_.set_cap(work.activity, work.cap_now);
  if (known == work_.end()) {
    work_.push_back(work);
  } else {
    *known = work;
  }
}

void PowerGovernor::note_rates_beside_clock() {
  for (Work& work : work_) {
    const double rate = network_.rate(work.activity);
    work.beside = rate >= at_cap * work.cap_now ? std::numeric_limits<double>::infinity() : rate;
  }
}

sim::Watts PowerGovernor::traffic_power(bool links_carry) const {
  const auto watts = [this](sim::ResourceNetwork::ResourceId resource, sim::JoulesPerByte energy) {
    double load = tenants_.empty() ? network_.load(resource) : 0.0;
    for (const Tenant tenant : tenants_) load += network_.load_of(static_cast<std::size_t>(tenant), resource);
    return sim::BytesPerSecond(load) * energy;
  };
  sim::Watts sum(0.0);
  for (const Memory::Level& level : memory_.levels()) {
    sum += watts(level.resource, spec_.energy_at(level.spec.mechanism));
  }
  if (memory_.adders()) sum += watts(*memory_.adders(), spec_.update_energy);
  for (const auto link : links_) sum += watts(link, spec_.link_energy);
  if (links_carry || network_.simulator().now() < awake_until_) sum += spec_.links_awake;
  return sum;
}

void PowerGovernor::note_links() {
  const bool carry = links_carry();
  const sim::Time now = network_.simulator().now();
  if (links_carried_ && !carry && spec_.links_awake_for > sim::Time::zero() && awake_until_ < sim::Time::max()) {
    awake_until_ = now + spec_.links_awake_for;
    network_.simulator().schedule(awake_until_, [this] { network_.regulate_anew(); });
  }
  links_carried_ = carry;
}

double PowerGovernor::watts_by_clock() const {
  const sim::Watts at_rated_clock = spec_.clock_tree + static_cast<double>(busy_workgroups_) * spec_.busy_workgroup +
                                    streaming_cus_ * spec_.streaming_cu;
  return at_rated_clock.value() / spec_.rated_clock.value();
}

template <class RateOf>
double PowerGovernor::watts_at(sim::Hertz clock, sim::Watts traffic, const RateOf& rate_of) const {
  double watts = (spec_.idle + traffic).value() + watts_by_clock() * clock.value();
  const double dearer = matrix_energy_at(clock);
  for (const Work& work : work_) {
    watts += work.energy * (work.matrix ? dearer : 1.0) * std::min(work.cap(clock), rate_of(work));
  }
  return watts;
}

PowerGovernor::Drawn PowerGovernor::drawn_at(sim::Hertz clock, sim::Watts traffic) const {
  double slope = watts_by_clock();
  double watts = (spec_.idle + traffic).value() + slope * clock.value();
  const double dearer = matrix_energy_at(clock);
  for (const Work& work : work_) {
    const double energy = work.energy * (work.matrix ? dearer : 1.0);
    const double of_clock = work.cap(clock);
    const double at = energy * std::min(of_clock, work.beside);
    watts += at;
    slope += (of_clock < work.beside ? energy * work.slope(clock, of_clock) : 0.0) +
             (work.matrix ? spec_.voltage_exponent * at / clock.value() : 0.0);
  }
  return {watts, slope};
}

sim::Watts PowerGovernor::power() const {
  const auto present = [this](const Work& work) { return network_.rate(work.activity); };
  return sim::Watts(watts_at(clock_, traffic_power(links_carry()), present));
}

bool PowerGovernor::regulate() {
  note_links();
  note_rates_beside_clock();
  const sim::Watts traffic = traffic_power(links_carried_);
  const auto noted = [](const Work& work) { return work.beside; };
  const auto watts_over = [&](double hertz) { return watts_at(sim::Hertz(hertz), traffic, noted) - limit_.value(); };
  const double lowest = spec_.lowest_clock.value();
  const double highest = highest_now().value();
  // Usually the clock is right already, as two evaluations show.
  const auto is_too_low = [&](double hertz) { return hertz < highest && watts_over(hertz) < 0.0; };
  const auto is_too_high = [&](double hertz) { return hertz > lowest && (hertz > highest || watts_over(hertz) > 0.0); };
  if (!is_too_low(clock_.value() * (1.0 + clock_tolerance)) && !is_too_high(clock_.value() * (1.0 - clock_tolerance))) {
    if (does_matrix_work()) clock_at_work_ = clock_;
    return false;
  }
  const double excess = watts_over(clock_.value());
  const double part = 1.0 / overshoot(excess);
  const auto watts_over_and_slope = [&](double hertz) {
    const Drawn drawn = drawn_at(sim::Hertz(hertz), traffic);
    return std::pair(drawn.watts - limit_.value(), drawn.slope);
  };
  double next = highest_without_excess(watts_over, watts_over_and_slope, clock_.value(), lowest, highest);
  last_step_.reset();
  if (next > lowest && next < highest) {
    next = clock_.value() + part * (next - clock_.value());
    last_step_ = {network_.simulator().now(), excess, part};
  }
  set_clock(sim::Hertz(next));
  return !work_.empty() || !listeners_.empty() || memory_.l2_follows_clock();
}

// Returns the factor by which the last step of this instant went too far, at least 1. A step treats rates that the
// clock does not bound as constant. Rates of work that waits for the L2s follow the clock after all; if these carry
// more power than clock-bound work, steps would go from one side of the limit to the other without end.
double PowerGovernor::overshoot(double excess) const {
  if (!last_step_ || last_step_->at != network_.simulator().now()) return 1.0;
  const double meant = last_step_->excess * last_step_->part;
  return std::max(1.0, (last_step_->excess - excess) / meant);
}

void PowerGovernor::set_clock_of_l2s() const {
  const bool has_gemms = tenants_.empty() || std::ranges::count(tenants_, Tenant::gemm) > 0;
  if (has_gemms) memory_.set_clock(clock_ / spec_.rated_clock);
}

void PowerGovernor::set_clock(sim::Hertz clock) {
  clock_ = clock;
  for (Work& work : work_) {
    work.cap_now = work.cap(clock);
    if (network_.live(work.activity)) network_.set_cap(work.activity, work.cap_now);
  }
  set_clock_of_l2s();
  for (const auto& on_change : listeners_) on_change();
}

}  // namespace c3sim::models
