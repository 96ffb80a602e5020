#include "sim/resource_network.h"

#include <cmath>
#include <iterator>

#include "sim/check.h"

namespace c3sim::sim {
namespace {
// An id consists of the number of the start and the slot: ids grow with time, and find() needs no search.
constexpr int slot_bits = 24;
constexpr std::uint64_t no_slot = (1u << slot_bits) - 1;  // the slot of an activity with nothing to do
constexpr std::uint64_t slot_of(ResourceNetwork::ActivityId id) { return id & no_slot; }
}  // namespace

void ResourceNetwork::set_capacity(ResourceId resource, double units_per_second) {
  SIM_CHECK(units_per_second > 0.0 && std::isfinite(units_per_second));
  if (capacity(resource) == units_per_second) return;
  about_to_change();
  graph_.set_capacity(resource, units_per_second);
  note_change_of_resource(resource);
}

void ResourceNetwork::set_rate(ResourceId whole, double units_per_second) {
  const Division* const division = division_of(whole);
  if (division == nullptr) return set_capacity(whole, units_per_second);
  set_capacity(whole, units_per_second * (division->apart.bandwidth ? static_cast<double>(tenants_) : 1.0));
  for (std::size_t i = 0; i < division->parts.size(); ++i) {
    set_capacity(division->parts[i],
                 units_per_second * (division->apart.share.empty() ? 1.0 : division->apart.share[i]));
  }
}

ResourceId ResourceNetwork::add_resource(ResourceSpec spec, const Apart& apart) {
  if (!apart.anything()) return add_resource(std::move(spec));
  const std::size_t parts = apart.part.empty() ? tenants_ : *std::ranges::max_element(apart.part) + 1;
  SIM_CHECK(tenant_of_ != nullptr && (apart.part.empty() || apart.part.size() == tenants_));
  SIM_CHECK(apart.share.empty() || apart.share.size() == parts);
  ResourceSpec meter = spec;
  if (apart.bandwidth) {
    // The meter holds nobody back: it is as wide as all tenants could need, and as slow as `spec` at the same load.
    meter.capacity *= static_cast<double>(tenants_);
    meter.latency.full_at = 1.0 / static_cast<double>(tenants_);
    meter.latency.backlog = false;
  }
  Division division{add_resource(std::move(meter)), apart, {}};
  for (std::size_t i = 0; i < parts; ++i) {
    ResourceSpec part = spec;
    part.capacity *= apart.share.empty() ? 1.0 : apart.share[i];
    division.parts.push_back(add_resource(std::move(part)));
  }
  divisions_.push_back(std::move(division));
  return divisions_.back().whole;
}

const ResourceNetwork::Division* ResourceNetwork::find_division(ResourceId whole) const {
  const auto found = std::ranges::lower_bound(divisions_, whole, {}, &Division::whole);
  return found != divisions_.end() && found->whole == whole ? &*found : nullptr;
}

ResourceId ResourceNetwork::whole(ResourceId resource) const {
  const auto next = std::ranges::upper_bound(divisions_, resource, {}, &Division::whole);
  if (next == divisions_.begin()) return resource;
  const Division& before = *std::prev(next);  // its parts were added right after it
  return resource <= before.parts.back() ? before.whole : resource;
}

std::vector<ResourceId> ResourceNetwork::whole_resources() const {
  std::vector<ResourceId> found;
  for (ResourceId resource = 0; resource < graph_.capacities().size(); ++resource) {
    if (whole(resource) == resource) found.push_back(resource);
  }
  return found;
}

ResourceId ResourceNetwork::part(std::size_t tenant, ResourceId resource) const {
  const Division* const division = division_of(resource);
  return division != nullptr ? division->part_of(tenant) : resource;
}

double ResourceNetwork::load_of(std::size_t tenant, ResourceId resource) const {
  const Division* const division = division_of(resource);
  return load(division != nullptr && division->apart.load ? division->part_of(tenant) : resource);
}

ActivitySpec ResourceNetwork::divided(ActivitySpec spec) const {
  const std::size_t tenant = tenant_of_(spec.tag);
  const std::size_t asked = spec.usages.size();
  for (std::size_t i = 0; i < asked; ++i) {
    const Usage usage = spec.usages[i];
    if (const Division* const division = division_of(usage.resource)) {
      spec.usages.push_back({division->part_of(tenant), usage.coefficient});
    }
  }
  for (ResourceId& resource : spec.latency_path) {
    const Division* const division = division_of(resource);
    if (division != nullptr && division->apart.latency) resource = division->part_of(tenant);
  }
  return spec;
}

ResourceNetwork::ActivityId ResourceNetwork::start(const ActivitySpec& spec, EventAction on_done) {
  SIM_CHECK(spec.amount >= 0.0 && std::isfinite(spec.amount));
  if (spec.amount == 0.0) {
    simulator_.schedule(simulator_.now(), on_done);
    return ++started_ << slot_bits | no_slot;
  }
  about_to_change();
  if (free_slots_.empty()) {
    SIM_CHECK(activities_.size() < no_slot);
    free_slots_.push_back(static_cast<std::uint32_t>(activities_.size()));
    activities_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  Activity& activity = activities_[slot];
  activity.id = ++started_ << slot_bits | slot;
  activity.on_done = on_done;
  if (divisions_.empty()) {
    enter(activity, spec, spec.amount);
  } else {
    enter(activity, divided(spec), spec.amount);
  }
  return activity.id;
}

void ResourceNetwork::reshape(ActivityId activity, const ActivitySpec& spec) {
  if (divisions_.empty()) {
    reshape_as_it_is(activity, spec);
  } else {
    reshape_as_it_is(activity, divided(spec));
  }
}

void ResourceNetwork::reshape_as_it_is(ActivityId activity, const ActivitySpec& spec) {
  about_to_change();
  Activity& reshaped = live_activity(activity);
  enter(reshaped, spec, leave(reshaped));
}

void ResourceNetwork::set_cap(ActivityId activity, double cap) {
  const Activity& capped = live_activity(activity);
  const ActivitySpec& present = graph_.activity_class(capped.activity_class).spec;
  if (present.cap == cap) return;
  recapped_ = present;
  recapped_.cap = cap;
  recapped_.tag = capped.tag;
  reshape_as_it_is(activity, recapped_);
}

double ResourceNetwork::rate(ActivityId activity) const {
  const Activity* found = find(activity);
  return found == nullptr ? 0.0 : graph_.activity_class(found->activity_class).clock.rate();
}

// In a max-min fair allocation a bottleneck is a full resource on which no other user has a higher rate per weight.
RateLimit ResourceNetwork::limit(ActivityId activity) const {
  constexpr double nearly = 1.0 - 1e-9;
  const Activity* found = find(activity);
  SIM_CHECK(found != nullptr && "the activity is live");
  const ActivityGraph::ActivityClass& held = graph_.activity_class(found->activity_class);
  if (held.clock.rate() < held.cap_in_force * nearly) {
    const double level = held.clock.rate() / held.spec.weight;
    for (const Usage& usage : held.spec.usages) {
      if (filled(usage.resource) >= nearly && highest_level(usage.resource) * nearly <= level) {
        return {RateLimit::Kind::resource, usage.resource};
      }
    }
  }
  return {held.cap_in_force < held.spec.cap ? RateLimit::Kind::latency : RateLimit::Kind::cap, 0};
}

double ResourceNetwork::highest_level(ResourceId resource) const {
  double highest = 0.0;
  for (const ActivityGraph::User& user : graph_.resource(resource).users) {
    const ActivityGraph::ActivityClass& one = graph_.activity_class(user.activity_class);
    if (one.touches[user.touch].coefficient > 0.0) highest = std::max(highest, one.clock.rate() / one.spec.weight);
  }
  return highest;
}

std::uint32_t ResourceNetwork::tag(ActivityId activity) const {
  const Activity* found = find(activity);
  SIM_CHECK(found != nullptr && "the activity is live");
  return found->tag;
}

double ResourceNetwork::load(ResourceId resource) const {
  double load = 0.0;
  for (const ActivityGraph::User& user : graph_.resource(resource).users) {
    const ActivityGraph::ActivityClass& one = graph_.activity_class(user.activity_class);
    load += one.touches[user.touch].coefficient * one.solved_members * one.clock.rate();
  }
  return load;
}

double ResourceNetwork::utilisation(ResourceId resource) const {
  const Division* const division = division_of(resource);
  if (division == nullptr || !division->apart.bandwidth) return filled(resource);
  double fullest = 0.0;
  for (const ResourceId part : division->parts) fullest = std::max(fullest, filled(part));
  return fullest;
}

double ResourceNetwork::served(ResourceId resource) const {
  double units = graph_.resource(resource).served_before;
  for (const ActivityGraph::User& user : graph_.resource(resource).users) {
    const ActivityGraph::ActivityClass& one = graph_.activity_class(user.activity_class);
    units += one.touches[user.touch].coefficient * one.clock.units(simulator_.now());
  }
  return units;
}

Time ResourceNetwork::busy(ResourceId resource) const {
  const ActivityGraph::Resource& one = graph_.resource(resource);
  return one.using_classes == 0 ? one.busy_before : one.busy_before + (simulator_.now() - one.busy_since);
}

std::vector<ResourceNetwork::Share> ResourceNetwork::shares(ResourceId resource) const {
  std::vector<Share> shares;
  for (const ActivityGraph::User& user : graph_.resource(resource).users) {
    const ActivityGraph::ActivityClass& one = graph_.activity_class(user.activity_class);
    const double load = one.touches[user.touch].coefficient * one.clock.rate();
    if (load == 0.0) continue;
    for (const ServiceClock::Mark& mark : one.clock.marks()) {
      if (is_current(mark, user.activity_class)) shares.push_back({mark.activity, tag(mark.activity), load});
    }
  }
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.activity < b.activity; });
  return shares;
}

