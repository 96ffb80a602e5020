// A group of GPUs that serves requests by continuous batching, as vLLM's scheduler does (Kwon et al., arXiv 2309.06180;
// Agrawal et al., arXiv 2403.02310; vllm/v1/core/sched/scheduler.py): each batch goes through the sequences that run,
// in the order in which they were let in. One whose prompt has been computed gets a token, or has its draft of several
// verified; others get what is left of the budget of tokens for their prompt. Blocks of the cache are taken as tokens
// need them. Where there are none, the sequence that came last loses its own and is computed again; in a batch in which
// nobody did, those who wait are let in while budget, places and blocks last.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "study/serve/batch_times.h"
#include "study/serve/fetch.h"
#include "study/serve/request_source.h"

namespace c3sim::study {

struct Sequence {
  ServeRequest request;
  sim::Time ready{0};  // when it comes, or when what is fetched for it will have come
  sim::Time first_token{0};
  std::int64_t made = 0;     // tokens of its output
  std::int64_t cached = 0;   // tokens, of the prompt and of its output, whose keys and values the cache has
  std::int64_t fetched = 0;  // tokens whose keys and values are on their way
  std::int64_t blocks = 0;   // of its own
  std::int64_t shared = 0;   // tokens of its beginning in blocks that others may use too
  // In the cache of the group that computed its prompt, until they have been fetched.
  std::int64_t held_blocks = 0;
  bool holds_prefix = false;

  std::int64_t to_compute() const { return request.prompt + made - cached; }
  bool decodes() const { return made > 0 && to_compute() == 1; }
};

struct ServerSpec {
  std::int64_t budget = 8192;
  std::int64_t chunk = std::int64_t{1} << 40;  // tokens of one sequence in a batch
  std::int64_t sequences = 256;
  std::int64_t block = 16;  // tokens
  std::int64_t blocks = 1;  // of the cache
  sim::Time pause{0};       // between batches
  bool ahead = false;       // a batch is put together while the one before it is computed, and has who had come by then
  std::int64_t draft = 0;   // tokens that are drafted for each further one
  double acceptance = 0.0;  // the share of tokens of a draft, each behind accepted ones, that are accepted
  std::uint64_t seed = 0;   // which of them are, is drawn from it
  bool keeps = false;       // beginnings
  bool fetches = false;     // beginnings from the store
  bool batch_waits = false;  // for fetches
  std::int64_t store_blocks = 0;
  // Beginnings that the store has from the start, of so many tokens each, as far as it has room.
  std::int64_t stored = 0;
  std::int64_t stored_tokens = 0;
};

struct ServerCounts {
  std::int64_t batches = 0;
  std::int64_t tokens = 0;   // computed
  std::int64_t reused = 0;   // of beginnings that the cache had
  std::int64_t fetched = 0;  // of beginnings and prompts that were fetched
  std::int64_t preempted = 0;
  std::int64_t drafted = 0;   // tokens of drafts that were verified
  std::int64_t accepted = 0;  // of these
  std::int64_t most_blocks = 0;
  double block_seconds = 0.0;  // blocks in use over time
  sim::Time busy{0};           // with batches
  sim::Joules energy;          // of batches
};

// What a group has to do for some time.
struct ServerLoad {
  double waiting = 0.0;  // sequences that have come and are not let in, those that lost their blocks included
  double running = 0.0;
  double cache = 0.0;  // blocks of its cache in use; over the time of a whole run, their share of all

  auto operator<=>(const ServerLoad&) const = default;
};

// Who is told of what a server does. A sequence with its first token leaves where `first_token` says so; its blocks are
// held until release().
struct ServerEvents {
  std::function<bool(const Sequence& sequence, sim::Time at)> first_token;
  std::function<void(const Sequence& sequence, sim::Time at)> finished;
  std::function<void(const Sequence& sequence, sim::Time at)> fetched;  // from another group
  std::function<void(const Batch& batch)> batch;
  std::function<void(sim::Time from, sim::Time to, const ServerLoad& load)> passed;  // some time
};

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

// The paged cache of keys and values that a group of GPUs has, in blocks of tokens: those that sequences own, and
// beginnings of prompts that several may use at once, which stay while nobody needs the room.
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

// What a server is, and what it takes for what it does.
struct ServingGroup {
  ServerSpec spec;
  BatchCosts costs;
  // What a fetch of so many tokens takes, by itself, of beginnings or of prompts that the group before it has computed;
  // they follow one another. And what it and a batch cost each other, if anything.
  std::function<sim::Time(std::int64_t tokens)> fetch_time;
  std::function<FetchSlowdown(const Batch& batch)> beside{};
};

class Server {
 public:
  // The next sequence, that comes no earlier than the one before; asked for again where there was none yet.
  using Incoming = std::function<std::optional<Sequence>()>;

  Server(ServingGroup group, Incoming incoming, ServerEvents events);

  // When it can go on; nothing where it waits for somebody else, or is done.
  std::optional<sim::Time> next();
  // Goes on there: lets in who has come, and computes a batch if there is one.
  void step();
  // What is held for a sequence that has left, which others wait for.
  void release(const Sequence& sequence, sim::Time at);

  const ServerCounts& counts() const { return counts_; }
  sim::Time now() const { return now_; }
  // Whether no block is anybody's but those of beginnings that nobody holds.
  bool is_empty() const { return running_.empty() && cache_.used() == cache_.kept(); }
  // Sequences that it has asked for, and not let in or put out again.
  std::int64_t waiting() const { return static_cast<std::int64_t>(preempted_.size()) + (head_ ? 1 : 0); }

 private:
  std::int64_t blocks_of(std::int64_t tokens) const { return (tokens + group_.spec.block - 1) / group_.spec.block; }
  // Whole blocks of the beginning; the last token of a prompt is always computed, as it gives the first of the output.
  std::int64_t beginning(const ServeRequest& request) const;
  const Sequence* head();
  void pass_until(sim::Time time);
  void land();
  bool take_in(Sequence& sequence, std::int64_t budget);
  void fetch(Sequence& sequence, std::int64_t tokens);
  sim::Time beside_fetches(sim::Time begin, sim::Time length, const Batch& batch);
  // What a sequence is given of what is left of the budget.
  std::int64_t share_of(const Sequence& sequence, std::int64_t budget) const;
  bool grow(std::size_t place, std::int64_t tokens);
  void preempt();
  void let_in(Batch& batch, std::int64_t budget);
  void add(Batch& batch, std::size_t place, std::int64_t tokens);
  Batch compose();
  void advance();
  std::int64_t accepted(std::int64_t drafted);
  bool leaves_with(Sequence& sequence, std::int64_t tokens);
  void cache(Sequence& sequence, std::int64_t tokens);
  void free(const Sequence& sequence);

  ServingGroup group_;
  Incoming incoming_;
  ServerEvents events_;
  BlockCache cache_;
  Prefixes store_;
  ServerCounts counts_;
  std::optional<Sequence> head_;      // that has not been taken in
  std::deque<Sequence> preempted_;    // who come before it
  std::vector<Sequence> running_;     // in the order in which they were taken in
  std::vector<std::int64_t> shares_;  // of each, tokens in this batch
  std::mt19937_64 drawn_;             // of accepted drafts
  sim::Time composed_{0};             // when the last batch began
  sim::Time now_{0};
  sim::Time fetched_until_{0};  // by all fetches so far
  sim::Time stall_{0};          // that the next batch waits for fetches
  bool blocked_ = false;        // the cache had no room for the next sequence
};

}  // namespace c3sim::study
