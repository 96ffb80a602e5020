#include "study/serve/server.h"

#include <algorithm>
#include <deque>
#include <list>
#include <optional>
#include <queue>
#include <random>
#include <unordered_map>
#include <utility>

#include "sim/check.h"
#include "sim/interruption.h"
#include "study/uncertainty/latin_hypercube.h"

namespace c3sim::study {

namespace {

std::int64_t whole_blocks(std::int64_t tokens, std::int64_t block) { return (tokens + block - 1) / block; }

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

// Prefixes are beginnings of prompts with their numbers of blocks, in the order of their last use.
class Prefixes {
 public:
  bool has(std::int64_t prefix) const { return entries_.contains(prefix); }
  // Returns the blocks of its tokens; 0 if it is absent.
  std::int64_t blocks(std::int64_t prefix) const {
    const auto found = entries_.find(prefix);
    return found == entries_.end() ? 0 : found->second.blocks;
  }
  std::int64_t all_room() const { return all_room_; }

  // Marks a beginning as just used; if it is absent, adds it with `blocks` blocks of tokens, which take `room` blocks.
  void use(std::int64_t prefix, std::int64_t blocks, std::int64_t room) {
    const auto [entry, is_new] = entries_.try_emplace(prefix);
    if (is_new) {
      entry->second = {blocks, room, 0, by_use_.insert(by_use_.end(), prefix)};
      all_room_ += room;
    } else {
      by_use_.splice(by_use_.end(), by_use_, entry->second.place);
    }
  }

  // Keeps a beginning from being dropped until let_go() is called as often as pin().
  void pin(std::int64_t prefix) { ++entries_.at(prefix).users; }
  void let_go(std::int64_t prefix) { --entries_.at(prefix).users; }

  // Drops the least recently used beginning that is not pinned, and returns its room; 0 if all are pinned.
  std::int64_t drop() {
    const auto idle = [this](std::int64_t prefix) { return entries_.at(prefix).users == 0; };
    const auto found = std::ranges::find_if(by_use_, idle);
    if (found == by_use_.end()) return 0;
    const std::int64_t room = entries_.at(*found).room;
    entries_.erase(*found);
    by_use_.erase(found);
    all_room_ -= room;
    return room;
  }

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

  std::int64_t used() const { return blocks_ - free_; }
  // Takes blocks for a sequence, dropping beginnings that are not pinned; returns whether there were enough.
  bool take(std::int64_t blocks) {
    while (free_ < blocks) {
      const std::int64_t dropped = prefixes.drop();
      if (dropped == 0) return false;
      free_ += dropped;
    }
    free_ -= blocks;
    return true;
  }
  void give(std::int64_t blocks) {
    free_ += blocks;
    SIM_CHECK(free_ + prefixes.all_room() <= blocks_);
  }

  Prefixes prefixes;

 private:
  std::int64_t blocks_;
  std::int64_t free_;
};

// A Departure is a sequence that leaves a server, or whose blocks another server need hold no longer.
struct Departure {
  enum class Why { finished, handed_over, fetched } why;
  Sequence sequence;
  sim::Time at{0};
};

// A Server is one group of GPUs. Sequences come to it by `incoming`, in the order of their arrival.
class Server {
 public:
  // `place` is that of the group in its replica. The server hands sequences over with their first token unless it is
  // the last one of `groups`.
  Server(const std::vector<ServingGroup>& groups, std::size_t place, std::size_t replica, const ServeQuestion& question,
         Served& served, const SeesBatch& sees_batch)
      : group_(groups[place]),
        question_(question),
        place_(place),
        hands_over_(place + 1 < groups.size()),
        cache_share_(hands_over_ ? 0.0 : 1.0 / (static_cast<double>(group_.spec.blocks) * question.replicas)),
        served_(served),
        sees_batch_(sees_batch),
        cache_(group_.spec.blocks),
        drawn_(static_cast<std::uint64_t>(question.seed) + replica) {
    const std::int64_t blocks = question_.prefix / group_.spec.block;
    const std::int64_t room = group_.spec.blocks_of(blocks * group_.spec.block);
    for (std::int64_t prefix = 0; question_.trace.empty() && prefix < question_.prefixes && blocks > 0; ++prefix) {
      if (store_.all_room() + room > group_.spec.store_blocks) break;
      store_.use(prefix, blocks, room);
    }
  }

