#include "calibrate/replay/dependencies.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/interruption.h"
#include "study/report/statistics.h"

namespace c3sim::calibrate {

namespace {

using std::chrono::microseconds;

// Work begins within microseconds after the previous work of its stream or its launch: a longer delay has another
// reason. After an event of another stream, ROCm takes up to 19 us (mi300x_8gpu_resnet_ddp_rank0).
constexpr sim::Time prompt = microseconds(10);
constexpr sim::Time event_reach = microseconds(25);
// A kernel may start while the last workgroups of the kernel before it run (programmatic launch).
constexpr sim::Time longest_let_in = microseconds(20);

enum class Reason : std::uint8_t { stream, launch, event, room, host, count };

// A Bound is a lower bound of when a node could begin in the trace.
struct Bound {
  Reason reason = Reason::stream;
  std::size_t node = 0;
  sim::Time at{0};  // when the bound took effect: at the end of `node` (for room: at its begin), or later
};

struct Lane {  // a chain of work of one stream, of which `node` is the last
  std::size_t node = 0;
  sim::Time end{0};
};

// Lanes are the lanes of a stream. A tree of the least end of each pair, pair of pairs and so on finds a free one.
class Lanes {
 public:
  const std::vector<Lane>& all() const { return lanes_; }
  // Returns the first lane that ends at `moment` or before, or else a new one.
  std::size_t free_at(sim::Time moment, bool& is_new) {
    is_new = lanes_.empty() || least_[1] > moment;
    if (is_new) {
      lanes_.emplace_back();
      if (lanes_.size() > width_) widen();
      return lanes_.size() - 1;
    }
    std::size_t at = 1;
    while (at < width_) at = least_[2 * at] <= moment ? 2 * at : 2 * at + 1;
    return at - width_;
  }
  void set(std::size_t place, Lane lane) {
    lanes_[place] = lane;
    std::size_t at = place + width_;
    least_[at] = lane.end;
    while ((at /= 2) > 0) least_[at] = std::min(least_[2 * at], least_[2 * at + 1]);
  }

 private:
  void widen() {
    width_ *= 2;
    least_.assign(2 * width_, sim::Time::max());
    for (std::size_t i = 0; i + 1 < lanes_.size(); ++i) least_[i + width_] = lanes_[i].end;
    for (std::size_t at = width_ - 1; at > 0; --at) least_[at] = std::min(least_[2 * at], least_[2 * at + 1]);
  }

  std::vector<Lane> lanes_;
  std::size_t width_ = 1;                                                       // a power of two
  std::vector<sim::Time> least_ = std::vector<sim::Time>(2, sim::Time::max());  // tree of ends; lanes from width_ on
};

// Filling holds the kernels that fill a GPU at a moment, and finds the one that began last on another stream.
class Filling {
 public:
  struct Kernel {
    sim::Time begin{0}, end{0};
    std::size_t stream = 0;
    std::size_t lane = 0;
    std::size_t node = 0;
  };

  void begin(const Kernel& one) {
    leave_top(one.stream);
    std::set<Kernel, Later>& own = by_stream_[one.stream];
    own.insert(one);
    ends_.emplace(one.end, one);
    enter_top(one.stream);
  }
  // Removes a kernel that gives its lane to another before it ends.
  void end(const Kernel& one) {
    const auto own = by_stream_.find(one.stream);
    if (own == by_stream_.end() || !own->second.contains(one)) return;
    leave_top(one.stream);
    own->second.erase(one);
    enter_top(one.stream);
  }
  void end_until(sim::Time moment) {
    for (; !ends_.empty() && ends_.begin()->first <= moment; ends_.erase(ends_.begin())) end(ends_.begin()->second);
  }
  // Returns the kernel that began last, of those that end after `moment` and began no earlier than `behind` on a stream
  // other than `but`; null if there is none.
  const Kernel* last(std::size_t but, sim::Time moment, sim::Time behind) const {
    const Kernel* found = nullptr;
    for (const Kernel& top : tops_) {
      if (top.begin < behind || (found != nullptr && Later()(*found, top))) break;
      if (top.stream == but) continue;
      for (const Kernel& one : by_stream_.at(top.stream)) {
        if (one.begin < behind || (found != nullptr && Later()(*found, one))) break;
        if (one.end > moment) {
          found = &one;
          break;
        }
      }
    }
    return found;
  }

