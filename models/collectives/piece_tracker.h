// A PieceTracker tells when the pieces that one GPU of a fused GEMM computes and receives are complete. Each piece has
// a word in memory that counts tiles computed by the GPU and, if it passes on what arrives, transfers that have
// arrived. The Trigger says what a word costs and how many tiles can be tracked at once.
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
    std::int64_t tiles = 0;              // tiles that the GPU computes
    int due = 0;                         // number of transfers that arrive in all
    bool passes_on = false;              // the GPU sends on what arrives
    sim::Time there = sim::Time::max();  // when the piece became ready to travel
    std::unique_ptr<MemoryWord> word;

    bool waits() const { return passes_on && arrived < due; }
    bool has_arrived() const { return arrived == due; }
    // Returns the condition on the word for all tiles and, with `arrives_first`, all transfers.
    Condition complete(bool arrives_first) const { return {Comparison::at_least, tiles + (arrives_first ? due : 0)}; }

   private:
    friend class PieceTracker;
    std::int64_t own = 0;       // tiles computed so far
    int arrived = 0;            // transfers arrived so far
    bool untracked = false;     // found no entry: its tiles count when the kernel has ended
    std::int64_t withheld = 0;  // tiles that count only when the kernel has ended
    std::int64_t entries = 0;   // entries of tiles that wait for arrivals
  };

  // `storing` tiles are being stored at any one time while the kernel runs.
  PieceTracker(sim::Simulator& simulator, const Trigger& trigger, std::int64_t storing)
      : simulator_(simulator), trigger_(trigger), storing_(storing) {}

  // Pieces are computed in the order in which they are added. None may be added once tiles have been counted.
  void add(std::int64_t tiles, std::string name);
  std::size_t size() const { return pieces_.size(); }
  Piece& piece(std::int64_t index) { return pieces_[static_cast<std::size_t>(index)]; }
  const std::vector<Piece>& pieces() const { return pieces_; }

  // Tells that `done` tiles of the kernel, `all` of them or not, have been computed. Returns pairs of a piece's index
  // and the number of its tiles that are new.
  std::vector<std::pair<std::int64_t, std::int64_t>> computed(std::int64_t done, bool all);
  // Tells that one more transfer has arrived for a piece.
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
  std::size_t unfinished_ = 0;  // index of the first piece with tiles that are not computed
  std::int64_t before_ = 0;     // tiles of the pieces before `unfinished_`
  std::int64_t entries_ = 0;    // entries of all pieces
  // held_ has tiles that wait for entries. turn_ is the fraction of a tile that hold() has left over, in 1 / storing_.
  std::deque<std::pair<Piece*, std::int64_t>> held_;
  std::int64_t turn_ = 0;
};

}  // namespace c3sim::models