const ResourceNetwork::Activity* ResourceNetwork::find(ActivityId id) const {
  const std::uint64_t slot = slot_of(id);
  return slot < activities_.size() && activities_[slot].id == id ? &activities_[slot] : nullptr;
}

ResourceNetwork::Activity& ResourceNetwork::live_activity(ActivityId id) {
  SIM_CHECK(find(id) != nullptr && "the activity is live");
  return activities_[slot_of(id)];
}

// Returns false for a mark that an activity left behind when it was reshaped.
bool ResourceNetwork::is_current(const ServiceClock::Mark& mark, ClassId activity_class) const {
  const Activity* activity = find(mark.activity);
  return activity != nullptr && activity->activity_class == activity_class && activity->entry == mark.entry;
}

void ResourceNetwork::enter(Activity& activity, const ActivitySpec& spec, double amount) {
  const ClassId entered = graph_.class_of(spec, simulator_.now());
  if (due_.size() <= entered) due_.resize(entered + 1, Time::max());
  activity.activity_class = entered;
  activity.tag = spec.tag;
  activity.mark =
      graph_.activity_class(entered).clock.enter(simulator_.now(), amount, activity.id, ++activity.entry).at;
  note_change(entered);
}

double ResourceNetwork::leave(Activity& activity) {
  const double to_go = graph_.activity_class(activity.activity_class).clock.leave(simulator_.now(), activity.mark);
  note_change(activity.activity_class);
  ++activity.entry;  // so that the mark left behind is not current
  return to_go;
}

