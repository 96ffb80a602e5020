// A Server is a group of GPUs that serves requests by continuous batching, as vLLM's scheduler does (Kwon et al., arXiv
// 2309.06180; Agrawal et al., arXiv 2403.02310; vllm/v1/core/sched/scheduler.py). Each batch goes through the running
// sequences in the order of admission. A sequence whose prompt is computed gets a token, or has a draft verified;
// others get what is left of the budget of tokens for their prompts. Cache blocks are taken as tokens need them. If
// there are none, the last admitted sequence is preempted: it loses its blocks and is computed again. If a batch
// preempts nobody, waiting sequences are admitted while budget, places and blocks last. With data parallelism each
// sequence is computed by one replica, the one with the fewest when it was admitted; all replicas begin their batches
// together, and wait for the one that takes longest. Serving has the only clock beside the simulator's: it goes on from
// batch to batch, by the times that simulated steps took (study/serve/batch_times.h).
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
  sim::Time ready{0};  // its arrival at this server, or the end of its fetch
  sim::Time first_token{0};
  std::int64_t made = 0;     // tokens of its output so far
  std::int64_t cached = 0;   // tokens of prompt and output whose keys and values are cached
  std::int64_t fetched = 0;  // tokens whose keys and values are being fetched
  std::int64_t blocks = 0;   // blocks that it owns
  std::int64_t shared = 0;   // tokens of its beginning in blocks that others may share
  std::size_t replica = 0;   // of those of its server, the one that computes it
  // The group that computed its prompt holds these blocks until they have been fetched.
  std::optional<std::int64_t> held_blocks{};
  bool holds_prefix = false;

  std::int64_t to_compute() const { return request.prompt + made - cached; }
  bool decodes() const { return made > 0 && to_compute() == 1; }
};

// WindowedLayers attend to no more than `window` tokens, whose keys and values alone stay in the cache.
struct WindowedLayers {
  std::int64_t window = 1;
  double share = 1.0;  // of the bytes of a block, which has tokens of all layers
};

struct ServerSpec {
  std::int64_t budget = 8192;    // of each replica, as is `sequences`
  std::size_t replicas = 1;      // of attention, which share out the sequences
  std::int64_t sequences = 256;  // that are served at once
  std::int64_t block = 16;       // tokens of a block
  std::int64_t blocks = 1;       // blocks of the cache
  std::vector<WindowedLayers> windowed{};
  sim::Time pause{0};        // between batches
  bool ahead = false;        // a batch is composed during the one before it, from what had arrived at its start
  std::int64_t draft = 0;    // tokens that are drafted after each next token
  double acceptance = 0.0;   // probability that a token of a draft is accepted if those before are
  std::uint64_t seed = 0;    // of the random numbers for accepted tokens
  bool keeps = false;        // beginnings stay in the cache
  bool fetches = false;      // beginnings come from the store
  bool batch_waits = false;  // a batch waits for fetches
  std::int64_t store_blocks = 0;
  // The store initially holds `stored` beginnings of `stored_tokens` tokens each, as far as they fit.
  std::int64_t stored = 0;
  std::int64_t stored_tokens = 0;

  // Returns the blocks whose bytes so many tokens of a sequence take.
  std::int64_t blocks_of(std::int64_t tokens) const;
  // Returns the tokens of the longest sequence for which the cache has room, even if its beginning is kept for others.
  std::int64_t longest() const;
};

struct ServerCounts {
  std::int64_t batches = 0;
  std::int64_t tokens = 0;   // tokens computed
  std::int64_t reused = 0;   // tokens of beginnings found in the cache or the store when a sequence was first admitted
  std::int64_t fetched = 0;  // tokens of beginnings and prompts that were fetched
  std::int64_t preempted = 0;
  std::int64_t drafted = 0;   // tokens of drafts that were verified
  std::int64_t accepted = 0;  // of `drafted`
  std::int64_t most_blocks = 0;
  double block_seconds = 0.0;  // blocks in use, integrated over time
  sim::Time busy{0};           // time in batches
  sim::Joules energy;          // of batches
};

// A ServerLoad is the load of a group over some time.
struct ServerLoad {
  double waiting = 0.0;  // sequences that have arrived and are not admitted, including preempted ones
  double running = 0.0;
  double cache = 0.0;  // cache blocks in use; over a whole run, their share of all blocks

  auto operator<=>(const ServerLoad&) const = default;
};

// ServerEvents are callbacks of a server. If `first_token` returns true, the sequence leaves the server, which holds
// its blocks until release().
struct ServerEvents {
  std::function<bool(const Sequence& sequence, sim::Time at)> first_token;
  std::function<void(const Sequence& sequence, sim::Time at)> finished;
  std::function<void(const Sequence& sequence, sim::Time at)> fetched;             // from another group
  std::function<void(const Batch& batch)> batch;                                   // of the replica that takes longest
  std::function<void(sim::Time from, sim::Time to, const ServerLoad& load)> load;  // adds to other load of that time
};