  // Returns when it can go on; nothing if it waits for another server, or is done.
  std::optional<sim::Time> next() const {
    std::optional<sim::Time> earliest;
    const auto at = [&](sim::Time time) {
      earliest = std::min(earliest.value_or(sim::Time::max()), std::max(now_, time));
    };
    for (const Sequence& sequence : running_) {
      if (sequence.fetched == 0) return now_;
      at(sequence.ready);
    }
    const auto places = static_cast<std::int64_t>(group_.spec.replicas) * question_.sequences;
    const bool has_place = static_cast<std::int64_t>(running_.size()) < places;
    if (!has_place || blocked_) return earliest;
    if (!preempted_.empty()) return now_;
    if (!incoming.empty()) at(incoming.front().ready);
    return earliest;
  }

  // Goes on at that time: admits sequences that have arrived, and computes a batch if there is one. Returns the
  // sequences that leave.
  std::vector<Departure> step() {
    pass_until(next().value_or(now_));
    blocked_ = false;
    land();
    const std::int64_t tokens = compose();
    if (tokens == 0) return std::exchange(departures_, {});
    const Batch* longest = nullptr;
    BatchCost cost;
    for (const Batch& batch : batches_) {
      if (batch.is_empty()) continue;
      const BatchCost own = group_.costs(batch);
      if (longest != nullptr && own.time <= cost.time) continue;
      longest = &batch;
      cost = own;
    }
    ++counts_.batches;
    counts_.tokens += tokens;
    const sim::Time begin = now_ + std::exchange(stall_, sim::Time(0));
    composed_ = begin;
    const sim::Time takes = beside_fetches(begin, cost.time, *longest);
    counts_.busy += takes;
    counts_.energy += cost.energy + group_.at_rest * sim::to_seconds(takes - cost.time);
    if (sees_batch_) sees_batch_(*longest, place_);
    pass_until(begin + takes);
    advance();
    pass_until(now_ + question_.pause);
    return std::exchange(departures_, {});
  }

  // Frees what is held for a sequence that has left, once another group has fetched it.
  void release(const Sequence& sequence, sim::Time at) {
    if (at > now_) pass_until(at);
    cache_.give(*sequence.held_blocks);
    if (sequence.holds_prefix) cache_.prefixes.let_go(sequence.request.prefix);
    blocked_ = false;
  }

  const ServerCounts& counts() const { return counts_; }
  // Returns whether no sequence runs, and all blocks are free or belong to beginnings.
  bool is_empty() const { return running_.empty() && cache_.used() == cache_.prefixes.all_room(); }

  std::deque<Sequence> incoming;  // those that have not been admitted

 private:
  // Returns the tokens of the beginning in whole blocks, except the prompt's last, which gives the first output.
  std::int64_t beginning(const ServeRequest& request) const {
    if (request.prefix < 0) return 0;
    return std::min(request.prefix_tokens, request.prompt - 1) / group_.spec.block * group_.spec.block;
  }

