#include "calibrate/replay/dependencies.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include "study/report/statistics.h"

namespace c3sim::calibrate {

namespace {

using std::chrono::microseconds;

// Behind the work before it in its stream or its launch, work begins within microseconds: beyond so many there is
// another reason. Behind an event of another stream, ROCm takes up to 19 (mi300x_8gpu_resnet_ddp_rank0).
constexpr sim::Time prompt = microseconds(10);
constexpr sim::Time event_reach = microseconds(25);
// A kernel may be let onto the GPU while the last workgroups of the one before it run (programmatic launch).
constexpr sim::Time longest_let_in = microseconds(20);

enum class Reason { stream, launch, event, room, host, count };

// A lower bound of when a node could begin in the trace.
struct Bound {
  Reason reason = Reason::stream;
  std::size_t node = 0;
  sim::Time at{0};        // when the bound held
  sim::Time distance{0};  // from the end of `node` to `at`
};

class Builder {
 public:
  explicit Builder(const Profile& profile) : profile_(profile), begin_(profile.begin()) {}
  Dependencies build() &&;

 private:
  // Work and waits of the host, by when they begin or return.
  struct Item {
    sim::Time at{0};
    std::optional<std::size_t> work{}, call{};
  };
  std::vector<Item> items() const;
  void add_work(std::size_t place);
  void add_return(std::size_t call);
  void add(Node node, std::vector<Bound> bounds);
  // The last return of the host at or before a moment, and what it may do from then on.
  Bound host_at(Reason reason, sim::Time moment) const;
  std::optional<Bound> seen_room(const Node& node, std::size_t stream, sim::Time behind) const;
  std::optional<Bound> seen_wait(const Node& node, std::size_t stream, sim::Time behind);
  void add_event_waits(const ProfiledWork& work, std::vector<Bound>& bounds);
  void settle_lags();

  struct Lane {  // work of a stream that follows each other
    std::size_t node = 0;
    sim::Time end{0};
  };
  struct Launched {
    sim::Time launch{0};
    std::size_t node = 0;
  };

