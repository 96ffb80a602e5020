#include "calibrate/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/interruption.h"

namespace c3sim::calibrate {

namespace {

using study::WorkClasses;

// Tenants holds what is known of each of a run's collectives, in their order.
using Tenants = std::vector<const Tenant*>;
Tenants tenants_of(const std::vector<models::CollectiveSpec>& collectives, Contention& contention) {
  Tenants tenants;
  for (const models::CollectiveSpec& one : collectives) tenants.push_back(&contention.tenant(one));
  return tenants;
}

// PieceClasses sorts pieces into classes: computation by kind, any other work, and each collective, for each GPU.
// Computation and collectives of one GPU slow each other down; of several pairs that run, the slowest decides.
class PieceClasses {
 public:
  explicit PieceClasses(const Tenants& tenants) : tenants_(tenants) {}

  WorkClasses::Id class_of(const Piece& piece) {
    const std::size_t sort = piece.computes()   ? static_cast<std::size_t>(piece.kind)  // as of Neighbour
                             : piece.collective ? first_collective + *piece.collective
                                                : besides;
    Gpu& gpu = gpus_[piece.device];
    const auto known = gpu.find(sort);
    return known != gpu.end() ? known->second : add(gpu, sort);
  }
  WorkClasses& all() { return classes_; }

 private:
  // A Gpu maps the sorts of its pieces (computation by kind, anything else, collectives) to classes.
  using Gpu = std::map<std::size_t, WorkClasses::Id>;
  static constexpr std::size_t first_collective = besides + 1;

  WorkClasses::Id add(Gpu& gpu, std::size_t sort) {
    const WorkClasses::Id added = classes_.add();
    for (const auto& [other_sort, other] : gpu) {
      if (sort >= first_collective && other_sort < besides) connect(other_sort, other, sort, added);
      if (sort < besides && other_sort >= first_collective) connect(sort, added, other_sort, other);
    }
    return gpu[sort] = added;
  }
  void connect(std::size_t kind, WorkClasses::Id computing, std::size_t sort, WorkClasses::Id collective) {
    const Tenant& tenant = *tenants_[sort - first_collective];
    classes_.slow_down(computing, collective, tenant.slows[kind]);
    classes_.slow_down(collective, computing, tenant.slowed[kind]);
  }

  const Tenants& tenants_;
  WorkClasses classes_;
  std::map<std::int64_t, Gpu> gpus_;
};

// Computing says which kinds of computation the trace has on a GPU from a moment on.
struct Computing {
  sim::Time since{0};
  bool matrix = false, memory = false;
};
std::vector<Computing> computing(const Profile& profile, std::int64_t device) {
  struct Change {
    sim::Time at{0};
    std::uint8_t kind = 0;
    std::int8_t by = 0;
  };
  std::vector<Change> changes;
  for (const ProfiledWork& work : sim::in_short_steps(profile.work)) {
    if (profile.streams[work.stream].device != device) continue;
    if (!work.computes()) continue;
    const std::uint8_t kind = work.kind == WorkKind::matrix ? 0 : 1;
    changes.push_back({work.begin, kind, 1});
    changes.push_back({work.end, kind, -1});
  }
  std::ranges::sort(changes, {}, sim::as_short_steps(&Change::at));
  std::vector<Computing> all{{sim::Time::min(), false, false}};
  std::array<int, besides> run{};
  for (const std::size_t i : sim::short_steps(changes.size())) {
    run[changes[i].kind] += changes[i].by;
    if (i + 1 < changes.size() && changes[i + 1].at == changes[i].at) continue;
    const Computing now{changes[i].at, run[0] > 0, run[1] > 0};
    if (now.matrix != all.back().matrix || now.memory != all.back().memory) all.push_back(now);
  }
  return all;
}

bool computes_between(const std::vector<Computing>& all, sim::Time begin, sim::Time end) {
  auto at = std::prev(std::ranges::lower_bound(all, end, {}, &Computing::since));
  while (!at->matrix && !at->memory && at->since > begin) --at;
  return at->matrix || at->memory;
}

// Returns when a collective that ended at `end` began to move data, if moving takes `tenant.alone` without slowdowns.
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

// Sets the time of each piece alone: its traced time without the slowdown by concurrent pieces.
void take_out_slowdowns(std::vector<Piece>& pieces, const Tenants& tenants) {
  std::vector<std::uint32_t> begins;  // pieces with a length, sorted by begin; `ends`: by end
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].end > pieces[i].begin) begins.push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<std::uint32_t> ends = begins;
  std::ranges::stable_sort(begins, {}, sim::as_short_steps([&](std::uint32_t i) { return pieces[i].begin; }));
  std::ranges::stable_sort(ends, {}, sim::as_short_steps([&](std::uint32_t i) { return pieces[i].end; }));
  std::vector<double> begun_at(pieces.size(), 0.0);  // work that its class had done
  PieceClasses classes(tenants);
  std::vector<WorkClasses::Id> class_of;
  class_of.reserve(pieces.size());
  for (const Piece& piece : sim::in_short_steps(pieces)) class_of.push_back(classes.class_of(piece));
  sim::ShortSteps steps;
  for (std::size_t begun = 0, ended = 0; ended < ends.size();) {
    steps.note();
    // Of simultaneous events, that of the earlier piece comes first.
    const auto begins_at = [&] { return std::pair(pieces[begins[begun]].begin, begins[begun]); };
    const bool is_begin = begun < begins.size() && begins_at() < std::pair(pieces[ends[ended]].end, ends[ended]);
    const std::uint32_t place = is_begin ? begins[begun++] : ends[ended++];
    Piece& piece = pieces[place];
    const sim::Time at = is_begin ? piece.begin : piece.end;
    const WorkClasses::Id of = class_of[place];
    const double done = classes.all().done(of, at);
    if (is_begin) {
      begun_at[place] = done;
      classes.all().begin(of, at);
    } else {
      classes.all().end(of, at);
      piece.alone = sim::Time(std::llround(done - begun_at[place]));
    }
  }
}