 private:
  struct Later {  // latest begin first, then lowest stream
    bool operator()(const Kernel& a, const Kernel& b) const {
      return std::tie(b.begin, a.stream, a.lane, a.node) < std::tie(a.begin, b.stream, b.lane, b.node);
    }
  };
  void leave_top(std::size_t stream) {
    const auto own = by_stream_.find(stream);
    if (own != by_stream_.end() && !own->second.empty()) tops_.erase(*own->second.begin());
  }
  void enter_top(std::size_t stream) {
    const std::set<Kernel, Later>& own = by_stream_.at(stream);
    if (!own.empty()) tops_.insert(*own.begin());
  }

  std::map<std::size_t, std::set<Kernel, Later>> by_stream_;
  std::set<Kernel, Later> tops_;  // the latest kernel of each stream
  std::multimap<sim::Time, Kernel> ends_;
};

class Builder {
 public:
  explicit Builder(const Profile& profile) : profile_(profile), begin_(profile.begin()) {}

  Dependencies build() && {
    for (const StreamWait& wait : profile_.waits) waits_[wait.stream].push_back(&wait);
    const std::vector<Item> all = items();
    result_.nodes.reserve(all.size() + 1);
    result_.after.reserve(all.size() + 1, 0);
    add(Node{.begin = begin_, .end = begin_}, {});
    for (const Item& item : sim::in_short_steps(all)) {
      if (item.work) {
        add_work(*item.work);
      } else {
        add_return(*item.call);
      }
    }
    settle_lags();
    return std::move(result_);
  }

 private:
  // An Item is work, at its begin, or a host call that waited, at its return.
  struct Item {
    sim::Time at{0};
    Place work{}, call{};
  };

  std::vector<Item> items() {
    std::vector<Item> items;
    std::vector<sim::Time> last_end(profile_.calls.size(), sim::Time::min());
    launched_on_.resize(profile_.calls.size());
    for (const std::size_t place : sim::short_steps(profile_.work.size())) {
      const ProfiledWork& work = profile_.work[place];
      items.push_back({.at = work.begin, .work = place});
      if (work.asked) launched_on_[*work.asked] = work.stream;
      if (const Place launch = work.launch()) last_end[*launch] = std::max(last_end[*launch], work.end);
    }
    for (std::size_t call = 1; call < launched_on_.size(); ++call) {
      if (!launched_on_[call]) launched_on_[call] = launched_on_[call - 1];
    }
    for (const std::size_t call : sim::short_steps(profile_.calls.size())) {
      const HostCall& one = profile_.calls[call];
      const bool waits_for_own = last_end[call] > sim::Time::min() && last_end[call] <= one.end;
      if (one.kind == HostCallKind::synchronise || waits_for_own) items.push_back({.at = one.end, .call = call});
    }
    std::ranges::stable_sort(items, {}, sim::as_short_steps(&Item::at));
    return items;
  }

  // Returns a bound at `moment` that follows the last return of the host up to then.
  Bound host_at(Reason reason, sim::Time moment) const {
    const auto behind = std::ranges::upper_bound(returns_, moment, {}, &std::pair<sim::Time, std::size_t>::first);
    if (behind == returns_.begin()) return {reason, 0, moment};
    return {reason, std::prev(behind)->second, moment};
  }

  // Stores how long the node began after each bound; settle_lags() adds the distance of the bound from its own node.
  void add(const Node& node, const std::vector<Bound>& bounds) {
    for (const Bound& one : bounds) {
      result_.after.add({one.node, node.begin - one.at, one.reason == Reason::room});
      reasons_.push_back(one.reason);
    }
    result_.after.end_list();
    result_.nodes.push_back(node);
  }

