// The pieces of what one GPU of a fused GEMM computes and receives, and when it becomes known of each that it is
// complete. A piece is a word in memory that counts tiles which the GPU has computed and, where it passes on what
// arrives, transfers that have arrived. What a word costs and how many tiles can be followed at once is the trigger's.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/machine/memory_word.h"
#include "models/machine/trigger.h"
#include "sim/units.h"

namespace c3sim::models {

class PieceTracker {
 public:
  struct Piece {
    std::int64_t tiles = 0;              // that the GPU computes
    int due = 0;                         // transfers that arrive in all
    bool passes_on = false;              // what arrives goes further
    sim::Time there = sim::Time::max();  // since when it may travel
    std::unique_ptr<MemoryWord> word;

    bool waits() const { return passes_on && arrived < due; }
    bool has_arrived() const { return arrived == due; }
    // When all of it is there: its tiles, and of what it passes on all that arrives.
    Condition complete(bool arrives_first) const { return {Comparison::at_least, tiles + (arrives_first ? due : 0)}; }

   private:
    friend class PieceTracker;
    std::int64_t own = 0;       // tiles that have been computed
    int arrived = 0;            // transfers
    bool untracked = false;     // no entry was left: it counts when the kernel has ended
    std::int64_t withheld = 0;  // tiles that count only when the kernel has ended
    std::int64_t entries = 0;   // of tiles that wait for what arrives
  };

  // `storing` tiles are being stored at any one time while the kernel runs.
  PieceTracker(sim::Simulator& simulator, const Trigger& trigger, std::int64_t storing)
      : simulator_(simulator), trigger_(trigger), storing_(storing) {}

  // Pieces are computed in the order in which they are added. None may be added once tiles have been counted.
  void add(std::int64_t tiles, std::string name);
  std::size_t size() const { return pieces_.size(); }
  Piece& piece(std::int64_t index) { return pieces_[static_cast<std::size_t>(index)]; }
  const std::vector<Piece>& pieces() const { return pieces_; }

  // `done` tiles of the kernel have been computed, which may be all of them. Returns how many more that are of which
  // piece.
  std::vector<std::pair<std::int64_t, std::int64_t>> computed(std::int64_t done, bool all);
  // One more transfer has arrived for a piece.
  void arrived(Piece& piece);

 private:
  void count(Piece& piece, std::int64_t more);
  void hold(Piece& piece, std::int64_t more);
  void admit(std::int64_t tiles);
  void notify(Piece& piece, std::int64_t more);

  sim::Simulator& simulator_;
  Trigger trigger_;
  std::int64_t storing_;
  std::vector<Piece> pieces_;
  std::size_t unfinished_ = 0;  // the first piece with tiles that are not computed
  std::int64_t before_ = 0;     // tiles of the pieces before it
  std::int64_t entries_ = 0;    // of all pieces
  // Tiles that wait for entries, and what those being stored have left over of a turn, in parts of one tile.
  std::deque<std::pair<Piece*, std::int64_t>> held_;
  std::int64_t turn_ = 0;
};

}  // namespace c3sim::models
