#include "models/collectives/fused_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "models/kernels/elementwise.h"
#include "models/kernels/gemm.h"
#include "models/machine/memory_word.h"
#include "models/machine/resource_kind.h"
#include "models/platform/device.h"
#include "models/sdma/sdma_engine.h"
#include "models/sdma/sdma_packet.h"
#include "sim/gate.h"
#include "sim/units.h"

namespace c3sim::models {
namespace {

constexpr std::int64_t most_pieces = 8;  // per shard, as in FiCCO (arXiv 2512.10236)

constexpr std::int64_t its_turn_is_there = 1;

std::int64_t portion_of(std::int64_t whole, std::int64_t count, std::int64_t index) {
  return whole * (index + 1) / count - whole * index / count;
}

// A FusedTransfer describes as data what the GPUs of a fused GEMM send to each other: every GPU sends `piece`, once it
// has it, to a peer, whose piece `there` it becomes part of.
struct FusedTransfer {
  static constexpr std::int64_t from_the_start = -1;

  std::int64_t piece;   // or from_the_start: the GPU has it before the kernel begins
  int distance;         // index of the peer minus that of the sender, modulo the number of GPUs
  std::int64_t there;   // index of the piece at the peer
  bool arrives_first;   // the sender passes on what must first arrive at it
  bool is_sum = false;  // the piece has been added up already, as in the second half of an all-reduce
};

std::vector<FusedTransfer> around_ring(const FusedSpec& spec, std::int64_t gpus) {
  std::vector<FusedTransfer> transfers;
  const std::int64_t around = gpus - 1;
  const std::int64_t hops = spec.all_reduces() ? 2 * around : around;
  for (std::int64_t hop = 0; hop < hops; ++hop) {
    for (std::int64_t piece = 0; piece < spec.pieces; ++piece) {
      const std::int64_t here = hop * spec.pieces + piece;
      const std::int64_t next = here + spec.pieces;
      if (spec.gathers()) {
        const std::int64_t sent = hop == 0 ? FusedTransfer::from_the_start : here - spec.pieces;
        transfers.push_back({sent, 1, here, hop > 0});
      } else {
        transfers.push_back({here, 1, next, hop > 0, hop >= around});
      }
    }
  }
  return transfers;
}

std::vector<FusedTransfer> to_each_peer(const FusedSpec& spec, std::int64_t gpus) {
  std::vector<FusedTransfer> transfers;
  for (std::int64_t round = 0; round < spec.pieces; ++round) {
    for (std::int64_t distance = 1; distance < gpus; ++distance) {
      if (spec.gathers()) {
        transfers.push_back({FusedTransfer::from_the_start, static_cast<int>(distance), round, false});
      } else {
        const std::int64_t first = round * gpus;
        transfers.push_back({first + distance - 1, static_cast<int>(distance), first + gpus - 1, false});
      }
    }
    for (std::int64_t distance = 1; spec.all_reduces() && distance < gpus; ++distance) {
      const std::int64_t sum = round * gpus + gpus - 1;
      transfers.push_back({sum, static_cast<int>(distance), gpus * spec.pieces + round, true, true});
    }
  }
  return transfers;
}

// Returns the transfers of one of `gpus` GPUs, in order for each peer: on a ring as in T3 (arXiv 2401.16677), or
// directly to each peer.
std::vector<FusedTransfer> fused_transfers(const FusedSpec& spec, std::int64_t gpus) {
  return spec.path == FusedPath::ring ? around_ring(spec, gpus) : to_each_peer(spec, gpus);
}

// A PieceTracker tells when the pieces that one GPU of a fused GEMM computes and receives are complete. Each piece has
// a word in memory that counts tiles computed by the GPU and, if it passes on what arrives, transfers that have
// arrived. The Trigger says what a word costs and how many tiles can be tracked at once.
class PieceTracker {
 public:
  struct Piece {
    std::int64_t tiles = 0;              // tiles that the GPU computes
    int due = 0;                         // number of transfers that arrive in all
    bool passes_on = false;              // the GPU sends on what arrives
    sim::Time there = sim::Time::max();  // when the piece became ready to travel
    std::unique_ptr<MemoryWord> word;

