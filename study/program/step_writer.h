// A StepWriter appends the operations of a step, with the extents of a question.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "study/network/step_question.h"
#include "study/program/step_operation.h"

namespace c3sim::study {

inline constexpr auto compute_stream = "compute";
inline constexpr auto exchange_stream = "exchange";  // for communication concurrent with computation

inline double elements_of(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

// Returns the carrier with StepQuestion::channels if it uses kernels and has no number of its own.
CollectiveCarrier with_channels(CollectiveCarrier carrier, models::CollectiveKind kind, const StepQuestion& question,
                                const models::SdmaSpec& engines);

// A Written names an operation that others can wait for; empty if nothing was written.
struct Written {
  std::string name{};
};

class StepWriter {
 public:
  StepWriter(const StepQuestion& question, const StepMachine& machine, std::string prefix = "")
      : question_(question), machine_(machine), prefix_(std::move(prefix)) {}

  const StepQuestion& question() const { return question_; }
  const ModelSpec& model() const { return question_.model; }
  std::int64_t tokens() const { return question_.tokens_of_gpu(question_.new_tokens()); }  // per GPU
  std::int64_t tokens_to_route() const { return question_.tokens_to_route(question_.new_tokens()); }
  // Returns whether the tp GPUs have results of experts for different tokens.
  bool routes_shares() const { return question_.routes_shares(); }
  // Returns the element of the stream between layers.
  sim::Bytes stream_element() const { return question_.wide_stream() ? single_precision : element(); }
  // Returns whether a norm is a series of single-precision kernels, as in PyTorch if its weights have another format
  // than its input.
  bool composes_norms() const { return question_.mixes() && !question_.wide_stream() && model().norm == Norm::rms; }
  // Returns a GPU's share of features that tensor parallelism divides evenly.
  std::int64_t share(std::int64_t features) const { return features / question_.tp; }
  // Returns the tokens of a GPU between products: its share if tensor parallelism shares out tokens, otherwise all.
  double tokens_between() const { return static_cast<double>(tokens()) / (question_.pieces ? question_.tp : 1); }
  // Returns the features of shared experts on a GPU: all of them if the tp GPUs route different tokens.
  std::int64_t shared_ffn() const { return routes_shares() ? model().shared_ffn : share(model().shared_ffn); }
  // Returns the words of a GPU; the vocabulary is padded to equal shares, as in frameworks.
  std::int64_t words() const { return (model().vocabulary + question_.tp - 1) / question_.tp; }
  sim::Bytes element() const { return size_of(question_.activation_format()); }  // of data between products
  // Appends a GEMM in the format of products or, if it is `plain`, of the stream.
  Written product(const std::string& name, models::GemmShape shape, bool plain = false);
  // Appends a GEMM from `in` to `out` features of one GPU for each token; one kernel computes `products` of them.
  Written gemm(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t tokens,
               std::int64_t products = 1) {
    return product(name, {.m = out, .n = tokens, .k = in, .products = products});
  }
  // Prepares the last product's result to be added up over the GPUs of tensor parallelism: carriers that fuse make it a
  // fused GEMM, after which each GPU holds the sums of a shard of tokens.
  void reduce_last();
  // Adds up `elements` on each GPU by an all-reduce, or only gathers them if they are `reduced` by a fused product.
  void add_up(const std::string& name, double elements, bool reduced);
  // Gathers, on the tp GPUs, the tokens that these GPUs sent to experts in shares.
  void gather_tokens(const std::string& name);
  // Appends a collective over the GPUs that share out each sequence, of its keys and values or of their gradients,
  // those of cached tokens included.
  void share_keys(const std::string& name, models::CollectiveKind kind) {
    const double elements = elements_of(question_.tokens_with_keys(), question_.cached_features());
    collective(name, kind, elements * element(), question_.cp);
  }
  // Appends attention, with context parallelism as two kernels: each GPU has a part near the start of a sequence and
  // one near its end, which together attend to as much as any other such pair. `absorbed`: all heads of latent
  // attention read the cached features themselves rather than keys and values made of them.
  void attention(const std::string& name, bool backward, bool absorbed = false);
  // Appends attention of the sequences that decode in the step of a prefill.
  void decoding_attention(const std::string& name, bool absorbed = false);
  // Appends an operator of configs/operators.yaml. `element` is the size of its elements, by default that of the
  // stream; `row` is the number of elements in a row that it reduces.
  Written operate(const std::string& name, Kind kind, const std::string& operation, double elements,
                  std::optional<sim::Bytes> element = {}, std::int64_t row = usual_row);
  // Appends a compiler's kernel that adds to the stream and norms the sum.
  Written add_and_normalise(const std::string& name, std::int64_t tokens) {
    return operate(name, Kind::norm, "compiled_norm_add", elements_of(tokens, model().hidden), {}, model().hidden);
  }
  // Appends a collective over `gpus` GPUs; `bytes` are the whole array of one GPU. For one GPU it appends nothing.
  Written collective(const std::string& name, models::CollectiveKind kind, sim::Bytes bytes, int gpus,
                     const std::string& stream = compute_stream);
  // Makes the next operation wait for `on`.
  void next_waits_for(const Written& on) { awaited_ = on; }
  // Queues the last operation on another stream.
  void queue_on(const std::string& stream) { operations_.back().stream = stream; }
  // Makes the last operation wait for `on` of its own layer, or of the layer at `shift` (negative: earlier);
  // wait_for_all() makes it wait for `on` of all layers.
  void wait(const Written& on, std::int64_t shift = 0) { wait({operations_.back().name}, on, shift); }
  void wait_for_all(const Written& on) {
    if (!on.name.empty()) operations_.back().after.push_back({on.name});
  }
  // Makes operation `who`, written earlier, wait for `on` of the layer at `shift`, which may be written after it.
  void wait(const Written& who, const Written& on, std::int64_t shift);
  void wait_first(Wait wait) { operations_.front().after.push_back(std::move(wait)); }  // the first since take()
  Written last() const { return {operations_.back().name}; }
  // Says whether the next operations are recomputations, which changes their names.
  void do_again(bool again) { again_ = again; }
  // Says which part of the FLOPs of the next operations the model has: see StepOperation.
  void count_products(double of_model) { of_model_ = of_model; }
  // Says whether the next operations go with attention: see StepOperation.
  void go_with_attention(bool with_attention) { with_attention_ = with_attention; }
  // Returns the operations since the last call.
  std::vector<StepOperation> take() { return std::exchange(operations_, {}); }

 private:
  std::string full(const std::string& name) const { return prefix_ + (again_ ? "again_" : "") + name; }
  Written add(const std::string& name, Kind kind, Work work, const std::string& stream = compute_stream);
  models::AttentionShape attention_shape(bool absorbed) const;

  const StepQuestion& question_;
  StepMachine machine_;
  std::string prefix_;
  std::vector<StepOperation> operations_;
  Written awaited_;
  double of_model_ = 1.0;
  bool with_attention_ = false;
  bool again_ = false;
};

}  // namespace c3sim::study
