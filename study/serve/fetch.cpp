#include "study/serve/fetch.h"

#include <bit>

namespace c3sim::study {

BlockCopies block_copies(const StepQuestion& question, std::int64_t block_tokens) {
  const double features = static_cast<double>(block_tokens * question.kv_heads() * question.model.head_dim);
  return {2 * question.layer_count(), features * size_of(question.dtype)};
}

FetchTimes::FetchTimes(const models::PlatformSpec& platform, Fetch fetch, Store store, BlockCopies copies)
    : testbed_(platform), fetch_(fetch), store_(store), copies_(copies) {}

double FetchTimes::seconds(std::int64_t blocks) {
  const auto [found, is_new] = points_.try_emplace(blocks);
  if (!is_new) return found->second;
  models::SdmaCopySpec copy;
  copy.from = store_ == Store::host ? models::host_device : 1;
  copy.to = 0;
  copy.bytes = copies_.bytes;
  const double count = static_cast<double>(blocks * copies_.of_block);
  found->second = count * sim::to_seconds(testbed_.alone(copy)).value();
  return found->second;
}

sim::Time FetchTimes::of(std::int64_t blocks) {
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(blocks)));
  const double beyond = static_cast<double>(blocks - below) / static_cast<double>(below);
  const double low = seconds(below);
  return sim::to_time(sim::Seconds(beyond == 0.0 ? low : low + beyond * (seconds(2 * below) - low)));
}

}  // namespace c3sim::study