    bool waits() const { return passes_on && arrived < due; }
    bool has_arrived() const { return arrived == due; }
    // Returns the condition on the word for all tiles and, with `arrives_first`, all transfers.
    Condition complete(bool arrives_first) const { return {Comparison::at_least, tiles + (arrives_first ? due : 0)}; }

    // Only the tracker changes the following.
    std::int64_t own = 0;       // tiles computed so far
    int arrived = 0;            // transfers arrived so far
    bool untracked = false;     // found no entry: its tiles count when the kernel has ended
    std::int64_t withheld = 0;  // tiles that count only when the kernel has ended
    std::int64_t entries = 0;   // entries of tiles that wait for arrivals
  };

  // `storing` tiles are being stored at any one time while the kernel runs.
  PieceTracker(sim::Simulator& simulator, const Trigger& trigger, std::int64_t storing)
      : simulator_(simulator), trigger_(trigger), storing_(storing) {}

  // Pieces are computed in the order in which they are added. None may be added once tiles have been counted.
  void add(std::int64_t tiles, std::string name) {
    Piece& piece = pieces_.emplace_back();
    piece.tiles = tiles;
    piece.word = std::make_unique<MemoryWord>(simulator_, std::move(name), 0);
  }

  std::size_t size() const { return pieces_.size(); }
  Piece& piece(std::int64_t index) { return pieces_[static_cast<std::size_t>(index)]; }
  const std::vector<Piece>& pieces() const { return pieces_; }

  // Tells that `done` tiles of the kernel, `all` of them or not, have been computed. Returns pairs of a piece's index
  // and the number of its tiles that are new. Tiles count towards pieces in the order in which workgroups are placed:
  // all but the last wave retire so.
  std::vector<std::pair<std::int64_t, std::int64_t>> computed(std::int64_t done, bool all) {
    std::vector<std::pair<std::int64_t, std::int64_t>> counted;
    for (; unfinished_ < pieces_.size(); ++unfinished_) {
      Piece& piece = pieces_[unfinished_];
      const std::int64_t more = std::min(done - before_, piece.tiles) - piece.own;
      piece.own += more;
      if (more > 0) {
        count(piece, more);
        counted.emplace_back(static_cast<std::int64_t>(unfinished_), more);
      }
      if (piece.own < piece.tiles) break;
      before_ += piece.tiles;
    }
    if (all) {
      for (Piece& piece : pieces_) notify(piece, std::exchange(piece.withheld, 0));
      for (const auto& [piece, tiles] : std::exchange(held_, {})) notify(*piece, tiles);
    }
    return counted;
  }

  // Tells that one more transfer has arrived for a piece.
  void arrived(Piece& piece) {
    ++piece.arrived;
    if (piece.passes_on) notify(piece, 1);
    if (piece.waits()) return;
    const std::int64_t freed = std::exchange(piece.entries, 0);
    entries_ -= freed;
    admit(freed);
  }

 private:
  // The tracker has an entry for each tile that is being stored, and for each that waits for arrivals. Data that
  // arrives before its tile is stored finds an entry or is held back by its sender; the sender's delay is not modelled.
  void count(Piece& piece, std::int64_t more) {
    if (trigger_.queues) return hold(piece, more);
    if (piece.waits()) {
      piece.entries += more;
      entries_ += more;
    }
    const bool is_full = trigger_.entries > 0 && storing_ + entries_ > trigger_.entries;
    if (is_full && piece.arrived == 0) piece.untracked = true;
    if (trigger_.at_end || piece.untracked) {
      piece.withheld += more;
    } else {
      notify(piece, more);
    }
  }

  // Admits as many of the tiles being stored as there are entries for; the others are held. The delay of the GEMM's own
  // stores is not modelled.
  void hold(Piece& piece, std::int64_t more) {
    const std::int64_t room = std::clamp<std::int64_t>(trigger_.entries - entries_, 0, storing_);
    held_.emplace_back(&piece, more);
    if (room == storing_) return admit(std::numeric_limits<std::int64_t>::max());
    turn_ += more * room;
    admit(turn_ / storing_);
    turn_ %= storing_;
  }

