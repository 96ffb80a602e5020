// A ResourceNetwork shares resources in simulated time. Activities progress at the fair rates of sim/fair_share.h,
// which are solved again only when and where something changes: once for all changes of an instant, after its ordinary
// events.
//
// Latency limits: the rates are the weighted max-min fair allocation in which each latency cap is in_flight divided by
// the latency at the utilisations that this allocation causes. Where several states satisfy this, the network takes the
// one that the search finds from the previous utilisations.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/activity_graph.h"
#include "sim/loaded_fair_share.h"
#include "sim/simulator.h"
#include "sim/units.h"

namespace c3sim::sim {

class ResourceNetwork {
 public:
  using ResourceId = sim::ResourceId;
  using ActivityId = std::uint64_t;  // never reused within a run; grows with every start

  // A Share is one activity's part in the load of a resource.
  struct Share {
    ActivityId activity;
    std::uint32_t tag;
    double load;  // units of the resource per second
  };
  static constexpr int max_regulations = 32;

  // A TenantOf returns the tenant of an activity by its tag, a number below the number of tenants.
  using TenantOf = std::size_t (*)(std::uint32_t tag);
  explicit ResourceNetwork(Simulator& simulator, std::size_t tenants = 1, TenantOf tenant_of = nullptr)
      : simulator_(simulator), tenants_(tenants), tenant_of_(tenant_of) {}
  ResourceNetwork(const ResourceNetwork&) = delete;
  ResourceNetwork& operator=(const ResourceNetwork&) = delete;

  ResourceId add_resource(ResourceSpec spec) { return graph_.add_resource(std::move(spec)); }

  // Apart tells what tenants have of a resource each as if alone with it: bandwidth, latency, load. Such a resource is
  // added as a whole, which meters the sum of all demand, and parts, one for each tenant or shared by several. An
  // activity uses the whole and its tenant's part alike; each of the three is taken from the part if it is apart, else
  // from the whole.
  struct Apart {
    bool bandwidth = false;
    bool latency = false;
    bool load = false;                   // whether load_of tells tenants' loads apart
    std::vector<std::size_t> part = {};  // part numbers by tenant, from 0 on; empty: one part for each tenant
    std::vector<double> share = {};      // fraction of the capacity by part, if bandwidth is apart; empty: all of it
    bool anything() const { return bandwidth || latency || load; }
  };
  ResourceId add_resource(ResourceSpec spec, const Apart& apart);
  // Returns the whole of which the resource is a part; a resource that is no part is its own whole.
  ResourceId whole(ResourceId resource) const;
  // Returns the tenant's part of a whole; for a resource without parts, the resource itself.
  ResourceId part(std::size_t tenant, ResourceId resource) const;
  // Returns the tenant's load of a resource whose load is apart; for any other resource, the load of all.
  double load_of(std::size_t tenant, ResourceId resource) const;
  void set_capacity(ResourceId resource, double units_per_second);
  // Sets the capacity that the resource was added with, and those of its parts where it is apart.
  void set_rate(ResourceId resource, double units_per_second);

  // Starts an activity. `on_done` runs as an event at the first picosecond with the amount done; now, if it is 0.
  ActivityId start(const ActivitySpec& spec, EventAction on_done);
  // co_await network.run(spec) ends when the amount is done.
  auto run(ActivitySpec spec);
  // Continues a live activity under `spec`, for example with other usages or another cap. Its progress is kept, and
  // spec.amount is ignored.
  void reshape(ActivityId activity, const ActivitySpec& spec);
  void set_cap(ActivityId activity, double cap);

  // A regulator is called after every solve with the rates in place and may change capacities and caps; it returns
  // whether it did. Solve and regulators repeat until none does, at most max_regulations times an instant.
  void add_regulator(std::function<bool()> regulator) { regulators_.push_back(std::move(regulator)); }
  // Solves and regulates at the end of this instant without a changed activity, for regulators with a new target.
  void regulate_anew() { about_to_change(); }
  // An observer is called once for every stretch of time over which rates were held, at its end and before anything
  // changes: it finds all activities live and the state below as it was.
  void add_observer(std::function<void(Time since, Time until)> observer) { observers_.push_back(std::move(observer)); }

  // Rates and limits are those of the last solve. An activity that is done has rate 0.
  bool live(ActivityId activity) const { return find(activity) != nullptr; }
  double rate(ActivityId activity) const;
  RateLimit limit(ActivityId activity) const;    // the activity must be live
  std::uint32_t tag(ActivityId activity) const;  // the activity must be live

