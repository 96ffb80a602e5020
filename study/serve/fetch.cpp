#include "study/serve/fetch.h"

#include <bit>

#include "study/play/queue_time.h"

namespace c3sim::study {

BlockCopies block_copies(std::span<const CachedTensor> tensors, std::int64_t block_tokens) {
  BlockCopies copies;
  sim::Bytes block;
  for (const CachedTensor& one : tensors) {
    copies.of_block += one.layers;
    block += static_cast<double>(one.layers) * one.of_block(block_tokens);
  }
  if (copies.of_block > 0) copies.bytes = block / static_cast<double>(copies.of_block);
  return copies;
}

namespace {

models::Submission submission_of(Fetch fetch) {
  if (fetch == Fetch::graph) return models::Submission::graph;
  if (fetch == Fetch::kernel) return models::Submission::kernel;
  const bool by_one_call = fetch == Fetch::batch || fetch == Fetch::back_to_back || fetch == Fetch::prelaunched;
  return by_one_call ? models::Submission::batch : models::Submission::each;
}

// Returns the platform with the runtime that a way of fetching needs.
models::PlatformSpec runtime_for(models::PlatformSpec platform, Fetch fetch) {
  models::CopyCallsSpec& calls = platform.host.copies;
  if (fetch == Fetch::back_to_back || fetch == Fetch::prelaunched) {
    calls.batch_packs = true;
    calls.kernels_up_to = sim::Bytes(0.0);
  }
  if (fetch == Fetch::prelaunched) calls.call = calls.start = sim::Time(0);
  return platform;
}

}  // namespace

FetchTimes::FetchTimes(const models::PlatformSpec& platform, Fetch fetch, Store store, BlockCopies copies)
    : testbed_(runtime_for(platform, fetch)), fetch_(fetch), store_(store), copies_(copies) {}

models::SdmaCopySpec FetchTimes::copy_of(std::int64_t blocks) const {
  models::SdmaCopySpec copy{.from = store_ == Store::host ? models::host_device : 1,
                            .to = 0,
                            .bytes = copies_.bytes,
                            .submit = submission_of(fetch_),
                            .copies = blocks * copies_.of_block};
  if (fetch_ == Fetch::single) {
    copy.bytes = copy.all_bytes();
    copy.copies = 1;
  }
  return copy;
}

double FetchTimes::seconds(std::int64_t blocks) {
  const auto [found, is_new] = points_.try_emplace(blocks);
  if (is_new) found->second = sim::to_seconds(testbed_.alone(copy_of(blocks))).value();
  return found->second;
}

FetchSlowdown FetchTimes::beside(bool has_prompts) {
  const auto [known, is_new] = beside_.try_emplace(has_prompts);
  if (!is_new || fetch_ == Fetch::kernel) return known->second;
  constexpr double long_enough = 5e-3;  // seconds, long compared with launches
  std::int64_t blocks = 1;
  while (seconds(blocks) < long_enough) blocks *= 2;
  const Operation fetch = operation_of(copy_of(blocks));
  const Work batch = kernel_as_long(testbed_, has_prompts ? Neighbour::matrix : Neighbour::memory,
                                    sim::to_time(sim::Seconds(seconds(blocks))));
  const auto [of_batch, of_fetch] = slowdowns_of_pair(testbed_, operation_of(batch), fetch);
  known->second = {of_batch, of_fetch};
  return known->second;
}

sim::Time FetchTimes::of(std::int64_t blocks) {
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(blocks)));
  const double beyond = static_cast<double>(blocks - below) / static_cast<double>(below);
  const double low = seconds(below);
  return sim::to_time(sim::Seconds(beyond == 0.0 ? low : low + beyond * (seconds(2 * below) - low)));
}

}  // namespace c3sim::study
