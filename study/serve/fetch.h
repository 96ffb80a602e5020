// How long blocks of keys and values take from a store into the cache of a group of GPUs, all of which fetch their
// share at once.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "study/play/testbed.h"
#include "study/serve/serve_question.h"

namespace c3sim::study {

// Copies of one GPU, for each block of tokens: keys and values of each layer apart, as they lie in memory.
struct BlockCopies {
  std::int64_t of_block = 1;  // copies
  sim::Bytes bytes;           // of each
};
BlockCopies block_copies(const StepQuestion& question, std::int64_t block_tokens);

// By how much a batch and a fetch are slower while both run.
struct FetchSlowdown {
  double batch = 1.0;
  double fetch = 1.0;
};

// Simulated at counts of blocks that double, from the host or a peer to a GPU, and linear between. Back to back: one
// call writes the commands of all copies behind one another. Prelaunched: they lie ready, and wait for a word. Single:
// all of it lies in one piece.
//
// Fetches and the batches beside them slow each other down, as a representative pair does: copies that take some
// milliseconds, and a kernel as long, of products where a batch has prompts, else one that streams through memory.
class FetchTimes {
 public:
  FetchTimes(const models::PlatformSpec& platform, Fetch fetch, Store store, BlockCopies copies);

  sim::Time of(std::int64_t blocks);
  FetchSlowdown beside(bool has_prompts);
  // Why this platform cannot fetch so; empty where it can.
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
