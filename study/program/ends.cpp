#include <algorithm>
#include <cmath>

#include "study/program/layer.h"

namespace c3sim::study {

namespace {

// Returns the rows of the head's product: in prefill the last token of each sequence, in decode all tokens, which
// verify a draft where there are several, and in training all or a share of them.
std::int64_t scored_tokens(const StepQuestion& question) {
  if (question.phase == Phase::decode) return question.new_tokens();
  if (question.phase == Phase::prefill) return question.batch + question.decoding;
  const double share = question.model.scored * static_cast<double>(question.new_tokens()) / question.cp;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(share)));
}

// No GPU has all scores of a row. As in Megatron-LM's fused vocabulary-parallel loss, GPUs all-reduce the largest score
// of each row, then the sum and the score of the correct word.
void write_loss(StepWriter& writer, std::int64_t rows, double scores) {
  const int tp = writer.question().tp;
  const auto add_up = [&](const std::string& of, std::int64_t numbers) {
    writer.collective(of, models::CollectiveKind::all_reduce, elements_of(rows, numbers) * single_precision, tp);
  };
  writer.operate("head_cast", Kind::copy, "cast_up", scores);
  add_up("loss_maximum_all_reduce", 1);
  writer.operate("loss", Kind::softmax, "cross_entropy", scores, single_precision);
  add_up("loss_sum_all_reduce", 2);
}

}  // namespace

void write_embedding(StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const double elements = elements_of(writer.tokens(), model.hidden);
  writer.operate("embedding", Kind::embedding, "embedding", elements);
  // Each GPU has a part of the vocabulary and gives zeros for other tokens. Serving engines all-reduce the result, too,
  // but in inference this all-reduce is left out as one of many of a step.
  if (writer.question().phase == Phase::train) {
    writer.collective("embedding_all_reduce", models::CollectiveKind::all_reduce, elements * writer.element(),
                      writer.question().tp);
  }
  if (model.position == Positions::learned) writer.operate("positions", Kind::elementwise, "add", elements);
}

void write_head(StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const std::int64_t rows = scored_tokens(writer.question());
  const std::int64_t words = writer.words();
  const double scores = elements_of(rows, words);
  if (writer.question().pieces) {  // the last tokens of a sequence lie on any of the GPUs
    writer.collective("last_gather", models::CollectiveKind::all_gather,
                      elements_of(rows, model.hidden) * writer.element(), writer.question().tp);
  }
  if (writer.question().compiles_sums()) {
    writer.add_and_normalise("last_norm", rows);
  } else {
    writer.operate("last_norm", Kind::norm, model.norm == Norm::rms ? "rmsnorm" : "layernorm",
                   elements_of(rows, model.hidden), {}, model.hidden);
  }
  writer.product("head", {.m = words, .n = rows, .k = model.hidden}, true);
  if (model.head_soft_cap) writer.operate("head_soft_cap", Kind::elementwise, "soft_cap", scores);
  if (writer.question().phase == Phase::train) {
    write_loss(writer, rows, scores);
    return;
  }
  writer.collective("head_all_gather", models::CollectiveKind::all_gather,
                    scores * writer.question().tp * writer.element(), writer.question().tp);
  writer.operate("choice", Kind::softmax, "softmax", scores * writer.question().tp);
}

Written write_head_gradient(StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const std::int64_t rows = scored_tokens(writer.question());
  const std::int64_t words = writer.words();
  const double scores = elements_of(rows, words);
  writer.operate("loss_gradient", Kind::softmax, "cross_entropy_backward", scores, single_precision);
  writer.operate("head_gradient_cast", Kind::copy, "cast_down", scores);
  const std::int64_t hidden = model.hidden;
  writer.product("head_input", {.m = hidden, .n = rows, .k = words, .layout = models::Layout::input_gradient}, true);
  writer.add_up("head_input", elements_of(rows, model.hidden), false);
  return writer.product("head_weights", {.m = words, .n = hidden, .k = rows, .layout = models::Layout::weight_gradient},
                        true);
}

void write_embedding_gradient(StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const double elements = elements_of(writer.tokens(), model.hidden);
  writer.operate("embedding_zero", Kind::embedding, "fill", elements_of(writer.words(), model.hidden),
                 single_precision);
  writer.operate("embedding_gradient", Kind::embedding, "embedding_gradient", elements, single_precision);
}

}  // namespace c3sim::study
