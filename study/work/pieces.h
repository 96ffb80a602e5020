// Work cut into pieces: a GEMM by its tokens or along its contraction, and what carries bytes by its bytes.
#pragma once

#include <cstdint>
#include <string>

#include "sim/config/choice.h"
#include "study/work/operation.h"

namespace c3sim::study {

// Along what work is cut: tokens (n of a GEMM, and what carries them) or the contraction (k).
enum class CutAxis { tokens, contraction };
constexpr auto all_names(CutAxis) { return sim::names("tokens", "contraction"); }

// Piece `index` of `count`.
struct Piece {
  std::int64_t count = 1;
  std::int64_t index = 0;
  CutAxis axis = CutAxis::tokens;
};

// How large one of so many pieces is that together are the whole and differ by one at most.
std::int64_t piece_of(std::int64_t whole, std::int64_t count, std::int64_t index);

// Why the work cannot be cut into so many pieces, in one sentence that says what would be accepted; empty if it can.
std::string why_uncut(const Work& work, const Piece& piece);

// The piece of the work, which can be cut so.
Work piece_of(const Work& work, const Piece& piece);

// Of pieces of two operations that are cut alike, piece i of n needs those that overlap [i/n, (i+1)/n). Where they are
// cut along different axes, and of an earlier GEMM that is cut along its contraction, whose pieces add up, it needs
// all.
bool needs(const Piece& piece, const Piece& earlier, const Work& earlier_work);

}  // namespace c3sim::study