  void admit(std::int64_t tiles) {
    while (!held_.empty()) {
      auto& [piece, left] = held_.front();
      const std::int64_t free = piece->waits() ? trigger_.entries - entries_ : left;
      const std::int64_t admitted = std::min({tiles, left, free});
      if (admitted <= 0) return;
      if (piece->waits()) {
        piece->entries += admitted;
        entries_ += admitted;
      }
      notify(*piece, admitted);
      tiles -= admitted;
      left -= admitted;
      if (left == 0) held_.pop_front();
    }
  }

  void notify(Piece& piece, std::int64_t more) {
    if (more == 0) return;
    simulator_.schedule(simulator_.now() + trigger_.notice, [piece = &piece, more] {
      piece->word->add(more);
      if (piece->word->value() >= piece->tiles) piece->there = std::min(piece->there, piece->word->written_at());
    });
  }

  sim::Simulator& simulator_;
  Trigger trigger_;
  std::int64_t storing_;
  std::vector<Piece> pieces_;
  std::size_t unfinished_ = 0;  // index of the first piece with tiles that are not computed
  std::int64_t before_ = 0;     // tiles of the pieces before `unfinished_`
  std::int64_t entries_ = 0;    // entries of all pieces
  // held_ has tiles that wait for entries. turn_ is the fraction of a tile that hold() has left over, in 1 / storing_.
  std::deque<std::pair<Piece*, std::int64_t>> held_;
  std::int64_t turn_ = 0;
};

}  // namespace

std::string to_string(const FusedSpec& spec) {
  return fmt::format("gemm {} fused with {} {}, {}{}, {} pieces a shard", to_string(spec.gemm), to_string(spec.path),
                     to_string(spec.kind), to_string(spec.trigger), spec.stores ? ", stored by it" : "", spec.pieces);
}

double sum_element(const FusedSpec& spec) { return std::max(spec.gemm.element(), GemmShape::element_bytes); }

sim::Bytes shard_bytes(const FusedSpec& spec, int gpus) {
  const std::int64_t tokens_each = spec.gemm.n / gpus;
  const auto tokens = static_cast<double>(tokens_each);
  const double element = spec.gathers() ? spec.gemm.element() : sum_element(spec);
  return sim::Bytes(tokens * static_cast<double>(spec.gathers() ? spec.gemm.k : spec.gemm.m) * element);
}

CollectiveSpec collective_of(const FusedSpec& spec, int gpus) {
  CollectiveSpec collective;
  collective.kind = spec.kind;
  collective.gpus = spec.gpus_of(gpus);
  collective.bytes = shard_bytes(spec, collective.gpus) * static_cast<double>(collective.gpus);
  collective.host_threads = HostThreads::per_gpu;
  return collective;
}

FusedSpec by_tracker(const GemmShape& shape, int gpus, const PlatformSpec& platform) {
  const bool around = platform.fabric.topology == Topology::fabric_switch && platform.gpu.memory.adds();
  FusedSpec spec{.gemm = shape,
                 .path = around ? FusedPath::ring : FusedPath::direct,
                 .trigger = trigger_named("tracker"),
                 .stores = around,
                 .pieces = most_pieces,
                 .gpus = gpus};
  while (spec.pieces > 1 && !why_impossible(spec, platform).empty()) spec.pieces /= 2;
  return spec;
}

bool ends_with_kernel(const FusedSpec& spec, const PlatformSpec& platform) {
  return spec.gathers() || (spec.kind == CollectiveKind::reduce_scatter && !platform.gpu.memory.adds());
}

std::string why_impossible(const FusedSpec& spec, const PlatformSpec& platform) {
  const int gpus = spec.gpus_of(platform.gpus);
  if (!spec.gathers() && !spec.reduces() && spec.kind != CollectiveKind::all_to_all) {
    return "a GEMM is fused with the all_gather that feeds it, or with a reduce_scatter, an all_reduce or an "
           "all_to_all of its result";
  }
  if (gpus < 2 || gpus > platform.gpus) {
    return fmt::format("pieces travel between GPUs: 2 to {} are accepted, not {}", platform.gpus, gpus);
  }
  if (spec.path == FusedPath::ring && spec.kind == CollectiveKind::all_to_all) {
    return "an all_to_all is exchanged directly: path: direct is accepted";
  }
  if (spec.all_reduces() && !platform.gpu.memory.adds()) {
    return "pieces of an all_reduce go on when memory has added them up: gpu.memory.near_memory hbm or infinity_cache "
           "is accepted, or kind: reduce_scatter";
  }
  if (spec.path == FusedPath::ring && spec.reduces() && !platform.gpu.memory.adds()) {
    return "on a ring each memory adds what passes: gpu.memory.near_memory hbm or infinity_cache is accepted, or path: "
           "direct";
  }
  if (spec.stores && spec.gathers()) return "what is gathered is no GEMM's result: stores: false is accepted";
  const std::int64_t shard = spec.gemm.n / gpus;
  if (spec.gemm.n % (gpus * spec.pieces) != 0) {
    return fmt::format("{} tokens (n) do not divide into {} shards of {} pieces: multiples of {} are accepted",
                       spec.gemm.n, gpus, spec.pieces, gpus * spec.pieces);
  }
  const std::int64_t tiles = plan_gemm(platform.gpu, spec.gemm).pieces();
  if (tiles < gpus) {
    return fmt::format("{} tiles of the GEMM are fewer than {} GPUs: a larger product is accepted", tiles, gpus);
  }
  if (tiles < gpus * spec.pieces) {
    return fmt::format(
        "{} tiles of the GEMM cannot be had in {} pieces of {} shards ({} tokens each): {} pieces are "
        "accepted, or a larger product",
        tiles, spec.pieces, gpus, shard, tiles / gpus);
  }
  const SdmaSpec& sdma = platform.gpu.sdma;
  const bool on_ring = spec.path == FusedPath::ring;
  const int queues = std::max(1, (on_ring ? 1 : sdma.engines - sdma.host_engines) * sdma.queues_per_engine);
  const int of_all_queues = (spec.all_reduces() ? 2 : 1) * (on_ring ? 1 : gpus - 1);
  const int programs = (of_all_queues - 1 + queues) / queues;
  TransferCommand transfer;
  transfer.source.bytes = shard_bytes(spec, gpus) / static_cast<double>(spec.pieces);
  transfer.destinations.emplace_back();
  const std::int64_t each = spec.pieces * (on_ring ? gpus - 1 : 1);
  const sim::Bytes queued = static_cast<double>(programs) *
                            (static_cast<double>(each) * (sdma.packets.poll + ring_bytes(transfer, sdma.packets)) +
                             sdma.packets.atomic + sdma.packets.trap);
  if (queued <= sdma.ring) return {};
  return fmt::format(
      "an engine has {} of packets queued beforehand, but a ring holds {}: fewer pieces or a larger "
      "gpu.sdma.ring are accepted",
      sim::to_string(queued), sim::to_string(sdma.ring));
}

class FusedGemm::Sides {
 public:
  Sides(Node& node, FusedSpec spec, Stream stream, int lane)
      : node_(node),
        spec_(spec),
        gpus_(spec.gpus_of(node.gpus())),
        stream_(std::move(stream)),
        lane_(lane),
        trigger_(policy_of(spec.trigger).on(node.spec())),
        plan_(plan_gemm(node.spec().gpu, spec.gemm, stream_.mask)),
        tiles_(plan_.pieces()),
        transfers_(fused_transfers(spec, gpus_)),
        release_(node.simulator(), "the turn of " + to_string(spec), 0) {
    const GpuSpec& gpu = node.spec().gpu;
    const int cus = gpu.memory.xcds * stream_.mask.cus(gpu.cus_per_xcd);
    const std::int64_t storing = stored_at_once(plan_, gpu, cus);
    for (int index = 0; index < std::min(gpus_, node.simulated()); ++index) add_side(index, storing);
    for (const auto& side : sides_) {
      std::map<int, int> used_queues;
      // Transfers that wait for others' addends come after all of the GPU's own, in case they share a queue.
      for (const bool sums : {false, true}) {
        for (int distance = 1; distance < gpus_; ++distance) add_commands(*side, distance, sums, used_queues);
      }
    }
  }

