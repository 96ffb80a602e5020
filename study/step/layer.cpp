#include "study/step/layer.h"

#include <algorithm>

#include "study/step/fine_grain.h"

namespace c3sim::study {

Experts experts_of(const StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const StepQuestion& question = writer.question();
  const std::int64_t sent = question.tokens_to_route(question.new_tokens()) * model.experts_used;
  // Where GPUs share out an expert, each has the tokens that came to all of them.
  const std::int64_t copies = question.ep == 1 ? sent : question.expert_tp() * sent;
  const std::int64_t busy = std::min(model.experts / question.ep, copies);
  return {sent, copies, busy, (copies + busy - 1) / busy, model.ffn / question.expert_tp()};
}

void write_dispatch(StepWriter& writer, const std::string& name, const Experts& experts) {
  const StepQuestion& question = writer.question();
  if (question.ep == 1) return;
  const auto bytes = [&](std::int64_t copies) { return elements_of(copies, writer.model().hidden) * writer.element(); };
  writer.collective(name, models::CollectiveKind::all_to_all, bytes(experts.sent), question.ep);
  writer.collective(name + "_all_gather", models::CollectiveKind::all_gather, bytes(experts.copies),
                    question.expert_tp());
}

void write_combine(StepWriter& writer, const std::string& name, const Experts& experts) {
  const StepQuestion& question = writer.question();
  if (question.ep == 1) return;
  const auto bytes = [&](std::int64_t copies) { return elements_of(copies, writer.model().hidden) * writer.element(); };
  writer.collective(name + "_reduce_scatter", models::CollectiveKind::reduce_scatter, bytes(experts.copies),
                    question.expert_tp());
  writer.collective(name, models::CollectiveKind::all_to_all, bytes(experts.sent), question.ep);
}

namespace {

class Forward {
 public:
  Forward(StepWriter& writer, const std::string& prefix)
      : writer_(writer), model_(writer.model()), prefix_(prefix), tokens_(writer.tokens()) {}

  void write() {
    const Half half = writer_.question().half;
    if (half == Half::both || half == Half::attention) attention_half();
    if (half == Half::attention) return;
    if (half == Half::experts) {
      exchange_and_multiply();
    } else if (model_.experts == 0) {
      feed_forward();
    } else {
      experts();
    }
  }

 private:
  std::string name(const std::string& of) const { return prefix_ + of; }
  const char* norm() const { return model_.norm == Norm::rms ? "rmsnorm" : "layernorm"; }
  void normalise(const std::string& of) {
    const double elements = writer_.tokens_between() * static_cast<double>(model_.hidden);
    if (!writer_.composes_norms()) {
      writer_.operate(name(of), Kind::norm, norm(), elements, writer_.stream_element(), model_.hidden);
      return;
    }
    writer_.operate(name(of + "_cast_up"), Kind::elementwise, "cast_up", elements);
    writer_.operate(name(of + "_square"), Kind::elementwise, "scale", elements, single_precision);
    writer_.operate(name(of + "_mean"), Kind::elementwise, "column_sums", elements, single_precision);
    for (const char* const of_rows : {"_epsilon", "_root"}) {
      writer_.operate(name(of + of_rows), Kind::elementwise, "scale", elements_of(tokens_, 1), single_precision);
    }
    for (const char* const by : {"", "_weights"}) {
      writer_.operate(name(of + by), Kind::elementwise, "mul_broadcast", elements, single_precision);
    }
  }
  int pieces_of(const std::string& of) const {
    const StepQuestion& question = writer_.question();
    const bool feeds_forward = of == "up" || of == "down";
    return feeds_forward && question.ffn_pieces ? *question.ffn_pieces : *question.pieces;
  }
  // The product, and before it what casts its operands.
  void product(const std::string& of, std::int64_t out, std::int64_t in) {
    if (writer_.question().mixes()) {
      writer_.operate(name(of + "_cast_weights"), Kind::copy, "cast_down", elements_of(out, in));
      if (of != "out" && of != "down") {
        writer_.operate(name(of + "_cast"), Kind::copy, "cast_down", elements_of(tokens_, in));
      }
    }
    if (!writer_.question().pieces) {
      writer_.gemm(name(of), out, in, tokens_);
      if (of == "out" || of == "down") writer_.reduce_last();
    } else if (of == "out" || of == "down") {
      write_scattered_product(writer_, name(of), out, in, pieces_of(of));
    } else {
      write_gathered_product(writer_, name(of), out, in, pieces_of(of));
    }
  }
  void add_up(const std::string& of, bool reduced = true) {
    const double elements = writer_.tokens_between() * static_cast<double>(model_.hidden);
    if (!writer_.question().pieces) {
      if (!reduced && writer_.routes_shares()) {
        writer_.gather_tokens(name(of));
      } else {
        writer_.add_up(name(of), elements, reduced);
      }
    }
    if (model_.dropout > 0.0 && writer_.question().phase == Phase::train) {
      writer_.operate(name(of + "_dropout"), Kind::elementwise, "dropout", elements);
    }
    writer_.operate(name(of + "_residual"), Kind::elementwise, writer_.question().wide_stream() ? "add_mixed" : "add",
                    elements);
    if (writer_.question().pieces) wait_for_pieces(writer_, name(of), pieces_of(of));
  }

