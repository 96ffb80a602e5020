#include "study/work/pieces.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/overloaded.h"

namespace c3sim::study {

namespace {

sim::Bytes bytes_of_piece(sim::Bytes whole, const Piece& piece) {
  return sim::Bytes(static_cast<double>(piece_of(static_cast<std::int64_t>(whole.value()), piece.count, piece.index)));
}

// What is counted out to the pieces; nothing of work that is not cut.
struct Units {
  double count = 0.0;
  const char* name = "bytes for each GPU";
};
Units units_of(const Work& work, CutAxis axis) {
  return std::visit(
      sim::Overloaded{
          [&](const models::GemmShape& shape) {
            return axis == CutAxis::tokens ? Units{static_cast<double>(shape.n), "tokens (n)"}
                                           : Units{static_cast<double>(shape.k), "steps of the contraction (k)"};
          },
          [](const models::CollectiveSpec& spec) { return Units{spec.bytes.value() / spec.gpus}; },
          [](const models::SdmaCopySpec& copy) {
            return copy.submit ? Units{static_cast<double>(copy.copies), "blocks"} : Units{copy.bytes.value()};
          },
          [](const models::ElementwiseSpec& spec) { return Units{std::max(spec.read, spec.written).value()}; },
          [](const auto&) { return Units{}; }},
      work);
}

}  // namespace

std::int64_t piece_of(std::int64_t whole, std::int64_t count, std::int64_t index) {
  return whole * (index + 1) / count - whole * index / count;
}

std::string why_uncut(const Work& work, const Piece& piece) {
  if (piece.count == 1) return {};
  const Units units = units_of(work, piece.axis);
  if (units.count == 0.0) return "only a gemm, a collective, a copy and a kernel can be cut into pieces";
  if (units.count >= static_cast<double>(piece.count)) return {};
  return fmt::format("{} pieces cannot be had of {:.0f} {}", piece.count, units.count, units.name);
}

Work piece_of(const Work& work, const Piece& piece) {
  if (piece.count == 1) return work;
  return std::visit(sim::Overloaded{[&](models::GemmShape shape) -> Work {
                                      std::int64_t& cut = piece.axis == CutAxis::tokens ? shape.n : shape.k;
                                      cut = piece_of(cut, piece.count, piece.index);
                                      return shape;
                                    },
                                    [&](models::CollectiveSpec spec) -> Work {
                                      spec.bytes = bytes_of_piece(spec.bytes, piece);
                                      return spec;
                                    },
                                    [&](models::SdmaCopySpec copy) -> Work {
                                      if (copy.submit) {
                                        copy.copies = piece_of(copy.copies, piece.count, piece.index);
                                      } else {
                                        copy.bytes = bytes_of_piece(copy.bytes, piece);
                                      }
                                      return copy;
                                    },
                                    [&](models::ElementwiseSpec spec) -> Work {
                                      spec.read = bytes_of_piece(spec.read, piece);
                                      spec.written = bytes_of_piece(spec.written, piece);
                                      spec.flops *= 1.0 / static_cast<double>(piece.count);
                                      return spec;
                                    },
                                    [](const auto& whole) -> Work { return whole; }},
                    work);
}

bool needs(const Piece& piece, const Piece& earlier, const Work& earlier_work) {
  const bool adds_up = earlier.axis == CutAxis::contraction && std::holds_alternative<models::GemmShape>(earlier_work);
  if (piece.count == 1 || earlier.count == 1 || piece.axis != earlier.axis || adds_up) return true;
  return piece.index * earlier.count < (earlier.index + 1) * piece.count &&
         earlier.index * piece.count < (piece.index + 1) * earlier.count;
}

}  // namespace c3sim::study