  sim::Task<> prepare() {
    const QueueUser user{stream_.operation, stream_.follows};
    for (auto& [complex, queue, commands] : queued_) {
      co_await queue->submit_or_leave(complex->submitter(node_.host()), std::move(commands),
                                      complex->doorbell_latency(), user);
    }
  }

  sim::Task<> run() {
    sim::Simulator& simulator = node_.simulator();
    sim::Latch ended(simulator, "the end of a fused GEMM on all GPUs", sides_.size());
    sim::Latch seen(simulator, "all pieces on all GPUs", sides_.size());
    for (const auto& side : sides_) {
      simulator.spawn("fused gemm on " + device_name(side->gpu), run_kernel_on(*side, ended));
      simulator.spawn("pieces of " + device_name(side->gpu), see_completions(*side, seen));
    }
    if (stream_.ready != nullptr) co_await stream_.ready->wait();
    release_.write(its_turn_is_there);
    co_await ended.wait();
    gemm_ended_ = simulator.now();
    co_await seen.wait();
    if (spec_.gathers() || !ends_with_kernel(spec_, node_.spec())) co_return;
    const sim::Bytes shard = shard_bytes(spec_, gpus_);
    const double sums = shard.value() / sum_element(spec_) * (gpus_ - 1);
    Stream stream = stream_;
    stream.ready = nullptr;
    const ElementwiseSpec sum{shard * static_cast<double>(gpus_), shard, sim::Flops(sums)};
    std::vector<int> gpus;
    for (const auto& side : sides_) gpus.push_back(side->gpu);
    co_await run_elementwise(node_, sum, stream, std::move(gpus));
  }