// Must be called before each change: the first change of an instant calls observers and schedules settle().
void ResourceNetwork::about_to_change() {
  const Time now = simulator_.now();
  if (now > held_since_) {
    for (const auto& observer : observers_) observer(held_since_, now);
    held_since_ = now;
  }
  if (!std::exchange(settling_, true)) simulator_.at_end_of_instant([this] { settle(); });
}

void ResourceNetwork::settle() {
  solve_changed();
  int regulations = 0;
  while (regulate()) {
    solve_changed();
    if (++regulations == max_regulations) {
      ++unregulated_;
      break;
    }
  }
  settling_ = false;
  schedule_completion();
}

bool ResourceNetwork::regulate() {
  bool changed = false;
  for (const auto& regulator : regulators_) changed |= regulator();
  return changed;
}

// A class whose members changed but not in number leaves all rates as they are.
void ResourceNetwork::solve_changed() {
  ++solve_;
  for (const ClassId id : changed_classes_) {
    const ActivityGraph::ActivityClass& one = graph_.activity_class(id);
    if (one.clock.members() > 0) continue;
    for (const ActivityGraph::Touch& touch : one.touches) note_change_of_resource(touch.resource);
    graph_.retire(id, simulator_.now());
    due_[id] = Time::max();
  }
  for (const ResourceId id : changed_resources_) {
    graph_.resource(id).changed = false;
    solve(graph_.part_of_resource(id));
  }
  for (const ClassId id : changed_classes_) {
    ActivityGraph::ActivityClass& one = graph_.activity_class(id);
    one.changed = false;
    if (one.clock.members() == 0) continue;
    if (one.clock.members() != one.solved_members) solve(graph_.part_of_class(id));
    refresh_due(id);
  }
  changed_classes_.clear();
  changed_resources_.clear();
}