  // Returns the time of a batch that takes `length` alone, slowed down by concurrent fetches, which are delayed in
  // turn.
  sim::Time beside_fetches(sim::Time begin, sim::Time length, const Batch& batch) {
    if (fetched_until_ <= begin || !group_.beside) return length;
    const FetchSlowdown slower = group_.beside(batch);
    // Both run concurrently until the shorter one has ended, slowed down as it is.
    const double alone = sim::to_seconds(fetched_until_ - begin).value();
    const double computes = sim::to_seconds(length).value();
    const double both = std::min(slower.fetch * alone, slower.batch * computes);
    const auto kept_back = [&](sim::Time until) {
      const double left = std::min(both, slower.fetch * sim::to_seconds(until - begin).value());
      return until + sim::to_time(sim::Seconds(left * (1.0 - 1.0 / slower.fetch)));
    };
    for (Sequence& sequence : running_) {
      if (sequence.fetched > 0 && sequence.ready > begin) sequence.ready = kept_back(sequence.ready);
    }
    fetched_until_ = kept_back(fetched_until_);
    return length + sim::to_time(sim::Seconds(both * (1.0 - 1.0 / slower.batch)));
  }

  void pass_until(sim::Time time) {
    SIM_CHECK(time >= now_);
    counts_.block_seconds += static_cast<double>(cache_.used()) * sim::to_seconds(time - now_).value();
    served_.load.add(now_, time,
                     {static_cast<double>(preempted_.size()), static_cast<double>(running_.size()),
                      static_cast<double>(cache_.used()) * cache_share_});
    now_ = time;
  }

  // Accounts for sequences whose fetches have ended.
  void land() {
    for (Sequence& sequence : running_) {
      if (sequence.fetched == 0 || sequence.ready > now_) continue;
      cache(sequence, std::exchange(sequence.fetched, 0));
      if (sequence.held_blocks) departures_.push_back({Departure::Why::fetched, sequence, sequence.ready});
      sequence.held_blocks.reset();
    }
  }

  // Takes blocks for the cached and fetched parts of a sequence, and for what is computed at once.
  bool take_in(Sequence& sequence, std::int64_t budget, bool again) {
    const ServeRequest& request = sequence.request;
    const std::int64_t all = request.prompt + sequence.made;
    if (sequence.held_blocks) {
      const std::int64_t own = group_.spec.blocks_of(all);
      if (!cache_.take(own)) return false;
      sequence.blocks = own;
      fetch(sequence, request.prompt);
      return true;
    }
    const std::int64_t hit = std::min(beginning(request), cache_.prefixes.blocks(request.prefix) * group_.spec.block);
    const std::int64_t stored = group_.spec.fetches && hit == 0 ? store_.blocks(request.prefix) : 0;
    const std::int64_t fetched = std::min(beginning(request), stored * group_.spec.block);
    if (hit > 0) cache_.prefixes.pin(request.prefix);
    // A fetch takes all blocks of its sequence at once, so that there is room for the rest when it has ended.
    const std::int64_t due = fetched > 0 ? all : hit + std::min(budget, all - hit);
    const std::int64_t own = group_.spec.blocks_of(due - hit);
    if (!cache_.take(own)) {
      if (hit > 0) cache_.prefixes.let_go(request.prefix);
      return false;
    }
    sequence.blocks = own;
    sequence.shared = sequence.cached = hit;
    if (!again) counts_.reused += hit + fetched;
    if (hit > 0) cache_.prefixes.use(request.prefix, 0, 0);
    if (fetched > 0) {
      store_.use(request.prefix, 0, 0);
      fetch(sequence, fetched);
    }
    return true;
  }

  void fetch(Sequence& sequence, std::int64_t tokens) {
    const sim::Time takes = group_.fetch_time(tokens);
    counts_.fetched += tokens;
    sequence.fetched = tokens;
    if (question_.waits == Waits::batch) {
      stall_ += takes;
      sequence.ready = now_;
      return;
    }
    fetched_until_ = std::max(fetched_until_, now_) + takes;
    sequence.ready = fetched_until_;
  }

  // Takes blocks for `tokens` more tokens of a sequence, preempting later ones; returns false if it was itself
  // preempted.
  bool grow(std::size_t place, std::int64_t tokens) {
    const auto lacks = [this, place, tokens] {
      const Sequence& sequence = running_[place];
      const std::int64_t due = group_.spec.blocks_of(sequence.cached + tokens - sequence.shared);
      return std::max<std::int64_t>(0, due - sequence.blocks);
    };
    while (!cache_.take(lacks())) {
      preempt();
      if (place == running_.size()) return false;
    }
    running_[place].blocks += lacks();
    return true;
  }

