#include "study/serve/block_cache.h"

#include <algorithm>

#include "sim/check.h"

namespace c3sim::study {

std::int64_t Prefixes::blocks(std::int64_t prefix) const {
  const auto found = entries_.find(prefix);
  return found == entries_.end() ? 0 : found->second.blocks;
}

void Prefixes::use(std::int64_t prefix, std::int64_t blocks) {
  const auto [entry, is_new] = entries_.try_emplace(prefix);
  if (is_new) {
    entry->second = {blocks, 0, by_use_.insert(by_use_.end(), prefix)};
    all_blocks_ += blocks;
  } else {
    by_use_.splice(by_use_.end(), by_use_, entry->second.place);
  }
}

std::int64_t Prefixes::drop() {
  const auto idle = [this](std::int64_t prefix) { return entries_.at(prefix).users == 0; };
  const auto found = std::ranges::find_if(by_use_, idle);
  if (found == by_use_.end()) return 0;
  const std::int64_t blocks = entries_.at(*found).blocks;
  entries_.erase(*found);
  by_use_.erase(found);
  all_blocks_ -= blocks;
  return blocks;
}

bool BlockCache::take(std::int64_t blocks) {
  while (free_ < blocks) {
    const std::int64_t dropped = prefixes_.drop();
    if (dropped == 0) return false;
    free_ += dropped;
  }
  free_ -= blocks;
  return true;
}

void BlockCache::give(std::int64_t blocks) {
  free_ += blocks;
  SIM_CHECK(free_ + prefixes_.all_blocks() <= blocks_);
}

void BlockCache::keep(std::int64_t prefix, std::int64_t blocks) {
  SIM_CHECK(!prefixes_.has(prefix));
  prefixes_.use(prefix, blocks);
  prefixes_.pin(prefix);
}

}  // namespace c3sim::study
