#include "calibrate/replay/replay.h"

#include <algorithm>
#include <array>
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

std::optional<Beside> computes(const Piece& piece) {
  if (piece.kind == PieceKind::matrix) return Beside::matrix;
  if (piece.kind == PieceKind::memory) return Beside::memory;
  return {};
}

// Pieces that run at once, and what they cost each other: of several, the slowest pair tells. That follows from how
// many of a kind and of a collective a GPU has, which is all that is kept of them.
class Active {
 public:
  explicit Active(const Tenants& tenants) : tenants_(tenants) {}

  const std::vector<std::size_t>& pieces() const { return pieces_; }
  void begin(const std::vector<Piece>& all, std::size_t piece) {
    pieces_.push_back(piece);
    count(all[piece], 1);
  }
  void end(const std::vector<Piece>& all, std::size_t piece) {
    std::erase(pieces_, piece);
    count(all[piece], -1);
  }
  double slowdown(const Piece& piece) const {
    const Gpu& gpu = gpus_.at(piece.device);
    if (const std::optional<Beside> kind = computes(piece)) return gpu.slows[static_cast<std::size_t>(*kind)];
    double most = 1.0;
    for (std::size_t kind = 0; kind < besides && piece.collective; ++kind) {
      if (gpu.computing[kind] > 0) most = std::max(most, tenants_[*piece.collective]->slowed[kind]);
    }
    return most;
  }

 private:
  struct Gpu {
    std::array<int, besides> computing{};
    std::map<std::size_t, int> collectives{};     // how many run of each
    std::array<double, besides> slows{1.0, 1.0};  // what computes, by these collectives
  };

  void count(const Piece& piece, int by) {
    Gpu& gpu = gpus_[piece.device];
    if (const std::optional<Beside> kind = computes(piece)) gpu.computing[static_cast<std::size_t>(*kind)] += by;
    if (!piece.collective) return;
    if ((gpu.collectives[*piece.collective] += by) == 0) gpu.collectives.erase(*piece.collective);
    gpu.slows = {1.0, 1.0};
    for (const auto& [collective, runs] : gpu.collectives) {
      for (std::size_t kind = 0; kind < besides; ++kind)
        gpu.slows[kind] = std::max(gpu.slows[kind], tenants_[collective]->slows[kind]);
    }
  }

  const Tenants& tenants_;
  std::vector<std::size_t> pieces_;  // by when they began
  std::map<std::int64_t, Gpu> gpus_;
};

// What computes on a GPU, as traced: which kinds from each moment on.
struct Computing {
  sim::Time since{0};
  bool matrix = false, memory = false;
};
std::vector<Computing> computing(const Profile& profile, std::int64_t device) {
  std::map<sim::Time, std::array<int, besides>> changes;
  for (const ProfiledWork& work : profile.work) {
    if (profile.streams[work.stream].device != device) continue;
    if (work.kind != WorkKind::matrix && work.kind != WorkKind::memory) continue;
    const std::size_t kind = work.kind == WorkKind::matrix ? 0 : 1;
    ++changes[work.begin][kind];
    --changes[work.end][kind];
  }
  std::vector<Computing> all{{sim::Time::min(), false, false}};
  std::array<int, besides> run{};
  for (const auto& [at, by] : changes) {
    for (std::size_t kind = 0; kind < besides; ++kind) run[kind] += by[kind];
    all.push_back({at, run[0] > 0, run[1] > 0});
  }
  return all;
}

bool computes_between(const std::vector<Computing>& all, sim::Time begin, sim::Time end) {
  auto at = std::prev(std::ranges::lower_bound(all, end, {}, &Computing::since));
  while (!at->matrix && !at->memory && at->since > begin) --at;
  return at->matrix || at->memory;
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
  Active active(tenants);
  sim::Time since{0};
  for (const Change& change : changes) {
    const auto passed = static_cast<double>((change.at - since).count());
    if (passed > 0.0) {
      for (const std::size_t one : active.pieces()) alone[one] += passed / active.slowdown(pieces[one]);
    }
    since = change.at;
    if (change.begins) {
      active.begin(pieces, change.piece);
    } else {
      active.end(pieces, change.piece);
    }
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i].alone = sim::Time(static_cast<std::int64_t>(alone[i]));
}