  void preempt() {
    Sequence last = running_.back();
    running_.pop_back();
    if (last.held_blocks) departures_.push_back({Departure::Why::fetched, last, now_});
    free(last);
    last.held_blocks.reset();
    last.cached = last.fetched = last.blocks = last.shared = 0;
    preempted_.push_front(last);
    ++counts_.preempted;
  }

  // Returns the replica with the fewest sequences of those with a place and some budget; nothing if there is none.
  std::optional<std::size_t> replica_with_room() const {
    std::vector<std::int64_t> running(group_.spec.replicas);
    for (const Sequence& sequence : running_) ++running[sequence.replica];
    std::optional<std::size_t> chosen;
    for (std::size_t replica = 0; replica < running.size(); ++replica) {
      if (budget_of(replica) == 0 || running[replica] >= question_.sequences) continue;
      if (!chosen || running[replica] < running[*chosen]) chosen = replica;
    }
    return chosen;
  }

  // Returns the budget of a replica that is left in the batch that is being composed.
  std::int64_t budget_of(std::size_t replica) const { return question_.budget - batches_[replica].tokens(); }

  // Returns the tokens of a sequence in the batch of its replica, beside those that are in it.
  std::int64_t share_of(const Sequence& sequence) const {
    if (sequence.fetched > 0) return 0;
    const std::int64_t left = budget_of(sequence.replica);
    if (!sequence.decodes()) return std::min(left, sequence.to_compute());
    // No token is drafted beyond the end of the output.
    return std::min({left, 1 + question_.drafted(), sequence.request.output - sequence.made});
  }

  void add(std::size_t place, std::int64_t tokens) {
    const Sequence& sequence = running_[place];
    Batch& batch = batches_[sequence.replica];
    shares_[place] = tokens;
    if (sequence.decodes()) {
      ++batch.decoding;
      batch.decoding_context += sequence.cached;
      batch.drafted += tokens - 1;
      return;
    }
    ++batch.chunks;
    batch.chunk_tokens += tokens;
    batch.chunk_pairs +=
        static_cast<double>(tokens) * (static_cast<double>(sequence.cached) + static_cast<double>(tokens) / 2.0);
  }

  // Admits sequences that have arrived, as far as budget, places and blocks last.
  void let_in() {
    const bool is_empty = std::ranges::all_of(batches_, &Batch::is_empty);
    const sim::Time seen = question_.ahead && !is_empty ? composed_ : now_;
    while (!blocked_) {
      const std::optional<std::size_t> replica = replica_with_room();
      if (!replica) return;
      const bool again = !preempted_.empty();
      if (!again && (incoming.empty() || incoming.front().ready > seen)) return;
      std::deque<Sequence>& queue = again ? preempted_ : incoming;
      Sequence sequence = queue.front();
      sequence.replica = *replica;
      // A sequence waits from its arrival or from when another group has handed it over.
      const sim::Time since = sequence.made > 0 ? sequence.ready : sequence.request.arrival;
      blocked_ = !take_in(sequence, budget_of(*replica), again);
      if (blocked_) return;
      if (!again) served_.load.add(since, now_, {.waiting = 1.0});
      running_.push_back(sequence);
      queue.pop_front();
      const std::int64_t tokens = share_of(sequence);
      shares_.push_back(0);
      if (tokens > 0) add(running_.size() - 1, tokens);
    }
  }

  // Returns the tokens of all replicas.
  std::int64_t compose() {
    batches_.assign(group_.spec.replicas, {});
    shares_.assign(running_.size(), 0);
    const std::int64_t preempted = counts_.preempted;
    for (std::size_t place = 0; place < running_.size(); ++place) {
      const std::int64_t tokens = share_of(running_[place]);
      if (tokens > 0 && grow(place, tokens)) add(place, tokens);
    }
    shares_.resize(running_.size());
    if (counts_.preempted == preempted || std::ranges::all_of(batches_, &Batch::is_empty)) let_in();
    counts_.most_blocks = std::max(counts_.most_blocks, cache_.used());
    std::int64_t tokens = 0;
    for (const Batch& batch : batches_) tokens += batch.tokens();
    return tokens;
  }

