#include "study/step/fine_grain.h"

#include <fmt/format.h>

#include "study/work/pieces.h"

namespace c3sim::study {

namespace {

constexpr auto piece_stream = "pieces";

std::string piece_name(const std::string& of, int piece) { return fmt::format("{}_{}", of, piece); }

Wait of_this_layer(std::string name) { return {std::move(name), "layer", 0}; }

int pieces_of(const StepWriter& writer) { return writer.question().pieces.value_or(1); }

std::int64_t tokens_of(const StepWriter& writer, int piece) {
  return piece_of(writer.tokens(), pieces_of(writer), piece);
}

void move(StepWriter& writer, const std::string& name, models::CollectiveKind kind, std::int64_t tokens,
          std::int64_t features) {
  writer.collective(name, kind, elements_of(tokens, features) * writer.element(), writer.question().tp, piece_stream);
}

}  // namespace

void write_gathered_product(StepWriter& writer, const std::string& name, std::int64_t out, std::int64_t in) {
  const std::string shard = writer.last();
  for (int piece = 0; piece < pieces_of(writer); ++piece) {
    const std::string gather = piece_name(name + "_gather", piece);
    move(writer, gather, models::CollectiveKind::all_gather, tokens_of(writer, piece), in);
    if (piece == 0) writer.wait(of_this_layer(shard));  // the others lie behind it
    writer.gemm(piece_name(name, piece), out, in, tokens_of(writer, piece));
    writer.wait(of_this_layer(gather));
  }
}

void write_scattered_product(StepWriter& writer, const std::string& name, std::int64_t out, std::int64_t in) {
  for (int piece = 0; piece < pieces_of(writer); ++piece) {
    writer.gemm(piece_name(name, piece), out, in, tokens_of(writer, piece));
    move(writer, piece_name(name + "_scatter", piece), models::CollectiveKind::reduce_scatter, tokens_of(writer, piece),
         out);
    writer.wait(of_this_layer(piece_name(name, piece)));
  }
}

void wait_for_pieces(StepWriter& writer, const std::string& name) {
  for (int piece = 0; piece < pieces_of(writer); ++piece) {
    writer.wait(of_this_layer(piece_name(name + "_scatter", piece)));
  }
}

}  // namespace c3sim::study
