// The paged cache of keys and values that a group of GPUs has, in blocks of tokens: those that sequences own, and
// beginnings of prompts that several may use at once, which stay while nobody needs the room.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace c3sim::study {

// Beginnings by their number with the blocks that they take, in the order of their last use.
class Prefixes {
 public:
  bool has(std::int64_t prefix) const { return entries_.contains(prefix); }
  std::int64_t blocks(std::int64_t prefix) const;  // 0 where it is not there
  std::int64_t all_blocks() const { return all_blocks_; }
  // Used just now; added with so many blocks where it is not there.
  void use(std::int64_t prefix, std::int64_t blocks);
  // Holds it until it is let go as often.
  void pin(std::int64_t prefix) { ++entries_.at(prefix).users; }
  void let_go(std::int64_t prefix) { --entries_.at(prefix).users; }
  // Drops the least recently used that nobody holds; its blocks, 0 where all are held.
  std::int64_t drop();

 private:
  struct Entry {
    std::int64_t blocks = 0;
    std::int64_t users = 0;
    std::list<std::int64_t>::iterator place;
  };
  std::unordered_map<std::int64_t, Entry> entries_;  // found by number, gone through in order of use alone
  std::list<std::int64_t> by_use_;                   // the least recent first
  std::int64_t all_blocks_ = 0;
};

class BlockCache {
 public:
  explicit BlockCache(std::int64_t blocks) : blocks_(blocks), free_(blocks) {}

  std::int64_t blocks() const { return blocks_; }
  std::int64_t used() const { return blocks_ - free_; }
  std::int64_t kept() const { return prefixes_.all_blocks(); }  // of beginnings
  // Blocks for a sequence, beginnings that nobody holds making room; whether there were so many.
  bool take(std::int64_t blocks);
  void give(std::int64_t blocks);
  // Blocks that a sequence has taken become those of a beginning, which it holds from now on.
  void keep(std::int64_t prefix, std::int64_t blocks);
  Prefixes& prefixes() { return prefixes_; }

 private:
  std::int64_t blocks_;
  std::int64_t free_;
  Prefixes prefixes_;
};

}  // namespace c3sim::study