  void advance() {
    std::size_t stay = 0;
    for (std::size_t place = 0; place < running_.size(); ++place) {
      Sequence& sequence = running_[place];
      if (shares_[place] > 0 && leaves_with(sequence, shares_[place])) continue;
      if (stay != place) running_[stay] = sequence;
      ++stay;
    }
    running_.resize(stay);
  }

  // Returns how many drafted tokens are accepted before the first that is not.
  std::int64_t accepted(std::int64_t drafted) {
    std::int64_t right = 0;
    while (right < drafted && between_0_and_1(drawn_) < question_.acceptance) ++right;
    counts_.drafted += drafted;
    counts_.accepted += right;
    return right;
  }

  // Accounts for computed tokens; returns whether the sequence leaves. The last token of a prompt gives the first of
  // the output; accepted tokens of a draft are output, too, and so is the token after them.
  bool leaves_with(Sequence& sequence, std::int64_t tokens) {
    const bool decodes = sequence.decodes();
    const std::int64_t right = decodes ? 1 + accepted(tokens - 1) : tokens;
    cache(sequence, right);
    if (!decodes && sequence.to_compute() > 0) return false;
    const bool is_first = sequence.made == 0;
    sequence.made += decodes ? right : 1;
    if (is_first) {
      sequence.first_token = now_;
      served_.first_token.add(now_ - sequence.request.arrival);
      if (hands_over_ && sequence.request.output > 1) {
        departures_.push_back({Departure::Why::handed_over, sequence, now_});
        return true;
      }
    }
    if (sequence.made < sequence.request.output) return false;
    departures_.push_back({Departure::Why::finished, sequence, now_});
    free(sequence);
    return true;
  }

  // Marks more tokens of a sequence as cached. Once its beginning is complete, other sequences may share it.
  void cache(Sequence& sequence, std::int64_t tokens) {
    const std::int64_t begins = beginning(sequence.request);
    const bool complete = sequence.cached < begins && begins <= sequence.cached + tokens;
    sequence.cached += tokens;
    if (!complete) return;
    const std::int64_t prefix = sequence.request.prefix;
    const std::int64_t blocks = begins / group_.spec.block;
    const std::int64_t room = group_.spec.blocks_of(begins);
    if (question_.keep && sequence.shared == 0 && !cache_.prefixes.has(prefix)) {
      cache_.prefixes.use(prefix, blocks, room);
      cache_.prefixes.pin(prefix);
      sequence.blocks -= room;
      sequence.shared = begins;
    }
    if (!group_.spec.fetches) return;
    store_.use(prefix, blocks, room);
    while (store_.all_room() > group_.spec.store_blocks && store_.drop() > 0) {
    }
  }

  void free(const Sequence& sequence) {
    cache_.give(sequence.blocks);
    if (sequence.shared > 0) cache_.prefixes.let_go(sequence.request.prefix);
    blocked_ = false;
  }

  const ServingGroup& group_;
  const ServeQuestion& question_;
  std::size_t place_;
  bool hands_over_;
  double cache_share_;  // of all caches whose use counts, for each block of this one; 0 if it does not count
  Served& served_;
  const SeesBatch& sees_batch_;
  BlockCache cache_;
  Prefixes store_;
  ServerCounts counts_;
  std::vector<Departure> departures_;  // of this step
  std::deque<Sequence> preempted_;     // admitted again before those that come in
  std::vector<Sequence> running_;      // in the order of admission
  std::vector<std::int64_t> shares_;   // by running sequence: its tokens in this batch
  std::vector<Batch> batches_;         // by replica: its part of this batch
  std::mt19937_64 drawn_;              // random numbers for accepted drafts
  sim::Time composed_{0};              // start of the last batch
  sim::Time now_{0};
  sim::Time fetched_until_{0};  // end of all fetches so far
  sim::Time stall_{0};          // time that the next batch waits for fetches
  bool blocked_ = false;        // the cache had no room for the next sequence
};

// Routes assigns requests to replicas. The load of a replica is the number of its requests that have not ended when the
// next request arrives.
class Routes {
 public:
  Routes(Router router, std::size_t replicas)
      : router_(router), given_(replicas), under_way_(replicas), ends_(replicas) {}

