#include "study/step/fine_grain.h"

#include <fmt/format.h>

#include "study/work/pieces.h"

namespace c3sim::study {

namespace {

constexpr auto piece_stream = "pieces";

std::string piece_name(const std::string& of, int piece) { return fmt::format("{}_{}", of, piece); }

Wait of_this_layer(std::string name) { return {std::move(name), "layer", 0}; }

void move(StepWriter& writer, const std::string& name, models::CollectiveKind kind, std::int64_t tokens,
          std::int64_t features) {
  writer.collective(name, kind, elements_of(tokens, features) * writer.element(), writer.question().tp, piece_stream);
}

}  // namespace

void write_gathered_product(StepWriter& writer, const std::string& name, std::int64_t out, std::int64_t in,
                            int pieces) {
  const std::string shard = writer.last();
  for (int piece = 0; piece < pieces; ++piece) {
    const std::string gather = piece_name(name + "_gather", piece);
    move(writer, gather, models::CollectiveKind::all_gather, piece_of(writer.tokens(), pieces, piece), in);
    if (piece == 0) writer.wait(of_this_layer(shard));  // the others lie behind it
    writer.gemm(piece_name(name, piece), out, in, piece_of(writer.tokens(), pieces, piece));
    writer.wait(of_this_layer(gather));
  }
}

void write_scattered_product(StepWriter& writer, const std::string& name, std::int64_t out, std::int64_t in,
                             int pieces) {
  for (int piece = 0; piece < pieces; ++piece) {
    writer.gemm(piece_name(name, piece), out, in, piece_of(writer.tokens(), pieces, piece));
    move(writer, piece_name(name + "_scatter", piece), models::CollectiveKind::reduce_scatter,
         piece_of(writer.tokens(), pieces, piece), out);
    writer.wait(of_this_layer(piece_name(name, piece)));
  }
}

void wait_for_pieces(StepWriter& writer, const std::string& name, int pieces) {
  for (int piece = 0; piece < pieces; ++piece) {
    writer.wait(of_this_layer(piece_name(name + "_scatter", piece)));
  }
}

}  // namespace c3sim::study
