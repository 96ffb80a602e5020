#include "study/serve/serving.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "sim/check.h"
#include "sim/interruption.h"

namespace c3sim::study {

namespace {

// Which replica each request goes to. What one has to do is the requests that it was given and that have not ended when
// the next arrives.
class Routes {
 public:
  Routes(Router router, std::size_t replicas)
      : router_(router), given_(replicas), under_way_(replicas), ends_(replicas) {}

  std::size_t choose(const ServeRequest& request) {
    for (std::size_t place = 0; place < ends_.size(); ++place) {
      for (std::deque<sim::Time>& ends = ends_[place]; !ends.empty() && ends.front() <= request.arrival;) {
        ends.pop_front();
        --under_way_[place];
      }
    }
    const std::size_t place = place_of(request);
    ++under_way_[place];
    ++given_[place];
    return place;
  }
  // A server tells the ends of a batch when it begins it: they count from then on.
  void ended(std::size_t replica, sim::Time at) { ends_[replica].push_back(at); }
  const std::vector<std::int64_t>& given() const { return given_; }

 private:
  std::size_t place_of(const ServeRequest& request) {
    if (given_.size() == 1) return 0;
    if (router_ == Router::round_robin) return next_++ % given_.size();
    const auto least_loaded = std::ranges::min_element(under_way_) - under_way_.begin();
    if (router_ == Router::least_loaded || request.prefix < 0) return static_cast<std::size_t>(least_loaded);
    // Where others that begin so have gone, as their keys and values may lie there.
    return homes_.try_emplace(request.prefix, static_cast<std::size_t>(least_loaded)).first->second;
  }

  Router router_;
  std::vector<std::int64_t> given_;
  std::vector<std::int64_t> under_way_;
  std::vector<std::deque<sim::Time>> ends_;
  std::unordered_map<std::int64_t, std::size_t> homes_;
  std::size_t next_ = 0;
};

class Serving {
 public:
  Serving(RequestSource& source, const std::vector<ServingGroup>& groups, const ServingRules& rules)
      : source_(source),
        rules_(rules),
        of_replica_(groups.size()),
        routes_(rules.router, static_cast<std::size_t>(rules.replicas)),
        routed_(static_cast<std::size_t>(rules.replicas)),
        handed_(routed_.size()) {
    for (std::int64_t place = 0; place < rules.concurrency; ++place) places_.push(sim::Time(0));
    for (std::size_t replica = 0; replica < routed_.size(); ++replica) {
      for (std::size_t place = 0; place < groups.size(); ++place) add_server(groups[place], replica, place);
    }
  }

  Served run() {
    constexpr std::uint64_t steps_between_asking = 1024;
    std::uint64_t steps = 0;
    for (;;) {
      Server* server = earliest();
      while (route_before(server)) server = earliest();
      if (server == nullptr) break;
      server->step();
      if (++steps % steps_between_asking == 0) sim::ask_interruption();
    }
    SIM_CHECK(arrived_ == served_.requests);
    for (const std::unique_ptr<Server>& server : servers_) {
      SIM_CHECK(server->is_empty());
      served_.groups.push_back(server->counts());
    }
    served_.of_replicas = routes_.given();
    return std::move(served_);
  }

 private:
  void add_server(const ServingGroup& group, std::size_t replica, std::size_t place) {
    const bool is_last = place + 1 == of_replica_;
    ServerEvents events;
    events.first_token = [this, is_last, replica](const Sequence& sequence, sim::Time at) {
      return on_first_token(sequence, at, is_last, replica);
    };
    events.finished = [this, replica](const Sequence& sequence, sim::Time at) { on_finished(sequence, at, replica); };
    events.fetched = [this, first = servers_.size() - place](const Sequence& sequence, sim::Time at) {
      servers_[first]->release(sequence, at);
    };
    if (rules_.sees_batch) events.batch = [this, place](const Batch& batch) { rules_.sees_batch(batch, place); };
    if (is_last) {
      const double share = 1.0 / (static_cast<double>(group.spec.blocks) * static_cast<double>(rules_.replicas));
      events.passed = [this, share, replica](sim::Time from, sim::Time to, const ServerLoad& load) {
        const auto outside = routed_[replica].size() + handed_[replica].size();
        served_.load.add(from, to,
                         {static_cast<double>(load.waiting) + static_cast<double>(outside),
                          static_cast<double>(load.running), static_cast<double>(load.blocks) * share});
      };
    }
    const Server::Incoming incoming = [queue = place == 0 ? &routed_[replica] : &handed_[replica]] {
      return taken_from(*queue);
    };
    ServerSpec spec = group.spec;
    spec.seed += replica;
    servers_.push_back(
        std::make_unique<Server>(spec, group.costs, group.fetch_time, group.beside, incoming, std::move(events)));
  }