// Prefixes are beginnings of prompts with their numbers of blocks, in the order of their last use.
class Prefixes {
 public:
  bool has(std::int64_t prefix) const { return entries_.contains(prefix); }
  std::int64_t blocks(std::int64_t prefix) const;  // blocks of its tokens; 0 if it is absent
  std::int64_t all_room() const { return all_room_; }
  // Marks a beginning as just used; if it is absent, adds it with `blocks` blocks of tokens, which take `room` blocks.
  void use(std::int64_t prefix, std::int64_t blocks, std::int64_t room);
  // Keeps a beginning from being dropped until let_go() is called as often as pin().
  void pin(std::int64_t prefix) { ++entries_.at(prefix).users; }
  void let_go(std::int64_t prefix) { --entries_.at(prefix).users; }
  // Drops the least recently used beginning that is not pinned, and returns its room; 0 if all are pinned.
  std::int64_t drop();

 private:
  struct Entry {
    std::int64_t blocks = 0;
    std::int64_t room = 0;
    std::int64_t users = 0;
    std::list<std::int64_t>::iterator place;
  };
  std::unordered_map<std::int64_t, Entry> entries_;  // for lookup only: iteration is by `by_use_`
  std::list<std::int64_t> by_use_;                   // the least recent first
  std::int64_t all_room_ = 0;
};

// A BlockCache is the paged cache of keys and values of a group of GPUs: blocks that sequences own, and beginnings of
// prompts that several sequences may share, which stay until the room is needed.
class BlockCache {
 public:
  explicit BlockCache(std::int64_t blocks) : blocks_(blocks), free_(blocks) {}

  std::int64_t blocks() const { return blocks_; }
  std::int64_t used() const { return blocks_ - free_; }
  std::int64_t kept() const { return prefixes_.all_room(); }  // blocks of beginnings
  // Takes blocks for a sequence, dropping beginnings that are not pinned; returns whether there were enough.
  bool take(std::int64_t blocks);
  void give(std::int64_t blocks);
  // Turns `room` blocks of a sequence into those of a beginning, and pins it for the sequence.
  void keep(std::int64_t prefix, std::int64_t blocks, std::int64_t room);
  Prefixes& prefixes() { return prefixes_; }

 private:
  std::int64_t blocks_;
  std::int64_t free_;
  Prefixes prefixes_;
};

// A ServingGroup is the specification of a server and the costs of its work.
struct ServingGroup {
  ServerSpec spec;
  BatchCosts costs;
  // `fetch_time` is the time of a fetch alone, from the store or from the group that computed the prompt; fetches
  // follow one another. `beside` is the slowdown of concurrent fetches and batches, if there is any.
  std::function<sim::Time(std::int64_t tokens)> fetch_time;
  std::function<FetchSlowdown(const Batch& batch)> beside{};
  sim::Watts at_rest{};  // of all its GPUs
};

class Server {
 public:
  // Returns the next sequence, which arrives no earlier than the one before; if there is none yet, it is asked again.
  using Incoming = std::function<std::optional<Sequence>()>;

  Server(ServingGroup group, Incoming incoming, ServerEvents events);

  // Returns when it can go on; nothing if it waits for another server, or is done.
  std::optional<sim::Time> next();
  // Goes on at that time: admits sequences that have arrived, and computes a batch if there is one.
  void step();
  // Frees what is held for a sequence that has left, once another group has fetched it.
  void release(const Sequence& sequence, sim::Time at);

  const ServerCounts& counts() const { return counts_; }
  // Returns whether no sequence runs, and all blocks are free or belong to beginnings.
  bool is_empty() const { return running_.empty() && cache_.used() == cache_.kept(); }

 private:
  // Returns the tokens of the beginning in whole blocks, except the prompt's last, which gives the first output.
  std::int64_t beginning(const ServeRequest& request) const;
  const Sequence* head();
  void pass_until(sim::Time time);
  void land();
  bool take_in(Sequence& sequence, std::int64_t budget, bool again);
  void fetch(Sequence& sequence, std::int64_t tokens);
  sim::Time beside_fetches(sim::Time begin, sim::Time length, const Batch& batch);
  // Returns the budget of a replica that is left in the batch that is being composed.
  std::int64_t budget_of(std::size_t replica) const { return group_.spec.budget - batches_[replica].tokens(); }
  // Returns the replica with the fewest sequences of those with a place and some budget; nothing if there is none.
  std::optional<std::size_t> replica_with_room() const;
  // Returns the tokens of a sequence in the batch of its replica, beside those that are in it.
  std::int64_t share_of(const Sequence& sequence) const;
  bool grow(std::size_t place, std::int64_t tokens);
  void preempt();
  void let_in();
  void add(std::size_t place, std::int64_t tokens);
  std::int64_t compose();  // returns the tokens of all replicas
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
  std::optional<Sequence> head_;      // received and not admitted
  std::deque<Sequence> preempted_;    // admitted again before `head_`
  std::vector<Sequence> running_;     // in the order of admission
  std::vector<std::int64_t> shares_;  // by running sequence: its tokens in this batch
  std::vector<Batch> batches_;        // by replica: its part of this batch
  std::mt19937_64 drawn_;             // random numbers for accepted drafts
  sim::Time composed_{0};             // start of the last batch
  sim::Time now_{0};
  sim::Time fetched_until_{0};  // end of all fetches so far
  sim::Time stall_{0};          // time that the next batch waits for fetches
  bool blocked_ = false;        // the cache had no room for the next sequence
};

}  // namespace c3sim::study
