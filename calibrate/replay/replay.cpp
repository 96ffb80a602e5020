#include "calibrate/replay/replay.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

namespace c3sim::calibrate {

namespace {

PieceKind kind_of(WorkKind kind) {
  if (kind == WorkKind::matrix) return PieceKind::matrix;
  return kind == WorkKind::memory ? PieceKind::memory : PieceKind::other;
}

// By kind of piece and by collective, what is known of it.
using Tenants = std::vector<const Tenant*>;
Tenants tenants_of(const std::vector<models::CollectiveSpec>& collectives, Contention& contention) {
  Tenants tenants;
  for (const models::CollectiveSpec& one : collectives) tenants.push_back(&contention.tenant(one));
  return tenants;
}

// Of two pieces that run at once; of several, the slowest pair tells.
double slowdown(const Piece& one, const Piece& beside, const Tenants& tenants) {
  const auto place = [](PieceKind kind) { return kind == PieceKind::matrix ? 0U : 1U; };
  const auto is_compute = [](PieceKind kind) { return kind == PieceKind::matrix || kind == PieceKind::memory; };
  if (one.collective && is_compute(beside.kind)) return tenants[*one.collective]->slowed[place(beside.kind)];
  if (beside.collective && is_compute(one.kind)) return tenants[*beside.collective]->slows[place(one.kind)];
  return 1.0;
}

double slowdown(const std::vector<Piece>& pieces, std::size_t one, const std::vector<std::size_t>& active,
                const Tenants& tenants) {
  double most = 1.0;
  for (const std::size_t other : active) {
    if (other != one) most = std::max(most, slowdown(pieces[one], pieces[other], tenants));
  }
  return most;
}

// What computes on a GPU, as traced: which kinds from each moment on.
struct Computing {
  sim::Time since{0};
  bool matrix = false, memory = false;
};
std::vector<Computing> computing(const Profile& profile) {
  std::map<sim::Time, std::pair<int, int>> changes;
  for (const ProfiledWork& work : profile.work) {
    if (work.kind != WorkKind::matrix && work.kind != WorkKind::memory) continue;
    const auto add = [&](sim::Time at, int by) {
      auto& [matrix, memory] = changes[at];
      (work.kind == WorkKind::matrix ? matrix : memory) += by;
    };
    add(work.begin, 1);
    add(work.end, -1);
  }
  std::vector<Computing> all{{sim::Time::min(), false, false}};
  int matrix = 0;
  int memory = 0;
  for (const auto& [at, by] : changes) {
    matrix += by.first;
    memory += by.second;
    all.push_back({at, matrix > 0, memory > 0});
  }
  return all;
}

// When a collective that ended at `end` began to move data, if that takes `alone` with nothing beside it.
sim::Time began_to_move(const std::vector<Computing>& beside, const Tenant& tenant, sim::Time begin, sim::Time end) {
  double left = static_cast<double>(tenant.alone->count());
  auto at = std::prev(std::ranges::lower_bound(beside, end, {}, &Computing::since));
  sim::Time until = end;
  while (until > begin) {
    const double slow = std::max(at->matrix ? tenant.slowed[0] : 1.0, at->memory ? tenant.slowed[1] : 1.0);
    const sim::Time from = std::max(begin, at->since);
    const double done = static_cast<double>((until - from).count()) / slow;
    if (done >= left) return until - sim::Time(static_cast<std::int64_t>(left * slow));
    left -= done;
    until = from;
    if (until > begin) --at;
  }
  return begin;
}

// The time that each piece would have taken alone: what passed, slowed down by what was beside it then.
void take_out_slowdowns(std::vector<Piece>& pieces, const Tenants& tenants) {
  struct Change {
    sim::Time at;
    bool begins;
    std::size_t piece;
  };
  std::vector<Change> changes;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].end <= pieces[i].begin) continue;
    changes.push_back({pieces[i].begin, true, i});
    changes.push_back({pieces[i].end, false, i});
  }
  std::ranges::stable_sort(changes, {}, &Change::at);
  std::vector<double> alone(pieces.size(), 0.0);
  std::vector<std::size_t> active;
  sim::Time since{0};
  for (const Change& change : changes) {
    const auto passed = static_cast<double>((change.at - since).count());
    if (passed > 0.0) {
      for (const std::size_t one : active) alone[one] += passed / slowdown(pieces, one, active, tenants);
    }
    since = change.at;
    if (change.begins) {
      active.push_back(change.piece);
    } else {
      std::erase(active, change.piece);
    }
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i].alone = sim::Time(static_cast<std::int64_t>(alone[i]));
}