  sim::Time exchange_began() const {
    if (spec_.gathers()) return release_.written_at();
    sim::Time first = sim::Time::max();
    for (const auto& side : sides_) {
      for (const PieceTracker::Piece& piece : side->pieces.pieces()) first = std::min(first, piece.there);
    }
    return first;
  }

  sim::Time gemm_ended() const { return gemm_ended_; }

 private:
  // A StoredPiece is one that the GEMM itself stores into a peer's memory.
  struct StoredPiece {
    const FusedTransfer* transfer = nullptr;
    std::int64_t tiles = 0;  // tiles that have reached the peer's memory
  };
  // A Side is one GPU. Its pieces are those that it computes, in the order of their tiles, followed by those that are
  // gathered (in an all-reduce, too), round by round.
  struct Side {
    Side(sim::Simulator& simulator, int of, const Trigger& trigger, std::int64_t storing)
        : gpu(of), pieces(simulator, trigger, storing) {}

    int gpu;
    PieceTracker pieces;
    std::map<std::int64_t, StoredPiece> stored;  // by piece
    std::unique_ptr<MemoryWord> gathered;        // counts gathered pieces that have arrived
    std::unique_ptr<sim::Latch> arrivals;
    std::vector<std::unique_ptr<CompletionSignal>> completions;
  };

  Side& side(int gpu) { return *sides_[static_cast<std::size_t>(gpu < node_.simulated() ? gpu : 0)]; }
  void add_side(int gpu, std::int64_t storing) {
    sim::Simulator& simulator = node_.simulator();
    auto side = std::make_unique<Side>(simulator, gpu, trigger_, storing);
    const std::int64_t shards = gpus_;
    const std::int64_t computed = spec_.gathers() ? 0 : shards * spec_.pieces;
    const std::int64_t rounds = spec_.path == FusedPath::ring ? (shards - 1) * spec_.pieces : spec_.pieces;
    const std::int64_t count = computed + (spec_.gathers() || spec_.all_reduces() ? rounds : 0);
    for (std::int64_t i = 0; i < count; ++i) {
      side->pieces.add(i < computed ? portion_of(tiles_, computed, i) : 0,
                       fmt::format("piece {} of {} of {} on {}", i, count, to_string(spec_), device_name(gpu)));
    }
    for (const FusedTransfer& transfer : transfers_) {
      ++side->pieces.piece(transfer.there).due;
      if (transfer.arrives_first) side->pieces.piece(transfer.piece).passes_on = true;
      if (is_stored(transfer)) side->stored[transfer.piece].transfer = &transfer;
    }
    side->gathered = std::make_unique<MemoryWord>(simulator, "pieces gathered on " + device_name(gpu), 0);
    side->arrivals = std::make_unique<sim::Latch>(simulator, "all pieces for " + device_name(gpu), transfers_.size());
    sides_.push_back(std::move(side));
  }