// Pieces that run, and those that wait for others or for their time.
class Player {
 public:
  Player(const std::vector<Piece>& pieces, const Tenants& tenants) : pieces_(pieces), active_(tenants) {
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
    while (!starts_.empty() || !active_.pieces().empty()) {
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
          active_.begin(pieces_, piece);
        }
        continue;
      }
      pass(next->first);
      active_.end(pieces_, next->second);
      end(next->second);
    }
    return std::move(played_);
  }

 private:
  std::optional<std::pair<sim::Time, std::size_t>> next_end() const {
    std::optional<std::pair<sim::Time, std::size_t>> first;
    for (const std::size_t one : active_.pieces()) {
      const double length = std::max(0.0, left_[one]) * active_.slowdown(pieces_[one]);
      const std::pair end(now_ + sim::Time(static_cast<std::int64_t>(length)), one);
      if (!first || end < *first) first = end;
    }
    return first;
  }
  void pass(sim::Time until) {
    if (until <= now_) return;
    const auto passed = static_cast<double>((until - now_).count());
    for (const std::size_t one : active_.pieces()) left_[one] -= passed / active_.slowdown(pieces_[one]);
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
  std::vector<std::vector<After>> followers_;  // of the end of each piece
  std::vector<std::vector<After>> beside_;     // of its begin
  std::vector<std::size_t> waits_for_;
  std::vector<double> left_;  // ps alone
  std::vector<Played> played_;
  Active active_;
  using Start = std::pair<sim::Time, std::size_t>;
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
  sim::Time now_{0};
};

// Pieces of a run, some of them cut into parts.
class Cutting {
 public:
  Cutting(const Run& run, const std::vector<bool>& is_cut, std::size_t count)
      : run_(run), is_cut_(is_cut), count_(count), first_(run.pieces.size()) {}

  Run cut() && {
    result_.unexplained = run_.unexplained;
    result_.beyond = run_.beyond;
    for (models::CollectiveSpec one : run_.collectives) {
      result_.collectives.push_back(one);
      one.bytes = one.bytes / static_cast<double>(count_);
      result_.collectives.push_back(one);
    }
    for (std::size_t i = 0; i < run_.pieces.size(); ++i) {
      first_[i] = result_.pieces.size();
      for (std::size_t part = 0; part < parts_of(i); ++part) add(i, part);
    }
    return std::move(result_);
  }

 private:
  std::size_t parts_of(std::size_t piece) const { return is_cut_[piece] ? count_ : 1; }
  std::size_t last(std::size_t piece) const { return first_[piece] + parts_of(piece) - 1; }
  bool moves(std::size_t piece) const { return run_.pieces[piece].kind == PieceKind::moving; }

  void add(std::size_t i, std::size_t part) {
    const Piece& whole = run_.pieces[i];
    const auto parts = static_cast<std::int64_t>(parts_of(i));
    const auto at = [&](std::size_t n) {
      return whole.begin + static_cast<std::int64_t>(n) * (whole.end - whole.begin) / parts;
    };
    Piece piece = whole;
    piece.begin = at(part);
    piece.end = at(part + 1);
    piece.alone = whole.alone / parts;
    if (piece.collective) piece.collective = 2 * *whole.collective + (parts > 1 ? 1 : 0);
    piece.after.clear();
    if (part > 0) piece.after.push_back({result_.pieces.size() - 1});
    // The wait before a collective is for the first part of what it sends, its data then part by part.
    if (moves(i)) add_sources(i - 1, part, piece.after);
    for (const After& after : whole.after) add_after(i, part, after, piece.after);
    result_.pieces.push_back(std::move(piece));
  }

  void add_sources(std::size_t wait, std::size_t part, std::vector<After>& after) const {
    for (const After& one : run_.pieces[wait].after) {
      if (part > 0 && !one.of_begin && is_cut_[one.node]) after.push_back({first_[one.node] + part, one.lag});
    }
  }

