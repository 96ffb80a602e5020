#include "models/collectives/fused_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "models/kernels/elementwise.h"
#include "models/kernels/gemm.h"
#include "models/machine/activity_tag.h"
#include "models/platform/device.h"

namespace c3sim::models {

namespace {

constexpr std::int64_t its_turn_is_there = 1;

std::int64_t portion_of(std::int64_t whole, std::int64_t count, std::int64_t index) {
  return whole * (index + 1) / count - whole * index / count;
}

}  // namespace

FusedGemm::FusedGemm(Node& node, FusedSpec spec, Stream stream, int lane)
    : node_(node),
      spec_(spec),
      gpus_(spec.gpus_of(node.gpus())),
      stream_(std::move(stream)),
      lane_(lane),
      trigger_(policy_of(spec.trigger).on(node.spec())),
      tiles_(plan_gemm(node.spec().gpu, spec.gemm, stream_.mask).pieces()),
      transfers_(fused_transfers(spec, gpus_)),
      release_(node.simulator(), "the turn of " + to_string(spec), 0) {
  const GpuSpec& gpu = node.spec().gpu;
  const int cus = gpu.memory.xcds * stream_.mask.cus(gpu.cus_per_xcd);
  const std::int64_t storing = stored_at_once(plan_gemm(gpu, spec.gemm, stream_.mask), gpu, cus);
  for (int index = 0; index < std::min(gpus_, node.simulated()); ++index) add_side(index, storing);
  for (const auto& side : sides_) {
    std::map<int, int> used_queues;
    // Transfers that wait for others' addends come after all of the GPU's own, in case they share a queue.
    for (const bool sums : {false, true}) {
      for (int distance = 1; distance < gpus_; ++distance) add_commands(*side, distance, sums, used_queues);
    }
  }
}

void FusedGemm::add_side(int gpu, std::int64_t storing) {
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

TransferCommand FusedGemm::command_of(int gpu, const FusedTransfer& transfer) {
  const int peer = (gpu + transfer.distance) % gpus_;
  const bool adds = spec_.reduces() && !transfer.is_sum && node_.spec().gpu.memory.adds();
  TransferCommand command;
  command.kind = adds ? TransferKind::update : TransferKind::copy;
  command.source = {gpu, 0, sim::Bytes(0.0), shard_bytes(spec_, gpus_) / static_cast<double>(spec_.pieces)};
  command.destinations = {{peer, 0, sim::Bytes(0.0), command.source.bytes}};
  command.operation = stream_.operation;
  return command;
}

bool FusedGemm::is_stored(const FusedTransfer& transfer) const { return spec_.stores && !transfer.arrives_first; }

sim::Task<> FusedGemm::prepare() {
  const QueueUser user{stream_.operation, stream_.follows};
  for (auto& [complex, queue, commands] : queued_) {
    co_await queue->submit_or_leave(complex->submitter(node_.host()), std::move(commands), complex->doorbell_latency(),
                                    user);
  }
}

// Adds the commands for the peer at one distance.
void FusedGemm::add_commands(Side& side, int distance, bool sums, std::map<int, int>& used_queues) {
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

Stream FusedGemm::stream_on(Side& side) {
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

sim::Task<> FusedGemm::run_kernel_on(Side& side, sim::Latch& ended) {
  std::vector<int> gpus(1, side.gpu);
  co_await run_gemm(node_, spec_.gemm, stream_on(side), std::move(gpus));
  ended.count_down();
}

sim::Task<> FusedGemm::see_completions(Side& side, sim::Latch& seen) {
  co_await side.arrivals->wait();
  for (const auto& completion : side.completions) co_await completion->see();
  seen.count_down();
}

sim::Task<> FusedGemm::run() {
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

sim::Time FusedGemm::exchange_began() const {
  if (spec_.gathers()) return release_.written_at();
  sim::Time first = sim::Time::max();
  for (const auto& side : sides_) {
    for (const PieceTracker::Piece& piece : side->pieces.pieces()) first = std::min(first, piece.there);
  }
  return first;
}

void FusedGemm::retire(const KernelProgress& progress) {
  Side& side = this->side(progress.gpu);
  const bool all = progress.done == progress.all;
  for (const auto& [piece, tiles] : side.pieces.computed(tiles_ * progress.done / progress.all, all)) {
    const auto stored = side.stored.find(piece);
    if (stored == side.stored.end()) continue;
    node_.simulator().spawn("stores of " + device_name(side.gpu), store(side, stored->second, tiles));
  }
}

void FusedGemm::arrive(int gpu, const FusedTransfer& transfer) {
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
sim::Task<> FusedGemm::store(Side& side, StoredPiece& stored, std::int64_t tiles) {
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

}  // namespace c3sim::models
