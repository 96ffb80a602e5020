// Estimates how long blocks of keys and values take from a store to the cache of a group of GPUs, all of which fetch
// their shares concurrently.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "study/play/testbed.h"
#include "study/program/step_memory.h"
#include "study/serve/serve_question.h"

namespace c3sim::study {

// BlockCopies are the copies of one GPU for each block of tokens: each tensor of the cache of each layer, such as keys
// and values, is separate in memory.
struct BlockCopies {
  std::int64_t of_block = 0;  // number of copies
  sim::Bytes bytes{};         // bytes of each copy, in the mean
};
BlockCopies block_copies(std::span<const CachedTensor> tensors, std::int64_t block_tokens);

// A FetchSlowdown says by which factor a batch and a fetch are slower while both run.
struct FetchSlowdown {
  double batch = 1.0;
  double fetch = 1.0;
};

// FetchTimes simulates fetches of 1, 2, 4, ... blocks from the host or a peer to a GPU and interpolates linearly. With
// back_to_back, one call writes the commands of all copies in a row; with prelaunched, they are ready and wait for a
// word in memory; with single, all data is contiguous.
//
// The slowdown of concurrent fetches and batches is that of a representative pair: copies of some milliseconds, and a
// kernel of the same length, a product if the batch has prompts, otherwise one that streams through memory.
class FetchTimes {
 public:
  FetchTimes(const models::PlatformSpec& platform, Fetch fetch, Store store, BlockCopies copies);

  sim::Time of(std::int64_t blocks);
  FetchSlowdown beside(bool has_prompts);
  // Returns why this platform cannot fetch in this way; empty if it can.
  std::string why_impossible() const { return testbed_.why_impossible(copy_of(1)); }

 private:
  models::SdmaCopySpec copy_of(std::int64_t blocks) const;
  double seconds(std::int64_t blocks);

  Testbed testbed_;
  Fetch fetch_;
  Store store_;
  BlockCopies copies_;
  std::map<std::int64_t, double> points_;
  std::map<bool, FetchSlowdown> beside_;
};

}  // namespace c3sim::study