  Stream stream_on(Side& side) {
    Stream stream = stream_;
    stream.ended = nullptr;  // the operation goes on after the kernel's end
    if (!spec_.gathers()) {
      stream.progress = [this](const KernelProgress& progress) { retire(progress); };
      stream.fence = trigger_.fence;
      const double others = gpus_ - 1;
      const bool on_ring = spec_.path == FusedPath::ring;
      stream.adds_result = on_ring && spec_.reduces();
      if (spec_.stores) stream.stored_elsewhere = (on_ring ? 1.0 : others) / gpus_;
      return stream;
    }
    const auto groups = static_cast<std::int64_t>(side.pieces.size());
    stream.polled.word = side.gathered.get();
    stream.polled.until = {Comparison::at_least, groups};
    if (trigger_.at_end) return stream;
    // Workgroups outnumber tiles if the last tiles are shared out.
    const int workgroups = gemm_kernel(node_.spec().gpu, spec_.gemm, stream).shape.workgroups;
    const std::int64_t own = workgroups / gpus_;
    stream.polled.first = static_cast<int>(own);
    stream.polled.each = static_cast<int>((workgroups - own + groups - 1) / groups);
    if (!trigger_.told) stream.polled.read = node_.spec().gpu.sdma.gpu_read_latency;
    return stream;
  }

  TransferCommand command_of(int gpu, const FusedTransfer& transfer) {
    const int peer = (gpu + transfer.distance) % gpus_;
    const bool adds = spec_.reduces() && !transfer.is_sum && node_.spec().gpu.memory.adds();
    TransferCommand command;
    command.kind = adds ? TransferKind::update : TransferKind::copy;
    command.source = {gpu, 0, sim::Bytes(0.0), shard_bytes(spec_, gpus_) / static_cast<double>(spec_.pieces)};
    command.destinations = {{peer, 0, sim::Bytes(0.0), command.source.bytes}};
    command.operation = stream_.operation;
    return command;
  }

  bool is_stored(const FusedTransfer& transfer) const { return spec_.stores && !transfer.arrives_first; }

  // Adds the commands for the peer at one distance.
  void add_commands(Side& side, int distance, bool sums, std::map<int, int>& used_queues) {
    SdmaComplex& complex = *node_.copy_engines()[static_cast<std::size_t>(side.gpu)];
    const int peer = (side.gpu + distance) % gpus_;
    const int engine = complex.spec().recommended_engine(side.gpu, peer);
    std::vector<SdmaCommand> commands;
    for (const FusedTransfer& transfer : transfers_) {
      if (transfer.distance != distance || transfer.is_sum != sums || is_stored(transfer)) continue;
      if (transfer.piece == FusedTransfer::from_the_start) {
        commands.emplace_back(PollCommand{&release_, {Comparison::equal, its_turn_is_there}, nullptr, true});
      } else {
        const PieceTracker::Piece& piece = side.pieces.piece(transfer.piece);
        const Condition complete = piece.complete(transfer.arrives_first);
        commands.emplace_back(PollCommand{piece.word.get(), complete, nullptr, trigger_.told});
      }
      TransferCommand command = command_of(side.gpu, transfer);
      command.written = [this, arrival = &arrivals_.emplace_back(peer, &transfer)] {
        arrive(arrival->first, *arrival->second);
      };
      commands.emplace_back(std::move(command));
    }
    if (commands.empty()) return;
    const std::string name = complex.engine(engine).name();
    side.completions.push_back(std::make_unique<CompletionSignal>(node_.host(), complex, name));
    side.completions.back()->append_to(commands);
    // The last queues are used: the first ones get other commands, which must not wait behind these.
    const int queues = complex.spec().queues_per_engine;
    const int in_lane = spec_.all_reduces() ? 2 : 1;
    SdmaQueue& queue = complex.engine(engine).queue(queues - 1 - (lane_ * in_lane + used_queues[engine]++) % queues);
    queue.expect(stream_.operation);
    queued_.push_back({&complex, &queue, std::move(commands)});
  }