  std::optional<Bound> seen_wait(const Node& node, std::size_t stream, sim::Time behind) {
    auto last = ends_.upper_bound(node.begin);
    while (last != ends_.begin()) {
      --last;
      if (last->first <= behind || last->first + event_reach < node.begin) return {};
      const std::size_t other = profile_.work[*result_.nodes[last->second].work].stream;
      if (other != stream && profile_.streams[other].device == profile_.streams[stream].device)
        return Bound{Reason::event, last->second, last->first};
    }
    return {};
  }

  // Returns the kernel of another stream that began last, of those that run when the node begins.
  std::optional<Bound> seen_room(const Node& node, std::size_t stream, sim::Time behind) {
    const Filling::Kernel* const last = filling(stream).last(stream, node.begin, behind);
    return last == nullptr ? std::nullopt : std::optional(Bound{Reason::room, last->node, last->begin});
  }

  // Adds bounds for waits whose streams the trace tells: work waits for the last work that was launched on the other
  // stream before the event was recorded.
  void add_event_waits(const ProfiledWork& work, std::vector<Bound>& bounds) {
    if (!work.launch()) return;
    const sim::Time launched = profile_.calls[*work.launch()].begin;
    const std::vector<const StreamWait*>& waits = waits_[work.stream];
    for (std::size_t& next = next_wait_[work.stream]; next < waits.size() && waits[next]->at <= launched; ++next) {
      const std::vector<Launched>& before = queue_[waits[next]->of_stream];
      const auto behind = std::ranges::lower_bound(before, waits[next]->recorded_at, {}, &Launched::first);
      if (behind == before.begin()) continue;
      const std::size_t node = std::prev(behind)->second;
      const sim::Time end = result_.nodes[node].end;
      if (end <= work.begin) bounds.push_back({Reason::event, node, end});
    }
  }

  void add_work(std::size_t of_work) {
    const ProfiledWork& work = profile_.work[of_work];
    Node node{.work = of_work, .begin = work.begin, .end = work.end};
    std::vector<Bound> bounds;
    Lanes& lanes = lanes_[work.stream];
    Filling& gpu = filling(work.stream);
    gpu.end_until(work.begin);
    const sim::Time let_in = std::min(longest_let_in, (work.end - work.begin) / 2);
    bool is_new = false;
    const std::size_t place = lanes.free_at(work.begin + let_in, is_new);
    const Lane before = lanes.all()[place];
    if (!is_new) {
      node.begin = std::max(node.begin, before.end);
      bounds.push_back({Reason::stream, before.node, before.end});
    }
    if (work.launch()) bounds.push_back(host_at(Reason::launch, profile_.calls[*work.launch()].begin));
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
    if (bounds.empty()) bounds.push_back({Reason::launch, 0, node.begin});
    const std::size_t at = result_.nodes.size();
    if (!is_new && profile_.work[*result_.nodes[before.node].work].computes()) {
      const Node& last = result_.nodes[before.node];
      gpu.end({last.begin, last.end, work.stream, place, before.node});
    }
    if (work.computes()) gpu.begin({node.begin, node.end, work.stream, place, at});
    lanes.set(place, {at, node.end});
    if (work.launch() && !profile_.waits.empty())
      queue_[work.stream].emplace_back(profile_.calls[*work.launch()].begin, at);
    ends_.emplace(node.end, at);
    while (ends_.begin()->first + event_reach < work.begin) ends_.erase(ends_.begin());
    add(node, bounds);
  }

