#include "models/sdma/sdma_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/check.h"

namespace c3sim::models {
namespace {

constexpr Condition its_turn{Comparison::equal, 1};

// Counts the pull among those that wait to read from the GPU until its turn comes.
sim::Task<> queue_for(PullService& source, MemoryWord& turn) {
  source.count(PullService::Side::source, 1);
  co_await turn.wait(its_turn, "the turn of a copy in");
  source.count(PullService::Side::source, -1);
}

bool pulls(const SdmaCopySpec& spec) { return spec.pull && spec.to != host_device; }

SdmaComplex& complex_of(std::span<SdmaComplex* const> engines, const SdmaCopySpec& spec) {
  return *engines[static_cast<std::size_t>(pulls(spec) || spec.from == host_device ? spec.to : spec.from)];
}

// Refuses copies that fill the ring too often: each filling is simulated, at seconds for a million.
std::string why_too_often(const SdmaCopySpec& spec, const SdmaSpec& sdma) {
  constexpr double most = 1 << 21;
  const double packets = std::max(1.0, std::floor(sdma.ring / sdma.packets.copy));
  const double times = spec.bytes / (packets * sdma.packets.transfer_limit);
  if (times <= most) return {};
  return fmt::format(
      "a copy of {} fills the ring of its engine's queue {:.0f} times over, {:.0f} are simulated: a larger "
      "gpu.sdma.ring or gpu.sdma.packets.transfer_limit is accepted",
      sim::to_string(spec.bytes), std::ceil(times), most);
}

}  // namespace

std::string why_impossible(const SdmaCopySpec& spec, const SdmaSpec& sdma, int gpus) {
  const auto exists = [gpus](int device) { return device == host_device || (device >= 0 && device < gpus); };
  if (!exists(spec.from) || !exists(spec.to)) {
    return "the GPUs of this platform are gpu0 to gpu" + std::to_string(gpus - 1);
  }
  if (spec.from == spec.to) return "a copy engine copies between two GPUs, or between a GPU and the host";
  const bool of_gpu_0 = spec.pull ? spec.to == 0 : spec.from == 0;
  if (spec.everywhere && (!of_gpu_0 || spec.from == host_device || spec.to == host_device || spec.engine)) {
    return "a copy that every GPU makes is described as GPU 0 makes it with another GPU, on the recommended engine";
  }
  if (spec.bytes < sim::Bytes(1.0)) return "a copy moves at least one byte";
  if (!spec.submit && spec.copies != 1) return "blocks are copied by a runtime: each, batch, graph or kernel";
  if (spec.submit && (spec.pull || spec.everywhere)) return "a runtime's copies of blocks are pushed, by one GPU";
  if (spec.submit == Submission::kernel && spec.engine) return "a kernel that gathers blocks uses no engine";
  if (spec.engine && (*spec.engine < 0 || *spec.engine >= sdma.engines)) {
    return "the engines of a GPU are 0 to " + std::to_string(sdma.engines - 1) + ", there is no " +
           std::to_string(*spec.engine);
  }
  return spec.submit ? std::string() : why_too_often(spec, sdma);
}

SdmaQueue& queue_of(std::span<SdmaComplex* const> engines, const SdmaCopySpec& spec) {
  SdmaComplex& complex = complex_of(engines, spec);
  const int recommended = pulls(spec) ? complex.spec().recommended_engine(spec.to, spec.from)
                                      : complex.spec().recommended_engine(spec.from, spec.to);
  return complex.engine(spec.engine.value_or(recommended)).queue(0);
}

sim::Task<SdmaCopyPhases> run_sdma_copy(Host& host, std::span<SdmaComplex* const> engines, SdmaCopySpec spec,
                                        QueueUser user, MemoryWord* turn, bool told) {
  sim::Simulator& simulator = host.simulator();
  SdmaComplex& complex = complex_of(engines, spec);
  const SdmaSpec& sdma = complex.spec();
  // One simulated GPU may stand for all of the node.
  const int gpus = std::max(static_cast<int>(engines.size()), sdma.gpus);
  SIM_CHECK(why_impossible(spec, sdma, gpus).empty());
  SubmittingThread& thread = complex.submitter(host);

  CompletionSignal completion(host, complex, "a copy");
  TransferTimes times;
  DeliveryLedger ledger;
  TransferCommand transfer;
  transfer.source = {spec.from, 0, sim::Bytes(0.0), spec.bytes};
  transfer.destinations.push_back({spec.to, 0, sim::Bytes(0.0), spec.bytes});
  transfer.ledger = &ledger;
  transfer.times = &times;
  transfer.operation = user.operation;
  ledger.expect(transfer.destinations.front(), transfer.source);
  if (pulls(spec) && spec.from != host_device && turn != nullptr) {
    simulator.spawn("a copy that waits", queue_for(complex.pulls_of(spec.from), *turn));
  }

  std::vector<SdmaCommand> commands;
  if (turn != nullptr) commands.emplace_back(PollCommand{turn, its_turn, nullptr, told});
  commands.emplace_back(std::move(transfer));
  completion.append_to(commands);

  const sim::Time start = simulator.now();
  co_await queue_of(engines, spec).submit(thread, std::move(commands), complex.doorbell_latency(), user);
  const sim::Time submitted = simulator.now();
  co_await completion.see();
  ledger.require_complete();
  // With a ring too small for all packets the engine starts while the thread still writes.
  const sim::Time controlled = std::min(submitted, times.fetched);
  co_return SdmaCopyPhases{controlled - start, times.fetched - controlled, times.finished - times.fetched,
                           simulator.now() - times.finished};
}

}  // namespace c3sim::models
