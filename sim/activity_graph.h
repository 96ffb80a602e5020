// An ActivityGraph knows which activities meet at which resources. Equal activities form a class. Classes and resources
// form a bipartite graph, whose connected parts do not affect each other.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/fair_share.h"
#include "sim/loaded_latency.h"
#include "sim/units.h"

namespace c3sim::sim {

// A ServiceClock holds the progress of equal activities, which share one rate, as the service that a member present
// from the beginning would have attained. A member is done when the clock reaches the mark set at its entry.
class ServiceClock {
 public:
  // Marks are reached in order of `at`; among equal ones the activity with the lower number goes first.
  struct Mark {
    double at;
    std::uint64_t activity;
    std::uint32_t entry;  // distinguishes the marks of an activity that left and came back
  };

  std::uint32_t members() const { return members_; }
  double rate() const { return rate_; }  // units per second of one member
  double service(Time now) const { return service_ + rate_ * to_seconds(now - since_).value(); }
  // Returns the units that all members, present and past, have progressed. A member that has finished counts exactly
  // its amount, although its end is rounded up to a picosecond.
  double units(Time now) const { return units_ + members_ * (service(now) - service_); }
  void set_rate(Time now, double rate);

  // Adds a member that has `amount` units to go.
  Mark enter(Time now, double amount, std::uint64_t activity, std::uint32_t entry);
  // Removes a member that goes elsewhere and returns its remaining amount. Its mark stays until drop_first().
  double leave(Time now, double mark);
  // Removes a member whose mark is reached.
  void finish(Time now, double mark);

  // Returns the marks not yet dropped as a heap whose first element is reached first.
  const std::vector<Mark>& marks() const { return marks_; }
  void drop_first();
  // Returns when the clock reaches `mark` at the present rate, rounded up to a picosecond (to_time).
  Time when(double mark) const;

  // Resets the clock to its initial state but keeps its memory.
  void reset(Time now);

 private:
  void advance(Time now);

  double service_ = 0.0;  // value at since_
  double units_ = 0.0;    // value at since_
  double rate_ = 0.0;
  Time since_{0};
  std::uint32_t members_ = 0;
  std::vector<Mark> marks_;
};

using ResourceId = std::uint32_t;

struct ResourceSpec {
  std::string name;
  double capacity = 0.0;  // units per second, > 0, finite
  LoadedLatency latency;
  std::uint32_t kind = 0;  // the caller's number for the kind of resource
};

struct ActivitySpec {
  double amount = 0.0;  // units of progress until done, >= 0; an amount of 0 takes no time
  std::vector<Usage> usages{};
  double weight = 1.0;
  double cap = std::numeric_limits<double>::infinity();  // units per second, > 0
  // Little's law: if in_flight > 0, it also caps the rate at in_flight units per latency, the sum of fixed_latency and
  // the loaded latencies of the resources in latency_path.
  double in_flight = 0.0;
  Time fixed_latency{0};
  std::vector<ResourceId> latency_path{};
  std::uint32_t tag = 0;  // identifies the activity's owner in explanations and traces
};

// A RateLimit is what holds an activity back: its cap, its latency limit or a full resource.
struct RateLimit {
  enum class Kind { cap, latency, resource };
  Kind kind = Kind::cap;
  ResourceId resource = 0;  // the full resource, for Kind::resource
  bool operator==(const RateLimit&) const = default;
};

class ActivityGraph {
 public:
  using ClassId = std::uint32_t;

  // A class touches the resources that it uses and those whose load its latency limit depends on.
  struct Touch {
    ResourceId resource;
    double coefficient;      // 0: the class depends only on its latency
    std::uint32_t position;  // index in Resource::users
  };
  struct User {
    ClassId activity_class;
    std::uint32_t touch;
  };
  struct Resource {
    ResourceSpec spec;
    std::vector<User> users;
    std::uint32_t using_classes = 0;  // the number of users with a coefficient above 0
    bool changed = false;             // since the last solve
    double served_before = 0.0;       // units served to retired classes
    Time busy_before{0};
    Time busy_since{0};
    double searched_utilisation = 0.0;  // at which the last search for loaded latencies ended
    std::uint64_t walk = 0;             // the last graph walk that visited it
  };
  struct ActivityClass {
    ActivitySpec spec;
    std::vector<Touch> touches;
    ServiceClock clock;
    double fixed_cap = 0.0;            // the cap that holds at any load
    double cap_in_force = 0.0;         // the lesser of fixed_cap and the present latency limit
    bool depends_on_load = false;      // whether a latency limit that varies also caps it
    bool changed = false;              // whether members changed since the last solve
    std::uint32_t solved_members = 0;  // the number of members at the last solve
    std::uint64_t solved = 0;          // the number of the last solve
    std::uint32_t part = 0;
    std::uint32_t place_in_part = 0;
    std::uint64_t walk = 0;
  };

  ResourceId add_resource(ResourceSpec spec);
  Resource& resource(ResourceId id) { return resources_[id]; }
  const Resource& resource(ResourceId id) const { return resources_[id]; }
  std::span<const double> capacities() const { return capacities_; }
  void set_capacity(ResourceId id, double capacity) { capacities_[id] = capacity; }

  // Returns the class of activities like `spec`, whatever their amounts and tags, and makes it if there is none.
  ClassId class_of(const ActivitySpec& spec, Time now);
  ActivityClass& activity_class(ClassId id) { return classes_[id]; }
  const ActivityClass& activity_class(ClassId id) const { return classes_[id]; }
  // Removes a class without members. Its id and memory will be reused for another class.
  void retire(ClassId id, Time now);

  // Return the classes connected with a class, itself included, or with the users of a resource. The result is valid
  // until a class is made. A part may hold classes that are no longer connected, because others were retired. Once more
  // classes have departed than are left, it is split up.
  std::span<const ClassId> part_of_class(ClassId id);
  std::span<const ClassId> part_of_resource(ResourceId id);

 private:
  struct Part {
    std::vector<ClassId> classes;
    std::size_t departures = 0;  // number of retired classes since the part was known to be connected
  };
  bool fits(const ActivityClass& candidate, const ActivitySpec& spec) const;
  ClassId make_class(const ActivitySpec& spec, Time now);
  void touch(ClassId id, ResourceId resource, double coefficient, Time now);
  void join(std::uint32_t one, std::uint32_t other);
  void leave_part(ClassId id);
  void take_apart(std::uint32_t part);
  std::uint32_t new_part();
  void add_to_part(std::uint32_t part, ClassId id);

  std::deque<Resource> resources_;  // a deque, so that names keep their addresses
  std::vector<double> capacities_;
  std::vector<ActivityClass> classes_;
  std::vector<ClassId> retired_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> free_parts_;
  std::uint64_t walk_ = 0;
  std::vector<ClassId> to_visit_;
};

}  // namespace c3sim::sim