  sim::Task<> run_kernel_on(Side& side, sim::Latch& ended) {
    std::vector<int> gpus(1, side.gpu);
    co_await run_gemm(node_, spec_.gemm, stream_on(side), std::move(gpus));
    ended.count_down();
  }

  sim::Task<> see_completions(Side& side, sim::Latch& seen) {
    co_await side.arrivals->wait();
    for (const auto& completion : side.completions) co_await completion->see();
    seen.count_down();
  }

  void retire(const KernelProgress& progress) {
    Side& side = this->side(progress.gpu);
    const bool all = progress.done == progress.all;
    for (const auto& [piece, tiles] : side.pieces.computed(tiles_ * progress.done / progress.all, all)) {
      const auto stored = side.stored.find(piece);
      if (stored == side.stored.end()) continue;
      node_.simulator().spawn("stores of " + device_name(side.gpu), store(side, stored->second, tiles));
    }
  }

  void arrive(int gpu, const FusedTransfer& transfer) {
    Side& side = this->side(gpu);
    PieceTracker::Piece& piece = side.pieces.piece(transfer.there);
    side.pieces.arrived(piece);
    if (spec_.gathers() && piece.has_arrived()) {
      const sim::Time notice = trigger_.at_end ? sim::Time::zero() : trigger_.notice;
      node_.simulator().schedule(node_.simulator().now() + notice, [word = side.gathered.get()] { word->add(1); });
    }
    side.arrivals->count_down();
  }

  // Moves what the GEMM stores into the peer's memory when tiles end. The stores are posted: they hold no CU.
  sim::Task<> store(Side& side, StoredPiece& stored, std::int64_t tiles) {
    const TransferCommand command = command_of(side.gpu, *stored.transfer);
    PieceTracker::Piece& piece = side.pieces.piece(stored.transfer->piece);
    piece.there = std::min(piece.there, node_.simulator().now());
    const int peer = command.destinations.front().device;
    const bool updates = command.kind == TransferKind::update;
    UsageList usages;
    node_.fabric().add(usages, side.gpu, peer, 1.0);
    node_.gpu(peer).memory().add_below_l2(usages, {0.0, updates ? 0.0 : 1.0, 0.0, updates ? 1.0 : 0.0});
    sim::ActivitySpec activity{
        .amount = command.source.bytes.value() * static_cast<double>(tiles) / static_cast<double>(piece.tiles),
        .usages = std::move(usages).take(),
        .weight = node_.spec().gpu.sdma.bytes_in_flight.value(),
        .tag = ActivityTag{stream_.operation, Tenant::remote}.packed()};
    co_await node_.network().run(std::move(activity));
    co_await node_.simulator().delay(node_.fabric().route(side.gpu, peer).latency);
    stored.tiles += tiles;
    if (stored.tiles == piece.tiles) arrive(peer, *stored.transfer);
  }

  struct QueuedCommands {
    SdmaComplex* complex;
    SdmaQueue* queue;
    std::vector<SdmaCommand> commands;
  };

  Node& node_;
  FusedSpec spec_;
  int gpus_;
  Stream stream_;
  int lane_;
  Trigger trigger_;
  GemmPlan plan_;
  std::int64_t tiles_;  // tiles of the GEMM
  std::vector<FusedTransfer> transfers_;
  std::deque<std::pair<int, const FusedTransfer*>> arrivals_;  // of engines' transfers: GPU and transfer
  MemoryWord release_;                                         // 1 once the pieces of an all-gather may be sent
  std::vector<QueuedCommands> queued_;                         // commands that prepare() submits
  std::vector<std::unique_ptr<Side>> sides_;
  sim::Time gemm_ended_{0};
};

FusedGemm::FusedGemm(Node& node, FusedSpec spec, Stream stream, int lane)
    : sides_(std::make_unique<Sides>(node, spec, std::move(stream), lane)) {}
FusedGemm::~FusedGemm() = default;
sim::Task<> FusedGemm::prepare() { return sides_->prepare(); }
sim::Task<> FusedGemm::run() { return sides_->run(); }
sim::Time FusedGemm::exchange_began() const { return sides_->exchange_began(); }
sim::Time FusedGemm::gemm_ended() const { return sides_->gemm_ended(); }

}  // namespace c3sim::models