  void attention_half() {
    const std::int64_t queries = writer_.share(model_.query_features());
    const std::int64_t kv = writer_.kv_features();
    normalise("attention_norm");
    product("qkv", queries + 2 * kv, model_.hidden);
    if (writer_.question().phase == Phase::decode) {
      for (const char* const cached : {"cache_keys", "cache_values"}) {
        writer_.operate(name(cached), Kind::elementwise, "copy_strided", elements_of(tokens_, kv));
      }
    }
    share_keys();
    writer_.attention(name("attention"), false);
    product("out", model_.hidden, queries);
    add_up("out");
  }

  // Keys and values of the parts of a sequence that other GPUs have.
  void share_keys() {
    const double elements = 2.0 * elements_of(writer_.question().new_tokens(), writer_.kv_features());
    writer_.collective(name("keys_all_gather"), models::CollectiveKind::all_gather, elements * writer_.element(),
                       writer_.question().cp);
  }

  void activate(double elements) {
    if (model_.feed == Feed::swiglu) {
      writer_.operate(name("gate"), Kind::elementwise, "silu_strided", elements);
      writer_.operate(name("gated"), Kind::elementwise, "mul_strided", elements);
    } else {
      writer_.operate(name("activation"), Kind::elementwise, model_.feed == Feed::gelu ? "gelu_erf" : "relu", elements);
    }
  }

  void feed_forward() {
    normalise("ffn_norm");
    product("up", writer_.share(model_.first_ffn()), model_.hidden);
    activate(elements_of(tokens_, writer_.share(model_.ffn)));
    product("down", model_.hidden, writer_.share(model_.ffn));
    add_up("down");
  }

  void experts() {
    const std::int64_t routed = writer_.tokens_to_route();
    const double elements = elements_of(experts_of(writer_).sent, model_.hidden);
    normalise("ffn_norm");
    writer_.gemm(name("router"), model_.experts, model_.hidden, routed);
    writer_.operate(name("router_choice"), Kind::softmax, "route", elements_of(routed, model_.experts), {},
                    model_.experts);
    writer_.operate(name("permute"), Kind::copy, "copy", elements);
    exchange_and_multiply();
    writer_.operate(name("unpermute"), Kind::elementwise, "add", elements);
    add_up("down", false);
  }

  // Tokens go to the GPUs of their experts and come back, to each in even parts; experts of a GPU are one kernel.
  void exchange_and_multiply() {
    const Experts experts = experts_of(writer_);
    const std::int64_t first = model_.first_ffn() / model_.ffn * experts.ffn;
    write_dispatch(writer_, name("dispatch"), experts);
    writer_.gemm(name("up"), first, model_.hidden, experts.tokens, experts.busy);
    activate(elements_of(experts.copies, experts.ffn));
    writer_.gemm(name("down"), model_.hidden, experts.ffn, experts.tokens, experts.busy);
    write_combine(writer_, name("combine"), experts);
  }

  StepWriter& writer_;
  const ModelSpec& model_;
  std::string prefix_;
  std::int64_t tokens_;
};

}  // namespace

void write_forward(StepWriter& writer, const std::string& prefix) { Forward(writer, prefix).write(); }

}  // namespace c3sim::study