// Pieces that run, and those that wait for others or for their time.
class Player {
 public:
  Player(const std::vector<Piece>& pieces, const Tenants& tenants) : pieces_(pieces), tenants_(tenants) {
    now_ = pieces.front().begin;
    followers_.resize(pieces.size());
    beside_.resize(pieces.size());
    waits_for_.resize(pieces.size());
    left_.resize(pieces.size());
    played_.resize(pieces.size(), {sim::Time::min(), sim::Time::min()});
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      waits_for_[i] = pieces[i].after.size();
      left_[i] = static_cast<double>(pieces[i].alone.count());
      for (const After& after : pieces[i].after) {
        (after.of_begin ? beside_ : followers_)[after.node].push_back({i, after.lag});
      }
      if (waits_for_[i] == 0) starts_.push({pieces[i].begin, i});
    }
  }

  std::vector<Played> play() && {
    while (!starts_.empty() || !active_.empty()) {
      const std::optional<std::pair<sim::Time, std::size_t>> next = next_end();
      if (!starts_.empty() && (!next || starts_.top().first <= next->first)) {
        const auto [at, piece] = starts_.top();
        starts_.pop();
        pass(at);
        played_[piece].begin = at;
        release(beside_[piece]);
        if (pieces_[piece].alone == sim::Time(0)) {
          end(piece);
        } else {
          active_.push_back(piece);
        }
        continue;
      }
      pass(next->first);
      std::erase(active_, next->second);
      end(next->second);
    }
    return std::move(played_);
  }

 private:
  std::optional<std::pair<sim::Time, std::size_t>> next_end() const {
    std::optional<std::pair<sim::Time, std::size_t>> first;
    for (const std::size_t one : active_) {
      const double length = std::max(0.0, left_[one]) * slowdown(pieces_, one, active_, tenants_);
      const std::pair end(now_ + sim::Time(static_cast<std::int64_t>(length)), one);
      if (!first || end < *first) first = end;
    }
    return first;
  }
  void pass(sim::Time until) {
    if (until <= now_) return;
    const auto passed = static_cast<double>((until - now_).count());
    for (const std::size_t one : active_) left_[one] -= passed / slowdown(pieces_, one, active_, tenants_);
    now_ = until;
  }
  // What waits starts when the last of all that it waits for lets it, and not in the past.
  void end(std::size_t piece) {
    played_[piece].end = now_;
    release(followers_[piece]);
  }
  void release(const std::vector<After>& followers) {
    for (const After& follower : followers) {
      sim::Time& from = played_[follower.node].begin;
      from = std::max(from, now_ + follower.lag);
      if (--waits_for_[follower.node] == 0) starts_.push({std::max(now_, from), follower.node});
    }
  }

  const std::vector<Piece>& pieces_;
  const Tenants& tenants_;
  std::vector<std::vector<After>> followers_;  // of the end of each piece
  std::vector<std::vector<After>> beside_;     // of its begin
  std::vector<std::size_t> waits_for_;
  std::vector<double> left_;  // ps alone
  std::vector<Played> played_;
  std::vector<std::size_t> active_;
  using Start = std::pair<sim::Time, std::size_t>;
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
  sim::Time now_{0};
};

}  // namespace

Run take_apart(const Profile& profile, const Dependencies& dependencies, Contention& traced) {
  Run run;
  std::map<models::CollectiveSpec, std::size_t> known;
  const std::vector<Computing> beside = computing(profile);
  std::vector<std::size_t> first(dependencies.nodes.size()), last(dependencies.nodes.size());  // pieces, by node
  for (std::size_t i = 0; i < dependencies.nodes.size(); ++i) {
    const Node& node = dependencies.nodes[i];
    first[i] = run.pieces.size();
    Piece piece{.work = node.work, .begin = node.begin, .end = node.end};
    for (const After& after : node.after) {
      piece.after.push_back({(after.of_begin ? first : last)[after.node], after.lag, after.of_begin});
    }
    const ProfiledWork* const work = node.work ? &profile.work[*node.work] : nullptr;
    if (work != nullptr) piece.kind = work->kind == WorkKind::collective ? PieceKind::unknown : kind_of(work->kind);
    const Tenant* const tenant = work != nullptr && work->collective ? &traced.tenant(*work->collective) : nullptr;
    if (tenant != nullptr && tenant->alone) {
      const auto [at, is_new] = known.try_emplace(*work->collective, run.collectives.size());
      if (is_new) run.collectives.push_back(*work->collective);
      const sim::Time moves = began_to_move(beside, *tenant, node.begin, node.end);
      Piece moving = piece;
      moving.kind = PieceKind::moving;
      moving.collective = at->second;
      piece.kind = PieceKind::waiting;
      moving.begin = piece.end = moves;
      moving.after = {{run.pieces.size(), sim::Time(0)}};
      run.unexplained += moves - node.begin;
      run.pieces.push_back(std::move(piece));
      piece = std::move(moving);
    }
    last[i] = run.pieces.size();
    run.pieces.push_back(std::move(piece));
  }
  const Tenants tenants = tenants_of(run.collectives, traced);
  take_out_slowdowns(run.pieces, tenants);
  for (const Piece& piece : run.pieces) {
    if (piece.collective) run.beyond += std::max(sim::Time(0), *tenants[*piece.collective]->alone - piece.alone);
  }
  return run;
}

std::vector<Played> play(const Run& run, Contention& contention, Without without) {
  const Tenants tenants = tenants_of(run.collectives, contention);
  std::vector<Piece> pieces = run.pieces;
  for (Piece& piece : pieces) {
    if (piece.collective && tenants[*piece.collective]->alone) piece.alone = *tenants[*piece.collective]->alone;
    const bool waits = piece.kind == PieceKind::waiting && without.waits;
    if (without.communication ? piece.communicates() : waits) piece.alone = sim::Time(0);
  }
  return Player(pieces, tenants).play();
}

}  // namespace c3sim::calibrate