  // A call that waits returns when what it waits for has ended, and no sooner than the host reached the call.
  // DeviceSynchronize waits for all lanes of one GPU, which the trace does not name: that of the work that ended last
  // meanwhile or, where none did, of the latest launch. Other calls are taken to wait for the work that ended last
  // meanwhile.
  void add_return(std::size_t call) {
    const HostCall& one = profile_.calls[call];
    Node node{.begin = one.end, .end = one.end};
    std::vector<Bound> bounds;
    const auto ended = ends_.upper_bound(one.end);
    const bool waited = ended != ends_.begin() && std::prev(ended)->first > one.begin;
    if (waited) bounds.push_back({Reason::host, std::prev(ended)->second, std::prev(ended)->first});
    if (one.name && profile_.names[*one.name].ends_with("DeviceSynchronize")) {
      const Place asked =
          waited ? Place(profile_.work[*result_.nodes[std::prev(ended)->second].work].stream) : launched_on_[call];
      for (const auto& [stream, lanes] : lanes_) {
        if (!asked || profile_.streams[stream].device != profile_.streams[*asked].device) continue;
        for (const Lane& lane : lanes.all()) {
          if (lane.end <= one.end) bounds.push_back({Reason::host, lane.node, lane.end});
        }
      }
    }
    bounds.push_back(host_at(Reason::host, waited ? one.begin : one.end));
    const std::size_t at = result_.nodes.size();
    returns_.emplace_back(one.end, at);
    add(node, bounds);
  }

  // The bound that held work back tells how promptly work follows a bound of that reason. All other bounds get the
  // median lag of their reason, but at most the lag in the trace.
  void settle_lags() {
    // Hands over every bound of every node, its reason, and whether it held the node back: the first of the latest did.
    const auto for_each = [this](const auto& take) {
      auto reason = reasons_.begin();
      for (const std::size_t i : sim::short_steps(result_.nodes.size())) {
        const std::span<After> after = result_.after[i];
        const auto held = std::ranges::min_element(after, {}, &After::lag);
        for (auto one = after.begin(); one != after.end(); ++one, ++reason)
          take(result_.nodes[i], *one, static_cast<std::size_t>(*reason), one == held);
      }
    };
    std::array<std::vector<double>, static_cast<std::size_t>(Reason::count)> lags;
    for_each([&lags](const Node&, const After& after, std::size_t reason, bool held) {
      if (held) lags[reason].push_back(static_cast<double>(after.lag.count()));
    });
    std::array<sim::Time, lags.size()> typical{};
    for (std::size_t reason = 0; reason < lags.size(); ++reason) {
      if (!lags[reason].empty()) typical[reason] = sim::Time(static_cast<std::int64_t>(study::median(lags[reason])));
    }
    for_each([&](const Node& node, After& after, std::size_t reason, bool held) {
      const Node& other = result_.nodes[after.node];
      const sim::Time distance = node.begin - after.lag - (after.of_begin ? other.begin : other.end);
      after.lag = distance + (held ? after.lag : std::min(after.lag, typical[reason]));
    });
  }

  Filling& filling(std::size_t stream) { return filling_[profile_.streams[stream].device]; }

  using Launched = std::pair<sim::Time, std::size_t>;  // time of the launch, and node

  const Profile& profile_;
  const sim::Time begin_;
  Dependencies result_;
  std::vector<Reason> reasons_;                         // of each bound
  std::vector<Place> launched_on_;                      // by call: stream of the latest launch up to then
  std::map<std::size_t, Lanes> lanes_;                  // by stream
  std::map<std::int64_t, Filling> filling_;             // by GPU
  std::map<std::size_t, std::vector<Launched>> queue_;  // by stream: what was launched on it, if the trace tells waits
  std::map<std::size_t, std::size_t> next_wait_;        // by stream: index of the next one in waits_
  std::map<std::size_t, std::vector<const StreamWait*>> waits_;  // by stream
  std::multimap<sim::Time, std::size_t> ends_;                   // nodes of recent work, by end
  std::vector<std::pair<sim::Time, std::size_t>> returns_;       // nodes of host returns, sorted by time
};

}  // namespace

Dependencies dependencies_of(const Profile& profile) { return Builder(profile).build(); }

}  // namespace c3sim::calibrate
