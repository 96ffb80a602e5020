// Which activities meet at which resources. Equal activities form a class; classes and resources form a bipartite
// graph, whose connected parts do not concern each other.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/fair_share.h"
#include "sim/loaded_latency.h"
#include "sim/service_clock.h"
#include "sim/units.h"

namespace c3sim::sim {

using ResourceId = std::uint32_t;

struct ResourceSpec {
  std::string name;
  double capacity = 0.0;  // units per second, > 0, finite
  LoadedLatency latency;
  std::uint32_t kind = 0;  // what it is, as whoever adds it numbers kinds
};

struct ActivitySpec {
  double amount = 0.0;  // units of progress until done, >= 0; none takes no time
  std::vector<Usage> usages;
  double weight = 1.0;
  double cap = std::numeric_limits<double>::infinity();  // units per second, > 0
  // Little's law: if in_flight > 0 the rate is also capped at in_flight units over the latency, which is fixed_latency
  // plus the loaded latency of each resource of latency_path.
  double in_flight = 0.0;
  Time fixed_latency{0};
  std::vector<ResourceId> latency_path;
  std::uint32_t tag = 0;  // who this is, for explanations and traces
};

// What holds an activity back: its cap, its latency limit, or a resource that is full.
struct RateLimit {
  enum class Kind { cap, latency, resource };
  Kind kind = Kind::cap;
  ResourceId resource = 0;  // of Kind::resource
  bool operator==(const RateLimit&) const = default;
};

class ActivityGraph {
 public:
  using ClassId = std::uint32_t;

  // A class touches the resources that it uses and those whose load its latency limit depends on.
  struct Touch {
    ResourceId resource;
    double coefficient;      // 0: for its latency only
    std::uint32_t position;  // in Resource::users
  };
  struct User {
    ClassId activity_class;
    std::uint32_t touch;
  };
  struct Resource {
    ResourceSpec spec;
    std::vector<User> users;
    std::uint32_t using_classes = 0;  // the users with a coefficient
    bool changed = false;             // since the last solve
    double served_before = 0.0;       // by classes that are gone
    Time busy_before{0};
    Time busy_since{0};
    double searched_utilisation = 0.0;  // where the last search for loaded latencies ended
    std::uint64_t walk = 0;             // the last walk that came by
  };
  struct ActivityClass {
    ActivitySpec spec;
    std::vector<Touch> touches;
    ServiceClock clock;
    double fixed_cap = 0.0;            // whatever the load
    double cap_in_force = 0.0;         // fixed_cap or the present latency limit, whichever is less
    bool depends_on_load = false;      // has a latency limit that varies, besides
    bool changed = false;              // since the last solve
    std::uint32_t solved_members = 0;  // at the last solve
    std::uint64_t solved = 0;          // which solve that was
    std::uint32_t part = 0;
    std::uint32_t place_in_part = 0;
    std::uint64_t walk = 0;
  };

  ResourceId add_resource(ResourceSpec spec);
  Resource& resource(ResourceId id) { return resources_[id]; }
  const Resource& resource(ResourceId id) const { return resources_[id]; }
  std::span<const double> capacities() const { return capacities_; }
  void set_capacity(ResourceId id, double capacity) { capacities_[id] = capacity; }

  // The class of activities like `spec`, whatever their amounts and tags; made if there is none.
  ClassId class_of(const ActivitySpec& spec, Time now);
  ActivityClass& activity_class(ClassId id) { return classes_[id]; }
  const ActivityClass& activity_class(ClassId id) const { return classes_[id]; }
  // Forgets a class without members. Its id, and its memory, will serve another.
  void retire(ClassId id, Time now);

  // The classes connected with this one, itself among them; for a resource, with its users. Valid until a class is
  // made. After classes have been retired a part may hold several that are connected no more, but never for long: once
  // as many have gone as are left, it is taken apart.
  std::span<const ClassId> part_of_class(ClassId id);
  std::span<const ClassId> part_of_resource(ResourceId id);

 private:
  struct Part {
    std::vector<ClassId> classes;
    std::size_t departures = 0;  // since it was known to be connected
  };
  bool fits(const ActivityClass& candidate, const ActivitySpec& spec) const;
  ClassId make_class(const ActivitySpec& spec, Time now);
  void touch(ClassId id, ResourceId resource, double coefficient, Time now);
  void join(std::uint32_t one, std::uint32_t other);
  void leave_part(ClassId id);
  void take_apart(std::uint32_t part);
  std::uint32_t new_part();
  void add_to_part(std::uint32_t part, ClassId id);

  std::deque<Resource> resources_;  // names stay where they are
  std::vector<double> capacities_;
  std::vector<ActivityClass> classes_;
  std::vector<ClassId> retired_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> free_parts_;
  std::uint64_t walk_ = 0;
  std::vector<ClassId> to_visit_;
};

}  // namespace c3sim::sim