  std::size_t choose(const ServeRequest& request) {
    for (std::size_t place = 0; place < ends_.size(); ++place) {
      for (std::deque<sim::Time>& ends = ends_[place]; !ends.empty() && ends.front() <= request.arrival;) {
        ends.pop_front();
        --under_way_[place];
      }
    }
    const std::size_t place = place_of(request);
    ++under_way_[place];
    ++given_[place];
    return place;
  }
  // Records the end of a request, which a server reports at the start of the batch. It counts from time `at` on.
  void ended(std::size_t replica, sim::Time at) { ends_[replica].push_back(at); }
  const std::vector<std::int64_t>& given() const { return given_; }

 private:
  std::size_t place_of(const ServeRequest& request) {
    if (given_.size() == 1) return 0;
    if (router_ == Router::round_robin) return next_++ % given_.size();
    const auto least_loaded = std::ranges::min_element(under_way_) - under_way_.begin();
    if (router_ == Router::least_loaded || request.prefix < 0) return static_cast<std::size_t>(least_loaded);
    // The replica of earlier requests with this beginning may have its keys and values.
    return homes_.try_emplace(request.prefix, static_cast<std::size_t>(least_loaded)).first->second;
  }

  Router router_;
  std::vector<std::int64_t> given_;
  std::vector<std::int64_t> under_way_;
  std::vector<std::deque<sim::Time>> ends_;
  std::unordered_map<std::int64_t, std::size_t> homes_;
  std::size_t next_ = 0;
};

class Serving {
 public:
  Serving(RequestSource& source, const std::vector<ServingGroup>& groups, const ServeQuestion& question,
          const SeesBatch& sees_batch)
      : source_(source),
        question_(question),
        of_replica_(groups.size()),
        routes_(question.router, static_cast<std::size_t>(question.replicas)) {
    for (std::int64_t place = 0; place < question.concurrency; ++place) places_.push(sim::Time(0));
    for (std::size_t replica = 0; replica < static_cast<std::size_t>(question.replicas); ++replica) {
      for (std::size_t place = 0; place < groups.size(); ++place)
        servers_.emplace_back(groups, place, replica, question, served_, sees_batch);
    }
  }

  Served run() {
    constexpr std::uint64_t steps_between_asking = 1024;
    std::uint64_t steps = 0;
    for (;;) {
      std::optional<std::size_t> server = earliest();
      while (route_before(server)) server = earliest();
      if (!server) break;
      for (const Departure& departure : servers_[*server].step()) account_for(departure, *server);
      if (++steps % steps_between_asking == 0) sim::ask_interruption();
    }
    SIM_CHECK(arrived_ == served_.requests);
    for (const Server& server : servers_) {
      SIM_CHECK(server.is_empty());
      served_.groups.push_back(server.counts());
    }
    served_.of_replicas = routes_.given();
    return std::move(served_);
  }

 private:
  std::optional<std::size_t> earliest() const {
    std::optional<std::size_t> first;
    sim::Time at{0};
    for (std::size_t place = 0; place < servers_.size(); ++place) {
      const std::optional<sim::Time> next = servers_[place].next();
      if (!next || (first && at <= *next)) continue;
      first = place;
      at = *next;
    }
    return first;
  }

