#include "models/machine/power.h"

#include <algorithm>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <utility>

namespace c3sim::models {

namespace {
// A clock this close to its target is left alone: real clocks move in steps of about this size.
constexpr double clock_tolerance = 1e-3;
// A rate this close to its clock-bound cap moves with the clock.
constexpr double at_cap = 0.999;

// Where `excess`, which rises with x and comes with its slope, comes to 0, looked for from `near` on: `high` if it is
// not above 0 there, `low` if it is nowhere below.
template <typename Excess>
double highest_without_excess(const Excess& excess, double near, double low, double high) {
  if (excess(high).first <= 0.0) return high;
  if (excess(low).first >= 0.0) return low;
  std::uintmax_t evaluations = 100;
  constexpr int digits = 40;  // of the mantissa
  return boost::math::tools::newton_raphson_iterate(excess, std::clamp(near, low, high), low, high, digits,
                                                    evaluations);
}
}  // namespace

PowerGovernor::PowerGovernor(const PowerSpec& spec, sim::ResourceNetwork& network, const Memory& memory,
                             std::vector<sim::ResourceNetwork::ResourceId> links, Tenant tenant)
    : spec_(spec),
      network_(network),
      memory_(memory),
      links_(std::move(links)),
      tenant_(tenant),
      limit_(spec.limit()),
      ceiling_(spec.highest_clock),
      clock_(spec.highest_clock),
      clock_at_work_(spec.highest_clock) {
  if (tenant_ == Tenant::gemm) memory_.set_clock(clock_ / spec_.rated_clock);
}

void PowerGovernor::set_matrix_work(sim::ResourceNetwork::ActivityId activity, double per_cycle, double energy) {
  const auto known = std::find_if(matrix_work_.begin(), matrix_work_.end(),
                                  [activity](const MatrixWork& work) { return work.activity == activity; });
  if (known == matrix_work_.end()) {
    matrix_work_.push_back({activity, per_cycle, energy});
  } else {
    known->per_cycle = per_cycle;
    known->energy = energy;
  }
  network_.set_cap(activity, per_cycle * clock_.value());
}

void PowerGovernor::remove_matrix_work(sim::ResourceNetwork::ActivityId activity) {
  std::erase_if(matrix_work_, [activity](const MatrixWork& work) { return work.activity == activity; });
}

sim::Watts PowerGovernor::traffic_power() const {
  const auto watts = [this](sim::ResourceNetwork::ResourceId resource, sim::JoulesPerByte energy) {
    return sim::BytesPerSecond(network_.load_of(static_cast<std::size_t>(tenant_), resource)) * energy;
  };
  sim::Watts sum(0.0);
  for (const Memory::Level& level : memory_.levels()) {
    sum += watts(level.resource, spec_.energy_at(level.spec.mechanism));
  }
  if (memory_.adders()) sum += watts(*memory_.adders(), spec_.update_energy);
  for (const auto link : links_) sum += watts(link, spec_.link_energy);
  if (links_carry() || network_.simulator().now() < awake_until_) sum += spec_.links_awake;
  return sum;
}

bool PowerGovernor::links_carry() const {
  return std::ranges::any_of(links_, [this](const auto link) { return network_.load(link) > 0.0; });
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

std::pair<double, double> PowerGovernor::power_and_slope(sim::Hertz clock, double clock_bound_flops, double other_flops,
                                                         sim::Watts traffic) const {
  const double hertz = clock.value();
  const sim::Watts beside_clock = spec_.clock_tree + static_cast<double>(busy_workgroups_) * spec_.busy_workgroup;
  const double per_hertz = beside_clock.value() / spec_.rated_clock.value();
  const double per_flop = std::pow(clock / spec_.reference_clock, spec_.voltage_exponent) * spec_.matrix_energy.value();
  const double bound_per_hertz = clock_bound_flops / clock_.value();
  const double flops = bound_per_hertz * hertz + other_flops;
  return {(spec_.idle + traffic).value() + per_hertz * hertz + per_flop * flops,
          per_hertz + per_flop * (bound_per_hertz + spec_.voltage_exponent * flops / hertz)};
}

sim::Watts PowerGovernor::power() const {
  double flops = 0.0;
  for (const MatrixWork& work : matrix_work_) flops += work.energy * network_.rate(work.activity);
  return sim::Watts(power_and_slope(clock_, flops, 0.0, traffic_power()).first);
}

sim::Hertz PowerGovernor::highest_now() const {
  return std::min(ceiling_, matrix_work_.empty() ? spec_.highest_clock : spec_.matrix_clock);
}

void PowerGovernor::set_limit(sim::Watts limit) {
  network_.regulate_anew();
  limit_ = limit;
}

void PowerGovernor::set_ceiling(sim::Hertz ceiling) {
  network_.regulate_anew();
  ceiling_ = ceiling;
}

bool PowerGovernor::regulate() {
  note_links();
  double clock_bound = 0.0;
  double other = 0.0;
  for (const MatrixWork& work : matrix_work_) {
    const double rate = network_.rate(work.activity);
    (rate >= at_cap * work.per_cycle * clock_.value() ? clock_bound : other) += work.energy * rate;
  }
  const sim::Watts traffic = traffic_power();
  const auto watts_over = [&](double hertz) {
    const auto [watts, slope] = power_and_slope(sim::Hertz(hertz), clock_bound, other, traffic);
    return std::pair(watts - limit_.value(), slope);
  };
  const double lowest = spec_.lowest_clock.value();
  const double highest = highest_now().value();
  // Most of the time the clock is where it belongs: two looks tell.
  const auto is_too_low = [&](double hertz) { return hertz < highest && watts_over(hertz).first < 0.0; };
  const auto is_too_high = [&](double hertz) {
    return hertz > lowest && (hertz > highest || watts_over(hertz).first > 0.0);
  };
  if (!is_too_low(clock_.value() * (1.0 + clock_tolerance)) && !is_too_high(clock_.value() * (1.0 - clock_tolerance))) {
    if (!matrix_work_.empty()) clock_at_work_ = clock_;
    return false;
  }
  set_clock(sim::Hertz(highest_without_excess(watts_over, clock_.value(), lowest, highest)));
  return !matrix_work_.empty() || !listeners_.empty() || memory_.l2_follows_clock();
}

void PowerGovernor::set_clock(sim::Hertz clock) {
  clock_ = clock;
  for (const MatrixWork& work : matrix_work_) {
    if (network_.live(work.activity)) network_.set_cap(work.activity, work.per_cycle * clock.value());
  }
  if (tenant_ == Tenant::gemm) memory_.set_clock(clock / spec_.rated_clock);
  for (const auto& on_change : listeners_) on_change();
}

}  // namespace c3sim::models
