#include "study/step/fine_grain.h"

#include <fmt/format.h>

#include "study/work/pieces.h"

namespace c3sim::study {

namespace {

constexpr auto piece_stream = "pieces";

std::string piece_name(const std::string& of, int piece) { return fmt::format("{}_{}", of, piece); }

Written move(StepWriter& writer, const std::string& name, models::CollectiveKind kind, std::int64_t tokens,
             std::int64_t features) {
  return writer.collective(name, kind, elements_of(tokens, features) * writer.element(), writer.question().tp,
                           piece_stream);
}

}  // namespace

void write_gathered_product(StepWriter& writer, const std::string& name, std::int64_t out, std::int64_t in,
                            int pieces) {
  const Written shard = writer.last();
  for (int piece = 0; piece < pieces; ++piece) {
    const std::int64_t tokens = piece_of(writer.tokens(), pieces, piece);
    const Written gather =
        move(writer, piece_name(name + "_gather", piece), models::CollectiveKind::all_gather, tokens, in);
    if (piece == 0) writer.wait(shard);  // the others lie behind it
    writer.gemm(piece_name(name, piece), out, in, tokens);
    writer.wait(gather);
  }
}

std::vector<Written> write_scattered_product(StepWriter& writer, const std::string& name, std::int64_t out,
                                             std::int64_t in, int pieces) {
  std::vector<Written> scatters;
  for (int piece = 0; piece < pieces; ++piece) {
    const std::int64_t tokens = piece_of(writer.tokens(), pieces, piece);
    const Written product = writer.gemm(piece_name(name, piece), out, in, tokens);
    scatters.push_back(
        move(writer, piece_name(name + "_scatter", piece), models::CollectiveKind::reduce_scatter, tokens, out));
    writer.wait(product);
  }
  return scatters;
}

}  // namespace c3sim::study