  const std::string& name(ResourceId resource) const { return graph_.resource(resource).spec.name; }
  std::uint32_t kind(ResourceId resource) const { return graph_.resource(resource).spec.kind; }
  // Returns all resources except parts, in the order in which they were added.
  std::vector<ResourceId> whole_resources() const;
  double capacity(ResourceId resource) const { return graph_.capacities()[resource]; }
  double load(ResourceId resource) const;  // units per second in use now
  // Returns load over capacity; for a resource whose bandwidth is apart, the highest among its parts.
  double utilisation(ResourceId resource) const;
  // at the present load
  Seconds latency(ResourceId resource) const {
    return graph_.resource(resource).spec.latency.at(std::min(1.0, filled(resource)));
  }
  double served(ResourceId resource) const;              // units served so far
  Time busy(ResourceId resource) const;                  // how long some activity has used it so far
  std::vector<Share> shares(ResourceId resource) const;  // oldest activity first

  const LoadedFairShare::Effort& effort() const { return fair_share_.effort(); }
  // Returns the number of instants at which regulators reached max_regulations and still asked for changes.
  std::uint64_t unregulated() const { return unregulated_; }
  Simulator& simulator() { return simulator_; }

 private:
  using ClassId = ActivityGraph::ClassId;
  struct Activity {
    ActivityId id = 0;  // 0: none
    ClassId activity_class = 0;
    std::uint32_t tag = 0;
    std::uint32_t entry = 0;  // grows when it enters or leaves a class
    double mark = 0.0;
    EventAction on_done;
  };
  struct Run;

  // A Division is a resource that is apart, with its parts.
  struct Division {
    ResourceId whole;
    Apart apart;
    std::vector<ResourceId> parts;
    ResourceId part_of(std::size_t tenant) const { return parts[apart.part.empty() ? tenant : apart.part[tenant]]; }
  };
  const Division* division_of(ResourceId whole) const { return divisions_.empty() ? nullptr : find_division(whole); }
  const Division* find_division(ResourceId whole) const;
  double filled(ResourceId resource) const { return load(resource) / capacity(resource); }
  // Returns `spec` with usages of its tenant's parts added and with latencies taken from parts where latency is apart.
  ActivitySpec divided(ActivitySpec spec) const;
  void reshape_as_it_is(ActivityId activity, const ActivitySpec& spec);

  const Activity* find(ActivityId id) const;
  Activity& live_activity(ActivityId id);
  double highest_level(ResourceId resource) const;
  bool is_current(const ServiceClock::Mark& mark, ClassId activity_class) const;
  void enter(Activity& activity, const ActivitySpec& spec, double amount);
  double leave(Activity& activity);
  void note_change(ClassId activity_class) {
    if (!std::exchange(graph_.activity_class(activity_class).changed, true)) changed_classes_.push_back(activity_class);
  }
  void note_change_of_resource(ResourceId resource) {
    if (!std::exchange(graph_.resource(resource).changed, true)) changed_resources_.push_back(resource);
  }

  void about_to_change();
  void settle();
  bool regulate();
  void solve_changed();
  void solve(std::span<const ClassId> part);
  void check_rates(std::span<const ClassId> part) const;
  void refresh_due(ClassId activity_class);
  void schedule_completion();
  void complete_due();
  void complete_members(ClassId activity_class);

  Simulator& simulator_;
  std::size_t tenants_;
  TenantOf tenant_of_;
  ActivityGraph graph_;
  LoadedFairShare fair_share_;
  std::vector<Division> divisions_;
  std::vector<std::function<bool()>> regulators_;
  std::vector<std::function<void(Time, Time)>> observers_;

  std::vector<Activity> activities_;  // indexed by slot, the low bits of an id
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t started_ = 0;

  std::vector<Time> due_;  // by class: the time at which its next member is done at the present rates
  Time held_since_{0};
  bool settling_ = false;    // whether settle() is scheduled for the end of this instant
  std::uint64_t solve_ = 0;  // counts rounds of solving what changed
  std::vector<ClassId> changed_classes_;
  std::vector<ResourceId> changed_resources_;
  // Only the completion event of the present generation counts; one scheduled before for a later time finds another
  // generation and does nothing.
  Time next_completion_ = Time::max();
  std::uint64_t generation_ = 0;
  std::vector<ActivityId> done_;
  ActivitySpec recapped_;  // scratch of set_cap(), which is asked too often to allocate
  std::uint64_t unregulated_ = 0;
};

struct ResourceNetwork::Run {
  ResourceNetwork& network;
  ActivitySpec spec;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    const std::string_view where =
        spec.usages.empty() ? std::string_view{} : network.name(spec.usages.front().resource);
    network.start(spec, network.simulator_.suspend(waiter, {"its share of", where}));
  }
  void await_resume() const {}
};

inline auto ResourceNetwork::run(ActivitySpec spec) { return Run{*this, std::move(spec)}; }

}  // namespace c3sim::sim
