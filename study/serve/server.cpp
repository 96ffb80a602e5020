#include "study/serve/server.h"

#include <algorithm>
#include <utility>

#include "sim/check.h"
#include "study/uncertainty/latin_hypercube.h"

namespace c3sim::study {

namespace {

std::int64_t whole_blocks(std::int64_t tokens, std::int64_t block) { return (tokens + block - 1) / block; }

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

std::int64_t Prefixes::blocks(std::int64_t prefix) const {
  const auto found = entries_.find(prefix);
  return found == entries_.end() ? 0 : found->second.blocks;
}

void Prefixes::use(std::int64_t prefix, std::int64_t blocks, std::int64_t room) {
  const auto [entry, is_new] = entries_.try_emplace(prefix);
  if (is_new) {
    entry->second = {blocks, room, 0, by_use_.insert(by_use_.end(), prefix)};
    all_room_ += room;
  } else {
    by_use_.splice(by_use_.end(), by_use_, entry->second.place);
  }
}

std::int64_t Prefixes::drop() {
  const auto idle = [this](std::int64_t prefix) { return entries_.at(prefix).users == 0; };
  const auto found = std::ranges::find_if(by_use_, idle);
  if (found == by_use_.end()) return 0;
  const std::int64_t room = entries_.at(*found).room;
  entries_.erase(*found);
  by_use_.erase(found);
  all_room_ -= room;
  return room;
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
  SIM_CHECK(free_ + prefixes_.all_room() <= blocks_);
}

void BlockCache::keep(std::int64_t prefix, std::int64_t blocks, std::int64_t room) {
  SIM_CHECK(!prefixes_.has(prefix));
  prefixes_.use(prefix, blocks, room);
  prefixes_.pin(prefix);
}

Server::Server(ServingGroup group, Incoming incoming, ServerEvents events)
    : group_(std::move(group)),
      incoming_(std::move(incoming)),
      events_(std::move(events)),
      cache_(group_.spec.blocks),
      drawn_(group_.spec.seed) {
  const std::int64_t blocks = group_.spec.stored_tokens / group_.spec.block;
  const std::int64_t room = group_.spec.blocks_of(blocks * group_.spec.block);
  for (std::int64_t prefix = 0; prefix < group_.spec.stored && blocks > 0; ++prefix) {
    if (store_.all_room() + room > group_.spec.store_blocks) break;
    store_.use(prefix, blocks, room);
  }
}

std::int64_t Server::beginning(const ServeRequest& request) const {
  return request.prefix < 0
             ? 0
             : std::min(request.prefix_tokens, request.prompt - 1) / group_.spec.block * group_.spec.block;
}

const Sequence* Server::head() {
  if (!head_) head_ = incoming_();
  return head_ ? &*head_ : nullptr;
}

std::optional<sim::Time> Server::next() {
  std::optional<sim::Time> earliest;
  const auto at = [&](sim::Time time) {
    earliest = std::min(earliest.value_or(sim::Time::max()), std::max(now_, time));
  };
  for (const Sequence& sequence : running_) {
    if (sequence.fetched == 0) return now_;
    at(sequence.ready);
  }
  const auto places = static_cast<std::int64_t>(group_.spec.replicas) * group_.spec.sequences;
  const bool has_place = static_cast<std::int64_t>(running_.size()) < places;
  if (!has_place || blocked_) return earliest;
  if (!preempted_.empty()) return now_;
  if (const Sequence* const first = head()) at(first->ready);
  return earliest;
}

void Server::step() {
  pass_until(next().value_or(now_));
  blocked_ = false;
  land();
  const std::int64_t tokens = compose();
  if (tokens == 0) return;
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
  if (events_.batch) events_.batch(*longest);
  pass_until(begin + takes);
  advance();
  pass_until(now_ + group_.spec.pause);
}

// Returns the time of a batch that takes `length` alone, slowed down by concurrent fetches, which are delayed in turn.
sim::Time Server::beside_fetches(sim::Time begin, sim::Time length, const Batch& batch) {
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

void Server::pass_until(sim::Time time) {
  SIM_CHECK(time >= now_);
  counts_.block_seconds += static_cast<double>(cache_.used()) * sim::to_seconds(time - now_).value();
  if (events_.load && time > now_) {
    events_.load(now_, time,
                 {static_cast<double>(preempted_.size()), static_cast<double>(running_.size()),
                  static_cast<double>(cache_.used())});
  }
  now_ = time;
}

// Accounts for sequences whose fetches have ended.
void Server::land() {
  for (Sequence& sequence : running_) {
    if (sequence.fetched == 0 || sequence.ready > now_) continue;
    cache(sequence, std::exchange(sequence.fetched, 0));
    if (sequence.held_blocks) events_.fetched(sequence, sequence.ready);
    sequence.held_blocks.reset();
  }
}

// Takes blocks for the cached and fetched parts of a sequence, and for what is computed at once.
bool Server::take_in(Sequence& sequence, std::int64_t budget, bool again) {
  const ServeRequest& request = sequence.request;
  const std::int64_t all = request.prompt + sequence.made;
  if (sequence.held_blocks) {
    const std::int64_t own = group_.spec.blocks_of(all);
    if (!cache_.take(own)) return false;
    sequence.blocks = own;
    fetch(sequence, request.prompt);
    return true;
  }
  const std::int64_t hit = std::min(beginning(request), cache_.prefixes().blocks(request.prefix) * group_.spec.block);
  const std::int64_t stored = group_.spec.fetches && hit == 0 ? store_.blocks(request.prefix) : 0;
  const std::int64_t fetched = std::min(beginning(request), stored * group_.spec.block);
  if (hit > 0) cache_.prefixes().pin(request.prefix);
  // A fetch takes all blocks of its sequence at once, so that there is room for the rest when it has ended.
  const std::int64_t due = fetched > 0 ? all : hit + std::min(budget, all - hit);
  const std::int64_t own = group_.spec.blocks_of(due - hit);
  if (!cache_.take(own)) {
    if (hit > 0) cache_.prefixes().let_go(request.prefix);
    return false;
  }
  sequence.blocks = own;
  sequence.shared = sequence.cached = hit;
  if (!again) counts_.reused += hit + fetched;
  if (hit > 0) cache_.prefixes().use(request.prefix, 0, 0);
  if (fetched > 0) {
    store_.use(request.prefix, 0, 0);
    fetch(sequence, fetched);
  }
  return true;
}

void Server::fetch(Sequence& sequence, std::int64_t tokens) {
  const sim::Time takes = group_.fetch_time(tokens);
  counts_.fetched += tokens;
  sequence.fetched = tokens;
  if (group_.spec.batch_waits) {
    stall_ += takes;
    sequence.ready = now_;
    return;
  }
  fetched_until_ = std::max(fetched_until_, now_) + takes;
  sequence.ready = fetched_until_;
}

// Takes blocks for `tokens` more tokens of a sequence, preempting later ones; returns false if it was itself preempted.
bool Server::grow(std::size_t place, std::int64_t tokens) {
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

void Server::preempt() {
  Sequence last = running_.back();
  running_.pop_back();
  if (last.held_blocks) events_.fetched(last, now_);
  free(last);
  last.held_blocks.reset();
  last.cached = last.fetched = last.blocks = last.shared = 0;
  preempted_.push_front(last);
  ++counts_.preempted;
}

std::optional<std::size_t> Server::replica_with_room() const {
  std::vector<std::int64_t> running(group_.spec.replicas);
  for (const Sequence& sequence : running_) ++running[sequence.replica];
  std::optional<std::size_t> chosen;
  for (std::size_t replica = 0; replica < running.size(); ++replica) {
    if (budget_of(replica) == 0 || running[replica] >= group_.spec.sequences) continue;
    if (!chosen || running[replica] < running[*chosen]) chosen = replica;
  }
  return chosen;
}

std::int64_t Server::share_of(const Sequence& sequence) const {
  if (sequence.fetched > 0) return 0;
  const std::int64_t left = budget_of(sequence.replica);
  if (!sequence.decodes()) return std::min(left, sequence.to_compute());
  // No token is drafted beyond the end of the output.
  return std::min({left, 1 + group_.spec.draft, sequence.request.output - sequence.made});
}

void Server::add(std::size_t place, std::int64_t tokens) {
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
void Server::let_in() {
  const bool is_empty = std::ranges::all_of(batches_, &Batch::is_empty);
  const sim::Time seen = group_.spec.ahead && !is_empty ? composed_ : now_;
  while (!blocked_) {
    const std::optional<std::size_t> replica = replica_with_room();
    if (!replica) return;
    const bool again = !preempted_.empty();
    if (!again && (head() == nullptr || head_->ready > seen)) return;
    Sequence sequence = again ? preempted_.front() : *head_;
    sequence.replica = *replica;
    // A sequence waits from its arrival or from when another group has handed it over.
    const sim::Time since = sequence.made > 0 ? sequence.ready : sequence.request.arrival;
    blocked_ = !take_in(sequence, budget_of(*replica), again);
    if (blocked_) return;
    if (!again && events_.load) events_.load(since, now_, {.waiting = 1.0});
    running_.push_back(sequence);
    if (again) {
      preempted_.pop_front();
    } else {
      head_.reset();
    }
    const std::int64_t tokens = share_of(sequence);
    shares_.push_back(0);
    if (tokens > 0) add(running_.size() - 1, tokens);
  }
}

std::int64_t Server::compose() {
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

void Server::advance() {
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
std::int64_t Server::accepted(std::int64_t drafted) {
  std::int64_t right = 0;
  while (right < drafted && between_0_and_1(drawn_) < group_.spec.acceptance) ++right;
  counts_.drafted += drafted;
  counts_.accepted += right;
  return right;
}

// Accounts for computed tokens; returns whether the sequence leaves. The last token of a prompt gives the first of the
// output; accepted tokens of a draft are output, too, and so is the token after them.
bool Server::leaves_with(Sequence& sequence, std::int64_t tokens) {
  const bool decodes = sequence.decodes();
  const std::int64_t right = decodes ? 1 + accepted(tokens - 1) : tokens;
  cache(sequence, right);
  if (!decodes && sequence.to_compute() > 0) return false;
  const bool is_first = sequence.made == 0;
  sequence.made += decodes ? right : 1;
  if (is_first) {
    sequence.first_token = now_;
    if (events_.first_token(sequence, now_)) return true;
  }
  if (sequence.made < sequence.request.output) return false;
  events_.finished(sequence, now_);
  free(sequence);
  return true;
}

// Marks more tokens of a sequence as cached. Once its beginning is complete, other sequences may share it.
void Server::cache(Sequence& sequence, std::int64_t tokens) {
  const std::int64_t begins = beginning(sequence.request);
  const bool complete = sequence.cached < begins && begins <= sequence.cached + tokens;
  sequence.cached += tokens;
  if (!complete) return;
  const std::int64_t prefix = sequence.request.prefix;
  const std::int64_t blocks = begins / group_.spec.block;
  const std::int64_t room = group_.spec.blocks_of(begins);
  if (group_.spec.keeps && sequence.shared == 0 && !cache_.prefixes().has(prefix)) {
    cache_.keep(prefix, blocks, room);
    sequence.blocks -= room;
    sequence.shared = begins;
  }
  if (!group_.spec.fetches) return;
  store_.use(prefix, blocks, room);
  while (store_.all_room() > group_.spec.store_blocks && store_.drop() > 0) {
  }
}

void Server::free(const Sequence& sequence) {
  cache_.give(sequence.blocks);
  if (sequence.shared > 0) cache_.prefixes().let_go(sequence.request.prefix);
  blocked_ = false;
}

void Server::release(const Sequence& sequence, sim::Time at) {
  if (at > now_) pass_until(at);
  cache_.give(*sequence.held_blocks);
  if (sequence.holds_prefix) cache_.prefixes().let_go(sequence.request.prefix);
  blocked_ = false;
}

}  // namespace c3sim::study