  const Profile& profile_;
  const sim::Time begin_;
  Dependencies result_;
  std::vector<std::vector<Bound>> bounds_;                       // by node
  std::map<std::size_t, std::vector<Lane>> lanes_;               // by stream
  std::map<std::size_t, std::vector<Launched>> queue_;           // by stream: what was launched on it
  std::map<std::size_t, std::size_t> next_wait_;                 // by stream: place in waits of it
  std::map<std::size_t, std::vector<const StreamWait*>> waits_;  // by stream
  std::multimap<sim::Time, std::size_t> ends_;                   // nodes of work that ended lately
  std::vector<std::pair<sim::Time, std::size_t>> returns_;       // nodes of the host, by time
};

std::vector<Builder::Item> Builder::items() const {
  std::vector<Item> items;
  std::vector<sim::Time> last_end(profile_.calls.size(), sim::Time::min());
  for (std::size_t place = 0; place < profile_.work.size(); ++place) {
    const ProfiledWork& work = profile_.work[place];
    items.push_back({.at = work.begin, .work = place});
    if (work.launch) last_end[*work.launch] = std::max(last_end[*work.launch], work.end);
  }
  for (std::size_t call = 0; call < profile_.calls.size(); ++call) {
    const HostCall& one = profile_.calls[call];
    const bool waits_for_own = last_end[call] > sim::Time::min() && last_end[call] <= one.end;
    if (one.kind == HostCallKind::synchronise || waits_for_own) items.push_back({.at = one.end, .call = call});
  }
  std::ranges::stable_sort(items, {}, &Item::at);
  return items;
}

Bound Builder::host_at(Reason reason, sim::Time moment) const {
  const auto behind = std::ranges::upper_bound(returns_, moment, {}, &std::pair<sim::Time, std::size_t>::first);
  if (behind == returns_.begin()) return {reason, 0, moment, moment - begin_};
  const auto& [at, node] = *std::prev(behind);
  return {reason, node, moment, moment - at};
}

void Builder::add(Node node, std::vector<Bound> bounds) {
  result_.nodes.push_back(std::move(node));
  bounds_.push_back(std::move(bounds));
}

std::optional<Bound> Builder::seen_wait(const Node& node, std::size_t stream, sim::Time behind) {
  auto last = ends_.upper_bound(node.begin);
  while (last != ends_.begin()) {
    --last;
    if (last->first <= behind || last->first + event_reach < node.begin) return {};
    const std::size_t other = profile_.work[*result_.nodes[last->second].work].stream;
    if (other != stream && profile_.streams[other].device == profile_.streams[stream].device)
      return Bound{Reason::event, last->second, last->first, {}};
  }
  return {};
}

// The kernel of another stream that began last of those that run when the node begins.
std::optional<Bound> Builder::seen_room(const Node& node, std::size_t stream, sim::Time behind) const {
  std::optional<Bound> room;
  for (const auto& [other, lanes] : lanes_) {
    if (other == stream || profile_.streams[other].device != profile_.streams[stream].device) continue;
    for (const Lane& lane : lanes) {
      const Node& runs = result_.nodes[lane.node];
      const WorkKind kind = profile_.work[*runs.work].kind;
      const bool fills = kind == WorkKind::matrix || kind == WorkKind::memory;
      if (!fills || runs.end <= node.begin || runs.begin < behind) continue;
      if (!room || runs.begin > room->at) room = Bound{Reason::room, lane.node, runs.begin, {}};
    }
  }
  return room;
}

// Of events that the trace tells with their streams: the last work that was launched on the other stream before the
// event was recorded.
void Builder::add_event_waits(const ProfiledWork& work, std::vector<Bound>& bounds) {
  if (!work.launch) return;
  const sim::Time launched = profile_.calls[*work.launch].begin;
  const std::vector<const StreamWait*>& waits = waits_[work.stream];
  for (std::size_t& next = next_wait_[work.stream]; next < waits.size() && waits[next]->at <= launched; ++next) {
    const std::vector<Launched>& before = queue_[waits[next]->of_stream];
    const auto behind = std::ranges::lower_bound(before, waits[next]->recorded_at, {}, &Launched::launch);
    if (behind == before.begin()) continue;
    const std::size_t node = std::prev(behind)->node;
    const sim::Time end = result_.nodes[node].end;
    if (end <= work.begin) bounds.push_back({Reason::event, node, end, {}});
  }
}

void Builder::add_work(std::size_t place) {
  const ProfiledWork& work = profile_.work[place];
  Node node{.work = place, .begin = work.begin, .end = work.end};
  std::vector<Bound> bounds;
  std::vector<Lane>& lanes = lanes_[work.stream];
  const sim::Time let_in = std::min(longest_let_in, (work.end - work.begin) / 2);
  auto lane = std::ranges::find_if(lanes, [&](const Lane& one) { return one.end <= work.begin + let_in; });
  if (lane == lanes.end()) {
    lane = lanes.insert(lanes.end(), Lane{});
  } else {
    node.begin = std::max(node.begin, lane->end);
    bounds.push_back({Reason::stream, lane->node, lane->end, {}});
  }
  if (work.launch) bounds.push_back(host_at(Reason::launch, profile_.calls[*work.launch].begin));
  add_event_waits(work, bounds);
  sim::Time bound = sim::Time::min();
  for (const Bound& one : bounds) bound = std::max(bound, one.at);
  if (bounds.empty() || node.begin - bound > prompt) {
    if (const std::optional<Bound> seen = seen_wait(node, work.stream, bound)) {
      bounds.push_back(*seen);
      ++result_.by_time;
    } else if (const std::optional<Bound> room = seen_room(node, work.stream, bound)) {
      bounds.push_back(*room);
      ++result_.for_room;
    } else if (result_.nodes.size() > 1) {
      ++result_.unexplained;
    }
  }
  if (bounds.empty()) bounds.push_back({Reason::launch, 0, node.begin, node.begin - begin_});
  const std::size_t at = result_.nodes.size();
  *lane = {at, node.end};
  if (work.launch) queue_[work.stream].push_back({profile_.calls[*work.launch].begin, at});
  ends_.emplace(node.end, at);
  while (ends_.begin()->first + event_reach < work.begin) ends_.erase(ends_.begin());
  add(std::move(node), std::move(bounds));
}

// A call that waits returns when what it waits for has ended, and no sooner than the host came to it. What that was is
// known of a whole device, and of work that the call launched itself; of a stream or an event it is the work that ended
// last while the call waited.
void Builder::add_return(std::size_t call) {
  const HostCall& one = profile_.calls[call];
  Node node{.begin = one.end, .end = one.end};
  std::vector<Bound> bounds;
  const auto ended = ends_.upper_bound(one.end);
  const bool waited = ended != ends_.begin() && std::prev(ended)->first > one.begin;
  if (waited) bounds.push_back({Reason::host, std::prev(ended)->second, std::prev(ended)->first, {}});
  if (one.name.ends_with("DeviceSynchronize")) {
    for (const auto& [stream, lanes] : lanes_) {
      for (const Lane& lane : lanes) {
        if (lane.end <= one.end) bounds.push_back({Reason::host, lane.node, lane.end, {}});
      }
    }
  }
  bounds.push_back(host_at(Reason::host, waited ? one.begin : one.end));
  const std::size_t at = result_.nodes.size();
  returns_.emplace_back(one.end, at);
  add(std::move(node), std::move(bounds));
}

// The bound that held work back tells how promptly work of its reason begins; the others are taken to be as prompt as
// such are in the median, and no less than the trace shows.
void Builder::settle_lags() {
  std::array<std::vector<double>, static_cast<std::size_t>(Reason::count)> lags;
  const auto last_bound = [](const std::vector<Bound>& bounds) {
    return std::ranges::max_element(bounds, {}, &Bound::at);
  };
  for (std::size_t i = 1; i < result_.nodes.size(); ++i) {
    const Bound& held = *last_bound(bounds_[i]);
    lags[static_cast<std::size_t>(held.reason)].push_back(
        static_cast<double>((result_.nodes[i].begin - held.at).count()));
  }
  std::array<sim::Time, static_cast<std::size_t>(Reason::count)> typical{};
  for (std::size_t reason = 0; reason < lags.size(); ++reason) {
    if (!lags[reason].empty()) typical[reason] = sim::Time(static_cast<std::int64_t>(study::median(lags[reason])));
  }
  for (std::size_t i = 1; i < result_.nodes.size(); ++i) {
    const auto held = last_bound(bounds_[i]);
    for (auto bound = bounds_[i].begin(); bound != bounds_[i].end(); ++bound) {
      const sim::Time slack = result_.nodes[i].begin - bound->at;
      const sim::Time lag = bound == held ? slack : std::min(slack, typical[static_cast<std::size_t>(bound->reason)]);
      result_.nodes[i].after.push_back({bound->node, bound->distance + lag, bound->reason == Reason::room});
    }
  }
}

Dependencies Builder::build() && {
  for (const StreamWait& wait : profile_.waits) waits_[wait.stream].push_back(&wait);
  add(Node{.begin = begin_, .end = begin_}, {});
  for (const Item& item : items()) {
    if (item.work) {
      add_work(*item.work);
    } else {
      add_return(*item.call);
    }
  }
  settle_lags();
  return std::move(result_);
}

}  // namespace

Dependencies dependencies_of(const Profile& profile) { return Builder(profile).build(); }

}  // namespace c3sim::calibrate