  static std::optional<Sequence> taken_from(std::deque<Sequence>& queue) {
    if (queue.empty()) return {};
    Sequence sequence = queue.front();
    queue.pop_front();
    return sequence;
  }

  Server* earliest() const {
    Server* first = nullptr;
    sim::Time at{0};
    for (const std::unique_ptr<Server>& server : servers_) {
      const std::optional<sim::Time> next = server->next();
      if (!next || (first != nullptr && at <= *next)) continue;
      first = server.get();
      at = *next;
    }
    return first;
  }

  // Whether a request arrived before that server goes on, and has a replica now.
  bool route_before(Server* server) {
    if (!arriving_) arriving_ = source_.next();
    if (!arriving_) return false;
    const bool is_closed = rules_.concurrency > 0;
    if (is_closed && places_.empty()) return false;
    if (is_closed) arriving_->arrival = places_.top();
    if (server != nullptr && *server->next() < arriving_->arrival) return false;
    if (is_closed) places_.pop();
    if (arrived_++ == 0) served_.begin = arriving_->arrival;
    const std::size_t replica = routes_.choose(*arriving_);
    count_waiting(arriving_->arrival, servers_[replica * of_replica_]->now());
    routed_[replica].push_back({.request = *arriving_, .ready = arriving_->arrival + rules_.frontend});
    arriving_.reset();
    return true;
  }

  // A server tells its load from where it stands on: what came before that has waited since, what comes behind it not
  // yet.
  void count_waiting(sim::Time arrival, sim::Time now) {
    served_.load.add(std::min(arrival, now), std::max(arrival, now), {.waiting = arrival < now ? 1.0 : -1.0});
  }

  bool on_first_token(const Sequence& sequence, sim::Time at, bool stays, std::size_t replica) {
    served_.first_token.add(at - sequence.request.arrival);
    if (stays || sequence.request.output == 1) return false;
    handed_[replica].push_back({.request = sequence.request,
                                .ready = at,
                                .first_token = at,
                                .made = sequence.made,
                                .held_blocks = sequence.blocks,
                                .holds_prefix = sequence.shared > 0});
    return true;
  }

  void on_finished(const Sequence& sequence, sim::Time at, std::size_t replica) {
    const ServeRequest& request = sequence.request;
    const ServiceLimits& limits = rules_.limits;
    const sim::Time first = sequence.first_token - request.arrival;
    const sim::Time whole = at - request.arrival;
    const sim::Time per_token = request.output > 1 ? (whole - first) / (request.output - 1) : sim::Time(0);
    ++served_.requests;
    served_.prompt_tokens += request.prompt;
    served_.output_tokens += request.output;
    served_.whole.add(whole);
    if (request.output > 1) served_.per_token.add(per_token);
    const bool keeps = first <= limits.first_token.value_or(sim::Time::max()) &&
                       per_token <= limits.per_token.value_or(sim::Time::max()) &&
                       whole <= limits.whole.value_or(sim::Time::max());
    served_.kept += keeps ? 1 : 0;
    served_.end = std::max(served_.end, at);
    routes_.ended(replica, at);
    if (rules_.concurrency > 0) places_.push(at);
  }

  RequestSource& source_;
  const ServingRules& rules_;
  std::size_t of_replica_;  // groups of each
  Routes routes_;
  std::vector<std::deque<Sequence>> routed_;  // to each replica, and not asked for yet
  std::vector<std::deque<Sequence>> handed_;  // within it, from the first group to the second
  std::optional<ServeRequest> arriving_;      // the next one, which has no replica yet
  std::priority_queue<sim::Time, std::vector<sim::Time>, std::greater<>> places_;  // when the next ones may arrive
  std::vector<std::unique_ptr<Server>> servers_;
  std::int64_t arrived_ = 0;
  Served served_;
};

}  // namespace

double Served::per_second(std::int64_t count) const {
  return static_cast<double>(count) / std::max(sim::to_seconds(duration()).value(), 1e-12);
}

Served serve(RequestSource& source, const std::vector<ServingGroup>& groups, const ServingRules& rules) {
  return Serving(source, groups, rules).run();
}

}  // namespace c3sim::study
