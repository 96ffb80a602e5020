#include "study/step/layer.h"

namespace c3sim::study {

namespace {

class Forward {
 public:
  Forward(StepWriter& writer, const std::string& prefix)
      : writer_(writer), model_(writer.model()), prefix_(prefix), tokens_(writer.tokens()) {}

  void write() {
    attention_half();
    if (model_.experts == 0) {
      feed_forward();
    } else {
      experts();
    }
  }

 private:
  std::string name(const std::string& of) const { return prefix_ + of; }
  sim::Bytes stream_element() const { return writer_.question().mixes() ? sim::Bytes(4.0) : writer_.element(); }
  const char* norm() const { return model_.norm == Norm::rms ? "rmsnorm" : "layernorm"; }
  void normalise(const std::string& of) {
    writer_.operate(name(of), Kind::norm, norm(), elements_of(tokens_, model_.hidden), stream_element());
  }
  // The product, and before it what casts its operands.
  void product(const std::string& of, std::int64_t out, std::int64_t in) {
    if (writer_.question().mixes()) {
      writer_.operate(name(of + "_cast_weights"), Kind::copy, "cast_down", elements_of(out, in));
      if (of != "out" && of != "down") {
        writer_.operate(name(of + "_cast"), Kind::copy, "cast_down", elements_of(tokens_, in));
      }
    }
    writer_.gemm(name(of), out, in, tokens_);
  }
  void add_up(const std::string& of) {
    const double elements = elements_of(tokens_, model_.hidden);
    writer_.collective(name(of + "_all_reduce"), models::CollectiveKind::all_reduce, elements * writer_.element(),
                       writer_.question().tp);
    if (model_.dropout > 0.0 && writer_.question().phase == Phase::train) {
      writer_.operate(name(of + "_dropout"), Kind::elementwise, "dropout", elements);
    }
    writer_.operate(name(of + "_residual"), Kind::elementwise, writer_.question().mixes() ? "add_mixed" : "add",
                    elements);
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
    writer_.attention(name("attention"), false);
    product("out", model_.hidden, queries);
    add_up("out");
  }

  void activate(double elements, const std::string& of) {
    if (model_.feed == Feed::swiglu) {
      writer_.operate(name(of + "gate"), Kind::elementwise, "silu_strided", elements);
      writer_.operate(name(of + "gated"), Kind::elementwise, "mul_strided", elements);
    } else {
      writer_.operate(name(of + "activation"), Kind::elementwise, model_.feed == Feed::gelu ? "gelu" : "relu",
                      elements);
    }
  }

  void feed_forward() {
    normalise("ffn_norm");
    product("up", writer_.share(model_.first_ffn()), model_.hidden);
    activate(elements_of(tokens_, writer_.share(model_.ffn)), "");
    product("down", model_.hidden, writer_.share(model_.ffn));
    add_up("down");
  }

  // Tokens go to the GPUs of their experts and come back, to each in even parts.
  void experts() {
    const StepQuestion& question = writer_.question();
    const std::int64_t copies = tokens_ * model_.experts_used;
    const double elements = elements_of(copies, model_.hidden);
    normalise("ffn_norm");
    writer_.gemm(name("router"), model_.experts, model_.hidden, tokens_);
    writer_.operate(name("router_softmax"), Kind::softmax, "softmax", elements_of(tokens_, model_.experts));
    writer_.operate(name("permute"), Kind::copy, "copy", elements);
    writer_.collective(name("dispatch"), models::CollectiveKind::all_to_all, elements * writer_.element(), question.ep);
    const std::int64_t own = model_.experts / question.ep;
    const std::int64_t each = std::max<std::int64_t>(1, copies * question.ep / model_.experts);
    for (std::int64_t expert = 0; expert < own; ++expert) {
      const std::string of = "expert" + std::to_string(expert) + "_";
      writer_.gemm(name(of + "up"), writer_.share(model_.first_ffn()), model_.hidden, each);
      activate(elements_of(each, writer_.share(model_.ffn)), of);
      writer_.gemm(name(of + "down"), model_.hidden, writer_.share(model_.ffn), each);
    }
    writer_.collective(name("combine"), models::CollectiveKind::all_to_all, elements * writer_.element(), question.ep);
    writer_.operate(name("unpermute"), Kind::elementwise, "add", elements);
    add_up("down");
  }

  StepWriter& writer_;
  const ModelSpec& model_;
  std::string prefix_;
  std::int64_t tokens_;
};

}  // namespace

void write_forward(StepWriter& writer, const std::string& prefix) { Forward(writer, prefix).write(); }

}  // namespace c3sim::study
