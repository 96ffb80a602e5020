#include "sim/activity_graph.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/check.h"

namespace c3sim::sim {
namespace {
bool later(const ServiceClock::Mark& a, const ServiceClock::Mark& b) {
  return a.at > b.at || (a.at == b.at && a.activity > b.activity);
}
}  // namespace

void ServiceClock::advance(Time now) {
  if (now == since_) return;
  const double attained = service(now);
  units_ += members_ * (attained - service_);
  service_ = attained;
  since_ = now;
}

void ServiceClock::set_rate(Time now, double rate) {
  advance(now);
  rate_ = rate;
}

ServiceClock::Mark ServiceClock::enter(Time now, double amount, std::uint64_t activity, std::uint32_t entry) {
  advance(now);
  ++members_;
  marks_.push_back({service_ + amount, activity, entry});
  const Mark mark = marks_.back();
  std::push_heap(marks_.begin(), marks_.end(), later);
  return mark;
}

double ServiceClock::leave(Time now, double mark) {
  advance(now);
  --members_;
  return std::max(0.0, mark - service_);
}

void ServiceClock::finish(Time now, double mark) {
  advance(now);
  --members_;
  units_ += mark - service_;
}

void ServiceClock::drop_first() {
  std::pop_heap(marks_.begin(), marks_.end(), later);
  marks_.pop_back();
}

Time ServiceClock::when(double mark) const {
  const double to_go = mark - service_;
  // A remainder within the rounding error of the clock counts as zero, as it must not cost an extra picosecond.
  if (to_go <= 4 * std::numeric_limits<double>::epsilon() * service_) return since_;
  const Time wait = to_time(Seconds(to_go / rate_));
  return wait < Time::max() - since_ ? since_ + wait : Time::max();
}

void ServiceClock::reset(Time now) {
  service_ = units_ = rate_ = 0.0;
  since_ = now;
  members_ = 0;
  marks_.clear();
}

namespace {
constexpr std::size_t most_usual = 8;  // classes at a resource that is in use
}

ResourceId ActivityGraph::add_resource(ResourceSpec spec) {
  SIM_CHECK(spec.capacity > 0.0 && std::isfinite(spec.capacity));
  capacities_.push_back(spec.capacity);
  resources_.push_back({});
  resources_.back().spec = std::move(spec);
  return static_cast<ResourceId>(resources_.size() - 1);
}

// All classes like `spec` are users of each of its resources, so the shortest list of users is the one to search.
ActivityGraph::ClassId ActivityGraph::class_of(const ActivitySpec& spec, Time now) {
  const std::vector<User>* fewest = nullptr;
  for (const Usage& usage : spec.usages) {
    SIM_CHECK(usage.resource < resources_.size());
    const std::vector<User>& users = resources_[usage.resource].users;
    if (fewest == nullptr || users.size() < fewest->size()) fewest = &users;
  }
  if (fewest != nullptr) {
    for (const User& user : *fewest) {
      if (fits(classes_[user.activity_class], spec)) return user.activity_class;
    }
  }
  return make_class(spec, now);
}

bool ActivityGraph::fits(const ActivityClass& candidate, const ActivitySpec& spec) const {
  const ActivitySpec& like = candidate.spec;
  // Caps and weights first, as what tells classes apart soonest.
  return like.cap == spec.cap && like.weight == spec.weight && like.in_flight == spec.in_flight &&
         like.fixed_latency == spec.fixed_latency && like.usages == spec.usages &&
         like.latency_path == spec.latency_path;
}

ActivityGraph::ClassId ActivityGraph::make_class(const ActivitySpec& spec, Time now) {
  SIM_CHECK(spec.weight > 0.0 && std::isfinite(spec.weight));
  SIM_CHECK(spec.cap > 0.0 && "an activity that cannot progress never ends");
  SIM_CHECK(spec.in_flight >= 0.0);
  if (retired_.empty()) {
    retired_.push_back(static_cast<ClassId>(classes_.size()));
    classes_.emplace_back();
  }
  const ClassId id = retired_.back();
  retired_.pop_back();

  ActivityClass& made = classes_[id];
  made.spec = spec;
  made.clock.reset(now);
  made.changed = made.depends_on_load = false;
  made.solved_members = 0;
  made.touches.reserve(spec.usages.size() + spec.latency_path.size());
  add_to_part(new_part(), id);
  for (const Usage& usage : spec.usages) {
    SIM_CHECK(usage.coefficient > 0.0 && std::isfinite(usage.coefficient));
    touch(id, usage.resource, usage.coefficient, now);
  }
  made.fixed_cap = spec.cap;
  if (spec.in_flight > 0.0) {
    Seconds unloaded = to_seconds(spec.fixed_latency);
    for (const ResourceId on_path : spec.latency_path) {
      SIM_CHECK(on_path < resources_.size());
      const LoadedLatency& latency = resources_[on_path].spec.latency;
      unloaded += latency.at(0.0);
      if (!latency.depends_on_load()) continue;
      made.depends_on_load = true;
      const auto is_it = [on_path](const Touch& one) { return one.resource == on_path; };
      if (std::none_of(made.touches.begin(), made.touches.end(), is_it)) touch(id, on_path, 0.0, now);
    }
    if (!made.depends_on_load) {
      made.fixed_cap = std::min(spec.cap, spec.in_flight / unloaded.value());
    }
  }
  made.cap_in_force = made.fixed_cap;
  SIM_CHECK((!made.touches.empty() || std::isfinite(made.fixed_cap)) && "something must bound the rate");
  return id;
}

void ActivityGraph::touch(ClassId id, ResourceId resource, double coefficient, Time now) {
  Resource& touched = resources_[resource];
  ActivityClass& toucher = classes_[id];
  if (!touched.users.empty()) join(toucher.part, classes_[touched.users.front().activity_class].part);
  if (coefficient > 0.0 && touched.using_classes++ == 0) touched.busy_since = now;
  if (touched.users.capacity() == 0) touched.users.reserve(most_usual);
  touched.users.push_back({id, static_cast<std::uint32_t>(toucher.touches.size())});
  toucher.touches.push_back({resource, coefficient, static_cast<std::uint32_t>(touched.users.size() - 1)});
}

void ActivityGraph::retire(ClassId id, Time now) {
  ActivityClass& leaving = classes_[id];
  SIM_CHECK(leaving.clock.members() == 0);
  const double units = leaving.clock.units(now);
  for (const Touch& touch : leaving.touches) {
    Resource& touched = resources_[touch.resource];
    const User moved = touched.users[touch.position] = touched.users.back();
    touched.users.pop_back();
    classes_[moved.activity_class].touches[moved.touch].position = touch.position;
    touched.served_before += touch.coefficient * units;
    if (touch.coefficient > 0.0 && --touched.using_classes == 0) touched.busy_before += now - touched.busy_since;
  }
  leaving.touches.clear();
  leave_part(id);
  retired_.push_back(id);
}

std::span<const ActivityGraph::ClassId> ActivityGraph::part_of_class(ClassId id) {
  const Part& part = parts_[classes_[id].part];
  if (part.departures > part.classes.size()) take_apart(classes_[id].part);
  return parts_[classes_[id].part].classes;
}

std::span<const ActivityGraph::ClassId> ActivityGraph::part_of_resource(ResourceId id) {
  const std::vector<User>& users = resources_[id].users;
  if (users.empty()) return {};
  return part_of_class(users.front().activity_class);
}

std::uint32_t ActivityGraph::new_part() {
  if (free_parts_.empty()) {
    free_parts_.push_back(static_cast<std::uint32_t>(parts_.size()));
    parts_.emplace_back();
  }
  const std::uint32_t part = free_parts_.back();
  free_parts_.pop_back();
  parts_[part].classes.clear();
  parts_[part].departures = 0;
  return part;
}

void ActivityGraph::add_to_part(std::uint32_t part, ClassId id) {
  classes_[id].part = part;
  classes_[id].place_in_part = static_cast<std::uint32_t>(parts_[part].classes.size());
  parts_[part].classes.push_back(id);
}

void ActivityGraph::join(std::uint32_t one, std::uint32_t other) {
  if (one == other) return;
  if (parts_[one].classes.size() < parts_[other].classes.size()) std::swap(one, other);
  for (const ClassId id : parts_[other].classes) add_to_part(one, id);
  parts_[one].departures += parts_[other].departures;
  free_parts_.push_back(other);
}

void ActivityGraph::leave_part(ClassId id) {
  Part& part = parts_[classes_[id].part];
  const std::uint32_t place = classes_[id].place_in_part;
  part.classes[place] = part.classes.back();
  classes_[part.classes[place]].place_in_part = place;
  part.classes.pop_back();
  ++part.departures;
  if (part.classes.empty()) free_parts_.push_back(classes_[id].part);
}

void ActivityGraph::take_apart(std::uint32_t part) {
  ++walk_;
  to_visit_.assign(parts_[part].classes.begin(), parts_[part].classes.end());
  free_parts_.push_back(part);
  for (const ClassId start : to_visit_) {
    if (classes_[start].walk == walk_) continue;
    const std::uint32_t connected = new_part();
    const auto visit = [this, connected](ClassId id) {
      if (std::exchange(classes_[id].walk, walk_) != walk_) add_to_part(connected, id);
    };
    visit(start);
    for (std::size_t next = 0; next < parts_[connected].classes.size(); ++next) {
      for (const Touch& touch : classes_[parts_[connected].classes[next]].touches) {
        Resource& reached = resources_[touch.resource];
        if (std::exchange(reached.walk, walk_) == walk_) continue;
        for (const User& user : reached.users) visit(user.activity_class);
      }
    }
  }
}

}  // namespace c3sim::sim