  // Routes the next request if it arrives before that server goes on; returns whether it did.
  bool route_before(std::optional<std::size_t> server) {
    if (!arriving_) arriving_ = source_.next();
    if (!arriving_) return false;
    const bool is_closed = question_.concurrency > 0;
    if (is_closed && places_.empty()) return false;
    if (is_closed) arriving_->arrival = places_.top();
    if (server && *servers_[*server].next() < arriving_->arrival) return false;
    if (is_closed) places_.pop();
    if (arrived_++ == 0) served_.begin = arriving_->arrival;
    Server& first = servers_[routes_.choose(*arriving_) * of_replica_];
    first.incoming.push_back({.request = *arriving_, .ready = arriving_->arrival + question_.frontend});
    arriving_.reset();
    return true;
  }

  void account_for(const Departure& departure, std::size_t server) {
    const auto& [why, sequence, at] = departure;
    if (why == Departure::Why::finished) return finish(sequence, at, server / of_replica_);
    if (why == Departure::Why::fetched) return servers_[server - server % of_replica_].release(sequence, at);
    servers_[server + 1].incoming.push_back({.request = sequence.request,
                                             .ready = at,
                                             .first_token = at,
                                             .made = sequence.made,
                                             .held_blocks = sequence.blocks,
                                             .holds_prefix = sequence.shared > 0});
  }

  void finish(const Sequence& sequence, sim::Time at, std::size_t replica) {
    const ServeRequest& request = sequence.request;
    const ServiceLimits& limits = question_.limits;
    const sim::Time first = sequence.first_token - request.arrival;
    const sim::Time whole = at - request.arrival;
    const sim::Time per_token = request.output > 1 ? (whole - first) / (request.output - 1) : sim::Time(0);
    ++served_.requests;
    served_.prompt_tokens += request.prompt;
    served_.output_tokens += request.output;
    served_.whole.add(whole);
    if (request.output > 1) served_.per_token.add(per_token);
    const bool keeps = first <= limits.first_token.value_or(sim::Time::max()) &&
                       per_token <= limits.per_token.value_or(sim::Time::max()) &&
                       whole <= limits.whole.value_or(sim::Time::max());
    served_.within_limits += keeps ? 1 : 0;
    served_.end = std::max(served_.end, at);
    routes_.ended(replica, at);
    if (question_.concurrency > 0) places_.push(at);
  }

  RequestSource& source_;
  const ServeQuestion& question_;
  std::size_t of_replica_;  // groups of each replica
  Routes routes_;
  std::optional<ServeRequest> arriving_;  // the next request, which has no replica yet
  std::priority_queue<sim::Time, std::vector<sim::Time>, std::greater<>> places_;  // when the next requests may arrive
  std::deque<Server> servers_;                                                     // replica by replica
  std::int64_t arrived_ = 0;
  Served served_;
};

}  // namespace

std::int64_t ServerSpec::blocks_of(std::int64_t tokens) const {
  const std::int64_t all = whole_blocks(tokens, block);
  double saved = 0.0;
  for (const auto& [window, share] : windowed) {
    saved += share * static_cast<double>(std::max<std::int64_t>(0, all - whole_blocks(window, block)));
  }
  return all - static_cast<std::int64_t>(saved);
}

std::int64_t ServerSpec::longest() const {
  std::int64_t room = blocks;
  // Layers with a window cache tokens of a kept beginning beside those of the sequence.
  for (const auto& [window, share] : windowed) {
    room -= 1 + static_cast<std::int64_t>(share * static_cast<double>(whole_blocks(window, block)));
  }
  std::int64_t longest = 0;
  for (std::int64_t step = std::int64_t{1} << 40; step > 0; step /= 2) {
    if (blocks_of(longest + step) <= room) longest += step;
  }
  return longest;
}

Served serve(RequestSource& source, const std::vector<ServingGroup>& groups, const ServeQuestion& question,
             const SeesBatch& sees_batch) {
  return Serving(source, groups, question, sees_batch).run();
}

}  // namespace c3sim::study