// A part is solved once, however many changes it saw.
void ResourceNetwork::solve(std::span<const ClassId> part) {
  if (part.empty() || graph_.activity_class(part.front()).solved == solve_) return;
  const std::span<const double> rates = fair_share_.solve(graph_, part);
  for (std::size_t i = 0; i < part.size(); ++i) {
    ActivityGraph::ActivityClass& one = graph_.activity_class(part[i]);
    one.solved = solve_;
    one.solved_members = one.clock.members();
    if (rates[i] == one.clock.rate()) continue;
    one.clock.set_rate(simulator_.now(), rates[i]);
    if (!one.changed) refresh_due(part[i]);  // changed classes follow when all parts are solved
  }
  if constexpr (debug_checks) check_rates(part);
}

// Checks that no rate exceeds its cap and no load its capacity.
void ResourceNetwork::check_rates(std::span<const ClassId> part) const {
  constexpr double rounding = 1.0 + 1e-9;
  for (const ClassId id : part) {
    const ActivityGraph::ActivityClass& one = graph_.activity_class(id);
    SIM_CHECK(one.clock.rate() <= one.cap_in_force * rounding && "a rate is within its cap");
    for (const Usage& usage : one.spec.usages) {
      SIM_CHECK(load(usage.resource) <= capacity(usage.resource) * rounding && "a load is within its capacity");
    }
  }
}

void ResourceNetwork::refresh_due(ClassId activity_class) {
  ServiceClock& clock = graph_.activity_class(activity_class).clock;
  while (!clock.marks().empty() && !is_current(clock.marks().front(), activity_class)) clock.drop_first();
  due_[activity_class] = clock.marks().empty() ? Time::max() : clock.when(clock.marks().front().at);
}

void ResourceNetwork::schedule_completion() {
  Time first = Time::max();
  for (const Time due : due_) first = std::min(first, due);
  if (first == Time::max() || first >= next_completion_) return;
  next_completion_ = std::max(first, simulator_.now());
  simulator_.schedule(next_completion_, [this, generation = ++generation_] {
    if (generation == generation_) complete_due();
  });
}

// The event may come too early, if rates fell after it was scheduled; then it only asks for the next.
void ResourceNetwork::complete_due() {
  const Time now = simulator_.now();
  next_completion_ = Time::max();
  for (ClassId id = 0; id < due_.size(); ++id) {
    if (due_[id] <= now) complete_members(id);
  }
  if (done_.empty()) {
    schedule_completion();
    return;
  }
  std::sort(done_.begin(), done_.end());
  for (const ActivityId id : done_) {
    Activity& activity = activities_[slot_of(id)];
    graph_.activity_class(activity.activity_class).clock.finish(now, activity.mark);
    note_change(activity.activity_class);
    activity.id = 0;
    free_slots_.push_back(static_cast<std::uint32_t>(slot_of(id)));
    simulator_.schedule(now, activity.on_done);
  }
  done_.clear();
}

// Takes the marks that are reached by now off the clock; it must not be advanced before, lest rounding make it miss
// one.
void ResourceNetwork::complete_members(ClassId activity_class) {
  about_to_change();
  ServiceClock& clock = graph_.activity_class(activity_class).clock;
  while (!clock.marks().empty()) {
    const ServiceClock::Mark first = clock.marks().front();
    if (is_current(first, activity_class)) {
      if (clock.when(first.at) > simulator_.now()) break;
      done_.push_back(first.activity);
    }
    clock.drop_first();
  }
  refresh_due(activity_class);  // an activity reshaped when it was due has left a mark that is no longer due
}

}  // namespace c3sim::sim