// Cutting cuts some pieces of a run into parts.
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
    for (const std::size_t i : sim::short_steps(run_.pieces.size())) {
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
    if (part > 0) result_.after.add({result_.pieces.size() - 1, sim::Time(0)});
    // Before its data a collective waits for the first part of what it sends. Its data then follow part by part.
    if (moves(i)) add_sources(i - 1, part);
    for (const After& after : run_.after[i]) add_after(i, part, after);
    result_.after.end_list();
    result_.pieces.push_back(piece);
  }

  void add_sources(std::size_t wait, std::size_t part) {
    for (const After& one : run_.after[wait]) {
      if (part > 0 && !one.of_begin && is_cut_[one.node]) result_.after.add({first_[one.node] + part, one.lag});
    }
  }

  void add_after(std::size_t i, std::size_t part, const After& one) {
    if (one.of_begin || run_.pieces[i].kind == PieceKind::waiting) {
      result_.after.add({first_[one.node], one.lag, one.of_begin});
    } else if (is_cut_[i] && moves(one.node) && !moves(i)) {
      result_.after.add({first_[one.node] + part, one.lag});
      // Computation waits for the computation before the collective, as its stream ran them in order.
      for (const After& before : run_.after[one.node - 1]) {
        if (part == 0 && !before.of_begin) result_.after.add({last(before.node), sim::Time(0)});
      }
    } else if (part == 0) {
      result_.after.add({last(one.node), one.lag});
    }
  }

  const Run& run_;
  const std::vector<bool>& is_cut_;
  std::size_t count_;
  std::vector<std::size_t> first_;  // first part of each piece
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
  // The pieces of work of each WorkKind, until a collective is known to the model.
  constexpr std::array kinds{PieceKind::matrix, PieceKind::memory, PieceKind::other, PieceKind::unknown};
  std::vector<Place> first(dependencies.nodes.size()),
      last(dependencies.nodes.size());  // first and last piece of each node
  const auto collectives = static_cast<std::size_t>(
      std::ranges::count(profile.work, WorkKind::collective, &ProfiledWork::kind));  // each becomes two pieces
  run.pieces.reserve(dependencies.nodes.size() + collectives);
  run.after.reserve(dependencies.nodes.size() + collectives, dependencies.after.waits() + collectives);
  for (const std::size_t i : sim::short_steps(dependencies.nodes.size())) {
    const Node& node = dependencies.nodes[i];
    first[i] = run.pieces.size();
    Piece piece{.begin = node.begin, .end = node.end, .work = node.work};
    for (const After& after : dependencies.after[i])
      run.after.add({*(after.of_begin ? first : last)[after.node], after.lag, after.of_begin});
    run.after.end_list();
    const ProfiledWork* const work = node.work ? &profile.work[*node.work] : nullptr;
    if (work != nullptr) piece.device = profile.streams[work->stream].device;
    const std::vector<Computing>& beside = by_device[piece.device];
    if (work != nullptr) piece.kind = kinds[static_cast<std::size_t>(work->kind)];
    const models::CollectiveSpec* const spec = work != nullptr ? profile.collective_of(*work) : nullptr;
    const Tenant* const tenant = spec != nullptr ? &traced.tenant(*spec) : nullptr;
    if (tenant != nullptr && !tenant->alone) run.not_simulated[tenant->why_not].add(work->line, work->length());
    if (tenant != nullptr && tenant->alone) {
      const auto [at, is_new] = known.try_emplace(*spec, run.collectives.size());
      if (is_new) run.collectives.push_back(*spec);
      const sim::Time moves = work->least != ProfiledWork::unknown
                                  ? std::max(node.begin, node.end - work->least)
                                  : began_to_move(beside, *tenant, node.begin, node.end);
      Piece moving = piece;
      moving.kind = PieceKind::moving;
      moving.collective = at->second;
      moving.beside_compute = computes_between(beside, moves, node.end);
      piece.kind = PieceKind::waiting;
      moving.begin = piece.end = moves;
      run.after.add({run.pieces.size(), sim::Time(0)});
      run.after.end_list();
      run.unexplained += moves - node.begin;
      run.pieces.push_back(piece);
      piece = moving;
    }
    last[i] = run.pieces.size();
    run.pieces.push_back(piece);
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
    for (const After& after : run.after[i]) {
      if (!after.of_begin) visit(after.node);
    }
  };
  // Computation is cut if it follows a collective's data or precedes its wait for other GPUs.
  for (const std::size_t i : sim::short_steps(pieces)) {
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

std::vector<study::Stay> play(const Run& run, Contention& contention, Without without) {
  const Tenants tenants = tenants_of(run.collectives, contention);
  PieceClasses classes(tenants);
  std::vector<study::KnownWork> works;
  works.reserve(run.pieces.size());
  for (const Piece& piece : sim::in_short_steps(run.pieces)) {
    const Tenant* const tenant = piece.collective ? tenants[*piece.collective] : nullptr;
    const bool waits = piece.kind == PieceKind::waiting && without.waits;
    const bool is_left_out = without.communication ? piece.communicates() : waits;
    const sim::Time alone = is_left_out ? sim::Time(0) : tenant && tenant->alone ? *tenant->alone : piece.alone;
    works.push_back({alone, classes.class_of(piece)});
  }
  std::vector<study::Stay> played = study::play_known(works, run.after, std::move(classes.all()));
  for (auto& [begin, end] : sim::in_short_steps(played)) {
    begin += run.pieces.front().begin;
    end += run.pieces.front().begin;
  }
  return played;
}

using sim::operator""_MiB;

std::optional<models::CollectiveSpec> Contention::carried_out(const models::CollectiveSpec& collective,
                                                              std::string& why_not) {
  models::CollectiveSpec asked = study::on_gpus_of(testbed_.platform(), collective);
  asked.backend = by_what_.backend;
  if (!models::by_kernels(asked.backend) || !by_what_.channels_as_traced) asked.channels.reset();
  if (models::by_kernels(asked.backend) && by_what_.channels) asked.channels = by_what_.channels;
  why_not = testbed_.why_impossible(asked);
  if (why_not.empty()) return asked;
  if (!testbed_.why_impossible(collective).empty()) return {};
  ++by_library_[why_not];
  return collective;
}

void Contention::add_slowdowns(const models::CollectiveSpec& collective, Tenant& tenant) {
  models::CollectiveSpec like = collective;
  const double next = std::exp2(std::ceil(std::log2(collective.bytes.value())));
  like.bytes = std::max(sim::Bytes(64_MiB), sim::Bytes(next));
  const auto [known, is_new] = pairs_.try_emplace(like);
  if (is_new && testbed_.why_impossible(like).empty()) {
    const study::Operation own = study::operation_of(like);
    const sim::Time length = alone_on_queue(like);
    for (const Beside beside : {Beside::matrix, Beside::memory}) {
      const study::Operation other = study::operation_of(study::kernel_as_long(testbed_, beside, length));
      const auto [slowed, slows] = study::slowdowns_of_pair(testbed_, own, other, study::Between::communication);
      const auto place = static_cast<std::size_t>(beside);
      known->second.slowed[place] = slowed;
      known->second.slows[place] = slows;
    }
  }
  tenant.slows = known->second.slows;
  tenant.slowed = known->second.slowed;
}

const Tenant& Contention::tenant(const models::CollectiveSpec& collective) {
  const auto [known, is_new] = tenants_.try_emplace(collective);
  if (!is_new) return known->second;
  if (const std::optional<models::CollectiveSpec> spec = carried_out(collective, known->second.why_not)) {
    known->second.alone = alone_on_queue(*spec);
    add_slowdowns(*spec, known->second);
  }
  return known->second;
}

}  // namespace c3sim::calibrate
