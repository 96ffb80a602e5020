#include "models/machine/dispatcher.h"

#include <array>
#include <cmath>
#include <iterator>

#include "sim/check.h"

namespace c3sim::models {

std::size_t CuRoom::split(int cu, std::size_t place) {
  while (place < stretches_.size() && stretches_[place].end <= cu) ++place;
  if (place == stretches_.size() || stretches_[place].begin == cu) return place;
  Stretch before = stretches_[place];
  before.end = stretches_[place].begin = cu;
  stretches_.insert(stretches_.begin() + static_cast<std::ptrdiff_t>(place), before);
  return place + 1;
}

// Neighbouring stretches can become equal only at the two ends of the changed range.
void CuRoom::add(int begin, int end, const CuResources& each) {
  const std::size_t first = split(begin, 0);
  const std::size_t last = split(end, first);
  for (std::size_t place = first; place < last; ++place) stretches_[place].room += each;
  for (const std::size_t place : {last, first}) {
    if (place == 0 || place >= stretches_.size()) continue;
    if (!(stretches_[place - 1].room == stretches_[place].room)) continue;
    stretches_[place - 1].end = stretches_[place].end;
    stretches_.erase(stretches_.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

namespace {
// CUs end a kernel at slightly different times. Eight classes of lateness stand for all of them, in standard
// deviations: the middles of eight equally likely parts of a normal distribution, scaled to a deviation of one. The
// middle classes come first, so that a kernel on few CUs, which fills only some classes, differs less.
constexpr std::array<double, 8> lateness_of_cus{-0.170, 0.170, -0.530, 0.530, -0.962, 0.962, -1.663, 1.663};

// Splits a cohort into one per class of lateness. The workgroups of an XCD go to the classes in turn. The mean lateness
// over all workgroups stays zero: where the classes are filled unequally, the two in the middle are shifted for that.
std::vector<Cohort> apart_at_the_end(const Cohort& whole, double spread) {
  constexpr int classes = static_cast<int>(lateness_of_cus.size());
  std::vector<Cohort> parts(lateness_of_cus.size());
  for (Cohort& part : parts) part.per_xcd.resize(whole.per_xcd.size(), 0);
  std::vector<int> dealt(whole.per_xcd.size(), 0);
  double sum = 0.0;
  for (const Cohort::Run& run : whole.runs) {
    const std::size_t xcd = static_cast<std::size_t>(run.xcd);
    for (int first = 0; first < std::min(classes, run.count); ++first) {
      const std::size_t turn = static_cast<std::size_t>((dealt[xcd] + first) % classes);
      const int count = (run.count - first + classes - 1) / classes;
      const auto [workgroup, _, cu] = run.at(first);
      parts[turn].runs.push_back({run.xcd, cu, run.cu_step * classes, workgroup, run.workgroup_step * classes, count});
      parts[turn].per_xcd[xcd] += count;
      sum += count * lateness_of_cus[turn];
    }
    dealt[xcd] += run.count;
  }
  const double made_up = sum / (parts[0].size() + parts[1].size());
  for (std::size_t turn = 0; turn < parts.size(); ++turn) {
    parts[turn].lateness = spread * (lateness_of_cus[turn] - (turn < 2 ? made_up : 0.0));
    parts[turn].stays = whole.stays;
  }
  std::erase_if(parts, [](const Cohort& part) { return part.runs.empty(); });
  return parts;
}
}  // namespace

std::vector<Cohort::Placement> Cohort::placements() const {
  std::vector<Placement> all;
  for (const Run& run : runs) {
    for (int i = 0; i < run.count; ++i) all.push_back(run.at(i));
  }
  return all;
}

// A Queue is a queued kernel with what each XCD still has to place of it, and the cohorts that are being put together.
struct Dispatcher::Queue {
  Queue(KernelSpec kernel_spec, CohortBody cohort_body, sim::Simulator& simulator, std::string name)
      : kernel(std::move(kernel_spec)), body(std::move(cohort_body)), done(simulator, std::move(name)) {}

  KernelSpec kernel;
  CohortBody body;
  std::vector<int> pending;          // workgroups dealt to an XCD and not yet placed, by XCD
  int pool = 0;                      // pieces of work that any XCD may take
  std::vector<Cohort::Run> staying;  // workgroups that finished a piece at this instant and stay for the next
  std::vector<int> turn;             // index among the allowed CUs of the one where the next workgroup is due, by XCD
  bool settled = false;              // no further workgroup comes
  sim::Time asked{0};                // when the kernel was queued
  std::vector<int> placed;           // workgroups placed so far, by XCD
  int unfinished = 0;                // workgroups that have not retired
  int most_at_once = 0;              // workgroups that were on CUs together
  std::vector<Cohort> forming;       // workgroups that come to the same CU at the same instant are in different cohorts
  std::vector<Cohort> continuing;    // the same of those that stay on it
  sim::Gate done;

  // Hands over, after placing, the cohorts that were put together. While workgroups are left, every CU that falls free
  // is refilled, so the order in which CUs fall free does not matter. Only the last wave is split by lateness: its CUs
  // get no further workgroup, since all that is left fits on CUs that were busy before.
  std::vector<Cohort> take_formed() {
    const int left = unplaced();
    most_at_once = std::max(most_at_once, unfinished - left);
    std::vector<Cohort> formed = std::exchange(continuing, {});
    for (Cohort& cohort : formed) cohort.stays = true;
    std::ranges::move(std::exchange(forming, {}), std::back_inserter(formed));
    const auto add = [](int sum, const Cohort& cohort) { return sum + cohort.size(); };
    const int busy_before = unfinished - left - std::accumulate(formed.begin(), formed.end(), 0, add);
    if (formed.empty() || kernel.time_spread <= 0.0 || left > busy_before) return formed;
    std::vector<Cohort> apart;
    for (const Cohort& cohort : formed) {
      for (Cohort& part : apart_at_the_end(cohort, end_spread())) apart.push_back(std::move(part));
    }
    return apart;
  }

  // Deals out the last pieces where fewer are left than workgroups that have ended one: no XCD is before another.
  void deal_last() {
    if (staying.empty() || pool == 0) return;
    std::vector<int> free(pending.size(), 0);
    for (const Cohort::Run& run : staying) free[static_cast<std::size_t>(run.xcd)] += run.count;
    for (std::size_t x = 0; x < free.size(); ++x) free[x] = std::max(0, free[x] - pending[x]);
    if (pool >= std::reduce(free.begin(), free.end())) return;
    for (std::size_t x = 0; pool > 0; x = (x + 1) % free.size()) {
      if (free[x] == 0) continue;
      --free[x];
      --pool;
      ++pending[x];
    }
  }

  int unplaced() const { return std::accumulate(pending.begin(), pending.end(), pool); }
  int available(std::size_t xcd) const { return pending[xcd] + pool; }
  bool waits_for(std::size_t xcd) const { return !settled && available(xcd) > 0; }

  // Settles a resident kernel: only workgroups that found room at the start stay, and do the others' work.
  void settle() {
    if (settled || kernel.dealing != Dealing::resident || unplaced() == kernel.workgroups) return;
    settled = true;
    pool = unplaced();
    pending.assign(pending.size(), 0);
  }

  // Returns the standard deviation of the CUs' ends in units of the mean time of a workgroup. A slow CU stays slow, so
  // it grows linearly with the number of workgroups that each CU runs. It stops growing at 1/sqrt(12): the CUs then end
  // at any moment of a workgroup's time, and beyond that a slow CU simply runs one workgroup fewer.
  double end_spread() const {
    const double any_moment = 1.0 / std::sqrt(12.0);  // standard deviation of a uniform distribution over 1
    const double each = static_cast<double>(kernel.workgroups) / most_at_once;
    return std::min(any_moment, kernel.time_spread * each);
  }

  // The next workgroups dealt to the XCD, one for each CU from `cu` on, join a cohort. Returns their run.
  const Cohort::Run& place_next(std::vector<Cohort>& cohorts, std::size_t cohort, int xcd, int cu, int count) {
    const std::size_t x = static_cast<std::size_t>(xcd);
    const int every = static_cast<int>(pending.size());  // workgroups are dealt to the XCDs in turn
    if (cohort >= cohorts.size()) cohorts.resize(cohort + 1);
    Cohort& joined = cohorts[cohort];
    // Of pieces that any XCD may take, the next ones are taken.
    const bool in_turn = kernel.dealing == Dealing::per_xcd;
    joined.runs.push_back(in_turn ? Cohort::Run{xcd, cu, 1, xcd + every * placed[x], every, count}
                                  : Cohort::Run{xcd, cu, 1, std::reduce(placed.begin(), placed.end()), 1, count});
    joined.per_xcd.resize(pending.size(), 0);
    joined.per_xcd[x] += count;
    placed[x] += count;
    const int dealt = std::min(count, pending[x]);
    pending[x] -= dealt;
    pool -= count - dealt;
    return joined.runs.back();
  }
};

Dispatcher::Dispatcher(sim::Simulator& simulator, const DispatchSpec& spec, int xcds, int cus_per_xcd, CuResources cu,
                       std::string name, Mechanisms without)
    : simulator_(simulator), spec_(spec), cus_per_xcd_(cus_per_xcd), cu_(cu), name_(std::move(name)) {
  const bool gemms = without.has(Mechanism::cu_loss);
  const bool collectives = without.has(Mechanism::dispatch_wait);
  if (without.has(Mechanism::shader_engines)) spec_.shader_engines = 1;
  const int even = cus_per_xcd / spec_.shader_engines * spec_.shader_engines;
  for (int index = 0; index < cus_per_xcd; ++index) {
    engines_.push_back(static_cast<std::size_t>(index < even ? index % spec_.shader_engines
                                                             : spec_.shader_engines - (cus_per_xcd - index)));
  }
  apart_ = gemms || collectives ? std::vector{gemms, collectives} : std::vector{false};
  xcds_.resize(static_cast<std::size_t>(xcds));
  for (Xcd& xcd : xcds_) xcd.room.assign(apart_.size(), CuRoom(cus_per_xcd, cu));
}

Dispatcher::~Dispatcher() = default;

sim::Task<> Dispatcher::run(KernelSpec kernel, CohortBody body) {
  SIM_CHECK(kernel.workgroups > 0);
  SIM_CHECK(kernel.workgroup != CuResources{} && "a workgroup needs something of its CU");
  SIM_CHECK(kernel.stream.mask.all() ||
            (kernel.stream.mask.begin < kernel.stream.mask.end && kernel.stream.mask.end <= cus_per_xcd_));
  const auto behind = std::ranges::find_if(
      queues_, [&](const Queue& queue) { return queue.kernel.stream.priority < kernel.stream.priority; });
  const auto position =
      queues_.emplace(behind, std::move(kernel), std::move(body), simulator_, "retirement of a kernel on " + name_);
  Queue& queue = *position;
  queue.asked = simulator_.now();
  int count = queue.kernel.workgroups;
  if (queue.kernel.dealing != Dealing::per_xcd) {
    const int cus = xcds() * queue.kernel.stream.mask.cus(cus_per_xcd_);
    count = std::min(count, cus * workgroups_that_fit(cu_, queue.kernel.workgroup));
  }
  queue.pool = queue.kernel.workgroups - count;
  for (int xcd = 0; xcd < xcds(); ++xcd) queue.pending.push_back(count / xcds() + (xcd < count % xcds() ? 1 : 0));
  queue.placed.assign(xcds_.size(), 0);
  queue.turn.assign(xcds_.size(), 0);
  queue.unfinished = queue.kernel.workgroups;
  request_dispatch();
  co_await queue.done.wait();
  for (Xcd& xcd : xcds_) {
    if (xcd.turn == &queue) xcd.turn = nullptr;
  }
  queues_.erase(position);
}

// Arrivals and retirements of one instant are seen together.
void Dispatcher::request_dispatch() {
  if (dispatch_requested_) return;
  dispatch_requested_ = true;
  simulator_.schedule(simulator_.now(), [this] { dispatch(); });
}

void Dispatcher::dispatch() {
  dispatch_requested_ = false;
  const auto is_running_gemm = [](const Queue& queue) {
    return queue.kernel.tenant == Tenant::gemm && queue.unfinished > 0;
  };
  for (Queue& queue : queues_) queue.deal_last();
  for (int xcd = 0; xcd < xcds(); ++xcd) dispatch_xcd(xcd);
  for (Queue& queue : queues_) {
    queue.settle();
    for (Cohort& cohort : queue.take_formed()) {
      cohort.amid_gemm = is_collective(queue.kernel.tenant) && simulator_.now() > queue.asked &&
                         std::ranges::any_of(queues_, is_running_gemm);
      simulator_.spawn(name_ + "." + queue.kernel.name, run_cohort(queue, std::move(cohort)));
    }
  }
}

void Dispatcher::dispatch_xcd(int index) {
  const std::size_t x = static_cast<std::size_t>(index);
  for (Queue& queue : queues_) place_staying(queue, index);
  Queue* holder = turn_holder(xcds_[x]);
  if (holder == nullptr) return;
  place(*holder, index);
  // What the turn holder cannot use (nothing left to place, or no room for a workgroup of its size) goes to the others.
  for (Queue& queue : queues_) {
    if (&queue != holder && queue.waits_for(x)) place(queue, index);
  }
}

Dispatcher::Queue* Dispatcher::turn_holder(Xcd& xcd) {
  const std::size_t index = static_cast<std::size_t>(&xcd - xcds_.data());
  const auto first = std::ranges::find_if(queues_, [&](const Queue& queue) { return queue.waits_for(index); });
  if (first == queues_.end()) return xcd.turn = nullptr;
  const int priority = first->kernel.stream.priority;
  const auto waits = [&](const Queue& queue) {
    return queue.waits_for(index) && queue.kernel.stream.priority == priority;
  };
  const bool keeps_turn = xcd.turn != nullptr && waits(*xcd.turn);
  const bool expired = spec_.policy == DispatchPolicy::rotation && simulator_.now() - xcd.turn_began >= spec_.quantum;
  if (keeps_turn && !expired) return xcd.turn;

  // The turn passes to the next queue by age after the one that had it, cyclically; to the oldest if none had it.
  auto start = queues_.begin();
  if (keeps_turn) {
    start = std::find_if(queues_.begin(), queues_.end(), [&](const Queue& queue) { return &queue == xcd.turn; });
    ++start;
  }
  auto next = std::find_if(start, queues_.end(), waits);
  xcd.turn = next == queues_.end() ? &*first : &*next;
  xcd.turn_began = simulator_.now();
  return xcd.turn;
}

// A CU on which a workgroup stays does not fall free for others.
void Dispatcher::place_staying(Queue& queue, int xcd_index) {
  if (queue.staying.empty()) return;
  std::vector<std::size_t> on_cu(static_cast<std::size_t>(cus_per_xcd_), 0);  // workgroups that stay there, so far
  for (const Cohort::Run& run : queue.staying) {
    if (run.xcd != xcd_index) continue;
    int left = std::min(run.count, queue.available(static_cast<std::size_t>(xcd_index)));
    for (int i = 0; left > 0;) {
      const int cu = run.at(i).cu;
      const std::span<std::size_t> from_cu = std::span(on_cu).subspan(static_cast<std::size_t>(cu));
      const std::size_t cohort = from_cu.front();
      int count = 0;
      for (; left > 0 && run.at(i).cu == cu + count && from_cu[static_cast<std::size_t>(count)] == cohort; ++i) {
        ++from_cu[static_cast<std::size_t>(count)];
        ++count;
        --left;
      }
      const Cohort::Run& placed = queue.place_next(queue.continuing, cohort, xcd_index, cu, count);
      add_room(queue.kernel, placed, -queue.kernel.workgroup);
    }
  }
  std::erase_if(queue.staying, [&](const Cohort::Run& run) { return run.xcd == xcd_index; });
}

void Dispatcher::deal_in_turn(Queue& queue, std::size_t xcd, const CuMask& allowed, int left) {
  std::vector<int>& room = engine_room_;
  room.assign(static_cast<std::size_t>(spec_.shader_engines), 0);
  due_.assign(room.size(), 0);
  if (room.size() == 1) {  // it is always the turn of the only engine
    for (const Place& place : places_) room[0] += place.fits * (place.end - place.begin);
    due_[0] = std::min(left, room[0]);
    return;
  }
  for (const Place& place : places_) {
    if (place.fits == 0) continue;
    for (int cu = place.begin; cu < place.end; ++cu) room[engine_of(cu)] += place.fits;
  }
  for (int& turn = queue.turn[xcd]; left > 0; --left) {
    const std::size_t engine = engine_of(allowed.begin + turn);
    if (due_[engine] == room[engine]) return;
    ++due_[engine];
    if (++turn == allowed.end - allowed.begin) turn = 0;
  }
}

// Spreads the workgroups: one on each of the CUs with the most room that the mask allows, by index, then again.
void Dispatcher::place(Queue& queue, int xcd_index) {
  const std::size_t x = static_cast<std::size_t>(xcd_index);
  const std::size_t view = view_of(queue.kernel);
  const CuMask mask = apart_[view] ? CuMask{} : queue.kernel.stream.mask;
  const CuMask allowed = mask.all() ? CuMask{0, cus_per_xcd_} : mask;
  int left = queue.available(x);
  if (left <= 0) return;
  places_.clear();
  for (const CuRoom::Stretch& stretch : xcds_[x].room[view].stretches()) {
    const int begin = std::max(stretch.begin, allowed.begin);
    const int end = std::min(stretch.end, allowed.end);
    if (begin < end) places_.push_back({begin, end, workgroups_that_fit(stretch.room, queue.kernel.workgroup)});
  }
  deal_in_turn(queue, x, allowed, left);
  left = std::accumulate(due_.begin(), due_.end(), 0);
  const auto takes_one = [this](int cu) {
    int& due = due_[engine_of(cu)];
    return due > 0 && due-- > 0;
  };
  for (std::size_t cohort = 0; left > 0;) {
    const int left_before = left;
    const int fits = std::ranges::max_element(places_, {}, &Place::fits)->fits;
    for (Place& place : places_) {
      if (place.fits != fits) continue;
      --place.fits;
      for (int begin = place.begin; begin < place.end;) {
        int end = begin;
        while (end < place.end && takes_one(end)) ++end;
        if (end > begin) {
          const Cohort::Run& placed = queue.place_next(queue.forming, cohort, xcd_index, begin, end - begin);
          add_room(queue.kernel, placed, -queue.kernel.workgroup);
          left -= end - begin;
        }
        begin = end + 1;  // no workgroup is due on that CU
      }
    }
    if (left < left_before) ++cohort;  // if no CU with the most room was due, no CU has got two yet
  }
}

// Changes the room in every view that sees the workgroups: always in their own; in the other tenant's only if that is
// not apart and the workgroups' mask allows their CU.
void Dispatcher::add_room(const KernelSpec& kernel, const Cohort::Run& run, const CuResources& each) {
  std::vector<CuRoom>& views = xcds_[static_cast<std::size_t>(run.xcd)].room;
  const CuMask& mask = kernel.stream.mask;
  const auto add = [&](std::size_t view, int begin, int end) {
    const bool own = view == view_of(kernel);
    if (!own && !mask.all()) {
      begin = std::max(begin, mask.begin);
      end = std::min(end, mask.end);
    }
    if (begin < end && (own || !apart_[view])) views[view].add(begin, end, each);
  };
  for (std::size_t view = 0; view < views.size(); ++view) {
    if (run.cu_step == 1) {
      add(view, run.cu, run.cu + run.count);
    } else {
      for (int i = 0; i < run.count; ++i) add(view, run.at(i).cu, run.at(i).cu + 1);
    }
  }
}

sim::Task<> Dispatcher::run_cohort(Queue& queue, Cohort cohort) {
  const Stream& stream = queue.kernel.stream;
  // A workgroup that stays has been launched. Where a CU holds several, one that follows another is launched while its
  // neighbours work.
  const bool follows = queue.unfinished < queue.kernel.workgroups;
  if (!cohort.stays && (!follows || workgroups_that_fit(cu_, queue.kernel.workgroup) == 1)) {
    co_await simulator_.delay(spec_.workgroup_launch);
  }
  if (stream.polled.word != nullptr) {
    // Workgroups are numbered as if XCDs took turns: an XCD that takes more than its share has numbers beyond the last.
    int last = 0;
    for (const Cohort::Run& run : cohort.runs) last = std::max(last, run.at(run.count - 1).workgroup);
    const Condition due = stream.polled.condition_of(std::min(last, queue.kernel.workgroups - 1));
    co_await stream.polled.word->wait(due, queue.kernel.name);
    co_await simulator_.delay(stream.polled.read);
  }
  co_await queue.body(cohort);
  if (stream.fence > sim::Time::zero()) co_await simulator_.delay(stream.fence);
  for (const Cohort::Run& run : cohort.runs) {
    add_room(queue.kernel, run, queue.kernel.workgroup);
    if (queue.kernel.dealing != Dealing::per_xcd) queue.staying.push_back(run);
  }
  request_dispatch();
  queue.unfinished -= cohort.size();
  if (stream.progress) {
    const int all = queue.kernel.workgroups;
    stream.progress({queue.kernel.gpu, all - queue.unfinished, all});
  }
  if (queue.unfinished == 0) queue.done.open();
}

}  // namespace c3sim::models
