#include "study/serve/serving.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "sim/check.h"
#include "sim/interruption.h"

namespace c3sim::study {

namespace {

// Returns the logarithmic width of a place, whose ends differ from its middle by the largest error.
double step() { return std::log1p(Latencies::largest_error) * 2.0; }

constexpr int no_time = std::numeric_limits<int>::min();

void add_times(ServerLoad& sum, double factor, const ServerLoad& load) {
  sum.waiting += factor * load.waiting;
  sum.running += factor * load.running;
  sum.cache += factor * load.cache;
}

// Routes assigns requests to replicas. The load of a replica is the number of its requests that have not ended when the
// next request arrives.
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
  // Records the end of a request, which a server reports at the start of the batch. It counts from time `at` on.
  void ended(std::size_t replica, sim::Time at) { ends_[replica].push_back(at); }
  const std::vector<std::int64_t>& given() const { return given_; }

 private:
  std::size_t place_of(const ServeRequest& request) {
    if (given_.size() == 1) return 0;
    if (router_ == Router::round_robin) return next_++ % given_.size();
    const auto least_loaded = std::ranges::min_element(under_way_) - under_way_.begin();
    if (router_ == Router::least_loaded || request.prefix < 0) return static_cast<std::size_t>(least_loaded);
    // The replica of earlier requests with this beginning may have its keys and values.
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
  Serving(RequestSource& source, const std::vector<ServingGroup>& groups, const ServeQuestion& question,
          const SeesBatch& sees_batch)
      : source_(source),
        question_(question),
        sees_batch_(sees_batch),
        of_replica_(groups.size()),
        routes_(question.router, static_cast<std::size_t>(question.replicas)),
        routed_(static_cast<std::size_t>(question.replicas)),
        handed_(routed_.size()) {
    for (std::int64_t place = 0; place < question.concurrency; ++place) places_.push(sim::Time(0));
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
    if (sees_batch_) events.batch = [this, place](const Batch& batch) { sees_batch_(batch, place); };
    const double all_blocks = static_cast<double>(group.spec.blocks) * static_cast<double>(question_.replicas);
    events.load = [this, share = is_last ? 1.0 / all_blocks : 0.0](sim::Time from, sim::Time to,
                                                                   const ServerLoad& load) {
      served_.load.add(from, to, {load.waiting, load.running, load.cache * share});
    };
    const Server::Incoming incoming = [queue = place == 0 ? &routed_[replica] : &handed_[replica]] {
      return taken_from(*queue);
    };
    ServingGroup own = group;
    own.spec.seed += replica;
    servers_.push_back(std::make_unique<Server>(std::move(own), incoming, std::move(events)));
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

  // Routes the next request if it arrives before that server goes on; returns whether it did.
  bool route_before(Server* server) {
    if (!arriving_) arriving_ = source_.next();
    if (!arriving_) return false;
    const bool is_closed = question_.concurrency > 0;
    if (is_closed && places_.empty()) return false;
    if (is_closed) arriving_->arrival = places_.top();
    if (server != nullptr && *server->next() < arriving_->arrival) return false;
    if (is_closed) places_.pop();
    if (arrived_++ == 0) served_.begin = arriving_->arrival;
    const std::size_t replica = routes_.choose(*arriving_);
    routed_[replica].push_back({.request = *arriving_, .ready = arriving_->arrival + question_.frontend});
    arriving_.reset();
    return true;
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
    const ServiceLimits& limits = question_.limits;
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
    served_.within_limits += keeps ? 1 : 0;
    served_.end = std::max(served_.end, at);
    routes_.ended(replica, at);
    if (question_.concurrency > 0) places_.push(at);
  }

  RequestSource& source_;
  const ServeQuestion& question_;
  const SeesBatch& sees_batch_;
  std::size_t of_replica_;  // groups of each replica
  Routes routes_;
  std::vector<std::deque<Sequence>> routed_;  // by replica: requests that no server has received yet
  std::vector<std::deque<Sequence>> handed_;  // by replica: sequences between the first and the second group
  std::optional<ServeRequest> arriving_;      // the next request, which has no replica yet
  std::priority_queue<sim::Time, std::vector<sim::Time>, std::greater<>> places_;  // when the next requests may arrive
  std::vector<std::unique_ptr<Server>> servers_;
  std::int64_t arrived_ = 0;
  Served served_;
};

}  // namespace

void Latencies::add(sim::Time time) {
  const double seconds = sim::to_seconds(time).value();
  ++counts_[time <= sim::Time(0) ? no_time : static_cast<int>(std::floor(std::log(seconds) / step()))];
  ++count_;
  sum_ += seconds;
}

sim::Time Latencies::mean() const {
  return count_ == 0 ? sim::Time(0) : sim::to_time(sim::Seconds(sum_ / static_cast<double>(count_)));
}

sim::Time Latencies::quantile(double share) const {
  const auto due = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count_)));
  std::int64_t seen = 0;
  for (const auto& [place, times] : counts_) {
    seen += times;
    if (seen < due) continue;
    if (place == no_time) return sim::Time(0);
    return sim::to_time(sim::Seconds(std::exp((static_cast<double>(place) + 0.5) * step())));
  }
  return sim::Time(0);
}

void LoadOverTime::add(sim::Time from, sim::Time to, const ServerLoad& load) {
  while (to > static_cast<std::int64_t>(most) * interval_) {
    interval_ *= 2;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (i % 2 == 1) add_times(sums_[i / 2], 1.0, sums_[i]);
      if (i % 2 == 0 && i > 0) sums_[i / 2] = sums_[i];
    }
    sums_.resize((sums_.size() + 1) / 2);
  }
  while (from < to) {
    const auto place = static_cast<std::size_t>(from / interval_);
    const sim::Time end = std::min(to, (static_cast<std::int64_t>(place) + 1) * interval_);
    if (sums_.size() <= place) sums_.resize(place + 1);
    add_times(sums_[place], sim::to_seconds(end - from).value(), load);
    from = end;
  }
}

std::vector<ServerLoad> LoadOverTime::samples() const {
  std::vector<ServerLoad> means;
  for (const ServerLoad& sum : sums_) {
    add_times(means.emplace_back(), 1.0 / sim::to_seconds(interval_).value(), sum);
  }
  return means;
}

double Served::per_second(std::int64_t count) const {
  return static_cast<double>(count) / std::max(sim::to_seconds(duration()).value(), 1e-12);
}

Served serve(RequestSource& source, const std::vector<ServingGroup>& groups, const ServeQuestion& question,
             const SeesBatch& sees_batch) {
  return Serving(source, groups, question, sees_batch).run();
}

}  // namespace c3sim::study