  void add_after(std::size_t i, std::size_t part, const After& one, std::vector<After>& after) const {
    if (one.of_begin || run_.pieces[i].kind == PieceKind::waiting) {
      after.push_back({first_[one.node], one.lag, one.of_begin});
    } else if (is_cut_[i] && moves(one.node) && !moves(i)) {
      after.push_back({first_[one.node] + part, one.lag});
      // What computes does so one after the other, as its stream had it.
      for (const After& before : run_.pieces[one.node - 1].after) {
        if (part == 0 && !before.of_begin) after.push_back({last(before.node)});
      }
    } else if (part == 0) {
      after.push_back({last(one.node), one.lag});
    }
  }

  const Run& run_;
  const std::vector<bool>& is_cut_;
  std::size_t count_;
  std::vector<std::size_t> first_;  // part of each piece
  Run result_;
};

}  // namespace

Run take_apart(const Profile& profile, const Dependencies& dependencies, Contention& traced) {
  Run run;
  std::map<models::CollectiveSpec, std::size_t> known;
  std::map<std::int64_t, std::vector<Computing>> by_device;
  for (const ProfiledStream& stream : profile.streams) {
    if (!by_device.contains(stream.device)) by_device[stream.device] = computing(profile, stream.device);
  }
  std::vector<std::size_t> first(dependencies.nodes.size()), last(dependencies.nodes.size());  // pieces, by node
  for (std::size_t i = 0; i < dependencies.nodes.size(); ++i) {
    const Node& node = dependencies.nodes[i];
    first[i] = run.pieces.size();
    Piece piece{.work = node.work, .begin = node.begin, .end = node.end};
    for (const After& after : node.after) {
      piece.after.push_back({(after.of_begin ? first : last)[after.node], after.lag, after.of_begin});
    }
    const ProfiledWork* const work = node.work ? &profile.work[*node.work] : nullptr;
    if (work != nullptr) piece.device = profile.streams[work->stream].device;
    const std::vector<Computing>& beside = by_device[piece.device];
    if (work != nullptr) piece.kind = work->kind == WorkKind::collective ? PieceKind::unknown : kind_of(work->kind);
    const Tenant* const tenant = work != nullptr && work->collective ? &traced.tenant(*work->collective) : nullptr;
    if (tenant != nullptr && !tenant->alone) run.not_simulated[tenant->why_not].add(work->line, work->length());
    if (tenant != nullptr && tenant->alone) {
      const auto [at, is_new] = known.try_emplace(*work->collective, run.collectives.size());
      if (is_new) run.collectives.push_back(*work->collective);
      const sim::Time moves = work->least ? std::max(node.begin, node.end - *work->least)
                                          : began_to_move(beside, *tenant, node.begin, node.end);
      Piece moving = piece;
      moving.kind = PieceKind::moving;
      moving.collective = at->second;
      moving.beside_compute = computes_between(beside, moves, node.end);
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

Run split(const Run& run, int count) {
  if (count <= 1) return run;
  const std::size_t pieces = run.pieces.size();
  std::vector<bool> is_cut(pieces, false);
  const auto waits_at_end = [&](std::size_t i, const auto& visit) {
    for (const After& after : run.pieces[i].after) {
      if (!after.of_begin) visit(after.node);
    }
  };
  // Behind a collective's data, and before its wait for other GPUs.
  for (std::size_t i = 0; i < pieces; ++i) {
    if (run.pieces[i].kind == PieceKind::moving) {
      is_cut[i] = true;
      waits_at_end(i - 1,
                   [&](std::size_t before) { is_cut[before] = is_cut[before] || run.pieces[before].computes(); });
    } else if (run.pieces[i].computes()) {
      waits_at_end(i, [&](std::size_t before) {
        if (run.pieces[before].kind == PieceKind::moving) is_cut[i] = true;
      });
    }
  }
  return Cutting(run, is_cut, static_cast<std::size_t>(count)).cut();
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
