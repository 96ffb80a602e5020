#include "models/collectives/piece_tracker.h"

#include <algorithm>
#include <limits>

namespace c3sim::models {

void PieceTracker::add(std::int64_t tiles, std::string name) {
  Piece& piece = pieces_.emplace_back();
  piece.tiles = tiles;
  piece.word = std::make_unique<MemoryWord>(simulator_, std::move(name), 0);
}

// Tiles count towards pieces in the order in which workgroups are placed: all but the last wave retire so.
std::vector<std::pair<std::int64_t, std::int64_t>> PieceTracker::computed(std::int64_t done, bool all) {
  std::vector<std::pair<std::int64_t, std::int64_t>> counted;
  for (; unfinished_ < pieces_.size(); ++unfinished_) {
    Piece& piece = pieces_[unfinished_];
    const std::int64_t more = std::min(done - before_, piece.tiles) - piece.own;
    piece.own += more;
    if (more > 0) {
      count(piece, more);
      counted.emplace_back(static_cast<std::int64_t>(unfinished_), more);
    }
    if (piece.own < piece.tiles) break;
    before_ += piece.tiles;
  }
  if (all) {
    for (Piece& piece : pieces_) notify(piece, std::exchange(piece.withheld, 0));
    for (const auto& [piece, tiles] : std::exchange(held_, {})) notify(*piece, tiles);
  }
  return counted;
}

void PieceTracker::arrived(Piece& piece) {
  ++piece.arrived;
  if (piece.passes_on) notify(piece, 1);
  if (piece.waits()) return;
  const std::int64_t freed = std::exchange(piece.entries, 0);
  entries_ -= freed;
  admit(freed);
}

// The tracker has an entry for each tile that is being stored, and for each that waits for arrivals. Data that arrives
// before its tile is stored finds an entry or is held back by its sender; the sender's delay is not modelled.
void PieceTracker::count(Piece& piece, std::int64_t more) {
  if (trigger_.queues) return hold(piece, more);
  if (piece.waits()) {
    piece.entries += more;
    entries_ += more;
  }
  const bool is_full = trigger_.entries > 0 && storing_ + entries_ > trigger_.entries;
  if (is_full && piece.arrived == 0) piece.untracked = true;
  if (trigger_.at_end || piece.untracked) {
    piece.withheld += more;
  } else {
    notify(piece, more);
  }
}

// Admits as many of the tiles being stored as there are entries for; the others are held. The delay of the GEMM's own
// stores is not modelled.
void PieceTracker::hold(Piece& piece, std::int64_t more) {
  const std::int64_t room = std::clamp<std::int64_t>(trigger_.entries - entries_, 0, storing_);
  held_.emplace_back(&piece, more);
  if (room == storing_) return admit(std::numeric_limits<std::int64_t>::max());
  turn_ += more * room;
  admit(turn_ / storing_);
  turn_ %= storing_;
}

void PieceTracker::admit(std::int64_t tiles) {
  while (!held_.empty()) {
    auto& [piece, left] = held_.front();
    const std::int64_t free = piece->waits() ? trigger_.entries - entries_ : left;
    const std::int64_t admitted = std::min({tiles, left, free});
    if (admitted <= 0) return;
    if (piece->waits()) {
      piece->entries += admitted;
      entries_ += admitted;
    }
    notify(*piece, admitted);
    tiles -= admitted;
    left -= admitted;
    if (left == 0) held_.pop_front();
  }
}

void PieceTracker::notify(Piece& piece, std::int64_t more) {
  if (more == 0) return;
  simulator_.schedule(simulator_.now() + trigger_.notice, [piece = &piece, more] {
    piece->word->add(more);
    if (piece->word->value() >= piece->tiles) piece->there = std::min(piece->there, piece->word->written_at());
  });
}

}  // namespace c3sim::models
