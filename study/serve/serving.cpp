#include "study/serve/serving.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "sim/check.h"
#include "sim/interruption.h"

namespace c3sim::study {

namespace {

class Serving {
 public:
  Serving(RequestSource& source, const std::vector<ServingGroup>& groups,
          const std::function<void(const Batch&, std::size_t)>& sees_batch, std::int64_t concurrency,
          const ServiceLimits& limits)
      : source_(source),
        limits_(limits),
        is_closed_(concurrency > 0),
        places_(static_cast<std::size_t>(concurrency), sim::Time(0)) {
    const std::size_t last = groups.size() - 1;
    for (std::size_t place = 0; place <= last; ++place) {
      ServerEvents events;
      events.first_token = [this, is_last = place == last](const Sequence& sequence, sim::Time at) {
        return on_first_token(sequence, at, is_last);
      };
      events.finished = [this](const Sequence& sequence, sim::Time at) { on_finished(sequence, at); };
      events.fetched = [this](const Sequence& sequence, sim::Time at) { servers_.front()->release(sequence, at); };
      if (sees_batch) events.batch = [&sees_batch, place](const Batch& batch) { sees_batch(batch, place); };
      const Server::Incoming incoming = [this, is_first = place == 0] { return is_first ? arriving() : handed_over(); };
      servers_.push_back(std::make_unique<Server>(groups[place].spec, groups[place].costs, groups[place].fetch_time,
                                                  groups[place].beside, incoming, std::move(events)));
    }
  }

  Served run() {
    constexpr std::uint64_t steps_between_asking = 1024;
    std::uint64_t steps = 0;
    while (Server* const server = earliest()) {
      server->step();
      if (++steps % steps_between_asking == 0) sim::ask_interruption();
    }
    SIM_CHECK(arrived_ == served_.requests);
    for (const std::unique_ptr<Server>& server : servers_) {
      SIM_CHECK(server->is_empty());
      served_.groups.push_back(server->counts());
    }
    return std::move(served_);
  }

 private:
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

  std::optional<Sequence> arriving() {
    if (is_closed_ && places_.empty()) return {};
    std::optional<ServeRequest> request = source_.next();
    if (!request) return {};
    if (is_closed_) {
      request->arrival = places_.front();
      places_.pop_front();
    }
    if (arrived_++ == 0) served_.begin = request->arrival;
    return Sequence{.request = *request, .ready = request->arrival};
  }

  std::optional<Sequence> handed_over() {
    if (handed_.empty()) return {};
    Sequence sequence = handed_.front();
    handed_.pop_front();
    return sequence;
  }

  bool on_first_token(const Sequence& sequence, sim::Time at, bool stays) {
    served_.first_token.add(at - sequence.request.arrival);
    if (stays || sequence.request.output == 1) return false;
    handed_.push_back({.request = sequence.request,
                       .ready = at,
                       .first_token = at,
                       .made = sequence.made,
                       .held_blocks = sequence.blocks,
                       .holds_prefix = sequence.shared > 0});
    return true;
  }

  void on_finished(const Sequence& sequence, sim::Time at) {
    const ServeRequest& request = sequence.request;
    ++served_.requests;
    served_.prompt_tokens += request.prompt;
    served_.output_tokens += request.output;
    served_.whole.add(at - request.arrival);
    const sim::Time per_token = request.output > 1 ? (at - sequence.first_token) / (request.output - 1) : sim::Time(0);
    if (request.output > 1) served_.per_token.add(per_token);
    const bool keeps = sequence.first_token - request.arrival <= limits_.first_token.value_or(sim::Time::max()) &&
                       per_token <= limits_.per_token.value_or(sim::Time::max()) &&
                       at - request.arrival <= limits_.whole.value_or(sim::Time::max());
    served_.kept += keeps ? 1 : 0;
    served_.end = std::max(served_.end, at);
    if (is_closed_) places_.push_back(at);
  }

  RequestSource& source_;
  ServiceLimits limits_;
  bool is_closed_;                // a request arrives when another ends
  std::deque<sim::Time> places_;  // when the next ones may then
  std::vector<std::unique_ptr<Server>> servers_;
  std::deque<Sequence> handed_;  // from the first group to the second
  std::int64_t arrived_ = 0;
  Served served_;
};

}  // namespace

double Served::per_second(std::int64_t count) const {
  return static_cast<double>(count) / std::max(sim::to_seconds(duration()).value(), 1e-12);
}

Served serve(RequestSource& source, const std::vector<ServingGroup>& groups,
             const std::function<void(const Batch& batch, std::size_t group)>& sees_batch, std::int64_t concurrency,
             const ServiceLimits& limits) {
  return Serving(source, groups, sees_batch, concurrency, limits).run();
}

}  // namespace c3sim::study
